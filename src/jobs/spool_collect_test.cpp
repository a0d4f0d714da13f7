#include "jobs/spool_collect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/row_sink_test_support.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::SizeIs;

NodeReport report_of(std::string node, std::int64_t started, std::int64_t ended, std::uint64_t written) {
  NodeReport report{.job = {.cluster = "c", .id = "4711", .user = "1000", .node = std::move(node), .nodes = 2}};
  report.started = started;
  report.ended = ended;
  report.io.data.write_bytes = written;
  return report;
}

class CollectTest : public testing::Test {
 protected:
  void put(const NodeReport& report) { ASSERT_TRUE(writer_.put(std::span<const NodeReport>(&report, 1))); }

  // As `iez jobs collect` does it: marks are kept once the rows are.
  CollectSummary collect_at(std::int64_t now, std::span<const JobRow> facts = {}) {
    input::ParseReport problems;
    auto summary = collect(*spool_files(tree_.path("spool")), {.now = now, .facts = facts}, sink_, problems);
    EXPECT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(problems.skipped, 0U);
    EXPECT_TRUE(writer_.put(std::span<const CollectedMark>(summary->marks)));
    return *summary;
  }

  lustre::TemporaryTree tree_;
  ManualClock clock_{WallTime{std::chrono::seconds{1'794'787'200}}};
  SpoolWriter writer_{{.folder = tree_.path("spool"), .host = "n1", .sync = false}, clock_};
  MemorySink sink_;
};

TEST_F(CollectTest, WaitsForAllNodes) {
  put(report_of("n1", 100, 160, 10));
  EXPECT_EQ(collect_at(200).waiting, 1U);
  EXPECT_THAT(sink_.jobs(), SizeIs(0));
  put(report_of("n2", 100, 160, 5));
  EXPECT_EQ(collect_at(210).jobs, 1U);
  ASSERT_THAT(sink_.jobs(), SizeIs(1));
  EXPECT_EQ(sink_.jobs()[0].data.write_bytes, 15U);
  const CollectSummary again = collect_at(220);
  EXPECT_EQ(again.jobs, 0U);
  EXPECT_EQ(again.known, 1U);
}

TEST_F(CollectTest, ALateNodeAmendsTheRowUnderItsKey) {
  put(report_of("n1", 100, 160, 10));
  const CollectSummary first = collect_at(160 + 3600);
  EXPECT_EQ(first.jobs, 1U);
  EXPECT_EQ(first.silent_nodes, 1U);
  EXPECT_EQ(sink_.jobs()[0].silent_nodes, 1U);
  put(report_of("n2", 95, 160, 5));  // it started earlier, by its clock
  EXPECT_EQ(collect_at(160 + 7200).amended, 1U);
  ASSERT_THAT(sink_.jobs(), SizeIs(1));
  EXPECT_EQ(sink_.jobs()[0].started, 100);
  EXPECT_EQ(sink_.jobs()[0].data.write_bytes, 15U);
  EXPECT_EQ(sink_.jobs()[0].silent_nodes, 0U);
}

TEST_F(CollectTest, ASinkThatRefusesLosesNothing) {
  put(report_of("n1", 100, 160, 10));
  put(report_of("n2", 100, 160, 5));
  sink_.refuse = true;
  input::ParseReport problems;
  EXPECT_FALSE(collect(*spool_files(tree_.path("spool")), {.now = 200}, sink_, problems));
  sink_.refuse = false;
  EXPECT_EQ(collect_at(200).jobs, 1U);
  EXPECT_THAT(sink_.jobs(), SizeIs(1));
}

TEST_F(CollectTest, RowsAreHandedOn) {
  const std::vector<SeriesRow> series{{.cluster = "c", .target = "fs-OST0000", .id = "1", .time = 60}};
  const std::vector<JobRow> jobs{{.cluster = "c", .id = "1"}};
  ASSERT_TRUE(writer_.put(std::span<const SeriesRow>(series)));
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(jobs)));
  const CollectSummary summary = collect_at(1);
  EXPECT_EQ(summary.series_rows, 1U);
  EXPECT_EQ(summary.job_rows, 1U);
  EXPECT_EQ(sink_.series(), series);
  EXPECT_EQ(sink_.jobs(), jobs);
}

TEST_F(CollectTest, TheSchedulerKnowsBetter) {
  put(report_of("n1", 101, 160, 10));
  put(report_of("n2", 102, 160, 5));
  const std::vector<JobRow> facts{
      {.cluster = "c", .id = "4711", .user = "2000", .started = 99, .ended = 158, .nodes = 3, .memory = 77}};
  EXPECT_EQ(collect_at(160, facts).waiting, 1U);
  EXPECT_EQ(collect_at(160 + 3600, facts).jobs, 1U);
  ASSERT_THAT(sink_.jobs(), SizeIs(1));
  EXPECT_EQ(sink_.jobs()[0].started, 99);
  EXPECT_EQ(sink_.jobs()[0].user, "2000");
  EXPECT_EQ(sink_.jobs()[0].silent_nodes, 1U);
  EXPECT_EQ(sink_.jobs()[0].memory, 77U);
}

TEST_F(CollectTest, AFileThatIsNoneIsToldOf) {
  tree_.write("spool/x.spool", "this is no spool file");
  input::ParseReport problems;
  const auto summary = collect(*spool_files(tree_.path("spool")), {}, sink_, problems);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->spool.damaged_bytes, 21U);
  EXPECT_EQ(problems.skipped, 1U);
}

}  // namespace
}  // namespace iez::jobs
