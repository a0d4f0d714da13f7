#include "lustre/job_reader.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lustre {
namespace {

using testing::HasSubstr;

std::string job(const std::string& id, int bytes) {
  return "- job_id:          " + id +
         "\n  snapshot_time:   50\n  write_bytes:     { samples: 1, unit: bytes, min: 1, max: 1, sum: " + std::to_string(bytes) +
         " }\n";
}

class JobReaderTest : public testing::Test {
 protected:
  Result<JobSample> read(const JobReadOptions& options = {}) {
    std::vector<std::unique_ptr<ParamSource>> sources;
    sources.push_back(*open_source(tree_.root()));
    return read_jobs(sources, clock_, options, report_);
  }

  TemporaryTree tree_;
  ManualClock clock_;
  input::ParseReport report_;
};

TEST_F(JobReaderTest, OstsAndMdtsTogether) {
  tree_.write("proc/sys/kernel/hostname", "oss7\n");
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10));
  tree_.write("proc/fs/lustre/obdfilter/a-OST0001/job_stats", "job_stats:\n" + job("x", 20) + job("y", 1));
  tree_.write("proc/fs/lustre/mdt/a-MDT0000/job_stats", "job_stats:\n- job_id: x\n  open: { samples: 3, unit: reqs }\n");
  const auto sample = read();
  ASSERT_TRUE(sample);
  ASSERT_EQ(sample->targets().size(), 3U);
  EXPECT_EQ(sample->targets()[0].server, "oss7");
  EXPECT_EQ(sample->totals(*sample->find("x")).write_bytes, Bytes{30});
  EXPECT_EQ(sample->totals(*sample->find("x"))[model::Operation::open], 3U);
}

TEST_F(JobReaderTest, TimesOfOurOwnSamplesAreMonotonic) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10));
  clock_.advance(std::chrono::seconds(5));
  const auto first = read();
  clock_.set_wall(WallTime{});  // the administrator sets the clock back
  clock_.advance(std::chrono::seconds(2));
  const auto second = read();
  EXPECT_EQ(second->targets()[0].sampled.value() - first->targets()[0].sampled.value(), std::chrono::seconds(2));
}

TEST_F(JobReaderTest, TimesOfCapturesAreTheServers) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10));
  tree_.write("proc/fs/lustre/obdfilter/a-OST0001/job_stats", "");
  EXPECT_FALSE(read({.time = SampleTime::recorded})->targets()[0].sampled) << "a job's own time is its last operation";
  tree_.write("sys/kernel/debug/lustre/obdfilter/a-OST0000/stats", "snapshot_time 77.5 secs.nsecs\n");
  const auto sample = read({.time = SampleTime::recorded});
  EXPECT_EQ(sample->targets()[0].sampled, WallTime{std::chrono::nanoseconds(77'000'000'005)});
  EXPECT_EQ(sample->targets()[1].sampled, sample->targets()[0].sampled) << "one node, one clock";
}

TEST_F(JobReaderTest, ATargetReadInPartIsMarked) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10) + "  open: { samples: x }\n");
  tree_.write("proc/fs/lustre/obdfilter/a-OST0001/job_stats", "job_stats:\n" + job("x", 10));
  const auto sample = read();
  EXPECT_FALSE(sample->targets()[0].whole);
  EXPECT_TRUE(sample->targets()[1].whole);
}

TEST_F(JobReaderTest, ATargetThatTwoSourcesShowCountsOnce) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10));
  std::vector<std::unique_ptr<ParamSource>> sources;
  sources.push_back(*open_source(tree_.root()));
  sources.push_back(*open_source(tree_.root()));
  const auto sample = read_jobs(sources, clock_, {}, report_);
  EXPECT_EQ(sample->totals(0).write_bytes, Bytes{10});
  EXPECT_THAT(to_string(report_.problems.at(0)), HasSubstr("counted once"));
}

TEST_F(JobReaderTest, ASourceWithoutAnyIsSaid) {
  TemporaryTree empty;
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n");
  std::vector<std::unique_ptr<ParamSource>> sources;
  sources.push_back(*open_source(tree_.root()));
  sources.push_back(*open_source(empty.root()));
  ASSERT_TRUE(read_jobs(sources, clock_, {}, report_));
  EXPECT_THAT(report_.problems.at(0).message, HasSubstr("no job_stats in it"));
}

TEST_F(JobReaderTest, TargetsOfWhichNoneCanBeReadAreAnError) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats/inner", "");
  const auto sample = read();
  ASSERT_FALSE(sample);
  EXPECT_THAT(sample.error().message, HasSubstr("job_stats: not a regular file"));
}

TEST_F(JobReaderTest, OneFileSystemOnly) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "job_stats:\n" + job("x", 10));
  tree_.write("proc/fs/lustre/obdfilter/b-OST0000/job_stats", "job_stats:\n" + job("y", 10));
  EXPECT_EQ(read({.file_system = "b"})->ids(), std::vector<std::string>{"y"});
  EXPECT_THAT(read({.file_system = "c"}).error().message, HasSubstr("file system 'c' is not here; found: a, b"));
}

TEST_F(JobReaderTest, NoJobStatsAnywhereIsSaid) {
  const auto sample = read();
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, Errc::not_found);
  EXPECT_THAT(sample.error().message, HasSubstr("obdfilter.*.job_stats"));
}

TEST_F(JobReaderTest, AServerWithoutJobsIsFine) {
  tree_.write("proc/fs/lustre/obdfilter/a-OST0000/job_stats", "");
  const auto sample = read();
  ASSERT_TRUE(sample);
  EXPECT_TRUE(sample->ids().empty());
}

}  // namespace
}  // namespace iez::lustre
