#include "runs/mount_table.hpp"

#include <gtest/gtest.h>

namespace iez::runs {
namespace {

constexpr std::string_view kMounts =
    "22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "40 22 0:44 / /scratch rw,flock - lustre 10.0.0.1@tcp:10.0.0.2@tcp:/scratch rw,flock\n"
    "41 22 0:45 / /home\\040of\\040all rw - lustre mds@o2ib:/home/users rw\n"
    "42 22 0:46 / /tmp/lab/mnt/client0 rw,nosuid - fuse.iez iez-lab-demo rw,user_id=0\n"
    "43 22 0:47 / /other rw - fuse.sshfs iez-lab-no rw\n"
    "44 22 0:48 / /tmp/lab rw - tmpfs none rw\n"
    "broken line\n"
    "45 22 0:49 / /scratch/deep rw shared:7 master:1 - lustre 10.0.0.9@tcp:/deep rw";

TEST(MountTable, LustreAndLabsAlone) {
  const auto mounts = parse_mounts(kMounts);
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(
      mounts[0],
      (LayoutMount{.path = "/tmp/lab/mnt/client0", .file_system = "demo", .lab = true, .params = "/tmp/lab/params/client0"}));
  EXPECT_EQ(mounts[1], (LayoutMount{.path = "/scratch/deep", .file_system = "deep", .lab = false}));
  EXPECT_EQ(mounts[2], (LayoutMount{.path = "/home of all", .file_system = "home", .lab = false}));
  EXPECT_EQ(mounts[3], (LayoutMount{.path = "/scratch", .file_system = "scratch", .lab = false}));
}

TEST(MountTable, LongestPathCounts) {
  const auto mounts = parse_mounts(kMounts);
  const auto of = [&](std::string_view path) {
    const LayoutMount* const mount = mount_of(mounts, path);
    return mount == nullptr ? std::string("-") : mount->file_system;
  };
  EXPECT_EQ(of("/scratch/a"), "scratch");
  EXPECT_EQ(of("/scratch"), "scratch");
  EXPECT_EQ(of("/scratch/deep/a"), "deep");
  EXPECT_EQ(of("/scratch/deeper/a"), "scratch");
  EXPECT_EQ(of("/scratched"), "-");
  EXPECT_EQ(of("/tmp/lab/x"), "-");
  EXPECT_EQ(of("/tmp/lab/mnt/client0/x"), "demo");
  EXPECT_EQ(of(""), "-");
}

TEST(MountTable, TheLastMountOfAPathHidesTheOthers) {
  const auto mounts = parse_mounts("1 0 0:1 / /m rw - lustre a@tcp:/one rw\n2 0 0:2 / /m rw - lustre a@tcp:/two rw\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].file_system, "two");
}

TEST(MountTable, ALabIsReadWhereItIs) {
  const auto mounts = parse_mounts(kMounts);
  using Roots = std::vector<std::string>;
  EXPECT_EQ(roots_of(mounts, "demo", {}), Roots{"/tmp/lab/params/client0"});
  EXPECT_EQ(roots_of(mounts, "demo", {"/given"}), Roots{"/given"});
  EXPECT_EQ(roots_of(mounts, "scratch", {}), Roots{});
  EXPECT_EQ(roots_of(mounts, "none", {}), Roots{});
  for (const char* path : {"/x", "/mnt", "/a/b/c"}) {
    const auto bound = parse_mounts("42 22 0:46 / " + std::string(path) + " rw - fuse.iez iez-lab-demo rw");
    ASSERT_EQ(bound.size(), 1U);
    EXPECT_EQ(bound[0].params, "") << path;
  }
}

TEST(MountTable, Below) {
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_TRUE(is_below("/a/b", "/a/"));
  EXPECT_TRUE(is_below("/a", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
  EXPECT_FALSE(is_below("/ab", "/a"));
  EXPECT_FALSE(is_below("/", "/a"));
}

}  // namespace
}  // namespace iez::runs
