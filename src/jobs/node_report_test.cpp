#include "jobs/node_report.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/node_report_sum.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kTop = std::numeric_limits<std::int64_t>::max();

MountReading mount(std::string device, std::uint64_t written, std::optional<std::int64_t> started = std::nullopt) {
  MountReading reading{.device = std::move(device), .started = started};
  reading.counters.data.write_bytes = written;
  reading.counters.data.write_calls = written / 10;
  return reading;
}

NodeReading reading(std::int64_t time, std::vector<MountReading> mounts) { return {.time = time, .mounts = std::move(mounts)}; }

const JobOnNode kJob{.cluster = "quartz", .id = "4711", .user = "1000", .node = "n1", .nodes = 2};

TEST(NodeReport, SumsTheMounts) {
  const NodeReport report = difference(kJob, reading(100, {mount("a-1", 1000), mount("b-1", 50)}),
                                       reading(160, {mount("a-1", 3000), mount("b-1", 60)}));
  EXPECT_EQ(report.io.data.write_bytes, 2010U);
  EXPECT_EQ(report.started, 100);
  EXPECT_EQ(report.ended, 160);
  EXPECT_EQ(report.restarted, 0U);
  EXPECT_EQ(report.lost_mounts, 0U);
  EXPECT_FALSE(report.network);
}

TEST(NodeReport, AMountYoungerThanTheJobCountsWhole) {
  const NodeReport report = difference(kJob, reading(100, {mount("a-1", 1000)}), reading(160, {mount("a-2", 70)}));
  EXPECT_EQ(report.io.data.write_bytes, 70U);
  EXPECT_EQ(report.lost_mounts, 1U);
}

TEST(NodeReport, AClearedMountCountsFromItsStart) {
  const NodeReport report = difference(kJob, reading(100, {mount("a-1", 1000, 5)}), reading(160, {mount("a-1", 4000, 6)}));
  EXPECT_EQ(report.io.data.write_bytes, 4000U);
  EXPECT_EQ(report.restarted, 1U);
}

TEST(NodeReport, AWrapIsNoRestart) {
  MountReading before = mount("a-1", kTop - 9);
  MountReading after = mount("a-1", 10);
  before.counters.data.write_calls = 5;
  after.counters.data.write_calls = 7;
  const NodeReport report = difference(kJob, reading(100, {before}), reading(160, {after}));
  EXPECT_EQ(report.io.data.write_bytes, 20U);
  EXPECT_EQ(report.io.data.write_calls, 2U);
  EXPECT_EQ(report.restarted, 0U);
}

TEST(NodeReport, AClockThatWasSetBack) {
  const NodeReport report = difference(kJob, reading(100, {}), reading(40, {}));
  EXPECT_EQ(report.started, 100);
  EXPECT_EQ(report.ended, 100);
}

TEST(NodeReport, ReadsRealTrees) {
  ManualClock clock{WallTime{std::chrono::seconds{1'794'728'900}}};
  input::ParseReport problems;
  const auto read = [&](const std::string& name) {
    std::vector<std::unique_ptr<lustre::ParamSource>> sources;
    sources.push_back(*lustre::open_tree(std::string(IEZ_TEST_DATA) + "/captures/" + name));
    return *read_node(sources, clock, problems);
  };
  const NodeReading before = read("lustre-2.17.0-before");
  const NodeReading after = read("lustre-2.17.0-after");
  ASSERT_EQ(after.mounts.size(), 1U);
  EXPECT_EQ(after.mounts[0].device, "lustre-ffff888111310800");
  EXPECT_EQ(after.mounts[0].started, 1'794'728'300'953'449'625);
  EXPECT_EQ(after.mounts[0].counters.data.write_bytes, 303'104'083U);
  EXPECT_EQ(after.mounts[0].counters.data.write_calls, 572U);
  EXPECT_EQ(after.mounts[0].counters.metadata.mknod, 159U);
  const NodeReport report = difference(kJob, before, after);
  EXPECT_EQ(report.io.data.write_bytes, after.mounts[0].counters.data.write_bytes - before.mounts[0].counters.data.write_bytes);
  EXPECT_EQ(report.restarted, 0U);
  const NodeReading old = read("lustre-2.10.1");
  EXPECT_EQ(old.mounts[0].counters.data.write_bytes, 93'813'797'294'080U);
  EXPECT_EQ(old.mounts[0].counters.metadata.open, 136U);
  EXPECT_FALSE(old.mounts[0].started);
  EXPECT_EQ(problems.skipped, 0U);
}

TEST(NodeReport, ReadsTheNetworkAndTheMemory) {
  const lustre::TemporaryTree tree;
  tree.write("proc/sys/lnet/stats", "0 28 0 101719323 101719291 0 0 21201322992 53029565353720 0 0\n");
  tree.write("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 10 kB\nMemAvailable: 20 kB\n");
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  sources.push_back(*lustre::open_tree(tree.root()));
  input::ParseReport problems;
  const ManualClock clock;
  const auto read = read_node(sources, clock, problems);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(
      read->network,
      (NetworkCounts{
          .received_bytes = 53'029'565'353'720, .sent_bytes = 21'201'322'992, .received = 101'719'291, .sent = 101'719'323}));
  EXPECT_EQ(read->memory, 1024U * 1024);
  EXPECT_TRUE(read->mounts.empty());
}

TEST(NodeReading, SurvivesBeingWritten) {
  NodeReading reading{.time = 1'794'728'900, .memory = 7, .network = NetworkCounts{1, 2, 3, 4}};
  reading.mounts.push_back(mount("a-ffff", kTop, 12));
  reading.mounts.push_back(mount("b-ffff", 5));
  const auto again = parse_reading(to_text(reading), "state");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, reading);
  EXPECT_EQ(*parse_reading(to_text({}), "state"), NodeReading{});
}

TEST(NodeReading, WhatIsCutIsRefused) {
  NodeReading reading{.time = 1'794'728'900, .memory = 7};
  reading.mounts.push_back(mount("a-ffff", kTop, 12));
  const std::string text = to_text(reading);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    const auto parsed = parse_reading(text.substr(0, size), "state");
    if (size == text.size() - 1) continue;  // without its last newline it is whole
    EXPECT_FALSE(parsed) << size;
  }
  EXPECT_THAT(parse_reading("iez-node 1\ncolour red\nend\n", "state").error().message, HasSubstr("state line 2: 'colour red'"));
}

NodeReport report_of(std::string node, std::int64_t started, std::int64_t ended, std::uint64_t written, std::uint32_t nodes = 2) {
  NodeReport report{.job = kJob, .started = started, .ended = ended, .memory = 100};
  report.job.node = std::move(node);
  report.job.nodes = nodes;
  report.io.data.write_bytes = written;
  return report;
}

TEST(ReportSums, AJobOfTwoNodes) {
  const ReportSums sums = sum_reports({report_of("n2", 101, 160, 20), report_of("n1", 100, 162, 10)});
  ASSERT_EQ(sums.jobs.size(), 1U);
  const JobSum& job = sums.jobs[0];
  EXPECT_EQ(job.row.started, 100);
  EXPECT_EQ(job.row.ended, 162);
  EXPECT_EQ(job.row.data.write_bytes, 30U);
  EXPECT_EQ(job.row.nodes, 2U);
  EXPECT_EQ(job.row.silent_nodes, 0U);
  EXPECT_EQ(job.row.memory, 200U);
  EXPECT_EQ(job.row.user, "1000");
  EXPECT_TRUE(job.complete());
}

TEST(ReportSums, ANodeThatNeverReportedIsSilent) {
  const ReportSums sums = sum_reports({report_of("n1", 100, 160, 10, 3), report_of("n3", 100, 160, 5, 3)});
  ASSERT_EQ(sums.jobs.size(), 1U);
  EXPECT_EQ(sums.jobs[0].row.silent_nodes, 1U);
  EXPECT_EQ(sums.jobs[0].row.nodes, 3U);
  EXPECT_EQ(sums.jobs[0].row.data.write_bytes, 15U);
  EXPECT_FALSE(sums.jobs[0].row.memory);
  EXPECT_FALSE(sums.jobs[0].complete());
}

TEST(ReportSums, TwiceIsOnce) {
  const ReportSums sums =
      sum_reports({report_of("n1", 100, 160, 10), report_of("n2", 100, 160, 5), report_of("n1", 100, 170, 12)});
  ASSERT_EQ(sums.jobs.size(), 1U);
  EXPECT_EQ(sums.duplicates, 1U);
  EXPECT_EQ(sums.jobs[0].row.data.write_bytes, 17U);
}

TEST(ReportSums, ARequeuedJobRunsTwice) {
  const ReportSums sums = sum_reports(
      {report_of("n1", 100, 160, 10), report_of("n2", 100, 160, 5), report_of("n2", 190, 250, 7), report_of("n1", 191, 250, 8)});
  ASSERT_EQ(sums.jobs.size(), 2U);
  EXPECT_EQ(sums.jobs[0].row.data.write_bytes, 15U);
  EXPECT_EQ(sums.jobs[1].row.data.write_bytes, 15U);
  EXPECT_EQ(sums.jobs[1].row.started, 190);
}

TEST(ReportSums, ClocksApart) {
  // A job of a minute, on nodes whose clocks are nine minutes apart, is one job; what is farther apart is another run.
  const ReportSums near = sum_reports({report_of("n1", 1000, 1060, 10), report_of("n2", 1540, 1600, 5)});
  ASSERT_EQ(near.jobs.size(), 1U);
  EXPECT_EQ(near.jobs[0].row.started, 1000);
  EXPECT_EQ(near.jobs[0].row.ended, 1600);
  const ReportSums far = sum_reports({report_of("n1", 1000, 1060, 10), report_of("n2", 1060 + kClocksApart + 1, 2000, 5)});
  EXPECT_EQ(far.jobs.size(), 2U);
}

TEST(ReportSums, UnknownNumberOfNodes) {
  const ReportSums sums = sum_reports({report_of("n1", 100, 160, 10, 0)});
  EXPECT_EQ(sums.jobs[0].row.nodes, 1U);
  EXPECT_EQ(sums.jobs[0].row.silent_nodes, 0U);
  EXPECT_FALSE(sums.jobs[0].complete());
}

// Random jobs on random nodes, some of which are silent; reports in any order, some twice: the sums are those of a table.
TEST(ReportSums, AgreeWithATable) {
  constexpr std::uint64_t kSeed = 4711;
  Rng rng(kSeed);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    std::map<std::string, JobRow> expected;
    std::vector<NodeReport> reports;
    const std::uint64_t jobs = rng.between(1, 8);
    for (std::uint64_t j = 0; j < jobs; ++j) {
      const std::string id = "job" + std::to_string(j);
      const auto nodes = static_cast<std::uint32_t>(rng.between(1, 6));
      const auto start = static_cast<std::int64_t>(rng.below(100'000));
      JobRow row{.cluster = "c", .id = id, .user = "7", .nodes = nodes};
      for (std::uint32_t n = 0; n < nodes; ++n) {
        if (rng.chance(0.2)) continue;
        NodeReport report{.job = {.cluster = "c", .id = id, .user = "7", .node = "n" + std::to_string(n), .nodes = nodes}};
        report.started = start + static_cast<std::int64_t>(rng.below(100));  // clocks apart
        report.ended = start + 1000 + static_cast<std::int64_t>(rng.below(100));
        report.io.metadata.open = rng.below(1000);
        const bool first = row.metadata.open == 0 && row.ended == 0;
        row.started = first ? report.started : std::min(row.started, report.started);
        row.ended = std::max(row.ended, report.ended);
        row.metadata.open += report.io.metadata.open;
        row.silent_nodes += 1;  // those that are not, for now
        reports.push_back(report);
        if (rng.chance(0.3)) reports.push_back(report);
      }
      if (row.silent_nodes == 0) continue;  // nobody told of it
      row.silent_nodes = nodes - row.silent_nodes;
      expected[id] = row;
    }
    for (std::size_t i = reports.size(); i > 1; --i) std::swap(reports[i - 1], reports[rng.below(i)]);
    const ReportSums sums = sum_reports(reports);
    ASSERT_EQ(sums.jobs.size(), expected.size());
    for (const JobSum& job : sums.jobs) EXPECT_EQ(job.row, expected[job.row.id]);
  }
}

}  // namespace
}  // namespace iez::jobs
