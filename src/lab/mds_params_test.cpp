#include "lab/mds_params.hpp"

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/job_stats.hpp"
#include "lustre/param_source.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using testing::HasSubstr;

class MdsParamsTest : public testing::Test {
 protected:
  MdsParamsTest() {
    config_.dir = tree_.root();
    config_.oss_count = 2;
    config_.osts_per_oss = 2;
  }
  std::string read(const std::string& below) const { return tree_.read("params/mds/" + below); }

  lustre::TemporaryTree tree_;
  Config config_;
  WallTime now_{std::chrono::seconds(1'700'000'000)};
};

TEST_F(MdsParamsTest, the_cluster_is_read_from_them) {
  MdsParams params(config_, now_);
  ObjectAllocator allocator(config_);
  allocator.see(std::vector<OstSpace>{{.ost = 0, .total = 1U << 30U, .free = 1U << 29U},
                                      {.ost = 1, .total = 1U << 30U, .free = 1U << 28U, .usable = 0}});
  allocator.set_active(3, false);
  ASSERT_TRUE(params.write(allocator.osts(), 5, now_).has_value());

  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  sources.push_back(lustre::open_tree(params_root(config_, "mds")).value());
  input::ParseReport report;
  const auto reading = lustre::read_clusters(sources, {}, report);
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  EXPECT_TRUE(report.problems.empty());
  ASSERT_EQ(reading->file_systems.size(), 1U);
  const model::Cluster& cluster = reading->file_systems[0].cluster;
  EXPECT_EQ(cluster.name, "iez");
  ASSERT_EQ(cluster.osts.size(), 4U);
  EXPECT_EQ(cluster.osts[0].name, "iez-OST0000");
  EXPECT_EQ(cluster.osts[0].total, Bytes::gib(1));
  EXPECT_EQ(cluster.osts[0].available, Bytes::mib(512));
  EXPECT_TRUE(cluster.osts[0].state.active);
  EXPECT_TRUE(cluster.osts[1].state.no_create);
  EXPECT_FALSE(cluster.osts[3].state.active);
  ASSERT_EQ(cluster.servers.size(), 2U);
  EXPECT_NE(cluster.osts[0].oss, cluster.osts[3].oss);
  EXPECT_EQ(cluster.osts[2].oss, cluster.osts[3].oss);
  EXPECT_EQ(reading->hosts[0].name, "mds");

  EXPECT_EQ(
      read("sys/kernel/debug/lustre/lod/iez-MDT0000-mdtlov/target_obd"),
      "0: iez-OST0000_UUID ACTIVE\n1: iez-OST0001_UUID INACTIVE\n2: iez-OST0002_UUID ACTIVE\n3: iez-OST0003_UUID INACTIVE\n");
  EXPECT_EQ(read("sys/fs/lustre/lod/iez-MDT0000-mdtlov/qos_threshold_rr"), "17%\n");
  EXPECT_EQ(read("sys/fs/lustre/mdt/iez-MDT0000/num_exports"), "5\n");
}

TEST_F(MdsParamsTest, requests_are_counted_by_job) {
  MdsParams params(config_, now_);
  const auto took = std::chrono::microseconds(30);
  const Caller dd{.uid = 1, .job = "dd.1000"};
  params.count(Op::make, MakeRequest{.caller = dd, .mode = S_IFREG, .open = 1}, took, now_);
  params.count(Op::make, MakeRequest{.caller = dd, .mode = S_IFDIR}, took, now_);
  params.count(Op::lookup, NameRequest{.caller = dd}, took, now_);
  params.count(Op::get_attributes, InodeRequest{.caller = dd}, took, now_);
  params.count(Op::rename, RenameRequest{.caller = dd, .parent = 1, .new_parent = 1}, took, now_);
  params.count(Op::unlink, NameRequest{.caller = {.job = "rm.0"}}, took, now_);
  params.count(Op::list, ListRequest{.caller = dd}, took, now_);
  params.count(Op::query, QueryRequest{}, took, now_);
  ASSERT_TRUE(params.write({}, 0, now_).has_value());

  input::ParseReport report;
  const auto text = read("proc/fs/lustre/mdt/iez-MDT0000/job_stats");
  const auto stream = input::memory_stream(text);
  std::map<std::string, model::JobCounters> jobs;
  const auto parsed = lustre::parse_job_stats(*stream, "job_stats", report,
                                              [&](const lustre::JobEntry& entry) { jobs[entry.id] = lustre::counters(entry); });
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(report.problems.empty());
  ASSERT_EQ(jobs.size(), 2U);
  const model::JobCounters& counted = jobs["dd.1000"];
  EXPECT_EQ(counted[model::Operation::open], 1U);
  EXPECT_EQ(counted[model::Operation::mknod], 1U);
  EXPECT_EQ(counted[model::Operation::mkdir], 1U);
  EXPECT_EQ(counted[model::Operation::getattr], 2U);
  EXPECT_EQ(counted[model::Operation::rename], 1U);
  EXPECT_EQ(counted[model::Operation::samedir_rename], 1U);
  EXPECT_EQ(model::operations(counted), 6U);
  EXPECT_EQ(jobs["rm.0"][model::Operation::unlink], 1U);
  EXPECT_THAT(read("proc/fs/lustre/mdt/iez-MDT0000/md_stats"), HasSubstr("2 samples [usecs] 30 30 60"));

  ASSERT_TRUE(params.write({}, 0, now_ + std::chrono::seconds(700)).has_value());
  EXPECT_EQ(read("proc/fs/lustre/mdt/iez-MDT0000/job_stats"), "") << "idle for too long";
}

}  // namespace
}  // namespace iez::lab
