#include "lustre/cluster_reader.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lustre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClusterReaderTest : public testing::Test {
 protected:
  Result<ClusterReading> read(const std::vector<const TemporaryTree*>& trees, const std::vector<HostState>& earlier = {}) {
    std::vector<std::unique_ptr<ParamSource>> sources;
    sources.reserve(trees.size());
    for (const TemporaryTree* tree : trees) sources.push_back(*open_source(tree->root()));
    return read_clusters(sources, earlier, report_);
  }
  ClusterView only() {
    auto reading = read({&tree_});
    EXPECT_TRUE(reading);
    EXPECT_EQ(reading->file_systems.size(), 1U);
    return reading->file_systems.at(0);
  }
  void add_osp(const std::string& ost, std::uint64_t total, const std::string& nid) const {
    const std::string base = "sys/fs/lustre/osp/" + ost + "-osc-MDT0000/";
    for (const char* const name : {"kbytestotal", "kbytesfree", "kbytesavail"})
      tree_.write(base + name, std::to_string(total) + '\n');
    tree_.write("sys/kernel/debug/lustre/osp/" + ost + "-osc-MDT0000/import",
                "import:\n    name: x\n    target: " + ost +
                    "_UUID\n    state: FULL\n    connection:\n       current_connection: \"" + nid + "\"\n");
  }

  TemporaryTree tree_;
  input::ParseReport report_;
};

TEST_F(ClusterReaderTest, AServersOwnTargets) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  tree_.add_ost("a-OST000a", 2000, 500, 400, "proc/fs/lustre");
  tree_.write("proc/sys/kernel/hostname", "oss1\n");
  tree_.write("sys/fs/lustre/version", "2.17.0\n");
  const ClusterView view = only();
  EXPECT_EQ(view.cluster.name, "a");
  EXPECT_EQ(view.version, "2.17.0");
  ASSERT_EQ(view.cluster.osts.size(), 2U);
  EXPECT_EQ(view.cluster.osts[1].index, OstIndex{10});
  EXPECT_EQ(view.cluster.osts[0].total, Bytes::kib(1000));
  EXPECT_EQ(model::used(view.cluster.osts[0]), Bytes::kib(200));
  EXPECT_EQ(view.cluster.servers.at(0).name, "oss1");
  EXPECT_EQ(report_.skipped, 0U);
}

TEST_F(ClusterReaderTest, AnMdsFillsInWhatTheServerDoesNotKnow) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  add_osp("a-OST0000", 999, "10.0.0.9@tcp");  // also seen here, but the server's own word counts
  add_osp("a-OST0001", 2000, "10.0.0.2@tcp");
  add_osp("a-OST0002", 2000, "10.0.0.2@tcp");
  const ClusterView view = only();
  EXPECT_THAT(view.seen_by, ElementsAre(SpaceSource::obdfilter, SpaceSource::osp, SpaceSource::osp));
  EXPECT_EQ(view.cluster.osts[0].total, Bytes::kib(1000));
  ASSERT_EQ(view.cluster.servers.size(), 2U);
  EXPECT_EQ(view.cluster.servers[view.cluster.osts[1].oss].name, "10.0.0.2@tcp");
  EXPECT_EQ(view.cluster.osts[1].oss, view.cluster.osts[2].oss);
}

TEST_F(ClusterReaderTest, TheLoopbackNidIsThisHost) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  add_osp("a-OST0001", 2000, "0@lo");
  EXPECT_EQ(only().cluster.servers.size(), 1U);
}

TEST_F(ClusterReaderTest, SeveralServers) {
  TemporaryTree other;
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  other.add_ost("a-OST0001", 1000, 100, 50);
  other.add_ost("b-OST0000", 1000, 100, 50);
  const auto reading = read({&tree_, &other});
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->file_systems.size(), 2U);
  EXPECT_EQ(reading->file_systems[0].cluster.servers.size(), 2U);
  EXPECT_EQ(reading->file_systems[1].cluster.name, "b");
}

TEST_F(ClusterReaderTest, StatesComeFromServerAndMds) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  tree_.add_ost("a-OST0001", 1000, 800, 700);
  tree_.add_ost("a-OST0002", 1000, 800, 700);
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/degraded", "1\n");
  tree_.write("sys/fs/lustre/obdfilter/a-OST0000/readonly", "0\n");
  tree_.write("sys/fs/lustre/osp/a-OST0001-osc-MDT0000/active", "0\n");
  tree_.write("sys/fs/lustre/osp/a-OST0002-osc-MDT0000/max_create_count", "0\n");
  const auto osts = only().cluster.osts;
  EXPECT_TRUE(osts[0].state.degraded);
  EXPECT_FALSE(osts[0].state.read_only);
  EXPECT_FALSE(osts[1].state.active);
  EXPECT_TRUE(osts[2].state.no_create);
  EXPECT_EQ(osts[2].state.active, true);
}

TEST_F(ClusterReaderTest, ATargetWithNonsenseIsLeftOut) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  tree_.add_ost("a-OST0001", 1000, 1001, 700);  // more free than there is
  tree_.add_ost("a-OST0002", ~std::uint64_t{0} / 2, 800, 700);
  tree_.write("sys/fs/lustre/obdfilter/a-OST0003/kbytestotal", "12\n");  // the others are missing
  tree_.add_ost("a-OST0004", 1000, 800, 700);
  tree_.write("sys/fs/lustre/obdfilter/a-OST0004/kbytesfree", "abc\n");
  EXPECT_EQ(only().cluster.osts.size(), 1U);
  EXPECT_EQ(report_.skipped, 4U);
  EXPECT_THAT(report_.problems[0].message, HasSubstr("cannot all be true"));
}

TEST_F(ClusterReaderTest, LoadNeedsTwoLooks) {
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  tree_.write("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 100 0 0 900 0 0 0 0 0 0\n");
  tree_.write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable:  250 kB\n");
  tree_.write("proc/loadavg", "1.50 0.50 0.25 1/100 12345\n");
  const auto first = read({&tree_});
  ASSERT_TRUE(first);
  const model::Oss& fresh = first->file_systems[0].cluster.servers[0];
  EXPECT_FALSE(fresh.cpu);
  EXPECT_DOUBLE_EQ(*fresh.memory, 0.75);
  EXPECT_DOUBLE_EQ(*fresh.load_1min, 1.5);
  EXPECT_EQ(fresh.cores, 1U);
  tree_.write("proc/stat", "cpu  160 0 0 940 0 0 0 0 0 0\ncpu0 160 0 0 940 0 0 0 0 0 0\n");
  const auto second = read({&tree_}, first->hosts);
  EXPECT_DOUBLE_EQ(*second->file_systems[0].cluster.servers[0].cpu, 0.6);
}

// Sums by server mean nothing where the server of an OST cannot be told.
TEST_F(ClusterReaderTest, UnknownServersAreSaid) {
  add_osp("a-OST0000", 1000, "10.0.0.2@tcp");
  EXPECT_TRUE(only().servers_known);
  std::filesystem::remove_all(tree_.path("sys/kernel/debug"));
  EXPECT_FALSE(only().servers_known);
}

TEST_F(ClusterReaderTest, ASourceWithoutTargetsIsSaid) {
  TemporaryTree empty;
  tree_.add_ost("a-OST0000", 1000, 800, 700);
  ASSERT_TRUE(read({&tree_, &empty}));
  ASSERT_EQ(report_.skipped, 1U);
  EXPECT_THAT(to_string(report_.problems[0]), HasSubstr("no Lustre target in it"));
}

TEST_F(ClusterReaderTest, NoTargetsIsSaidWithTheRemedy) {
  const auto reading = read({&tree_});
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().code, Errc::not_found);
  EXPECT_THAT(reading.error().message, HasSubstr("--root"));
}

}  // namespace
}  // namespace iez::lustre
