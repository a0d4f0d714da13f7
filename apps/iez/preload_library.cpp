#include "preload_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace iez::cli {

namespace {

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

Result<std::string> find(const std::string& name) {
  std::vector<std::filesystem::path> places;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables here
  if (const char* const given = std::getenv("IEZ_LIBDIR"); given != nullptr && *given != '\0') places.emplace_back(given);
  const std::filesystem::path program = own_folder();
  places.push_back(program / ".." / IEZ_LIBRARY_FOLDER);  // installed
  places.push_back(program / ".." / ".." / "preload");    // built
  places.push_back(program / ".." / ".." / "preload" / "mpi");
  std::string looked;
  for (const std::filesystem::path& place : places) {
    const std::filesystem::path file = (place / name).lexically_normal();
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) return file.string();
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", file.parent_path().string());
  }
  return fail(Errc::not_found, fmt::format("no {} in {}; set IEZ_LIBDIR to its folder", name, looked));
}

}  // namespace

Result<std::string> find_preload_library() { return find("libiez.so"); }

Result<std::string> find_mpi_library(std::string_view flavour) { return find(fmt::format("libiez-mpi-{}.so", flavour)); }

}  // namespace iez::cli
