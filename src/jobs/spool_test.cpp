#include "jobs/spool.hpp"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/spool_test_support.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::uint64_t kSeed = 99;

std::string any_text(Rng& rng) {
  static const std::vector<std::string> kTexts{
      "4711", "dd.1000", "ior:1000:n7", "a\"b,c\nd", "\xF0\x9F\x9A\x80", std::string("\0x\xFF", 3), ""};
  return kTexts[rng.below(kTexts.size())];
}

IoCounters any_io(Rng& rng) {
  IoCounts counts{};
  for (auto& count : counts) count = rng.chance(0.5) ? 0 : rng.bits() >> rng.below(64);
  return from_counts(counts);
}

JobRow any_job(Rng& rng) {
  const IoCounters io = any_io(rng);
  JobRow row{.cluster = any_text(rng), .id = any_text(rng), .user = any_text(rng), .data = io.data};
  row.metadata = io.metadata;
  row.started = static_cast<std::int64_t>(rng.bits());
  row.ended = static_cast<std::int64_t>(rng.below(2'000'000'000));
  row.nodes = static_cast<std::uint32_t>(rng.bits());
  row.silent_nodes = static_cast<std::uint32_t>(rng.below(5));
  if (rng.chance(0.5)) row.memory = rng.bits();
  if (rng.chance(0.5)) row.network = NetworkCounts{rng.bits(), 0, rng.below(9), 1};
  return row;
}

SeriesRow any_series(Rng& rng) {
  const IoCounters io = any_io(rng);
  return {.cluster = "c",
          .target = rng.chance(0.5) ? "fs-OST0000" : "fs-OST0001",
          .id = any_text(rng),
          .user = any_text(rng),
          .time = static_cast<std::int64_t>(rng.below(3)),
          .seconds = 60,
          .metadata = io.metadata,
          .data = io.data};
}

NodeReport any_report(Rng& rng) {
  NodeReport report{.job = {.cluster = any_text(rng), .id = any_text(rng), .user = "7", .node = any_text(rng), .nodes = 4}};
  report.io = any_io(rng);
  report.started = -5;
  report.ended = 12;
  report.others = 3;
  if (rng.chance(0.5)) report.memory = 5;
  return report;
}

class SpoolTest : public testing::Test {
 protected:
  lustre::TemporaryTree tree_;
  ManualClock clock_{WallTime{std::chrono::seconds{1'794'787'200}}};  // 2026-11-16 00:00:00
  SpoolWriter writer_{{.folder = tree_.path("a/b/spool"), .host = "n1", .sync = false}, clock_};
};

TEST_F(SpoolTest, WhatIsPutComesBack) {
  Rng rng(kSeed);
  Everything put;
  for (int i = 0; i < 50; ++i) {
    put.jobs.push_back(any_job(rng));
    put.series.push_back(any_series(rng));
    put.reports.push_back(any_report(rng));
    put.marks.push_back({.cluster = "c", .id = any_text(rng), .started = i, .ended = 2, .reports = 3});
  }
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(put.jobs)));
  ASSERT_TRUE(writer_.put(std::span<const SeriesRow>(put.series)));
  ASSERT_TRUE(writer_.put(std::span<const NodeReport>(put.reports)));
  ASSERT_TRUE(writer_.put(std::span<const CollectedMark>(put.marks)));
  EXPECT_TRUE(writer_.path().ends_with("/spool/iez-jobs-n1-20261116.spool")) << writer_.path();
  Everything read;
  const auto summary = read_spool_file(writer_.path(), read.visitor());
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(read.jobs, put.jobs);
  EXPECT_EQ(read.series, put.series);
  EXPECT_EQ(read.reports, put.reports);
  EXPECT_EQ(read.marks, put.marks);
  EXPECT_EQ(summary->damaged_bytes + summary->torn_bytes + summary->unknown_frames, 0U);
}

TEST_F(SpoolTest, AnotherDayIsAnotherFile) {
  Rng rng(kSeed);
  const std::vector<JobRow> rows{any_job(rng)};
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(rows)));
  clock_.advance(std::chrono::hours{24});
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(rows)));
  const auto files = spool_files(tree_.path("a/b/spool"));
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(testing::EndsWith("-20261116.spool"), testing::EndsWith("-20261117.spool")));
  EXPECT_FALSE(spool_files(tree_.path("nowhere")));
}

TEST_F(SpoolTest, HostsThatAreNoFileNames) {
  EXPECT_EQ(spool_file_name("../etc/x y", clock_.wall()), "iez-jobs-_._etc_x_y-20261116.spool");
  EXPECT_EQ(spool_file_name("", clock_.wall()), "iez-jobs-localhost-20261116.spool");
}

// Cut anywhere, as by a power cut: what was whole is read, what is torn is told, and the next writer cuts it off.
TEST_F(SpoolTest, TornAnywhere) {
  Rng rng(kSeed);
  const std::vector<JobRow> first{any_job(rng)};
  const std::vector<JobRow> second{any_job(rng)};
  const std::string whole = to_frames(std::span<const JobRow>(first)) + to_frames(std::span<const JobRow>(second));
  const std::size_t boundary = to_frames(std::span<const JobRow>(first)).size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string name = "torn/iez-jobs-n1-20261116.spool";
    tree_.write(name, whole.substr(0, size));
    Everything read;
    const auto summary = read_spool_file(tree_.path(name), read.visitor());
    ASSERT_TRUE(summary);
    EXPECT_EQ(read.jobs.size(), size >= boundary ? 1U : 0U);
    EXPECT_EQ(summary->torn_bytes, size >= boundary ? size - boundary : size);
    EXPECT_EQ(summary->damaged_bytes, 0U);
    SpoolWriter again({.folder = tree_.path("torn"), .host = "n1", .sync = false}, clock_);
    ASSERT_TRUE(again.put(std::span<const JobRow>(second)));
    Everything mended;
    const auto after = read_spool_file(tree_.path(name), mended.visitor());
    ASSERT_TRUE(after);
    EXPECT_EQ(after->torn_bytes + after->damaged_bytes, 0U);
    ASSERT_FALSE(mended.jobs.empty());
    EXPECT_EQ(mended.jobs.back(), second[0]);
    EXPECT_EQ(mended.jobs.size(), size >= boundary ? 2U : 1U);
  }
}

// A byte that flipped costs the frame it is in, and no other.
TEST_F(SpoolTest, DamagedAnywhere) {
  Rng rng(kSeed);
  std::vector<JobRow> rows;
  std::string whole;
  std::vector<std::size_t> ends;
  for (int i = 0; i < 4; ++i) {
    rows.push_back(any_job(rng));
    whole += to_frames(std::span<const JobRow>(&rows.back(), 1));
    ends.push_back(whole.size());
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto stream = input::memory_stream(damaged);
    Everything read;
    const auto summary = read_spool(*stream, read.visitor());
    ASSERT_TRUE(summary);
    std::vector<JobRow> others;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (at >= ends[i] || at < (i == 0 ? 0 : ends[i - 1])) others.push_back(rows[i]);
    }
    EXPECT_THAT(read.jobs, ElementsAreArray(others));
    EXPECT_GT(summary->damaged_bytes + summary->torn_bytes, 0U);
  }
}

// A disk that is full in the middle of a frame: nothing of it stays, and what was there is untouched.
TEST_F(SpoolTest, AFullDisk) {
  Rng rng(kSeed);
  const std::vector<JobRow> row{any_job(rng)};
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(row)));
  std::vector<JobRow> many;
  many.reserve(2000);
  for (int i = 0; i < 2000; ++i) many.push_back(any_job(rng));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 8192, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto refused = writer_.put(std::span<const JobRow>(many));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(refused);
  Everything read;
  const auto summary = read_spool_file(writer_.path(), read.visitor());
  ASSERT_TRUE(summary);
  EXPECT_EQ(read.jobs, row);
  EXPECT_EQ(summary->torn_bytes + summary->damaged_bytes, 0U);
  ASSERT_TRUE(writer_.put(std::span<const JobRow>(many)));
  Everything all;
  ASSERT_TRUE(read_spool_file(writer_.path(), all.visitor()));
  EXPECT_EQ(all.jobs.size(), 2001U);
}

TEST_F(SpoolTest, AFrameOfTheFutureIsPassedOver) {
  std::string frames(kFrameMagic);
  const std::string payload = "\x63what comes";
  frames += {static_cast<char>(payload.size()), 0, 0, 0};
  const std::uint32_t crc = crc32c(payload);
  for (unsigned shift = 0; shift < 32; shift += 8) frames.push_back(static_cast<char>(crc >> shift));
  frames += payload;
  const auto stream = input::memory_stream(frames);
  const auto summary = read_spool(*stream, {});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->unknown_frames, 1U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);  // the check value of CRC-32C
}

}  // namespace
}  // namespace iez::jobs
