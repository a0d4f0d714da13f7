#include "user_name.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>

namespace iez::cli {

std::string user_name() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found) == 0 && found != nullptr && *entry.pw_name != '\0') {
    return entry.pw_name;
  }
  return fmt::format("{}", ::getuid());
}

}  // namespace iez::cli
