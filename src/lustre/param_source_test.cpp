#include "lustre/param_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/get_param_source.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lustre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> devices(const ParamSource& source, Param param) {
  const auto found = source.find(param);
  EXPECT_TRUE(found);
  std::vector<std::string> names;
  for (const Instance& instance : *found) names.push_back(instance.device);
  return names;
}

class TreeTest : public testing::Test {
 protected:
  std::unique_ptr<ParamSource> open() const {
    auto source = open_source(tree_.root());
    EXPECT_TRUE(source);
    return *std::move(source);
  }
  TemporaryTree tree_;
};

TEST_F(TreeTest, FindsEveryHomeAndPrefersTheFirst) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/kbytestotal", "1\n");
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal", "2\n");
  tree_.write("proc/fs/lustre/obdfilter/a-OST0001/kbytestotal", "3\n");
  tree_.write("sys/fs/lustre/osd-zfs/a-OST0001/kbytestotal", "4\n");
  tree_.write("sys/fs/lustre/osd-zfs/a-OST0002/kbytestotal", "5\n");
  tree_.write("sys/fs/lustre/osd-zfs/a-MDT0000/kbytestotal", "6\n");
  tree_.write("sys/fs/lustre/osd-zfs/MGS/kbytestotal", "7\n");
  const auto source = open();
  const auto found = source->find(Param::ost_kbytes_total);
  ASSERT_TRUE(found);
  std::vector<std::uint64_t> values;
  for (const Instance& instance : *found) values.push_back(*read_number(*source, instance));
  EXPECT_THAT(values, ElementsAre(2, 3, 5));
}

TEST_F(TreeTest, AnMdsOwnConnectionsAreNotAClients) {
  tree_.write("sys/fs/lustre/osc/a-OST0000-osc-ffff888111310800/max_rpcs_in_flight", "8\n");
  tree_.write("sys/fs/lustre/osc/a-OST0000-osc-MDT0000/max_rpcs_in_flight", "8\n");
  tree_.write("sys/fs/lustre/osc/a-OST0000-osc-MDT0000/active", "1\n");
  EXPECT_THAT(devices(*open(), Param::osc_max_rpcs_in_flight), ElementsAre("a-OST0000-osc-ffff888111310800"));
  EXPECT_THAT(devices(*open(), Param::osp_active), ElementsAre("a-OST0000-osc-MDT0000"));
}

TEST_F(TreeTest, ExportsHaveClients) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/exports/10.1.2.3@o2ib/stats", "x\n");
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/exports/0@lo/stats", "x\n");
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/exports/clear", "\n");
  const auto found = open()->find(Param::ost_export_stats);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].client, "0@lo");
  EXPECT_EQ((*found)[1].client, "10.1.2.3@o2ib");
}

TEST_F(TreeTest, NothingThereIsNoError) {
  EXPECT_THAT(devices(*open(), Param::ost_stats), ElementsAre());
  EXPECT_FALSE(read_optional(*open(), Param::version));
}

TEST_F(TreeTest, AnAbsoluteLinkStaysInTheTree) {
  tree_.write("proc/real", "12\n");
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/x", "");
  std::filesystem::create_symlink("/proc/real", tree_.path("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal"));
  const auto source = open();
  const auto found = source->find(Param::ost_kbytes_total);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(*read_number(*source, found->front()), 12U);
}

// A target must not drop out of a sum in silence: what is there but cannot be read is found, and fails when opened.
TEST_F(TreeTest, WhatCannotBeOpenedIsFoundAndSaid) {
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/x", "");
  std::filesystem::create_symlink("nowhere", tree_.path("sys/fs/lustre/obdfilter/a-OST0000/kbytesfree"));
  std::filesystem::create_symlink("kbytestotal", tree_.path("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal"));
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/kbytesavail/inner", "");
  ASSERT_EQ(::mkfifo(tree_.path("sys/fs/lustre/obdfilter/a-OST0000/degraded").c_str(), 0600), 0);
  const auto source = open();
  const auto failure = [&](Param param) {
    const auto found = source->find(param);
    EXPECT_EQ(found->size(), 1U);
    const auto stream = source->open(found->front());
    EXPECT_FALSE(stream);
    return stream.error().message;
  };
  EXPECT_THAT(failure(Param::ost_kbytes_free), HasSubstr("kbytesfree: No such file or directory"));
  EXPECT_THAT(failure(Param::ost_kbytes_total), HasSubstr("kbytestotal: Too many levels of symbolic links"));
  EXPECT_THAT(failure(Param::ost_kbytes_available), HasSubstr("kbytesavail: not a regular file"));
  EXPECT_THAT(failure(Param::ost_degraded), HasSubstr("degraded: not a regular file")) << "and a pipe is not waited for";
}

TEST_F(TreeTest, AReadableHomeBeatsABrokenOne) {
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/x", "");
  std::filesystem::create_symlink("nowhere", tree_.path("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal"));
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/kbytestotal", "5\n");
  const auto source = open();
  const auto found = source->find(Param::ost_kbytes_total);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(*read_number(*source, found->front()), 5U);
}

TEST_F(TreeTest, ATargetMayVanish) {
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal", "1\n");
  const auto source = open();
  const auto found = source->find(Param::ost_kbytes_total);
  std::filesystem::remove_all(tree_.path("sys/fs/lustre/obdfilter/a-OST0000"));
  const auto value = read_number(*source, found->front());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, Errc::not_found);
}

TEST_F(TreeTest, NumbersMustBeWhole) {
  const auto source = open();
  const auto number = [&](std::string_view content) {
    tree_.write("sys/fs/lustre/obdfilter/a-OST0000/kbytestotal", content);
    return read_number(*source, source->find(Param::ost_kbytes_total)->front());
  };
  EXPECT_EQ(*number("12\n"), 12U);
  EXPECT_EQ(*number("17%\n"), 17U);
  EXPECT_THAT(number("12").error().message, HasSubstr("cut off"));
  EXPECT_THAT(number("").error().message, HasSubstr("empty"));
  EXPECT_THAT(number("twelve\n").error().message, HasSubstr("line 1: 'twelve', expected a number"));
  for (const char* const bad : {"-1\n", "18446744073709551616\n", "1 2\n", "\x01\x02\n", "%\n"}) EXPECT_FALSE(number(bad)) << bad;
  EXPECT_FALSE(number(std::string_view("\0\0\0\n", 4)));
}

TEST_F(TreeTest, WritesReplaceTheWholeValue) {
  tree_.write("sys/fs/lustre/osc/a-OST0000-osc-ffff/max_rpcs_in_flight", "256\n");
  const auto source = open();
  const auto found = source->find(Param::osc_max_rpcs_in_flight);
  ASSERT_TRUE(source->write(found->front(), "8\n"));
  EXPECT_EQ(tree_.read("sys/fs/lustre/osc/a-OST0000-osc-ffff/max_rpcs_in_flight"), "8\n");
}

// Root may read everything: be nobody for a while.
class AsNobody {
 public:
  explicit AsNobody(const std::string& folder) : root_(::geteuid() == 0) {
    if (!root_) return;
    EXPECT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
  }
  ~AsNobody() {
    if (!root_) return;
    EXPECT_EQ(::seteuid(0), 0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool root_;
};

TEST_F(TreeTest, AFolderThatMayNotBeReadIsNamed) {
  tree_.write("sys/kernel/debug/lustre/obdfilter/a-OST0000/stats", "x\n");
  const std::string debugfs = tree_.path("sys/kernel/debug");
  std::filesystem::permissions(debugfs, std::filesystem::perms::none);
  {
    const AsNobody nobody(tree_.root());
    const auto found = open()->find(Param::ost_stats);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::permission);
    EXPECT_THAT(found.error().message, HasSubstr("sys/kernel/debug"));
    EXPECT_THAT(found.error().message, HasSubstr("run as root"));
  }
  std::filesystem::permissions(debugfs, std::filesystem::perms::owner_all);
}

TEST(OpenSource, SaysWhatIsMissing) {
  const auto source = open_source("/no/such/root");
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("/no/such/root: No such file"));
}

class DumpTest : public testing::Test {
 protected:
  std::unique_ptr<ParamSource> open(std::string_view text) const {
    tree_.write("dump.txt", text);
    auto source = open_source(tree_.path("dump.txt"));
    EXPECT_TRUE(source) << source.error().message;
    return *std::move(source);
  }
  TemporaryTree tree_;
};

TEST_F(DumpTest, ValuesOnTheLineAndBelowIt) {
  const auto source = open(
      "memused=5969573401\n"
      "obdfilter.a-OST0000.kbytestotal=12\n"
      "obdfilter.a-OST0000.stats=\n"
      "snapshot_time 1.0 secs.nsecs\n"
      "statfs 3 samples [reqs]\n"
      "obdfilter.a-OST0001.stats=snapshot_time 2.0 secs.nsecs\n"
      "version=2.14.0_ddn133\n");
  EXPECT_EQ(*read_number(*source, source->find(Param::ost_kbytes_total)->front()), 12U);
  EXPECT_EQ(*read_optional(*source, Param::version), "2.14.0_ddn133");
  const auto stats = source->find(Param::ost_stats);
  ASSERT_EQ(stats->size(), 2U);
  EXPECT_EQ(*read_value(*source, (*stats)[0]), "snapshot_time 1.0 secs.nsecs");
  EXPECT_EQ(*read_value(*source, (*stats)[1]), "snapshot_time 2.0 secs.nsecs");
  EXPECT_THAT((*stats)[1].origin, HasSubstr("dump.txt:6 obdfilter.a-OST0001.stats"));
}

TEST_F(DumpTest, TheBetterNameWinsWhereverItStands) {
  const auto source =
      open("osd-zfs.a-OST0000.kbytestotal=1\nobdfilter.a-OST0000.kbytestotal=2\nosd-zfs.a-OST0000.kbytestotal=3\n");
  const auto found = source->find(Param::ost_kbytes_total);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(*read_number(*source, found->front()), 2U);
}

TEST_F(DumpTest, TheFirstOfTwoCounts) {
  const auto source = open("obdfilter.a-OST0000.kbytestotal=1\nobdfilter.a-OST0000.kbytestotal=2\n");
  EXPECT_EQ(*read_number(*source, source->find(Param::ost_kbytes_total)->front()), 1U);
}

TEST_F(DumpTest, ACutLastValueIsNoValue) {
  const auto source = open("obdfilter.a-OST0000.kbytestotal=1\nobdfilter.a-OST0001.kbytestotal=12");
  const auto found = source->find(Param::ost_kbytes_total);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_TRUE(read_number(*source, (*found)[0]));
  EXPECT_FALSE(read_number(*source, (*found)[1]));
}

TEST_F(DumpTest, TextOfAnotherKindIsRefused) {
  tree_.write("dump.txt", "hello\nworld\n");
  const auto source = open_source(tree_.path("dump.txt"));
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("expected the text of 'lctl get_param', or a directory"));
}

TEST_F(DumpTest, CannotBeWritten) {
  const auto source = open("osc.a-OST0000-osc-ffff.max_rpcs_in_flight=8\n");
  EXPECT_EQ(source->write(source->find(Param::osc_max_rpcs_in_flight)->front(), "4").error().code, Errc::unsupported);
}

}  // namespace
}  // namespace iez::lustre
