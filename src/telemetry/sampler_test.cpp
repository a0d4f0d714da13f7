#include "telemetry/sampler.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "lustre/tree_test_support.hpp"

namespace iez::telemetry {
namespace {

using lustre::SpaceSource;
using lustre::TemporaryTree;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

std::unique_ptr<Sampler> sampler_of(const std::vector<std::string>& roots, const SamplerOptions& options = {}) {
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  for (const std::string& root : roots) sources.push_back(lustre::open_tree(root).value());
  return std::make_unique<Sampler>(std::move(sources), options, 77);
}

void add_host(const TemporaryTree& tree, std::uint64_t busy, std::uint64_t idle) {
  tree.write("proc/sys/kernel/hostname", "oss7\n");
  tree.write("proc/stat",
             "cpu " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n");
  tree.write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 250 kB\n");
  tree.write("proc/loadavg", "1.50 1.00 0.50 1/100 1\n");
}

constexpr std::string_view kJobs = "job_stats:\n- job_id:          a\n  snapshot_time:   1\n- job_id:          \"b\"\n";

TEST(Sampler, ReadsAServer) {
  const TemporaryTree tree;
  add_host(tree, 100, 100);
  tree.add_ost("fs-OST0001", 1000, 600, 500);
  tree.add_ost("fs-OST000a", 1000, 1000, 900);
  tree.write("proc/fs/lustre/obdfilter/fs-OST0001/stats",
             "snapshot_time 1.0 secs.nsecs\nread_bytes 1 samples [bytes] 5 5 5\nwrite_bytes 2 samples [bytes] 4 4 8\n");
  tree.write("proc/fs/lustre/obdfilter/fs-OST0001/job_stats", kJobs);
  const auto sampler = sampler_of({tree.root()});
  ManualClock clock(WallTime{1000s});
  input::ParseReport report;
  Sample sample = sampler->take(clock, 60s, report);
  EXPECT_EQ(sample.agent, "oss7");
  EXPECT_EQ(sample.roles, Roles{.oss = true});
  EXPECT_EQ(sample.instance, 77U);
  EXPECT_EQ(sample.sequence, 1U);
  EXPECT_EQ(sample.sent, WallTime{1000s});
  EXPECT_EQ(sample.interval, Duration{60s});
  EXPECT_EQ(sample.host.memory, 0.75);
  EXPECT_EQ(sample.host.load_1min, 1.5);
  EXPECT_FALSE(sample.host.cpu);  // takes two readings
  ASSERT_EQ(sample.file_systems.size(), 1U);
  const FileSystemSample& fs = sample.file_systems[0];
  EXPECT_EQ(fs.name, "fs");
  ASSERT_EQ(fs.osts.size(), 2U);
  EXPECT_EQ(fs.osts[0].free, Bytes::kib(600));
  EXPECT_EQ(fs.osts[0].seen_by, SpaceSource::obdfilter);
  EXPECT_EQ(fs.osts[0].read_bytes, 5U);
  EXPECT_EQ(fs.osts[0].write_bytes, 8U);
  EXPECT_EQ(fs.osts[0].jobs, 2U);
  EXPECT_EQ(fs.osts[1].index, OstIndex{10});
  EXPECT_FALSE(fs.osts[1].write_bytes);
  EXPECT_EQ(decode(encode(sample)).value(), sample);

  add_host(tree, 130, 110);
  sampler->count_dropped();
  clock.advance(60s);
  sample = sampler->take(clock, 1s, report);
  EXPECT_EQ(sample.host.cpu, 0.75);
  EXPECT_EQ(sample.file_systems[0].servers[0].load.cpu, 0.75);
  EXPECT_EQ(sample.sequence, 2U);
  EXPECT_EQ(sample.dropped, 1U);
}

TEST(Sampler, TargetsComeAndGo) {
  const TemporaryTree tree;
  add_host(tree, 1, 1);
  const auto sampler = sampler_of({tree.root()}, {.name = "chosen"});
  ManualClock clock;
  input::ParseReport report;
  const auto osts = [&] {
    const Sample sample = sampler->take(clock, 1s, report);
    EXPECT_EQ(sample.agent, "chosen");
    return sample.file_systems.empty() ? 0 : sample.file_systems[0].osts.size();
  };
  EXPECT_EQ(osts(), 0U);
  tree.add_ost("fs-OST0000", 1000, 600, 500);
  EXPECT_EQ(osts(), 0U);  // where things are is remembered
  clock.advance(30s);
  EXPECT_EQ(osts(), 1U);
  EXPECT_EQ(report.skipped, 0U);
  tree.add_ost("fs-OST0001", 1000, 600, 500);
  std::filesystem::remove_all(tree.path("sys/fs/lustre/obdfilter/fs-OST0000"));
  EXPECT_EQ(osts(), 0U);
  EXPECT_GT(report.skipped, 0U);
  EXPECT_EQ(osts(), 1U);  // looked for at once, since something was gone
}

TEST(Sampler, BadParametersAreCountedAndPassedOver) {
  const TemporaryTree tree;
  add_host(tree, 1, 1);
  tree.add_ost("fs-OST0000", 1000, 600, 500);
  tree.add_ost("fs-OST0001", 1000, 2000, 500);  // more free than there is
  tree.write("sys/fs/lustre/obdfilter/fs-OST0002/kbytestotal", "rubbish\n");
  tree.write("proc/fs/lustre/obdfilter/fs-OST0000/stats", "\xff\xfe nonsense\n");
  const auto sampler = sampler_of({tree.root()});
  const ManualClock clock;
  input::ParseReport report;
  const Sample sample = sampler->take(clock, 1s, report);
  ASSERT_EQ(sample.file_systems.size(), 1U);
  EXPECT_EQ(sample.file_systems[0].osts.size(), 1U);
  EXPECT_GE(sample.skipped, 3U);
  EXPECT_TRUE(decode(encode(sample)));
}

TEST(Sampler, JobsAreCountedInTurnWithinTheirShare) {
  const TemporaryTree tree;
  std::string many(kJobs);
  for (int i = 0; i < 200'000; ++i) many += "- job_id:          x\n";
  for (const char* const ost : {"fs-OST0000", "fs-OST0001", "fs-OST0002"}) {
    tree.add_ost(ost, 1000, 600, 500);
    tree.write(std::string("proc/fs/lustre/obdfilter/") + ost + "/job_stats", many);
  }
  // So small a share that the first target uses up what there is to begin with.
  const auto sampler = sampler_of({tree.root()}, {.job_share = 1e-6});
  ManualClock clock;
  input::ParseReport report;
  const auto counted = [&] {
    std::size_t count = 0;
    const auto sample = sampler->take(clock, 1s, report);
    for (const OstSample& ost : sample.file_systems.at(0).osts) {
      if (!ost.jobs) continue;
      EXPECT_EQ(*ost.jobs, 200'002U);
      ++count;
    }
    return count;
  };
  EXPECT_EQ(counted(), 1U);
  clock.advance(1s);
  EXPECT_EQ(counted(), 1U);
  clock.advance(24h * 20);
  EXPECT_EQ(counted(), 3U);
  const auto never = sampler_of({tree.root()}, {.job_share = 0});
  EXPECT_FALSE(never->take(clock, 1s, report).file_systems.at(0).osts.at(0).jobs);
}

TEST(Sampler, RolesAndMdts) {
  const std::string captures = std::string(IEZ_TEST_DATA) + "/captures/lustre-2.17.0-after";
  const auto sampler = sampler_of({captures});
  const ManualClock clock;
  input::ParseReport report;
  const Sample sample = sampler->take(clock, 1s, report);
  EXPECT_EQ(to_string(sample.roles), "oss+mds+client");
  EXPECT_FALSE(sample.file_systems.at(0).mdts.empty());
  EXPECT_EQ(sample.file_systems.at(0).osts.size(), 6U);
}

}  // namespace
}  // namespace iez::telemetry
