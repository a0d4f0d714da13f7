#include "jobs/sacct.hpp"

#include <fcntl.h>

#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::jobs {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

struct Parsed {
  std::vector<JobRow> rows;
  SacctSummary summary;
  input::ParseReport report;
};

Parsed parse(std::string_view text, const SacctOptions& options = {}) {
  Parsed parsed;
  const auto stream = input::memory_stream(text);
  const auto summary = parse_sacct(*stream, "sacct", options, parsed.report, [&parsed](const JobRow& row) {
    parsed.rows.push_back(row);
    return Result<void>{};
  });
  EXPECT_TRUE(summary) << summary.error().message;
  if (summary) parsed.summary = *summary;
  return parsed;
}

constexpr std::string_view kHeader = "JobIDRaw|Cluster|UID|Start|End|NNodes|AllocTRES|TRESUsageInTot|TRESUsageOutTot\n";

TEST(Sacct, AJobAndItsSteps) {
  const Parsed parsed = parse(std::string(kHeader) +
                              "4711|quartz|1000|2026-11-16T12:00:00|2026-11-16T12:10:00|2|billing=8,cpu=8,mem=64G,node=2||\n"
                              "4711.batch|quartz||2026-11-16T12:00:00|2026-11-16T12:10:00|1|cpu=4,mem=32G,node=1|cpu=00:01:00,fs/"
                              "disk=1000,mem=12K|fs/disk=7\n"
                              "4711.0|quartz||2026-11-16T12:00:01|2026-11-16T12:10:00|2||fs/disk=2K|fs/disk=1.50M\n");
  ASSERT_THAT(parsed.rows, SizeIs(1));
  const JobRow& row = parsed.rows[0];
  EXPECT_EQ(row.cluster, "quartz");
  EXPECT_EQ(row.id, "4711");
  EXPECT_EQ(row.user, "1000");
  EXPECT_EQ(row.started, 1'794'830'400);
  EXPECT_EQ(row.ended, 1'794'831'000);
  EXPECT_EQ(row.nodes, 2U);
  EXPECT_EQ(row.memory, std::uint64_t{64} << 30U);
  EXPECT_EQ(row.data.read_bytes, 1000U + 2048U);
  EXPECT_EQ(row.data.write_bytes, 7U + 1'572'864U);
  EXPECT_EQ(parsed.summary.steps, 2U);
  EXPECT_EQ(parsed.report.skipped, 0U);
}

TEST(Sacct, MemoryOfOldVersions) {
  constexpr std::string_view kOld = "JobID|User|Start|End|NNodes|ReqMem|NCPUS\n";
  const auto memory = [&](std::string_view asked) {
    const Parsed parsed =
        parse(std::string(kOld) + "1|ann|2026-11-16T12:00:00|2026-11-16T12:10:00|3|" + std::string(asked) + "|8\n");
    return parsed.rows.at(0).memory;
  };
  EXPECT_EQ(memory("4Gn"), std::uint64_t{12} << 30U);
  EXPECT_EQ(memory("2Gc"), std::uint64_t{16} << 30U);
  EXPECT_EQ(memory("500M"), std::uint64_t{500} << 20U);
  EXPECT_EQ(memory("512"), std::uint64_t{512} << 20U);
  EXPECT_EQ(memory("0.50G"), std::uint64_t{512} << 20U);
  EXPECT_FALSE(memory("0n"));
  EXPECT_FALSE(memory("much"));
  EXPECT_FALSE(memory(""));
}

TEST(Sacct, ArraysUnfinishedJobsAndZones) {
  const Parsed parsed = parse(
      "JobID|User|Start|End\n"
      "10_3|ann|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "10_3.batch|ann|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "10_[4-9]|ann|Unknown|Unknown\n"
      "11|ann|2026-11-16T12:00:00|Unknown\n"
      "11.batch||2026-11-16T12:00:00|Unknown\n"
      "12+0|ann|1794830400|1794830460\n"
      "13|ann|2026-11-16T12:00:00|2026-11-16T11:00:00\n",
      {.cluster = "c", .zone = {.east = 3600}});
  ASSERT_THAT(parsed.rows, SizeIs(2));
  EXPECT_EQ(parsed.rows[0].id, "10_3");
  EXPECT_EQ(parsed.rows[0].cluster, "c");
  EXPECT_EQ(parsed.rows[0].user, "ann");
  EXPECT_EQ(parsed.rows[0].started, 1'794'826'800);
  EXPECT_EQ(parsed.rows[1].id, "12+0");
  EXPECT_EQ(parsed.rows[1].started, 1'794'830'400);
  EXPECT_EQ(parsed.summary.unfinished, 2U);
  EXPECT_EQ(parsed.report.skipped, 1U);  // ended before it started
}

TEST(Sacct, NamesWithNewlinesAndDelimiters) {
  const Parsed parsed = parse(
      "JobID|JobName|Start|End\n"
      "1|two\nlines|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "2|a|b|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "3|\xF0\x9F\x9A\x80 \"quoted\"|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "4|lost\n"
      "5|ok|2026-11-16T12:00:00|2026-11-16T12:10:00\n"
      "6|cut");
  ASSERT_THAT(parsed.rows, SizeIs(3));
  EXPECT_EQ(parsed.rows[0].id, "1");
  EXPECT_EQ(parsed.rows[1].id, "3");
  EXPECT_EQ(parsed.rows[2].id, "5");
  EXPECT_EQ(parsed.report.skipped, 3U);
  EXPECT_THAT(parsed.report.problems[0].message, HasSubstr("use --delimiter"));
}

TEST(Sacct, AHeaderWithoutWhatIsNeeded) {
  input::ParseReport report;
  const auto stream = input::memory_stream("JobID|User|Start\n");
  const auto summary = parse_sacct(*stream, "f", {}, report, [](const JobRow&) { return Result<void>{}; });
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().message, HasSubstr("f: no column End"));
}

// Of a real cluster: 87 jobs that ran, 13 that did not, 142 steps; fields parted by snowmen, no header, --parsable.
TEST(Sacct, ARealCluster) {
  std::ifstream file(std::string(IEZ_TEST_DATA) + "/jobs/sacct-hb.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  SacctOptions options{.cluster = "hb", .delimiter = "\xE2\x98\x83"};
  options.fields = {"JobID",          "JobName",        "User",      "Partition", "NodeList",  "NNodes",
                    "NCPUs",          "NTasks",         "State",     "Submit",    "Start",     "End",
                    "Timelimit",      "Elapsed",        "TotalCPU",  "CPUTime",   "UserCPU",   "SystemCPU",
                    "ReqMem",         "MaxRSS",         "MaxVMSize", "ReqTRES",   "AllocTRES", "TRESUsageInMax",
                    "TRESUsageInTot", "TRESUsageOutTot"};
  while (options.fields.size() < 37) options.fields.emplace_back("other");
  const Parsed parsed = parse(text, options);
  EXPECT_EQ(parsed.rows.size(), 87U);
  EXPECT_EQ(parsed.summary.unfinished, 13U);
  EXPECT_EQ(parsed.summary.steps, 142U);
  EXPECT_EQ(parsed.report.skipped, 0U) << to_string(parsed.report.problems.at(0));
  std::uint64_t read = 0;
  for (const JobRow& row : parsed.rows) {
    read += row.data.read_bytes;
    EXPECT_GT(row.nodes, 0U);
    EXPECT_TRUE(row.memory) << row.id;
    if (row.id != "5908801_3") continue;
    EXPECT_EQ(row.user, "user23");
    EXPECT_EQ(row.ended - row.started, 103'046);
    EXPECT_EQ(row.memory, std::uint64_t{125'000} << 20U);
  }
  EXPECT_EQ(read, 103'592'240'782'358U);
}

}  // namespace
}  // namespace iez::jobs
