#include "jobs/job_sampler.hpp"

#include <map>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/job_sampler_table.hpp"
#include "jobs/row_sink_test_support.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::jobs {
namespace {

using testing::SizeIs;

constexpr std::string_view kOst = "proc/fs/lustre/obdfilter/fs-OST0000/job_stats";
constexpr std::string_view kMdt = "proc/fs/lustre/mdt/fs-MDT0000/job_stats";

std::string entry(std::string_view id, std::uint64_t written, std::uint64_t calls, std::uint64_t start = 1'723'114'000) {
  return fmt::format(
      "- job_id:          {}\n  snapshot_time:   1723114647.887515895 secs.nsecs\n  start_time:      {}.000000001 secs.nsecs\n"
      "  write_bytes:     {{ samples: {}, unit: bytes, min: 1, max: 4096, sum: {} }}\n"
      "  getattr:         {{ samples: 5, unit: reqs }}\n",
      id, start, calls, written);
}

class JobSamplerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<lustre::ParamSource>> sources;
    sources.push_back(*lustre::open_tree(tree_.root()));
    sampler_ =
        std::make_unique<JobSampler>(std::move(sources), JobSampler::Options{.cluster = "c", .max_entries = 100, .seed = 7});
  }

  JobSampler::Taken take() {
    input::ParseReport report;
    auto taken = sampler_->take(clock_, sink_, report);
    EXPECT_TRUE(taken) << taken.error().message;
    clock_.advance(std::chrono::seconds{60});
    return taken.value_or(JobSampler::Taken{});
  }
  void list(std::string_view target, const std::string& entries) { tree_.write(target, "job_stats:\n" + entries); }
  std::uint64_t written(const std::string& id) const {
    std::uint64_t sum = 0;
    for (const SeriesRow& row : sink_.series()) sum += row.id == id ? row.data.write_bytes : 0;
    return sum;
  }

  lustre::TemporaryTree tree_;
  ManualClock clock_{WallTime{std::chrono::seconds{1'794'787'200}}};
  MemorySink sink_;
  std::unique_ptr<JobSampler> sampler_;
};

TEST_F(JobSamplerTest, TheFirstSampleOnlyTellsWhereCountingStarts) {
  list(kOst, entry("4711", 1000, 10));
  EXPECT_EQ(take().first_targets, 1U);
  EXPECT_THAT(sink_.series(), SizeIs(0));
  list(kOst, entry("4711", 1500, 12) + entry("4712", 70, 7));
  const JobSampler::Taken taken = take();
  EXPECT_EQ(taken.rows, 2U);
  EXPECT_EQ(taken.entries, 2U);
  ASSERT_THAT(sink_.series(), SizeIs(2));
  const SeriesRow row = sink_.series()[0];
  EXPECT_EQ(row, (SeriesRow{.cluster = "c",
                            .target = "fs-OST0000",
                            .id = "4711",
                            .time = 1'794'787'260,
                            .seconds = 60,
                            .data = {.write_bytes = 500, .write_calls = 2}}));
  EXPECT_EQ(written("4712"), 70U);
}

TEST_F(JobSamplerTest, WhatDidNothingIsNotParsed) {
  list(kOst, entry("4711", 1000, 10) + entry("4712", 1000, 10));
  take();
  list(kOst, entry("4711", 1000, 10) + entry("4712", 1001, 11));
  const JobSampler::Taken taken = take();
  EXPECT_EQ(taken.changed, 1U);
  EXPECT_EQ(taken.rows, 1U);
}

TEST_F(JobSamplerTest, AnEntryThatWasDroppedStartsAnew) {
  list(kOst, entry("4711", 1000, 10));
  take();
  list(kOst, "");
  take();
  list(kOst, entry("4711", 2000, 20));  // more than before, and all of it is new
  take();
  EXPECT_EQ(written("4711"), 2000U);
  list(kOst, entry("4711", 3000, 30, 1'723'199'999));  // cleared between two samples: its start moved
  EXPECT_EQ(take().restarted, 1U);
  EXPECT_EQ(written("4711"), 5000U);
  list(kOst, entry("4711", 10, 1, 1'723'199'999));
  EXPECT_EQ(take().restarted, 1U);
  EXPECT_EQ(written("4711"), 5010U);
}

TEST_F(JobSamplerTest, JobIdsOfEveryForm) {
  list(kOst, "");
  take();
  list(kOst, entry("dd.1000", 1, 1) + entry("4711", 2, 1) + entry("\"4712:1001:n1\"", 3, 1) + entry("\"4712:1001:n2\"", 4, 1) +
                 entry("\"@x\\x0ay\"", 5, 1) + entry("\"ior:1000:node7\"", 6, 1) + entry("\xF0\x9F\x9A\x80", 7, 1));
  EXPECT_EQ(take().entries, 7U);
  std::map<std::string, std::pair<std::string, std::uint64_t>> rows;
  for (const SeriesRow& row : sink_.series()) rows[row.id] = {row.user, row.data.write_bytes};
  EXPECT_EQ(rows["dd.1000"], std::pair(std::string("1000"), std::uint64_t{1}));
  EXPECT_EQ(rows["4711"], std::pair(std::string(), std::uint64_t{2}));
  EXPECT_EQ(rows["@x\ny"].second, 5U);
  EXPECT_EQ(rows["ior:1000:node7"], std::pair(std::string("1000"), std::uint64_t{6}));
  EXPECT_EQ(rows["\xF0\x9F\x9A\x80"].second, 7U);
  std::uint64_t sum = 0;
  for (const auto& [id, row] : rows) sum += row.second;
  EXPECT_EQ(sum, 28U);  // nothing is lost, whoever the two nodes of one job are
}

TEST_F(JobSamplerTest, MetadataServers) {
  const auto job = [](unsigned opens, unsigned mkdirs) {
    return fmt::format(
        "- job_id: 4711\n  open: {{ samples: {}, unit: usecs, min: 1, max: 1, sum: 1, sumsq: 1 }}\n"
        "  mkdir: {{ samples: {}, unit: usecs, min: 1, max: 1, sum: 1, sumsq: 1 }}\n",
        opens, mkdirs);
  };
  list(kMdt, job(5, 1));
  take();
  list(kMdt, job(9, 1));
  take();
  ASSERT_THAT(sink_.series(), SizeIs(1));
  EXPECT_EQ(sink_.series()[0].metadata, (MetadataCalls{.open = 4}));
  EXPECT_EQ(sink_.series()[0].target, "fs-MDT0000");
}

TEST_F(JobSamplerTest, ASinkThatRefusesCostsNoBytes) {
  list(kOst, entry("4711", 1000, 10));
  take();
  list(kOst, entry("4711", 1500, 12));
  sink_.refuse = true;
  input::ParseReport report;
  EXPECT_FALSE(sampler_->take(clock_, sink_, report));
  clock_.advance(std::chrono::seconds{60});
  sink_.refuse = false;
  list(kOst, entry("4711", 1700, 13));
  take();
  ASSERT_THAT(sink_.series(), SizeIs(1));
  EXPECT_EQ(sink_.series()[0].data.write_bytes, 700U);
  EXPECT_EQ(sink_.series()[0].seconds, 120U);
}

TEST_F(JobSamplerTest, MemoryIsBounded) {
  list(kOst, "");
  take();
  std::string many;
  for (int i = 0; i < 300; ++i) many += entry(fmt::format("{}", 5000 + i), 10, 1);
  list(kOst, many);
  const JobSampler::Taken taken = take();
  EXPECT_EQ(taken.over_limit, 200U);
  EXPECT_EQ(taken.rows, 100U);
}

TEST_F(JobSamplerTest, ATargetThatGoesAwayStartsAnew) {
  list(kOst, entry("4711", 1000, 10));
  take();
  std::filesystem::remove(tree_.path(kOst));
  EXPECT_EQ(take().targets, 0U);
  list(kOst, entry("4711", 5000, 10));
  EXPECT_EQ(take().first_targets, 1U);
  EXPECT_THAT(sink_.series(), SizeIs(0));
}

TEST_F(JobSamplerTest, AnIdThatIsListedTwiceCountsOnce) {
  list(kOst, entry("4711", 1000, 10));
  take();
  list(kOst, entry("4711", 1100, 11) + entry("4711", 9000, 90));
  EXPECT_EQ(take().repeated, 1U);
  EXPECT_EQ(written("4711"), 100U);
}

// Random jobs come, write, pause, are dropped after 600 s, and are cleared: the rows have what they wrote since the sample
// before, but for what a restart hid.
TEST_F(JobSamplerTest, AgreesWithAServer) {
  constexpr std::uint64_t kSeed = 31;
  Rng rng(kSeed);
  struct Job {
    std::uint64_t shown = 0;
    std::uint64_t start = 1;
    int idle = 0;
    bool listed = false;
  };
  std::vector<Job> jobs(20);
  std::vector<std::uint64_t> expected(jobs.size(), 0);
  list(kOst, "");
  take();
  for (int minute = 0; minute < 200; ++minute) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", minute " << minute);
    std::string text;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = jobs[i];
      if (job.listed && (++job.idle > 10 || rng.chance(0.01))) job = {.start = job.start + 1};
      if (rng.chance(0.15)) {
        const std::uint64_t bytes = rng.between(1, 1'000'000);
        job.shown += bytes;
        job.listed = true;
        job.idle = 0;
        expected[i] += bytes;
      }
      if (job.listed) text += entry(fmt::format("{}", 1000 + i), job.shown, job.shown / 10, job.start);
    }
    list(kOst, text);
    take();
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(written(fmt::format("{}", 1000 + i)), expected[i]) << "seed " << kSeed;
}

TEST(JobTable, AgreesWithAMap) {
  constexpr std::uint64_t kSeed = 5;
  Rng rng(kSeed);
  JobTable table(2);
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> expected;  // a count, and the last sample
  for (std::uint64_t sample = 1; sample < 60; ++sample) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", sample " << sample);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t id = rng.below(400) << 20U;  // many collide
      JobTable::Entry found = table.find(id);
      EXPECT_EQ(static_cast<bool>(found), expected.contains(id));
      if (!found) found = table.insert(id);
      found.counts()[1] = sample + id;
      found.seen() = sample;
      expected[id] = {sample + id, sample};
    }
    const std::size_t gone = std::erase_if(expected, [sample](const auto& item) { return item.second.second != sample; });
    EXPECT_EQ(table.remove_unseen(sample), gone);
    EXPECT_EQ(table.size(), expected.size());
    for (const auto& [id, value] : expected) EXPECT_EQ(table.find(id).counts()[1], value.first);
  }
}

}  // namespace
}  // namespace iez::jobs
