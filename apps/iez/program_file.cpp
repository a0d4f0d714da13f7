#include "program_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "input/byte_stream.hpp"
#include "program/elf.hpp"
#include "program/sight.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

bool runnable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> found_program(std::string_view word) {
  if (word.empty()) return std::nullopt;
  if (word.find('/') != std::string_view::npos) {
    std::string path(word);
    return runnable(path) ? std::optional(std::move(path)) : std::nullopt;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables here
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, word);
    if (runnable(path)) return path;
    if (colon == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(colon + 1);
  }
}

std::string mpi_of_file(const std::string& path) {
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return "";
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return "";
  std::string flavour;
  const std::span bytes(static_cast<const std::byte*>(address), size);
  if (program::is_elf(bytes)) {
    if (const auto elf = program::parse_elf(bytes)) {
      flavour = program::judge(*elf, {}).mpi;
      // Programs that reach MPI through a library alone.
      for (const std::string& needed : elf->needed) {
        if (!flavour.empty()) break;
        if (needed.find("openmpi") != std::string::npos) flavour = "openmpi";
        if (needed.find("mpich") != std::string::npos) flavour = "mpich";
      }
    }
  }
  ::munmap(address, size);
  return flavour;
}

}  // namespace

runs::ProgramProbe program_probe() {
  runs::ProgramProbe probe;
  probe.is_program = [](std::string_view word) { return found_program(word).has_value(); };
  probe.canonical = [](std::string_view word) {
    std::error_code error;
    const std::string given = found_program(word).value_or(std::string(word));
    const fs::path path = fs::canonical(given, error);
    return error ? given : path.string();
  };
  return probe;
}

std::string mpi_of_python(const std::string& word) {
  const auto path = found_program(word);
  if (!path) return "";
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables here
    return value == nullptr ? "" : value;
  };
  std::error_code error;
  std::vector<fs::path> prefixes{fs::path(*path).parent_path().parent_path(),
                                 fs::canonical(*path, error).parent_path().parent_path()};
  if (const std::string given = variable("VIRTUAL_ENV"); !given.empty()) prefixes.insert(prefixes.begin(), given);
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  std::vector<fs::path> folders;
  const std::string given = variable("PYTHONPATH");
  for (std::string_view rest = given; !rest.empty(); rest.remove_prefix(std::min(rest.size(), rest.find(':') + 1))) {
    folders.emplace_back(rest.substr(0, rest.find(':')));
    if (rest.find(':') == std::string_view::npos) break;
  }
  for (const fs::path& prefix : prefixes) {
    for (fs::directory_iterator entry(prefix / "lib", error), end; !error && entry != end; entry.increment(error)) {
      if (!entry->path().filename().string().starts_with("python")) continue;
      for (const char* const packages : {"site-packages", "dist-packages"}) folders.push_back(entry->path() / packages);
    }
  }
  for (const fs::path& folder : folders) {
    for (fs::directory_iterator entry(folder / "mpi4py", error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (!name.starts_with("MPI.") || !name.ends_with(".so")) continue;
      if (std::string flavour = mpi_of_file(entry->path().string()); !flavour.empty()) return flavour;
    }
  }
  return "";
}

std::string mpi_of_program(const std::string& word) {
  const auto path = found_program(word);
  return path ? mpi_of_file(*path) : "";
}

}  // namespace iez::cli
