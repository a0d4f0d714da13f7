#include "coordinator/together.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

constexpr std::int64_t kTtl = 3600'000'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// A plan of a request that comes at that second, after a run of so many.
PlanPointer plan_of(GlobalView& view, std::uint64_t id, api::PlanRequest request, std::int64_t now_s, double ran_s) {
  request.ran_s = ran_s;
  auto plan = view.plan(request, "u", id, now_s * kSecond, kTtl);
  EXPECT_TRUE(plan);
  view.put(id, std::make_shared<const StoredPlan>(*std::move(plan)));
  return view.find(id);
}

api::PlanRequest small_objects() { return make_request("small", 16, 33U << 18U, 8); }
api::PlanRequest large_objects() { return make_request("large", 16, 32U << 20U, 4); }

void expect_sums(const GlobalView& view, std::uint32_t osts) {
  const auto sums = summed(view, "lab");
  for (std::uint32_t ost = 0; ost < osts; ++ost) {
    const auto found = sums.find(ost);
    EXPECT_EQ(view.reserved("lab", {ost}).count, found == sums.end() ? 0 : found->second) << "OST " << ost;
  }
}

TEST(Together, RunsThatOverlappedForHalfOfTheShorterOneRanSideBySide) {
  const auto ran = [](std::int64_t began, std::int64_t ended) {
    StoredPlan plan;
    plan.began_ns = began;
    plan.ended_ns = ended;
    return plan;
  };
  EXPECT_TRUE(ran_side_by_side(ran(0, 100), ran(90, 110)));
  EXPECT_TRUE(ran_side_by_side(ran(90, 110), ran(0, 100)));
  EXPECT_TRUE(ran_side_by_side(ran(0, 100), ran(40, 50)));
  EXPECT_FALSE(ran_side_by_side(ran(0, 100), ran(92, 110))) << "the one began when the other was about to end";
  EXPECT_FALSE(ran_side_by_side(ran(0, 100), ran(200, 300)));
  EXPECT_FALSE(ran_side_by_side(ran(0, 100), ran(0, 0))) << "not known";
}

// Small objects first, then large ones: only together is there an even placement.
TEST(Together, LargeObjectsComeFirstThoughTheyWereAskedForLast) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  const PlanPointer small = plan_of(view, 1, small_objects(), 100, 10);
  EXPECT_TRUE(view.plan_together().empty()) << "alone";
  const PlanPointer large = plan_of(view, 2, large_objects(), 101, 10);
  EXPECT_GT(large->after.ost, 1.1);
  const auto changes = view.plan_together();
  ASSERT_EQ(changes.size(), 2U);
  for (const PlanChange& change : changes) {
    EXPECT_EQ(change.after->revision, 2U);
    EXPECT_EQ(change.after->entries, change.before->entries);
    EXPECT_EQ(change.after, view.find(change.after->id));
    EXPECT_LT(change.after->after.ost, 1.02);
    EXPECT_EQ(change.after->together, (std::vector<std::uint64_t>{change.after->id == 1 ? 2ULL : 1ULL}));
    EXPECT_EQ(change.after->made_ns, change.before->made_ns);
    EXPECT_NE(change.after->reasons.at(0).find("planned together"), std::string::npos);
    EXPECT_EQ(decode(encode(*change.after)).value(), *change.after);
    for (std::size_t i = 0; i < change.after->layouts.size(); ++i) {
      EXPECT_EQ(change.after->layouts[i].stripes, change.before->layouts[i].stripes);
      EXPECT_EQ(change.after->layouts[i].stripe_size, change.before->layouts[i].stripe_size);
      EXPECT_EQ(change.after->layouts[i].bytes, change.before->layouts[i].bytes);
    }
  }
  expect_sums(view, 15);
  EXPECT_TRUE(view.plan_together().empty()) << "it comes to rest";
}

// What only one of both has seen counts for both: together, too, nothing goes to an OST that was found slow.
TEST(Together, WhatWasFoundSlowIsNotUsedAgain) {
  for (const bool both : {true, false}) {
    SCOPED_TRACE(both);
    GlobalView view;
    ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
    api::PlanRequest small = small_objects();
    api::PlanRequest large = large_objects();
    large.slow = {{.ost = 0, .speed = 0.02}};
    if (both) small.slow = large.slow;
    plan_of(view, 1, small, 100, 10);
    plan_of(view, 2, large, 101, 10);
    const auto changes = view.plan_together();
    EXPECT_EQ(changes.size(), 2U);
    for (const std::uint64_t id : {1ULL, 2ULL}) {
      EXPECT_EQ(std::ranges::count(view.find(id)->osts, 0U), 0) << "plan " << id;
    }
  }
}

TEST(Together, OneAfterTheOtherStaysAsItIs) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  plan_of(view, 1, small_objects(), 100, 10);
  plan_of(view, 2, large_objects(), 110, 9);
  EXPECT_TRUE(view.plan_together().empty()) << "the second run began when the first had ended";
  plan_of(view, 3, large_objects(), 110, 0);
  EXPECT_TRUE(view.plan_together().empty()) << "nobody knows when the third ran";
}

// After a restart plans are there before agents have told of any target.
TEST(Together, WhatComesBeforeItsTargetsAreKnownHasItsTurnLater) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  GlobalView again;
  again.put(1, plan_of(view, 1, small_objects(), 100, 10));
  again.put(2, plan_of(view, 2, large_objects(), 101, 10));
  EXPECT_TRUE(again.plan_together().empty());
  ASSERT_TRUE(again.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  EXPECT_EQ(again.plan_together().size(), 2U);
}

TEST(Together, PlansOfSeveralPhasesOrThatHaveBegunStay) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  const PlanPointer small = plan_of(view, 1, small_objects(), 100, 10);
  api::PlanRequest steps = large_objects();
  for (std::size_t i = 8; i < 16; ++i) steps.files[i].phase = 1;
  plan_of(view, 2, steps, 100, 10);
  EXPECT_TRUE(view.plan_together().empty());
  view.put(2, nullptr);
  view.put(1, with_created(*small, {.files = {{.file = 0, .files = 0}}}).value());
  plan_of(view, 3, large_objects(), 100, 10);
  EXPECT_TRUE(view.plan_together().empty()) << "a plan never changes under a run that has begun";
}

// All others wait meanwhile.
TEST(Together, WhatWouldTakeTooLongStays) {
  GlobalView view(4'000);
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 2000, 5, 1ULL << 42U), {}));
  Rng rng(3);
  for (const std::uint64_t id : {1ULL, 2ULL}) {
    api::PlanRequest request = make_request("a" + std::to_string(id), 10, 1, 10);
    for (api::FileRequest& file : request.files) {
      file.name += "{rank}";
      file.files = 499;
      file.bytes = rng.between(1, 1000) << 20U;
    }
    plan_of(view, id, request, 100, 10);
  }
  EXPECT_TRUE(view.plan_together().empty());
}

TEST(Together, WhatIsNotWorthItStays) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  const PlanPointer one = plan_of(view, 1, make_request("a", 30, 8U << 20U, 1), 100, 10);
  const PlanPointer two = plan_of(view, 2, make_request("b", 30, 8U << 20U, 1), 100, 10);
  EXPECT_TRUE(view.plan_together().empty());
  EXPECT_EQ(view.find(1), one);
  EXPECT_EQ(view.find(2), two);
  expect_sums(view, 15);
}

// The files that both replace are being removed: less is there than both together say they free.
TEST(Together, WhileOldFilesGo) {
  GlobalView view;
  model::Cluster cluster = make_cluster("lab", 3, 5, 1U << 30U);
  for (model::Ost& ost : cluster.osts) {
    ost.free = ost.available = Bytes{(1U << 30U) - ((ost.index.value % 4 * 7 + 3ULL) << 20U)};
  }
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  for (const std::uint64_t id : {1ULL, 2ULL}) {
    api::PlanRequest request = id == 1 ? small_objects() : large_objects();
    for (std::uint32_t ost = 0; ost < 15; ++ost) request.freed.push_back({ost, 20U << 20U});
    plan_of(view, id, request, 100, 10);
  }
  EXPECT_EQ(view.plan_together().size(), 2U);
  EXPECT_NEAR(view.find(2)->after.ost, 1.0113, 0.002) << "as on empty targets";
  expect_sums(view, 15);
}

// The largest sum on any target of what is written, and of what is read.
template <typename Plans>
std::uint64_t largest_sums(const Plans& plans) {
  std::map<std::uint32_t, std::uint64_t> written;
  std::map<std::uint32_t, std::uint64_t> read;
  for (const auto& plan : plans) {
    for (const StoredEntry& entry : plan->entries) {
      for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
        for (const std::uint32_t ost : plan->osts_of(plan->layouts[i])) {
          written[ost] += plan->layouts[i].object_bytes;
          if (entry.read_phase >= 0) read[ost] += plan->layouts[i].object_bytes;
        }
      }
    }
  }
  std::uint64_t out = 0;
  for (const auto* const sums : {&written, &read}) {
    std::uint64_t most = 0;
    for (const auto& [ost, bytes] : *sums) most = std::max(most, bytes);
    out += most;
  }
  return out;
}

// Whatever the applications: faster together or left as they were, with the same bytes; sums stay right, and it comes to rest.
TEST(Together, RandomApplications) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    GlobalView view(4'000);
    ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
    const bool all_at_once = rng.chance(0.5);
    for (std::uint64_t id = 1; id <= 5; ++id) {
      api::PlanRequest request = make_request("a" + std::to_string(id), rng.between(1, 20), rng.between(1, 20) << 20U,
                                              static_cast<std::int32_t>(rng.between(1, 8)));
      for (api::FileRequest& file : request.files) {
        file.left_alone = rng.chance(0.1);
        if (rng.chance(0.3)) {
          file.name += "{rank}";
          file.files = rng.between(1, 3);
        }
        file.read_phase = id % 3 == 0 ? 1 : -1;
      }
      request.ran_s = all_at_once ? 10 : static_cast<double>(rng.below(20));
      request.idle_s = all_at_once ? 0 : static_cast<double>(rng.below(20));
      auto plan = view.plan(request, "u", id, 100 * kSecond, kTtl);
      ASSERT_TRUE(plan);
      if (plan->id != 0) view.put(id, std::make_shared<const StoredPlan>(*std::move(plan)));
    }
    const auto changes = view.plan_together();
    std::vector<PlanPointer> before;
    std::vector<PlanPointer> after;
    for (const PlanChange& change : changes) {
      before.push_back(change.before);
      after.push_back(change.after);
      EXPECT_TRUE(is_of_one_phase(*change.before));
      EXPECT_EQ(decode(encode(*change.after)).value(), *change.after);
      EXPECT_EQ(change.after->reserved(), change.before->reserved());
    }
    if (all_at_once && !changes.empty()) {
      EXPECT_LT(static_cast<double>(largest_sums(after)), static_cast<double>(largest_sums(before)) * kWorthwhile);
    }
    if (!changes.empty()) ++changed;
    EXPECT_TRUE(view.plan_together().empty());
    expect_sums(view, 15);
  }
  EXPECT_GT(changed, 10U);
}

}  // namespace
}  // namespace iez::coordinator
