#include "coordinator/global_view.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

constexpr std::int64_t kTtl = 1'000'000;

void expect_sums(const GlobalView& view, std::uint32_t osts) {
  const auto sums = summed(view, "lab");
  for (std::uint32_t ost = 0; ost < osts; ++ost) {
    const auto found = sums.find(ost);
    ASSERT_EQ(view.reserved("lab", {ost}).count, found == sums.end() ? 0 : found->second) << "OST " << ost;
  }
}

TEST(GlobalView, TwoApplicationsSeeEachOther) {
  GlobalView view(balanced());
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 2, 2, 1U << 30U), {}));
  // Two objects on four targets, twice: the second plan takes the other two.
  const auto first = view.plan(make_request("a", 1, 100U << 20U, 2), "u", 1, 0, kTtl).value();
  view.put(1, std::make_shared<const StoredPlan>(first));
  const auto second = view.plan(make_request("b", 1, 100U << 20U, 2), "v", 2, 0, kTtl).value();
  std::vector<std::uint32_t> all = first.osts;
  all.insert(all.end(), second.osts.begin(), second.osts.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(first.reasons.at(0), "2 of 4 usable OSTs, 4.9 % full afterwards");
}

TEST(GlobalView, SixtyFourFilesAreAtTheOptimum) {
  GlobalView view(balanced());
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 10ULL << 30U), {}));
  const auto plan = view.plan(make_request("ior", 64, 1U << 30U, 8), "u", 1, 0, kTtl).value();
  // 512 objects on 15 targets: 35 on the fullest, 512/15 on average.
  EXPECT_NEAR(plan.after.ost, 35.0 / (512.0 / 15.0), 1e-9);
}

TEST(GlobalView, PlansAroundWhatIsStaleDeadOrFull) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 1, 4, 1U << 30U);
  cluster.osts[1].state.active = false;
  cluster.osts[2].available = {};
  ASSERT_TRUE(view.set_cluster(cluster, {{3}}));
  const auto plan = view.plan(make_request("a", 3, 1U << 20U, 4), "u", 1, 0, kTtl).value();
  EXPECT_EQ(plan.osts, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(plan.notes.at(0), "3 of 4 OSTs are planned around: 1 (inactive), 2 (full), 3 (no recent telemetry)");
  EXPECT_EQ(view.weights("").value(), (std::vector<api::OstWeight>{{0, 100}}));
}

TEST(GlobalView, TellsWhatItDoesNotKnow) {
  GlobalView view(balanced());
  EXPECT_EQ(view.resolve("").error().message, "no agent has told of any file system yet");
  ASSERT_TRUE(view.set_cluster(make_cluster("one", 1, 1, 1U << 30U), {}));
  EXPECT_EQ(view.resolve("").value(), "one");
  ASSERT_TRUE(view.set_cluster(make_cluster("two", 1, 1, 1U << 30U), {}));
  EXPECT_EQ(view.resolve("").error().message, "'file_system' is missing; known are one, two");
  EXPECT_EQ(view.resolve("three").error().code, Errc::not_found);
  EXPECT_EQ(
      view.plan({.application = "a", .file_system = "one", .files = {{.name = "/a", .bytes = 2ULL << 30U}}}, "u", 1, 0, kTtl)
          .error()
          .code,
      Errc::limit);
}

TEST(GlobalView, ReservesTheHighEstimateWhereItFits) {
  GlobalView view(balanced());
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 2, 100U << 20U), {}));
  api::PlanRequest request = make_request("a", 1, 10U << 20U, 1);
  request.files[0].high = 40U << 20U;
  const auto plan = view.plan(request, "u", 1, 0, kTtl).value();
  EXPECT_EQ(plan.reserved(), 40U << 20U);
  request.files[0].high = 200U << 20U;  // nowhere at once: over both targets, if it may be cut
  EXPECT_EQ(view.plan(request, "u", 1, 0, kTtl).error().code, Errc::limit);
}

TEST(GlobalView, FreedBytesCountForTheirPlanOnly) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 1, 2, 100U << 20U);
  cluster.osts[0].free = cluster.osts[0].available = Bytes{20U << 20U};
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  api::PlanRequest request = make_request("a", 2, 90U << 20U, 1);
  EXPECT_FALSE(view.plan(request, "u", 1, 0, kTtl));
  request.freed = {{0, 80U << 20U}};
  const auto plan = view.plan(request, "u", 1, 0, kTtl);
  ASSERT_TRUE(plan);
  view.put(1, std::make_shared<const StoredPlan>(*plan));
  EXPECT_TRUE(view.mend(10).empty());
  EXPECT_EQ(view.targets("lab")[0].available, Bytes{20U << 20U});
}

// Two applications that ran at once: the files of both are there, and both will be replaced.
TEST(GlobalView, WhatPendingPlansReplaceWeighsNothing) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 1, 2, 100U << 20U);
  for (const std::size_t ost : {0U, 1U}) cluster.osts[ost].free = cluster.osts[ost].available = Bytes{(70U - ost * 40) << 20U};
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  api::PlanRequest first = make_request("a", 1, 10U << 20U, 1);
  first.freed = {{0, 10U << 20U}, {1, 70U << 20U}};
  const auto plan = view.plan(first, "u", 1, 0, kTtl);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->osts, (std::vector<std::uint32_t>{1})) << "with 20 MiB of others on the first";
  view.put(1, std::make_shared<const StoredPlan>(*plan));
  api::PlanRequest second = make_request("b", 1, 10U << 20U, 1);
  second.freed = {{0, 20U << 20U}};
  EXPECT_EQ(view.plan(second, "u", 2, 0, kTtl)->osts, (std::vector<std::uint32_t>{0})) << "the other has the first plan";
  second.freed.clear();
  EXPECT_EQ(view.plan(second, "u", 2, 0, kTtl)->osts, (std::vector<std::uint32_t>{1})) << "10 MiB planned against 20 MiB there";
  view.put(1, with_created(*plan, {.files = {{.file = 0, .files = 0}}}).value());
  EXPECT_EQ(view.plan(second, "u", 2, 0, kTtl)->osts, (std::vector<std::uint32_t>{0})) << "30 MiB against 70, as telemetry says";
}

TEST(GlobalView, ApplicationsThatComeAtOnceArePlannedTogether) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 1, 4, 1U << 30U);
  // Files of the second application, which the first one is planned around, and which will be replaced.
  cluster.osts[0].free = cluster.osts[0].available = Bytes{(1U << 30U) - (100U << 20U)};
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  const auto first = view.plan(make_request("a", 3, 100U << 20U, 1), "u", 1, 10, kTtl);
  ASSERT_TRUE(first);
  EXPECT_EQ(std::ranges::count(first->osts, 0U), 0);
  view.put(1, std::make_shared<const StoredPlan>(*first));
  EXPECT_TRUE(view.rebalance(0).empty()) << "alone";
  api::PlanRequest request = make_request("b", 2, 100U << 20U, 2);
  request.freed = {{0, 100U << 20U}};
  const auto second = view.plan(request, "u", 2, 20, kTtl);
  ASSERT_TRUE(second);
  view.put(2, std::make_shared<const StoredPlan>(*second));
  EXPECT_TRUE(view.rebalance(15).empty()) << "the first one was made long ago";
  const auto changes = view.rebalance(0);
  std::map<std::uint32_t, std::uint64_t> load;
  for (const auto& [id, plan] : view.plans()) {
    for (const StoredLayout& layout : plan->layouts) {
      for (const std::uint32_t ost : plan->osts_of(layout)) load[ost] += layout.object_bytes;
    }
  }
  std::uint64_t most = 0;
  for (const auto& [ost, bytes] : load) {
    most = std::max(most, bytes);
    EXPECT_EQ(view.reserved("lab", {ost}), Bytes{bytes});
  }
  EXPECT_LE(most, 150U << 20U) << "500 MiB on four targets, in pieces of 100 and 50";
  for (const PlanChange& change : changes) {
    EXPECT_EQ(change.after->revision, change.before->revision + 1);
    EXPECT_EQ(change.after->entries, change.before->entries);
  }
  EXPECT_TRUE(view.rebalance(0).empty()) << "it comes to rest";
}

// Small objects first, then large ones: only together is there an even placement.
TEST(GlobalView, LargeObjectsComeFirstThoughTheyWereAskedForLast) {
  GlobalView view(balanced());
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  const auto put = [&](std::uint64_t id, const api::PlanRequest& request) {
    auto plan = view.plan(request, "u", id, 0, kTtl);
    ASSERT_TRUE(plan);
    view.put(id, std::make_shared<const StoredPlan>(*std::move(plan)));
  };
  put(1, make_request("small", 16, 33U << 18U, 8));
  put(2, make_request("large", 16, 32U << 20U, 4));
  EXPECT_GT(view.find(2)->after.ost, 1.1);
  EXPECT_EQ(view.rebalance(0).size(), 2U);
  EXPECT_LT(view.find(2)->after.ost, 1.02);
  EXPECT_EQ(view.find(1)->revision, 2U);
  EXPECT_TRUE(view.rebalance(0).empty());
}

// The files that both replace are being removed: less is there than both together say they free.
TEST(GlobalView, PlannedTogetherWhileOldFilesGo) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 3, 5, 1U << 30U);
  for (model::Ost& ost : cluster.osts) {
    ost.free = ost.available = Bytes{(1U << 30U) - ((ost.index.value % 4 * 7 + 3ULL) << 20U)};
  }
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  for (const std::uint64_t id : {1ULL, 2ULL}) {
    api::PlanRequest request = id == 1 ? make_request("small", 16, 33U << 18U, 8) : make_request("large", 16, 32U << 20U, 4);
    for (std::uint32_t ost = 0; ost < 15; ++ost) request.freed.push_back({ost, 20U << 20U});
    auto plan = view.plan(request, "u", id, 0, kTtl);
    ASSERT_TRUE(plan);
    view.put(id, std::make_shared<const StoredPlan>(*std::move(plan)));
  }
  EXPECT_EQ(view.rebalance(0).size(), 2U);
  EXPECT_NEAR(view.find(2)->after.ost, 1.0113, 0.001) << "as on empty targets";
}

// A first run tells little of sizes: more is reserved than expected. That must not count as bytes of others.
TEST(GlobalView, WhatIsExpectedDecidesAndWhatIsReservedFits) {
  GlobalView view(balanced());
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}));
  api::PlanRequest first = make_request("a", 2, 100U << 20U, 1);
  for (api::FileRequest& file : first.files) file.high = 200U << 20U;
  const auto one = view.plan(first, "u", 1, 0, kTtl);
  ASSERT_TRUE(one);
  view.put(1, std::make_shared<const StoredPlan>(*one));
  for (const std::uint32_t ost : one->osts) EXPECT_EQ(view.reserved("lab", {ost}), Bytes{200U << 20U});
  // 600 MiB are expected in all: 150 on each, if the 100 of the first count as 100.
  const auto two = view.plan(make_request("b", 8, 50U << 20U, 1), "u", 2, 0, kTtl);
  ASSERT_TRUE(two);
  for (std::uint32_t ost = 0; ost < 4; ++ost) {
    EXPECT_EQ(std::ranges::count(two->osts, ost), std::ranges::count(one->osts, ost) == 1 ? 1 : 3) << ost;
  }
  EXPECT_NEAR(two->after.ost, 1, 1e-9);
  // Room is what nobody has reserved.
  EXPECT_FALSE(view.plan(make_request("c", 1, 900U << 20U, 1), "u", 3, 0, kTtl).value().osts.empty());
  const auto wide = view.plan(make_request("d", 4, 900U << 20U, 1), "u", 3, 0, kTtl);
  EXPECT_FALSE(wide) << "two targets have but 824 MiB left";
}

TEST(GlobalView, MendsWhenATargetDiesOrFills) {
  GlobalView view(balanced());
  model::Cluster cluster = make_cluster("lab", 2, 3, 1U << 30U);
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  auto plan = view.plan(make_request("a", 6, 50U << 20U, 2), "u", 1, 0, kTtl).value();
  plan.entries[0].created = 1;
  view.put(1, std::make_shared<const StoredPlan>(plan));
  EXPECT_TRUE(view.mend(10).empty());
  // Nothing moves because its telemetry is old.
  ASSERT_TRUE(view.set_cluster(cluster, {{0}, {1}}));
  EXPECT_TRUE(view.mend(10).empty());
  cluster.osts[plan.osts.back()].state.active = false;
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  const auto changes = view.mend(10);
  ASSERT_EQ(changes.size(), 1U);
  const StoredPlan& mended = *changes[0].after;
  EXPECT_EQ(mended.revision, 2U);
  for (std::size_t i = 0; i < mended.entries.size(); ++i) {
    const auto before = plan.osts_of(plan.layouts[i]);
    const auto after = mended.osts_of(mended.layouts[i]);
    if (i == 0) {
      EXPECT_TRUE(std::ranges::equal(before, after)) << "a file that exists keeps what it has";
    } else {
      EXPECT_EQ(std::ranges::count(after, plan.osts.back()), 0);
    }
  }
  EXPECT_TRUE(view.mend(10).empty());
  expect_sums(view, 6);
}

// Whatever happens in whatever order: sums are those of the plans, nothing is on a target that takes nothing, and a view made
// anew from the plans is the same.
TEST(GlobalView, HoldsWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    GlobalView view(balanced());
    model::Cluster cluster = make_cluster("lab", 3, 4, 2ULL << 30U);
    std::vector<OstIndex> stale;
    ASSERT_TRUE(view.set_cluster(cluster, stale));
    std::uint64_t id = 0;
    for (int step = 0; step < 150; ++step) {
      const std::uint64_t what = rng.below(10);
      std::vector<std::uint64_t> known;
      for (const auto& [number, plan] : view.plans()) known.push_back(number);
      std::ranges::sort(known);
      if (what < 5 || known.empty()) {
        const api::PlanRequest request = random_plan_request(rng);
        const auto plan = view.plan(request, "u", ++id, step, static_cast<std::int64_t>(rng.below(200)));
        if (plan) {
          for (const std::uint32_t ost : plan->osts) {
            ASSERT_TRUE(cluster.osts[ost].state.active);
            ASSERT_GT(cluster.osts[ost].available.count, 0U);
            ASSERT_EQ(std::ranges::count(stale, OstIndex{ost}), 0);
          }
          view.put(id, std::make_shared<const StoredPlan>(*plan));
        }
      } else if (what < 7) {
        const std::uint64_t chosen = known[rng.below(known.size())];
        const PlanPointer plan = view.find(chosen);
        const auto entry = static_cast<std::uint32_t>(rng.below(plan->entries.size()));
        view.put(chosen, with_created(*plan, {.files = {{entry, rng.below(3)}}}).value());
      } else if (what < 8) {
        for (const PlanPointer& plan : view.expired(step)) view.put(plan->id, nullptr);
        view.put(known[rng.below(known.size())], nullptr);
      } else {
        model::Ost& ost = cluster.osts[rng.below(cluster.osts.size())];
        ost.state.active = rng.chance(0.7);
        ost.available = ost.free = Bytes{rng.chance(0.2) ? 0 : rng.between(1, 2048) << 20U};
        stale.clear();
        if (rng.chance(0.3)) stale.push_back({static_cast<std::uint32_t>(rng.below(12))});
        ASSERT_TRUE(view.set_cluster(cluster, stale));
        for (const PlanChange& change : view.mend(100)) {
          ASSERT_EQ(change.after->revision, change.before->revision + 1);
          for (const StoredEntry& entry : change.after->entries) {
            for (std::uint32_t i = entry.created; i < entry.layouts; ++i) {
              for (const std::uint32_t target : change.after->osts_of(change.after->layouts[entry.first + i])) {
                ASSERT_TRUE(cluster.osts[target].state.active);
              }
            }
          }
        }
      }
      expect_sums(view, 12);
    }
    GlobalView again(balanced());
    for (const auto& [number, plan] : view.plans()) {
      again.put(number, std::make_shared<const StoredPlan>(decode(encode(*plan)).value()));
    }
    ASSERT_TRUE(again.set_cluster(cluster, stale));
    EXPECT_EQ(again.pending_files(), view.pending_files());
    const auto left = view.targets("lab");
    const auto right = again.targets("lab");
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].reserved, right[i].reserved);
      EXPECT_EQ(left[i].exclusion, right[i].exclusion);
    }
    const api::PlanRequest probe = make_request("probe", 4, 1U << 20U, 2);
    const auto one = view.plan(probe, "u", 9, 0, kTtl);
    const auto two = again.plan(probe, "u", 9, 0, kTtl);
    ASSERT_EQ(one.has_value(), two.has_value());
    if (one) {
      EXPECT_EQ(one->osts, two->osts);
    }
  }
}

}  // namespace
}  // namespace iez::coordinator
