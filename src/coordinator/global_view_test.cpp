#include "coordinator/global_view.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/plan_json.hpp"
#include "coordinator/begin.hpp"
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
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 2, 2, 1U << 30U), {}));
  // Two objects on four targets, twice: the second plan takes the other two.
  const auto first = view.plan(make_request("a", 1, 100U << 20U, 2), "u", 1, 0, kTtl).value();
  view.put(1, std::make_shared<const StoredPlan>(first));
  const auto second = view.plan(make_request("b", 1, 100U << 20U, 2), "v", 2, 0, kTtl).value();
  std::vector<std::uint32_t> all = first.osts;
  all.insert(all.end(), second.osts.begin(), second.osts.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(first.reasons.at(0), "2 of 4 usable OSTs: 2 stripes are set for it");
}

TEST(GlobalView, PlansThatDoNotRunFade) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 2, 1U << 30U), {}));
  const auto waiting = view.plan(make_request("a", 1, 96U << 20U, 1), "u", 1, 0, 1200).value();
  const OstIndex ost{waiting.osts.at(0)};
  view.put(1, std::make_shared<const StoredPlan>(waiting));
  const auto reserved_at = [&](std::int64_t now) {
    view.fade(now);
    return view.reserved("lab", ost).count >> 20U;
  };
  EXPECT_EQ(reserved_at(399), 96U);  // a third of its life
  EXPECT_EQ(reserved_at(500), 84U);
  EXPECT_EQ(reserved_at(800), 48U);
  EXPECT_EQ(reserved_at(700), 48U);  // a clock that was set back brings nothing back
  EXPECT_EQ(reserved_at(1200), 0U);
  EXPECT_EQ(view.pending_files(), 1U);
  view.put(1, nullptr);
  EXPECT_EQ(view.reserved("lab", ost).count, 0U);
  EXPECT_EQ(view.eighths(1), 0U);
}

TEST(GlobalView, WhoPlansSeesWaitingPlansByTheirAge) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 2, 1U << 30U), {}));
  // 600 MiB wait on one of two targets of 1 GiB: while they count, two files of 450 MiB do not both find room beside them.
  const auto waiting = view.plan(make_request("a", 1, 600U << 20U, 1), "u", 1, 0, 1200).value();
  view.put(1, std::make_shared<const StoredPlan>(waiting));
  const api::PlanRequest two = make_request("b", 2, 450U << 20U, 1);
  const auto on = [&](std::int64_t now) {
    std::set<std::uint32_t> used;
    const auto plan = view.plan(two, "v", 2, now, kTtl);
    if (plan) used.insert(plan->osts.begin(), plan->osts.end());
    return used.size();
  };
  EXPECT_EQ(on(0), 1U);     // both beside each other, on the target without the plan
  EXPECT_EQ(on(1100), 2U);  // next to nothing of it is left
}

TEST(GlobalView, SixtyFourFilesAreAtTheOptimum) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 10ULL << 30U), {}));
  const auto plan = view.plan(make_request("ior", 64, 1U << 30U, 8), "u", 1, 0, kTtl).value();
  // 512 objects on 15 targets: 35 on the fullest, 512/15 on average.
  EXPECT_NEAR(plan.after.ost, 35.0 / (512.0 / 15.0), 1e-9);
}

TEST(GlobalView, PlansAroundWhatIsStaleDeadOrFull) {
  GlobalView view;
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
  GlobalView view;
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
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 2, 100U << 20U), {}));
  api::PlanRequest request = make_request("a", 1, 10U << 20U, 1);
  request.files[0].high = 40U << 20U;
  const auto plan = view.plan(request, "u", 1, 0, kTtl).value();
  EXPECT_EQ(plan.reserved(), 40U << 20U);
  request.files[0].high = 200U << 20U;  // nowhere at once: over both targets, if it may be cut
  EXPECT_EQ(view.plan(request, "u", 1, 0, kTtl).error().code, Errc::limit);
}

TEST(GlobalView, FreedBytesCountForTheirPlanOnly) {
  GlobalView view;
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
  GlobalView view;
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

// The issue: application Y after X was planned, X not running, its files removed. X's waiting plan is space on some targets more
// than on others; that must not push Y's files onto the rest.
TEST(GlobalView, WaitingPlansDoNotPushFilesOntoFewTargets) {
  for (const bool phases : {false, true}) {
    SCOPED_TRACE(phases);
    GlobalView view;
    ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
    api::PlanRequest unequal = make_request("x", 15, 1, 1);
    for (std::size_t i = 0; i < 15; ++i) unequal.files[i].bytes = (4 + 6 * i) << 20U;
    const auto waiting = view.plan(unequal, "u", 1, 0, kTtl);
    ASSERT_TRUE(waiting);
    view.put(1, std::make_shared<const StoredPlan>(*waiting));
    api::PlanRequest equal = make_request("y", phases ? 60 : 15, 12U << 20U, 1);
    for (std::size_t i = 0; i < equal.files.size(); ++i) equal.files[i].phase = static_cast<std::uint32_t>(i / 15);
    const auto plan = view.plan(equal, "u", 2, 0, kTtl);
    ASSERT_TRUE(plan);
    std::map<std::uint32_t, std::set<std::uint32_t>> used;
    for (const StoredEntry& entry : plan->entries) used[entry.phase].insert(plan->osts_of(plan->layouts[entry.first])[0]);
    for (const auto& [phase, osts] : used) EXPECT_EQ(osts.size(), 15U) << "phase " << phase;
    EXPECT_EQ(used.size(), phases ? 4U : 1U);
  }
}

// One file of each process in each step: round robin, from wherever its ring stands, is as good.
TEST(GlobalView, WhereTheDefaultIsAsGoodThereIsNoPlan) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 60, 12U << 20U, 1);
  for (std::size_t i = 0; i < request.files.size(); ++i) request.files[i].phase = static_cast<std::uint32_t>(i / 15);
  request.always = false;
  const auto none = view.plan(request, "u", 7, 100, kTtl);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->id, 0U);
  EXPECT_EQ(none->verdict, "Lustre's default is as good");
  EXPECT_NEAR(none->gain, 1, 0.02);
  EXPECT_EQ(none->entries.size(), 60U);
  EXPECT_TRUE(none->layouts.empty());
  EXPECT_EQ(none->reserved(), 0U);
  const api::PlanAnswer answer = answer_of(*none);
  EXPECT_EQ(answer.plan, "");
  EXPECT_EQ(answer.files.size(), 60U);
  EXPECT_TRUE(api::check_answer(answer));
  // Planned all the same, it says so, and is a plan.
  request.always = true;
  const auto always = view.plan(request, "u", 7, 100, kTtl);
  ASSERT_TRUE(always);
  EXPECT_EQ(always->id, 7U);
  EXPECT_EQ(always->verdict, "Lustre's default is as good; it was to be planned all the same");
  EXPECT_EQ(always->layouts.size(), 60U);
}

// Where it is not, the plan says how much is gained: 15 files of one step, two of them large.
TEST(GlobalView, APlanThatIsFasterSaysSo) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 32, 4U << 20U, 1);
  request.always = false;
  request.files[3].bytes = request.files[18].bytes = 64U << 20U;
  const auto plan = view.plan(request, "u", 7, 100, kTtl);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->id, 7U);
  EXPECT_GT(plan->gain, 1.02);
  EXPECT_NE(plan->verdict.find("of the default's time"), std::string::npos) << plan->verdict;
}

TEST(GlobalView, FilesThatAreLeftAloneHaveNoLayout) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 4, 4U << 20U, 1);
  request.files[1].left_alone = true;
  const auto plan = view.plan(request, "u", 7, 100, kTtl);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->layouts.size(), 3U);
  EXPECT_EQ(plan->entries[1].layouts, 0U);
  const api::PlanAnswer answer = answer_of(*plan);
  EXPECT_TRUE(answer.files[1].layouts.empty());
  EXPECT_EQ(answer.files[2].layouts.size(), 1U);
  EXPECT_EQ(decode(encode(*plan)).value(), *plan);
  // They are nothing to wait for.
  EXPECT_EQ(with_created(*plan, {.files = {{0, 0}, {2, 0}, {3, 0}}}).value(), nullptr);
  // All of them: nothing is to be planned, whatever was asked for.
  for (api::FileRequest& file : request.files) file.left_alone = true;
  const auto none = view.plan(request, "u", 7, 100, kTtl);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->id, 0U);
  EXPECT_EQ(none->verdict, "no file is large enough to be placed");
}

constexpr std::int64_t kSecond = 1'000'000'000;

// What others move on a target keeps files away from it, in phases whose duration is known.
TEST(GlobalView, TrafficOfOthersCounts) {
  const std::int64_t now = 1000 * kSecond;
  const auto uses_first = [&](const TargetRate& rate, double idle, std::vector<double> seconds) {
    GlobalView view;
    EXPECT_TRUE(view.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}, {rate}));
    api::PlanRequest request = make_request("a", 3, 10U << 20U, 1);
    request.idle_s = idle;
    request.phase_seconds = std::move(seconds);
    const auto plan = view.plan(request, "u", 1, now, kTtl);
    EXPECT_TRUE(plan);
    return std::ranges::count(plan->osts, 0U) > 0;
  };
  const TargetRate rate{.ost = {0}, .bytes_per_second = 50e6, .began_ns = now - 6 * kSecond, .ended_ns = now - kSecond};
  EXPECT_FALSE(uses_first(rate, 40, {2}));
  EXPECT_TRUE(uses_first(rate, 40, {})) << "nobody knows how long the phase lasts";
  EXPECT_TRUE(uses_first(rate, 35, {2})) << "clients may still write what its run left in their caches";
  EXPECT_TRUE(uses_first(rate, 0, {2})) << "its run has just ended";
  TargetRate old = rate;
  old.began_ns -= 10 * kSecond;
  old.ended_ns -= 10 * kSecond;
  EXPECT_TRUE(uses_first(old, 3600, {2})) << "older than two intervals";
  TargetRate elsewhere = rate;
  elsewhere.ost = {77};
  EXPECT_TRUE(uses_first(elsewhere, 40, {2})) << "an OST that is not known";
}

// A plan is made when its application's run has just ended, and what moves then may be that run's own. It is looked over when the
// next one begins.
class BeginTest : public testing::Test {
 protected:
  static constexpr std::int64_t kMade = 1000 * kSecond;
  static constexpr std::int64_t kBegins = kMade + 60 * kSecond;
  static constexpr std::int64_t kLife = 3600 * kSecond;

  BeginTest() {
    request_ = make_request("a", 3, 10U << 20U, 1);
    request_.phase_seconds = {2};
    request_.ran_s = 10;
    rate_ = {.ost = {0}, .bytes_per_second = 50e6, .began_ns = kBegins - 6 * kSecond, .ended_ns = kBegins - kSecond};
    EXPECT_TRUE(view_.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}));
  }

  void plan(std::uint64_t id, const api::PlanRequest& request) {
    auto plan = view_.plan(request, "u", id, kMade, kLife);
    ASSERT_TRUE(plan) << plan.error().message;
    view_.put(id, std::make_shared<const StoredPlan>(*std::move(plan)));
  }
  // The revision after the run has begun among that.
  std::uint64_t begin(std::optional<TargetRate> rate, std::uint64_t id = 1) {
    std::vector<TargetRate> rates;
    if (rate) rates.push_back(*rate);
    EXPECT_TRUE(view_.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}, std::move(rates)));
    const auto change = view_.begin(id, kBegins, true);
    EXPECT_EQ(change ? change->after : view_.find(id), view_.find(id));
    return view_.find(id)->revision;
  }

  GlobalView view_;
  api::PlanRequest request_;
  TargetRate rate_;
};

TEST_F(BeginTest, ABusyTargetGetsLess) {
  plan(1, request_);
  ASSERT_EQ(std::ranges::count(view_.find(1)->osts, 0U), 1) << "nothing was known of it then";
  EXPECT_EQ(begin(std::nullopt), 1U) << "nothing moves";
  const PlanPointer before = view_.find(1);
  EXPECT_FALSE(view_.begin(1, kBegins, false)) << "the node is busy";
  EXPECT_EQ(begin(rate_), 2U);
  const StoredPlan& after = *view_.find(1);
  EXPECT_EQ(std::ranges::count(after.osts, 0U), 0);
  EXPECT_EQ(after.entries, before->entries);
  EXPECT_EQ(after.reserved(), before->reserved());
  EXPECT_EQ(after.made_ns, before->made_ns);
  EXPECT_THAT(after.reasons[after.layouts[0].reason], testing::HasSubstr("by what others moved then"));
  EXPECT_THAT(after.notes.at(0), testing::HasSubstr("on 1 of 4 OSTs"));
  EXPECT_EQ(decode(encode(after)).value(), after);
  expect_sums(view_, 4);
  EXPECT_EQ(begin(rate_), 2U) << "as good as can be now";
}

TEST_F(BeginTest, WhatSaysNothingChangesNothing) {
  plan(1, request_);
  TargetRate own = rate_;
  own.began_ns = kMade - kSecond;
  EXPECT_EQ(begin(own), 1U) << "a part of it may be of the run before";
  own.began_ns = kMade + kSettles_ns - kSecond;
  EXPECT_EQ(begin(own), 1U) << "and what that run left in caches is written later";
  TargetRate old = rate_;
  old.began_ns -= 20 * kSecond;
  old.ended_ns -= 20 * kSecond;
  EXPECT_EQ(begin(old), 1U);
  TargetRate little = rate_;
  little.bytes_per_second = 1e5;
  EXPECT_EQ(begin(little), 1U) << "not worth a change";
  view_.put(1, with_created(*view_.find(1), {.files = {{.file = 0, .files = 0}}}).value());
  EXPECT_EQ(begin(rate_), 1U) << "a run goes by it";
  request_.phase_seconds.clear();
  plan(2, request_);
  EXPECT_EQ(begin(rate_, 2), 1U) << "nobody knows how long the phase lasts";
  request_ = make_request("large", kObjectsAtBegin + 1, 1U << 20U, 1);
  for (api::FileRequest& file : request_.files) file.bytes = 1U << 16U;
  request_.phase_seconds = {2};
  plan(3, request_);
  EXPECT_EQ(begin(rate_, 3), 1U) << "it would take too long";
  request_ = make_request("read", kObjectsAtBegin / kReadAtBegin + 1, 1U << 16U, 1);
  for (api::FileRequest& file : request_.files) file.read_phase = 1;
  request_.phase_seconds = {2};
  plan(4, request_);
  EXPECT_EQ(begin(rate_, 4), 1U) << "that, too";
}

// Files of several phases, patterns, files that are read: only where the phases last long enough does anything move.
TEST_F(BeginTest, EachPhaseByItsTime) {
  request_.files.clear();
  for (std::uint32_t phase : {7U, 9U}) {
    for (int i = 0; i < 3; ++i) {
      request_.files.push_back({.name = "/s/" + std::to_string(phase) + "." + std::to_string(i) + "{rank}", .bytes = 10U << 20U});
      request_.files.back().files = i == 0 ? 1 : 2;
      request_.files.back().stripe_count = 1;
      request_.files.back().phase = phase;
    }
    request_.files.push_back({.name = "/s/small." + std::to_string(phase), .bytes = 1, .left_alone = true});
    request_.files.back().phase = phase;
  }
  request_.files[0].read_phase = 11;
  request_.phase_seconds = {0, 0, 0, 0, 0, 0, 0, 0, 0, 20};
  plan(1, request_);
  rate_.bytes_per_second = 5e6;
  EXPECT_EQ(begin(rate_), 2U);
  const StoredPlan& after = *view_.find(1);
  std::map<std::uint32_t, std::ptrdiff_t> on_busy;
  for (const StoredEntry& entry : after.entries) {
    for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
      on_busy[entry.phase] += std::ranges::count(after.osts_of(after.layouts[i]), 0U);
    }
  }
  EXPECT_GT(on_busy[7], 0) << "a phase of which nobody knows how long it lasts";
  EXPECT_EQ(on_busy[9], 0);
  expect_sums(view_, 4);
}

// Whatever is planned, and whatever moves: what changes is smaller under that load by the share that is wanted, and all else
// stays.
TEST_F(BeginTest, RandomPlans) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    api::PlanRequest request = random_plan_request(rng);
    request.always = true;
    request.phase_seconds = {2.5, 0, 1};
    request.ran_s = 5;
    if (rng.chance(0.3)) request.slow = {{.ost = 1, .speed = 0.2}};
    auto made = view_.plan(request, "u", seed, kMade, kLife);
    if (!made || made->id == 0) continue;
    view_.put(seed, std::make_shared<const StoredPlan>(*std::move(made)));
    const PlanPointer before = view_.find(seed);
    std::vector<TargetRate> rates;
    for (std::uint32_t ost = 0; ost < 4; ++ost) {
      if (!rng.chance(0.4)) continue;
      rates.push_back(rate_);
      rates.back().ost = {ost};
      rates.back().bytes_per_second = static_cast<double>(rng.below(100)) * 1e6;
    }
    ASSERT_TRUE(view_.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}, rates));
    const auto change = view_.begin(seed, kBegins, true);
    const PlanPointer after = view_.find(seed);
    if (change) ++changed;
    EXPECT_EQ(after->revision, before->revision + (change ? 1 : 0));
    EXPECT_EQ(after->entries, before->entries);
    EXPECT_EQ(decode(encode(*after)).value(), *after);
    expect_sums(view_, 4);
    view_.put(seed, nullptr);
  }
  EXPECT_GT(changed, 10U);
}

// Made together with another plan that waits, it would lose by itself what both gained; and no plan of a run that has begun is
// made together with another one.
TEST_F(BeginTest, BesideOthers) {
  const auto ran = [&](api::PlanRequest request) {
    request.ran_s = 10;
    request.phase_seconds = {20};
    return request;
  };
  const api::PlanRequest small = ran(make_request("small", 16, 33U << 18U, 8));
  const api::PlanRequest large = ran(make_request("large", 16, 32U << 20U, 4));
  const auto cluster = [&](std::vector<TargetRate> rates) {
    ASSERT_TRUE(view_.set_cluster(make_cluster("lab", 3, 5, 1U << 30U), {}, std::move(rates)));
  };
  cluster({});
  plan(1, small);
  plan(2, large);
  ASSERT_EQ(view_.plan_together().size(), 2U);
  cluster({rate_});
  EXPECT_FALSE(view_.begin(1, kBegins, true));
  view_.put(2, nullptr);
  EXPECT_TRUE(view_.begin(1, kBegins, true)) << "nobody is beside it any more";
  cluster({});
  plan(2, large);
  EXPECT_TRUE(view_.plan_together().empty()) << "the run of the first has begun";
}

// What runs of the one who asks have seen of targets counts for the plan of that request, and for no other.
TEST(GlobalView, TargetsThatTheRequestFoundSlowGetLess) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 3, 10U << 20U, 1);
  request.slow = {{.ost = 0, .speed = 1e-300}, {.ost = 77, .speed = 0.5}};
  const auto slow = view.plan(request, "u", 1, 0, kTtl);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->osts, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_THAT(slow->verdict, testing::HasSubstr("OST 0 works at about 0.02 of the others' speed and gets less"));
  const auto other = view.plan(make_request("b", 3, 10U << 20U, 1), "v", 2, 0, kTtl);
  ASSERT_TRUE(other);
  EXPECT_THAT(other->verdict, testing::Not(testing::HasSubstr("works at")));
  // Half of them are too many to be believed.
  request.slow = {{.ost = 0, .speed = 0.1}, {.ost = 1, .speed = 0.1}};
  request.always = true;
  EXPECT_EQ(view.plan(request, "u", 3, 0, kTtl)->osts, other->id == 0 ? (std::vector<std::uint32_t>{0, 1, 2}) : other->osts);
}

// Two applications that run side by side: the second is planned around the first, as space.
TEST(GlobalView, ApplicationsThatComeAtOnceUseDifferentTargets) {
  GlobalView view;
  ASSERT_TRUE(view.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}));
  const auto first = view.plan(make_request("a", 2, 100U << 20U, 1), "u", 1, 10, kTtl);
  ASSERT_TRUE(first);
  view.put(1, std::make_shared<const StoredPlan>(*first));
  const auto second = view.plan(make_request("b", 2, 100U << 20U, 1), "u", 2, 20, kTtl);
  ASSERT_TRUE(second);
  EXPECT_NEAR(second->after.ost, 1, 1e-9);
}

// A first run tells little of sizes: more is reserved than expected. That must not count as bytes of others.
TEST(GlobalView, WhatIsExpectedDecidesAndWhatIsReservedFits) {
  GlobalView view;
  model::Cluster cluster = make_cluster("lab", 1, 2, 1U << 30U);
  cluster.osts[1].free = cluster.osts[1].available = Bytes{(1024U - 150U) << 20U};
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  api::PlanRequest first = make_request("a", 1, 100U << 20U, 1);
  first.files[0].high = 300U << 20U;
  const auto one = view.plan(first, "u", 1, 0, kTtl);
  ASSERT_TRUE(one);
  view.put(1, std::make_shared<const StoredPlan>(*one));
  EXPECT_EQ(view.reserved("lab", {0}), Bytes{300U << 20U});
  const auto two = view.plan(make_request("b", 1, 10U << 20U, 1), "u", 2, 0, kTtl);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->osts, (std::vector<std::uint32_t>{0})) << "100 MiB are expected there, and 150 are on the other";
  // Room is what nobody has reserved: 724 MiB and 874.
  EXPECT_EQ(view.plan(make_request("c", 1, 800U << 20U, 1), "u", 3, 0, kTtl).value().osts, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(view.plan(make_request("d", 2, 800U << 20U, 1), "u", 3, 0, kTtl).error().code, Errc::limit);
}

TEST(GlobalView, MendsWhenATargetDiesOrFills) {
  GlobalView view;
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

// What cannot be mended costs as much as what can, and must not stand in the way of it.
TEST(GlobalView, MendTriesSoManyAndGoesOnBehindThem) {
  GlobalView view;
  model::Cluster cluster = make_cluster("lab", 1, 3, 1U << 30U);
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  for (std::uint64_t id = 1; id <= 4; ++id) {
    // The newest two are too large for what the others leave.
    auto plan = view.plan(make_request("a" + std::to_string(id), 1, 1U << 20U, 1), "u", id, 0, kTtl).value();
    plan.made_ns = static_cast<std::int64_t>(id);
    plan.osts = {0};
    if (id > 2) plan.layouts[0].bytes = plan.layouts[0].expected = plan.layouts[0].object_bytes = 2U << 30U;
    view.put(id, std::make_shared<const StoredPlan>(plan));
  }
  cluster.osts[0].state.active = false;
  ASSERT_TRUE(view.set_cluster(cluster, {}));
  EXPECT_TRUE(view.mend(2).empty()) << "two tries, and nothing came of them";
  EXPECT_EQ(view.mend(1).at(0).after->id, 2U);
  EXPECT_EQ(view.mend(2).at(0).after->id, 1U);
  EXPECT_TRUE(view.mend(9).empty()) << "the newest again";
  expect_sums(view, 3);
}

// Whatever happens in whatever order: sums are those of the plans, nothing is on a target that takes nothing, and a view made
// anew from the plans is the same.
TEST(GlobalView, HoldsWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    GlobalView view;
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
        if (plan && plan->id == 0) {
          ASSERT_FALSE(plan->verdict.empty());
          ASSERT_TRUE(plan->osts.empty());
        } else if (plan) {
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
    GlobalView again;
    again.fade(150);
    view.fade(150);
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
