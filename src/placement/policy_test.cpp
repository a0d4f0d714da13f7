#include "placement/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;

TEST(Policy, Names) {
  EXPECT_THAT(policy_names(), ElementsAre("balanced", "paper", "paper-sequential", "lustre-rr", "lustre-qos", "random"));
}

TEST(Policy, UnknownNames) {
  auto made = make_policy("balansed", 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::invalid_argument);
  EXPECT_EQ(made.error().message, "no policy 'balansed'; did you mean balanced?");
  made = make_policy("Paper-sequentiel", 1);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("did you mean paper-sequential?"));
  for (const std::string name : {"", "xyzzy-plugh-nothing"}) {
    made = make_policy(name, 1);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message,
              "no policy '" + name + "'; there are: balanced, paper, paper-sequential, lustre-rr, lustre-qos, random");
  }
  made = make_policy("a\nb", 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message.find('\n'), std::string::npos) << "safe to show";
}

TEST(Policy, EveryOnePlaces) {
  const TargetTable table = paper_table();
  const std::vector<Demand> demands(20, {Bytes::mib(64), 4});
  for (const std::string_view name : policy_names()) {
    SCOPED_TRACE(name);
    const auto policy = make_policy(name, 3);
    ASSERT_TRUE(policy);
    EXPECT_EQ((*policy)->name(), name);
    const auto answer = (*policy)->assign(table, demands);
    ASSERT_TRUE(answer);
    expect_placed(table, demands, *answer);
    const auto again = (*make_policy(name, 3))->assign(table, demands);
    ASSERT_TRUE(again);
    EXPECT_EQ(answer->targets, again->targets) << "same seed, same answer";
  }
}

TEST(Policy, SeedsMatterToThoseThatDraw) {
  const TargetTable table = paper_table();
  const std::vector<Demand> demands(20, {Bytes::mib(64), 4});
  for (const std::string_view name : policy_names()) {
    SCOPED_TRACE(name);
    bool differs = false;
    const auto first = (*make_policy(name, 0))->assign(table, demands);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      differs = differs || (*make_policy(name, seed))->assign(table, demands)->targets != first->targets;
    }
    EXPECT_EQ(differs, name == "random" || name.starts_with("lustre"));
  }
}

}  // namespace
}  // namespace iez::placement
