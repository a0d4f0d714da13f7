#include "contention.hpp"

#include <gtest/gtest.h>

#include "contention_live.hpp"
#include "lustre/job_stats.hpp"

namespace iez::cli {
namespace {

TEST(LoadSteps, EachThenDoubling) {
  EXPECT_EQ(load_steps(3), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(load_steps(20).size(), 20U);
  EXPECT_EQ(load_steps(21), (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 21}));
  EXPECT_EQ(load_steps(64), (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(load_steps(~std::uint64_t{0}).size(), 65U);
}

TEST(LoadRows, ThePublishedTable) {
  const auto rows = load_rows(480, 160, 10);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 10U);
  EXPECT_NEAR((*rows)[3].usage.in_use, 385.19, 0.005);
  EXPECT_NEAR((*rows)[3].usage.load, 1.66, 0.005);
  EXPECT_NEAR((*rows)[9].usage.in_use, 471.68, 0.005);
  EXPECT_EQ((*rows)[9].stripes, 160U);
}

TEST(LoadRows, UnequalRequestsJobByJob) {
  const auto rows = load_rows(480, {160, 64, 64});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3U);
  // 160 + 64 - 160 * 64 / 480, then the same once more.
  EXPECT_NEAR((*rows)[1].usage.in_use, 202.6667, 1e-4);
  EXPECT_NEAR((*rows)[2].usage.in_use, 202.6667 + 64 - 202.6667 * 64 / 480, 1e-3);
  EXPECT_EQ((*rows)[2].usage.requested, 288);
  EXPECT_EQ((*rows)[0].stripes, 160U);
  EXPECT_FALSE(load_rows(100, {160}));
}

TEST(OstsForRequests, AgreesWithTheEqualCase) {
  for (const double load : {1.1, 1.5, 2.0, 3.0}) {
    const auto equal = contention::osts_for_load(160, 4, load);
    const auto listed = osts_for_requests({160, 160, 160, 160}, load);
    ASSERT_TRUE(equal && listed);
    EXPECT_EQ(*listed, *equal) << load;
  }
}

TEST(OstsForRequests, OneFewerIsTooFew) {
  const std::vector<std::uint32_t> requests{160, 64, 64};
  const auto osts = osts_for_requests(requests, 1.2);
  ASSERT_TRUE(osts && *osts);
  EXPECT_LE(contention::expected_usage(**osts, requests)->load, 1.2);
  EXPECT_GT(contention::expected_usage(**osts - 1, requests)->load, 1.2);
  EXPECT_EQ(*osts_for_requests(requests, 1), std::nullopt);
  EXPECT_EQ(*osts_for_requests({7}, 1), 7U);
}

lustre::JobEntry entry(const std::string& id, std::uint64_t written) {
  lustre::JobEntry made;
  made.id = id;
  made.rows.push_back({.operation = model::Operation::write_bytes, .samples = 1, .sum = written});
  return made;
}

constexpr std::uint64_t kMib = 1U << 20U;

// a: OSTs 0 and 1; b: OST 1; small: OST 0, half a MiB; reader: writes nothing.
lustre::JobSample sample(std::uint64_t factor = 1) {
  lustre::JobSample made;
  const auto ost0 = made.add_target({.name = "fs-OST0000", .server = "s", .sampled = WallTime{std::chrono::seconds(factor)}});
  const auto ost1 = made.add_target({.name = "fs-OST0001", .server = "s", .sampled = WallTime{std::chrono::seconds(factor)}});
  (void)made.add_target({.name = "fs-OST0002", .server = "s", .sampled = WallTime{std::chrono::seconds(factor)}});
  const auto mdt = made.add_target({.name = "fs-MDT0000", .server = "s", .sampled = WallTime{std::chrono::seconds(factor)}});
  made.add(ost0, entry("a", 4 * kMib * factor));
  made.add(ost0, entry("small", kMib / 2));
  made.add(ost0, entry("reader", 0));
  made.add(ost1, entry("a", 2 * kMib * factor));
  made.add(ost1, entry("b", 8 * kMib));
  made.add(mdt, entry("a", 100 * kMib));
  return made;
}

TEST(LiveView, WhoWroteWhere) {
  const auto view = make_live_view(sample(), {}, {});
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->file_system, "fs");
  EXPECT_EQ(view->osts, 3U);
  EXPECT_EQ(view->basis, RateBasis::none);
  EXPECT_EQ(view->jobs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(view->job_bytes, (std::vector{Bytes::mib(6), Bytes::mib(8)}));
  EXPECT_EQ(view->ost_bytes, (std::vector{Bytes::mib(4), Bytes::mib(10)}));
  EXPECT_EQ(view->jobs_seen, 4U);
  EXPECT_EQ(view->jobs_small, 1U);
  EXPECT_EQ(view->state.now, (contention::Usage{.in_use = 2, .requested = 3, .load = 1.5}));
  ASSERT_EQ(view->state.pairs.size(), 1U);
  EXPECT_EQ(view->state.pairs[0].osts, 1U);
}

TEST(LiveView, BetweenTwoSamples) {
  const auto before = sample(1);
  const auto view = make_live_view(sample(2), {.before = &before}, {});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->basis, RateBasis::interval);
  // Only a went on.
  EXPECT_EQ(view->jobs, std::vector<std::string>{"a"});
  EXPECT_EQ(view->job_bytes, std::vector{Bytes::mib(6)});
  EXPECT_DOUBLE_EQ(view->state.jobs[0].rate.value, 6.0 * kMib);
  EXPECT_EQ(view->interval, Duration(std::chrono::seconds(1)));
}

TEST(LiveView, MinimumAndChosenOsts) {
  const auto all = make_live_view(sample(), {.min_bytes = {0}}, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->jobs, (std::vector<std::string>{"a", "small", "b"}));
  const auto one = make_live_view(sample(), {.osts = std::set<std::uint32_t>{1}, .machine_osts = 10}, {});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->osts, 10U);
  EXPECT_EQ(one->state.now.in_use, 1);
}

TEST(LiveView, SeveralFileSystemsMustBeChosenFrom) {
  auto two = sample();
  (void)two.add_target({.name = "other-OST0000", .server = "s"});
  const auto view = make_live_view(two, {}, {});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().message, "there are several file systems: fs, other; choose one with --fs");
  EXPECT_TRUE(make_live_view(two, {.file_system = "fs"}, {}));
  EXPECT_EQ(make_live_view(two, {.file_system = "x"}, {}).error().message,
            "no job_stats of an OST of file system 'x'; found: fs, other");
}

TEST(LiveView, Text) {
  const auto view = make_live_view(sample(), {}, {});
  ASSERT_TRUE(view);
  const std::string text = live_text(*view, {}, {});
  EXPECT_NE(text.find("fs: 2 jobs on 2 of 3 OSTs, 1 that hardly wrote left out; written since"), std::string::npos) << text;
  EXPECT_NE(text.find("OSTs by jobs:  1 with 0  1 with 1  1 with 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("fs-OST0001     2  10.5 MB        -  a, b\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace iez::cli
