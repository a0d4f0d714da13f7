#include "file_system.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace iez::cli {

namespace {

std::string names_of(const lustre::ClusterReading& reading) {
  std::string names;
  for (const auto& view : reading.file_systems) {
    if (!names.empty()) names += ", ";
    names += view.cluster.name;
  }
  return names;
}

}  // namespace

Result<void> keep_file_system(lustre::ClusterReading& reading, const std::string& name) {
  if (name.empty()) return {};
  const std::string known = names_of(reading);
  std::erase_if(reading.file_systems, [&](const auto& view) { return view.cluster.name != name; });
  if (!reading.file_systems.empty()) return {};
  return fail(Errc::not_found, fmt::format("file system '{}' is not here; found: {}", name, known));
}

Result<lustre::ClusterView> one_file_system(lustre::ClusterReading reading, const std::string& name) {
  IEZ_CHECK(keep_file_system(reading, name));
  if (reading.file_systems.size() > 1) {
    return fail(Errc::invalid_argument,
                fmt::format("there are several file systems: {}; choose one with --fs", names_of(reading)));
  }
  return std::move(reading.file_systems.front());
}

}  // namespace iez::cli
