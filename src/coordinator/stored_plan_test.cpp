#include "coordinator/stored_plan.hpp"

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

StoredPlan sample() {
  GlobalView view;
  EXPECT_TRUE(view.set_cluster(make_cluster("lab", 2, 4, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 5, 7U << 20U, 3);
  request.files[1].name += "{rank}";
  request.files[1].files = 4;
  request.freed = {{1, 1000}};
  request.slow = {{.ost = 3, .speed = 0.25}};
  request.phase_seconds = {0, 2.5};
  request.ran_s = 2e-9;
  request.files[2].phase = 4'000'000'000;
  request.files[3].read_phase = 0;
  request.files[4].read_phase = api::kMaxPhase;
  return view.plan(request, "user", 77, 5, 6).value();
}

TEST(StoredPlan, ComesBackAsItWas) {
  const StoredPlan plan = sample();
  EXPECT_EQ(decode(encode(plan)).value(), plan);
  EXPECT_EQ(plan.layouts.size(), 8U);
  EXPECT_EQ(plan.entries[2].phase, 4'000'000'000U);
  EXPECT_EQ(plan.entries[3].read_phase, 0);
  EXPECT_EQ(plan.entries[4].read_phase, std::int64_t{api::kMaxPhase});
  EXPECT_FALSE(plan.verdict.empty());
  EXPECT_GT(plan.gain, 0);
  EXPECT_EQ(plan.expires_ns, 11);
  EXPECT_EQ(plan.slow, (std::vector<api::SlowOst>{{.ost = 3, .speed = 0.25}}));
  EXPECT_EQ(std::pair(plan.began_ns, plan.ended_ns), std::pair(std::int64_t{3}, std::int64_t{5}));
}

// As 0.1 wrote it: one file of 3 stripes on OSTs 1, 2, 4, in no phase, with a flag of overstriping.
TEST(StoredPlan, OlderPlansAreOfOnePhase) {
  const auto bytes = [](std::initializer_list<int> list) {
    std::vector<std::byte> out;
    for (const int one : list) out.push_back(static_cast<std::byte>(one));
    return out;
  };
  const auto old = decode(bytes({2, 7,   1,  'u', 1,   'a', 1,   'l', 1, 'b', 0, 3, 5, 9, 0,  // to weights
                                 0, 0,   0,  0,   1,   1,   'r', 1,   0, 0,   0,              // costs and texts
                                 1, 1,   0,                                                   // one entry
                                 1, 100, 90, 40,  128, 128, 4,   0,   0, 0,   3, 1, 2, 4}));  // its layout
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->id, 7U);
  EXPECT_EQ(old->revision, 3U);
  EXPECT_EQ(old->verdict, "");
  EXPECT_EQ(old->gain, 1);
  ASSERT_EQ(old->entries.size(), 1U);
  EXPECT_EQ(old->entries[0].phase, 0U);
  EXPECT_EQ(old->entries[0].read_phase, -1);
  EXPECT_EQ(old->layouts.at(0).expected, 90U);
  EXPECT_EQ(old->layouts[0].stripe_size, 65536U);
  EXPECT_EQ(old->osts, (std::vector<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(decode(encode(*old)).value(), *old);
  // With a verdict, a gain of 1 and phases, and without the times of the last run.
  const auto third = decode(bytes({3,   7,   1,   'u', 1,   'a', 1,   'l', 1,  'b', 0, 1, 'v',   // to the verdict
                                   128, 128, 128, 128, 128, 128, 128, 248, 63, 3,   5, 9, 0,     // gain, to weights
                                   0,   0,   0,   0,   1,   1,   'r', 1,   0,  0,   0,           // costs and texts
                                   1,   1,   0,   2,   0,                                        // one entry
                                   1,   100, 90,  40,  128, 128, 4,   0,   0,  3,   1, 2, 4}));  // its layout
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->gain, 1);
  EXPECT_EQ(third->entries.at(0).phase, 2U);
  EXPECT_EQ(third->began_ns, third->ended_ns);
  EXPECT_EQ(decode(encode(*third)).value(), *third);
  // With those, and without slow OSTs.
  const auto fourth = decode(bytes({4,   7,   1,   'u', 1,   'a', 1,   'l', 1,  'b', 0, 1, 'v',        // to the verdict
                                    128, 128, 128, 128, 128, 128, 128, 248, 63, 3,   5, 9, 4,   6, 0,  // gain, to weights
                                    0,   0,   0,   0,   1,   1,   'r', 1,   0,  0,   0,                // costs and texts
                                    1,   1,   0,   2,   0,                                             // one entry
                                    1,   100, 90,  40,  128, 128, 4,   0,   0,  3,   1, 2, 4}));       // its layout
  ASSERT_TRUE(fourth) << fourth.error().message;
  EXPECT_EQ(std::pair(fourth->began_ns, fourth->ended_ns), std::pair(std::int64_t{4}, std::int64_t{6}));
  EXPECT_TRUE(fourth->slow.empty() && fourth->phase_seconds.empty() && fourth->together.empty());
  EXPECT_EQ(decode(encode(*fourth)).value(), *fourth);
}

TEST(StoredPlan, DamageIsNoticedOrHarmless) {
  const auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer));
  Rng rng(5);
  for (int round = 0; round < 5000; ++round) {
    auto damaged = bytes;
    damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.below(256));
    if (const auto plan = decode(damaged)) {
      (void)answer_of(*plan);
      (void)plan->reserved();
    }
  }
}

TEST(StoredPlan, CreatedFilesLeave) {
  const StoredPlan plan = sample();
  const std::uint64_t all = plan.reserved();
  const auto some = with_created(plan, {.files = {{0, 0}, {1, 2}}}).value();
  ASSERT_TRUE(some);
  EXPECT_EQ(some->created(), 3U);
  EXPECT_LT(some->reserved(), all);
  // Told again, or told less: nothing changes.
  EXPECT_EQ(*with_created(*some, {.files = {{1, 1}}}).value(), *some);
  EXPECT_EQ(with_created(*some, {.files = {{1, 99}, {2, 0}, {3, 0}, {4, 0}}}).value(), nullptr);
  EXPECT_EQ(with_created(plan, {.all = true}).value(), nullptr);
  EXPECT_EQ(with_created(plan, {.files = {{5, 0}}}).error().message, "file 5: the plan has 5 files");
}

TEST(StoredPlan, Ids) {
  EXPECT_EQ(id_text(0xABC), "0000000000000abc");
  EXPECT_EQ(parse_id("0000000000000abc"), 0xABCU);
  for (const char* bad : {"", "abc", "0000000000000ABC", "0000000000000ab/", "00000000000000abc"})
    EXPECT_EQ(parse_id(bad), 0U) << bad;
}

}  // namespace
}  // namespace iez::coordinator
