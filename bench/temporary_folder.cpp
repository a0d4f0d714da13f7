#include "temporary_folder.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp() is not in std

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace iez::bench {

Result<TemporaryFolder> TemporaryFolder::make(const std::string& place) {
  const std::filesystem::path parent = place.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(place);
  std::string path = (parent / "iez-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, path);
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace iez::bench
