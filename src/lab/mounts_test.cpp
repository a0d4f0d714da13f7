#include "lab/mounts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>

#include <gtest/gtest.h>

#include "input/byte_stream.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

bool has(const std::vector<MountUser>& users, int pid) { return std::ranges::find(users, pid, &MountUser::pid) != users.end(); }

TEST(Mounts, KnowsWhatIsMounted) {
  const lustre::TemporaryTree tree;
  // The root of a chroot is no mount.
  struct statx root{};
  ASSERT_EQ(::statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &root), 0);
  EXPECT_EQ(is_mounted("/"), (root.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
  EXPECT_TRUE(is_mounted("/proc"));
  EXPECT_FALSE(is_mounted(tree.root()));
  EXPECT_FALSE(is_mounted("/proc/"));
  EXPECT_FALSE(is_mounted(""));
}

TEST(Mounts, UnmountingWhatIsNoMountIsAnError) {
  const lustre::TemporaryTree tree;
  const int answer = unmount(tree.root(), false);
  EXPECT_TRUE(answer == EINVAL || answer == 0) << answer;  // root; fusermount3, which then finds no mount
}

// Does something in a child, and looks whether the child is found below the folder.
bool is_found(const std::string& folder, const std::function<bool()>& use) {
  int ready[2];
  if (::pipe(ready) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!use() || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  const bool is_ready = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  const bool found = is_ready && has(users_of(folder), child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return found;
}

TEST(Mounts, FindsWhoUsesAFolder) {
  const lustre::TemporaryTree tree;
  tree.write("in/file", "some bytes");
  tree.write("inner/file", "other bytes");
  const std::string folder = tree.path("in");
  const std::string file = tree.path("in/file");

  EXPECT_FALSE(has(users_of(folder), ::getpid()));
  EXPECT_TRUE(is_found(folder, [&] { return ::open(file.c_str(), O_RDONLY) >= 0; }));
  EXPECT_TRUE(is_found(folder, [&] { return ::chdir(folder.c_str()) == 0; }));
  EXPECT_TRUE(is_found(folder, [&] {
    const input::UniqueFd fd(::open(file.c_str(), O_RDONLY));
    return ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd.get(), 0) != MAP_FAILED;
  }));
  EXPECT_FALSE(is_found(folder, [&] { return ::open(tree.path("inner/file").c_str(), O_RDONLY) >= 0; }))
      << "a name that only begins so";
}

}  // namespace
}  // namespace iez::lab
