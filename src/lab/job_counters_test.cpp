#include "lab/job_counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "input/byte_stream.hpp"
#include "lustre/job_stats.hpp"
#include "lustre/stats.hpp"

namespace iez::lab {
namespace {

using model::Operation;
using testing::HasSubstr;
using testing::StartsWith;

constexpr WallTime at(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

std::map<std::string, lustre::JobEntry> parsed(const std::string& text) {
  std::map<std::string, lustre::JobEntry> jobs;
  input::ParseReport report;
  const auto stream = input::memory_stream(text);
  const auto summary =
      lustre::parse_job_stats(*stream, "job_stats", report, [&](const lustre::JobEntry& job) { jobs[job.id] = job; });
  EXPECT_TRUE(summary);
  EXPECT_EQ(report.skipped, 0U);
  if (summary) {
    EXPECT_EQ(summary->unknown_rows, 0U);
  }
  return jobs;
}

TEST(JobCounters, PrintsNothingWithoutJobs) {
  JobCounters jobs(ost_job_operations());
  EXPECT_EQ(jobs.text(), "");
  jobs.count("", Operation::read, 1, at(1));
  jobs.count("  ", Operation::read, 1, at(1));
  EXPECT_EQ(jobs.text(), "");
}

TEST(JobCounters, PrintsAsLustreDoes) {
  JobCounters jobs(ost_job_operations());
  jobs.count("dd.0", Operation::write_bytes, 4'194'304, at(1000));
  jobs.count("dd.0", Operation::write_bytes, 1'048'576, WallTime(std::chrono::milliseconds(1'001'500)));
  EXPECT_THAT(jobs.text(),
              StartsWith("job_stats:\n"
                         "- job_id:          dd.0\n"
                         "  snapshot_time:   1001.500000000 secs.nsecs\n"
                         "  start_time:      1000.000000000 secs.nsecs\n"
                         "  elapsed_time:    1.500000000 secs.nsecs\n"
                         "  read_bytes:      { samples:           0, unit: bytes, min:        0, max:        0, sum:    "
                         "            0, sumsq:                  0, hist: {  } }\n"
                         "  write_bytes:     { samples:           2, unit: bytes, min:  1048576, max:  4194304, sum:    "
                         "      5242880, sumsq:     18691697672192, hist: { 1M: 1, 4M: 1 } }\n"
                         "  read:            { samples:           0, unit: usecs, min:        0, max:        0, sum:    "
                         "            0, sumsq:                  0 }\n"));
}

TEST(JobCounters, ItsTextIsReadBackAsItWasCounted) {
  JobCounters jobs(ost_job_operations());
  jobs.count("ior:1000:node7", Operation::read_bytes, 4096, at(5));
  jobs.count("ior:1000:node7", Operation::read, 250, at(5));
  jobs.count("ior:1000:node7", Operation::read, 750, at(6));
  jobs.count("odd\n\"\\\x80 job", Operation::punch, 3, at(7));
  jobs.count(std::string(100, 'x'), Operation::sync, 3, at(7));
  const auto read = parsed(jobs.text());
  ASSERT_EQ(read.size(), 3U);
  ASSERT_TRUE(read.contains("ior:1000:node7"));
  const lustre::JobEntry& ior = read.at("ior:1000:node7");
  EXPECT_TRUE(ior.has_sizes);
  EXPECT_EQ(ior.read_sizes[12], 1U);
  const model::JobCounters counters = lustre::counters(ior);
  EXPECT_EQ(counters.read_bytes.count, 4096U);
  EXPECT_EQ(counters[Operation::read], 2U);
  EXPECT_TRUE(read.contains("odd\n\"\\\x80job"));
  EXPECT_TRUE(read.contains(std::string(31, 'x')));
}

TEST(JobCounters, MdtRowsAreKnownToTheReader) {
  JobCounters jobs(mdt_job_operations());
  for (const Operation operation : mdt_job_operations()) jobs.count("job", operation, 10, at(1));
  const auto read = parsed(jobs.text());
  ASSERT_TRUE(read.contains("job"));
  EXPECT_EQ(read.at("job").rows.size(), mdt_job_operations().size());
}

TEST(JobCounters, SizesAreCountedByPowersOfTwo) {
  JobCounters jobs(ost_job_operations());
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{512},
                                   std::uint64_t{513}, std::uint64_t{1} << 30U, ~std::uint64_t{0}}) {
    jobs.count("a", Operation::read_bytes, size, at(1));
  }
  EXPECT_THAT(jobs.text(), HasSubstr("hist: { 1: 2, 2: 1, 4: 1, 512: 1, 1K: 1, 1G: 1, 8E: 1 }"));
}

TEST(JobCounters, IdleJobsGoAfterTenMinutes) {
  JobCounters jobs(ost_job_operations());
  jobs.count("old", Operation::read, 1, at(1000));
  jobs.count("new", Operation::read, 1, at(1500));
  jobs.forget_idle(at(1600));
  EXPECT_EQ(jobs.size(), 2U);
  jobs.forget_idle(at(1601));
  EXPECT_EQ(jobs.size(), 1U);
}

TEST(OperationCounters, StatsShowOnlyWhatWasCounted) {
  OperationCounters counters;
  counters.count(Operation::write_bytes, 100, at(10));
  counters.count(Operation::write_bytes, 300, at(11));
  EXPECT_EQ(counters.sum(Operation::write_bytes), 400U);
  EXPECT_EQ(counters.samples(Operation::write_bytes), 2U);
  EXPECT_EQ(counters.stats_text(at(9), at(12)),
            "snapshot_time             12.000000000 secs.nsecs\n"
            "start_time                9.000000000 secs.nsecs\n"
            "elapsed_time              3.000000000 secs.nsecs\n"
            "write_bytes               2 samples [bytes] 100 300 400 100000\n");
}

}  // namespace
}  // namespace iez::lab
