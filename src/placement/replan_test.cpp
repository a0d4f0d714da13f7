#include "placement/replan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "placement/balanced.hpp"
#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Request> requests_of(std::size_t files, Bytes bytes, std::int32_t count) {
  std::vector<Request> requests;
  requests.reserve(files);
  for (std::size_t i = 0; i < files; ++i) requests.push_back(request_of("f" + std::to_string(i), bytes, count));
  return requests;
}

Plan planned(const TargetTable& table, const std::vector<Request>& requests) {
  BalancedPolicy policy;
  auto plan = plan_files(table, requests, policy);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : Plan{};
}

std::vector<Bytes> bytes_on(const Plan& plan, const TargetTable& table, const std::vector<bool>& created) {
  std::vector<Bytes> bytes(table.targets.size());
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (!created.empty() && created[i]) continue;
    for (const OstIndex ost : plan.osts_of(plan.files[i])) {
      const auto at = std::ranges::find(table.targets, ost, &Target::ost) - table.targets.begin();
      bytes[static_cast<std::size_t>(at)] += plan.files[i].object_bytes;
    }
  }
  return bytes;
}

TEST(Replan, NothingToChange) {
  const TargetTable table = paper_table();
  const auto requests = requests_of(10, Bytes::gib(1), 4);
  const Plan plan = planned(table, requests);
  const auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_THAT(again->changed, IsEmpty());
  EXPECT_EQ(again->moved_objects, 0U);
  EXPECT_EQ(again->plan.osts, plan.osts);
  EXPECT_EQ(again->plan.added, plan.added);
  EXPECT_DOUBLE_EQ(again->plan.after.max_utilisation, plan.after.max_utilisation);
}

TEST(Replan, ADeadTargetGivesUpItsObjectsOnly) {
  TargetTable table = paper_table();
  const auto requests = requests_of(10, Bytes::gib(1), 4);
  const Plan plan = planned(table, requests);
  table.targets[3].exclusion = Exclusion::inactive;
  const auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  std::vector<std::uint32_t> touched;
  for (std::uint32_t i = 0; i < plan.files.size(); ++i) {
    if (std::ranges::count(plan.osts_of(plan.files[i]), OstIndex{3}) > 0) touched.push_back(i);
  }
  ASSERT_FALSE(touched.empty());
  EXPECT_EQ(again->changed, touched);
  EXPECT_EQ(again->moved_objects, touched.size());
  for (std::size_t k = 0; k < plan.osts.size(); ++k) {
    if (plan.osts[k].value == 3) {
      EXPECT_NE(again->plan.osts[k].value, 3U);
    } else {
      EXPECT_EQ(again->plan.osts[k], plan.osts[k]) << "stripe " << k;
    }
  }
  EXPECT_THAT(again->plan.avoided, testing::ElementsAre(OstIndex{3}));
  EXPECT_EQ(again->plan.added[3], Bytes{});
}

TEST(Replan, FilesThatExistKeepWhatTheyHave) {
  TargetTable table = grid(1, 4);
  const auto requests = requests_of(4, Bytes::gib(1), 2);
  const Plan plan = planned(table, requests);
  table.targets[0].exclusion = Exclusion::inactive;
  const std::vector<bool> all(4, true);
  auto again = replan(plan, table, requests, all);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->changed, IsEmpty());
  EXPECT_EQ(again->plan.osts, plan.osts);
  for (const Bytes added : again->plan.added) EXPECT_EQ(added, Bytes{}) << "their bytes are in the table";
}

TEST(Replan, OfAnOverfullTargetTheLastFilesMove) {
  // Each of two targets holds two objects of 1 GiB; then target 0 has room for one.
  TargetTable table = grid(1, 2);
  const auto requests = requests_of(4, Bytes::gib(1), 1);
  const Plan plan = planned(table, requests);
  std::vector<std::uint32_t> there;
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (plan.osts_of(plan.files[i]).front().value == 0) there.push_back(i);
  }
  ASSERT_EQ(there.size(), 2U);
  fill(table.targets[0], Bytes::gib(10) - Bytes::mib(1500));
  const auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_THAT(again->changed, testing::ElementsAre(there[1]));
  EXPECT_EQ(again->plan.osts_of(again->plan.files[there[1]]).front().value, 1U);
  EXPECT_EQ(again->plan.added[0], Bytes::gib(1));
  EXPECT_EQ(again->plan.added[1], Bytes::gib(3));
}

TEST(Replan, ShortageIsAnErrorAndTellsTheFile) {
  TargetTable table = grid(1, 3);
  const auto requests = requests_of(2, Bytes::gib(3), 3);
  const Plan plan = planned(table, requests);
  table.targets[1].exclusion = Exclusion::inactive;
  for (const std::uint32_t at : {0U, 2U}) table.targets[at].available = Bytes::gib(2);
  const auto again = replan(plan, table, requests, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::limit);
  EXPECT_EQ(again.error().message,
            "file 'f0' cannot be planned anew: its objects on OSTs that failed or filled up find no room elsewhere; the plan is "
            "unchanged");
}

TEST(Replan, KeepsToThePoolAndPrefersTheSound) {
  model::Cluster cluster = cluster_of(2, 3);
  cluster.pools = {{.name = "flash", .osts = {{0}, {1}, {2}, {3}}}};
  cluster.osts[2].state.degraded = true;
  TargetTable table = *make_targets(cluster, {});
  std::vector<Request> requests = requests_of(1, Bytes::gib(1), 2);
  requests[0].pool = "flash";
  const Plan plan = planned(table, requests);
  const OstIndex lost = plan.osts[0];
  const OstIndex kept = plan.osts[1];
  table.targets[lost.value].exclusion = Exclusion::full;
  auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plan.osts[1], kept);
  const std::uint32_t third = 0 + 1 + 3 - lost.value - kept.value;
  EXPECT_EQ(again->plan.osts[0].value, third) << "sound and of the pool";
  table.targets[third].exclusion = Exclusion::full;
  again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plan.osts[0].value, 2U) << "degraded, but of the pool";
  EXPECT_EQ(again->plan.files[0].reason.second_choice, 1U);
  table.targets[2].exclusion = Exclusion::full;
  again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->plan.files[0].stripes, 1U) << "no target outside the pool";
  EXPECT_EQ(again->plan.osts_of(again->plan.files[0])[0], kept);
}

TEST(Replan, OverstripedFiles) {
  TargetTable table = grid(1, 2);
  std::vector<Request> requests = requests_of(1, Bytes::gib(4), 4);
  requests[0].overstripe = true;
  const Plan plan = planned(table, requests);
  ASSERT_TRUE(plan.files[0].overstriped);
  table.targets[1].exclusion = Exclusion::inactive;
  const auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->moved_objects, 2U);
  for (const OstIndex ost : again->plan.osts) EXPECT_EQ(ost.value, 0U);
}

TEST(Replan, Properties) {
  int changed = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    TargetTable table = grid(3, 4, Bytes::gib(20));
    for (Target& target : table.targets) fill(target, Bytes::mib(rng.below(10'000)));
    std::vector<Request> requests;
    const std::uint64_t files = rng.between(1, 30);
    requests.reserve(files);
    for (std::uint64_t i = 0; i < files; ++i) {
      requests.push_back(
          request_of(std::to_string(i), Bytes::mib(rng.between(1, 3000)), static_cast<std::int32_t>(rng.between(1, 10))));
    }
    const Plan plan = planned(table, requests);
    std::vector<bool> created(plan.files.size());
    for (auto&& exists : created) exists = rng.chance(0.3);
    TargetTable now = table;
    for (Target& target : now.targets) {
      if (rng.chance(0.1)) target.exclusion = Exclusion::inactive;
      if (rng.chance(0.1)) target.available = Bytes::mib(rng.below(500));
    }
    const auto again = replan(plan, now, requests, created);
    if (!again) {
      ++failed;
      EXPECT_THAT(again.error().message, HasSubstr("the plan is unchanged"));
      continue;
    }
    const auto before = bytes_on(plan, now, created);
    const auto after = bytes_on(again->plan, now, created);
    EXPECT_EQ(after, again->plan.added);
    std::set<std::uint32_t> differ;
    std::uint64_t moved = 0;
    bool shrunk = false;
    for (std::uint32_t i = 0; i < plan.files.size(); ++i) {
      const auto was = plan.osts_of(plan.files[i]);
      const auto is = again->plan.osts_of(again->plan.files[i]);
      EXPECT_EQ(std::set<OstIndex>(is.begin(), is.end()).size(), is.size()) << "file " << i << " has a target twice";
      if (is.size() != was.size()) {  // fewer stripes, where there was nowhere to go
        ASSERT_LT(is.size(), was.size());
        EXPECT_FALSE(created[i]);
        EXPECT_EQ(again->plan.files[i].reason.cut, CountCut::space);
        EXPECT_GE(again->plan.files[i].object_bytes.count * is.size(), plan.files[i].bytes.count);
        differ.insert(i);
        shrunk = true;
        continue;
      }
      for (std::size_t k = 0; k < was.size(); ++k) {
        const Target& target = now.targets[is[k].value];
        EXPECT_TRUE(created[i] || target.exclusion == Exclusion::none);
        if (was[k] == is[k]) continue;
        EXPECT_FALSE(created[i]);
        const Target& left = now.targets[was[k].value];
        EXPECT_TRUE(left.exclusion != Exclusion::none || before[was[k].value] > left.available) << "moved without need";
        differ.insert(i);
        ++moved;
      }
    }
    for (std::size_t j = 0; j < after.size(); ++j) EXPECT_LE(after[j], now.targets[j].available);
    EXPECT_EQ(std::vector<std::uint32_t>(differ.begin(), differ.end()), again->changed);
    if (!shrunk) {
      EXPECT_EQ(moved, again->moved_objects);
    }
    for (const std::uint32_t i : again->changed) {
      const Reason& reason = again->plan.files[i].reason;
      EXPECT_GT(reason.lowest, 0);
      EXPECT_LE(reason.lowest, reason.highest);
      EXPECT_LE(reason.highest, again->plan.after.max_utilisation);
    }
    changed += again->changed.empty() ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(changed, 50);
  EXPECT_GT(failed, 0);
}

TEST(Replan, AFileOnAllTargetsLosesTheDeadOne) {
  TargetTable table = paper_table();
  const std::vector<Request> requests{request_of("wide", Bytes::gib(15), kAllTargets)};
  const Plan plan = planned(table, requests);
  ASSERT_EQ(plan.files[0].stripes, 15U);
  table.targets[3].exclusion = Exclusion::inactive;
  const auto again = replan(plan, table, requests, {});
  ASSERT_TRUE(again) << again.error().message;
  const Planned& file = again->plan.files[0];
  ASSERT_EQ(file.stripes, 14U);
  EXPECT_EQ(file.reason.cut, CountCut::space);
  EXPECT_GE(file.object_bytes.count * 14, Bytes::gib(15).count);
  const auto osts = again->plan.osts_of(file);
  const std::set<OstIndex> distinct(osts.begin(), osts.end());
  EXPECT_EQ(distinct.size(), 14U);
  EXPECT_FALSE(distinct.contains(OstIndex{3}));
  EXPECT_GE(again->plan.after.max_utilisation, again->plan.bound * (1 - 1e-9));
}

}  // namespace
}  // namespace iez::placement
