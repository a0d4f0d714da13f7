#include "writable_folder.hpp"

#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace iez::cli {

namespace fs = std::filesystem;

std::string why_not_writable(const std::string& folder) {
  std::error_code error;
  // Where the folder is not there, it would be made in the first one above it that is.
  fs::path at = fs::absolute(folder, error).lexically_normal();
  while (at.has_relative_path() && !fs::exists(at, error)) at = at.parent_path();
  struct statfs system{};
  constexpr long kProc = 0x9fa0;
  constexpr long kSys = 0x62656572;
  const bool real = ::statfs(at.c_str(), &system) == 0 && system.f_type != kProc && system.f_type != kSys;
  if (real && fs::is_directory(at, error) && ::access(at.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("{}: {} may not be written", folder, at.string());
}

}  // namespace iez::cli
