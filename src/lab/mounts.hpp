// What is mounted where, and who uses it.
//
// Thread safety: safe from any thread.
#pragma once

#include <string>
#include <vector>

namespace iez::lab {

// Also when the process behind it is dead. path: absolute, as it was mounted. Never touches the mount itself, which might hang.
[[nodiscard]] bool is_mounted(const std::string& path);

// 0, or an errno: EBUSY while it is in use. lazy: the name goes at once, the rest when nobody uses it any more. Without root by
// fusermount3.
int unmount(const std::string& path, bool lazy);

struct MountUser {
  int pid = 0;
  std::string program;
};

// Processes that have a file below `path` open or mapped, or stand in it; those that we may look into.
[[nodiscard]] std::vector<MountUser> users_of(const std::string& path);

}  // namespace iez::lab
