#include "place_compare.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "place_test_support.hpp"

namespace iez::cli {
namespace {

void no_progress(std::string_view, std::uint64_t, std::uint64_t) {}

PolicyResult result(std::string policy, double cost) {
  return {
      .policy = std::move(policy), .runs = 1, .ost_cost = {cost, cost, cost}, .oss_cost = {1, 1, 1}, .largest = {0.5, 0.5, 0.5}};
}

Comparison two_cases() {
  PolicyResult drawn = result("random", 1.5);
  drawn.runs = 10;
  drawn.ost_cost = {1.25, 1.5, 2};
  PolicyResult refused{.policy = "paper", .refused = "too large"};
  return {.cluster = "small",
          .seeds = 10,
          .cases = {{.label = "one", .files = 2, .possible = 1.25, .policies = {result("balanced", 1.25), refused, drawn}},
                    {.label = "two", .files = 3, .possible = 1, .policies = {result("balanced", 1), refused, drawn}}}};
}

TEST(Compare, RunsEveryPolicy) {
  const placement::TargetTable table = small_table();
  // Four files of one object on four targets: 10 MiB each, which nothing can better.
  std::vector<placement::Request> requests;
  for (const char* name : {"a", "b", "c", "d"}) requests.push_back(small_request(name, Bytes::mib(10), 1));
  const ManualClock clock;
  std::vector<std::string> told;
  const auto one =
      compare_policies(table, requests, 5, 20, clock, [&](std::string_view policy, std::uint64_t run, std::uint64_t) {
        if (run == 0) told.emplace_back(policy);
      });
  ASSERT_TRUE(one.has_value());
  const auto names = placement::policy_names();
  EXPECT_EQ(told, std::vector<std::string>(names.begin(), names.end()));
  EXPECT_EQ(one->bytes, Bytes::mib(40));
  EXPECT_NEAR(one->bound, 0.1, 1e-6);
  EXPECT_NEAR(one->possible, 1, 1e-6);
  ASSERT_EQ(one->policies.size(), names.size());
  for (const PolicyResult& policy : one->policies) {
    SCOPED_TRACE(policy.policy);
    EXPECT_EQ(policy.runs, draws(policy.policy) ? 20U : 1U);
    EXPECT_TRUE(policy.refused.empty());
    EXPECT_LE(policy.ost_cost.least, policy.ost_cost.mean);
    EXPECT_LE(policy.ost_cost.mean, policy.ost_cost.most);
    EXPECT_GE(policy.ost_cost.least, one->possible - 1e-9);
    EXPECT_EQ(policy.time, Duration::zero()) << "the clock stands still";
  }
  EXPECT_EQ(one->policies[0].ost_cost.mean, 1);
  EXPECT_EQ(one->policies[5].policy, "random");
  EXPECT_GT(one->policies[5].ost_cost.most, 1) << "20 draws of 4 of 4 without a double are unlikely";
}

TEST(Compare, SameSeedSameFigures) {
  const placement::TargetTable table = small_table();
  std::vector<placement::Request> requests;
  requests.reserve(9);
  for (int i = 0; i < 9; ++i) requests.push_back(small_request(std::to_string(i), Bytes::mib(7), 1 + i % 3));
  const ManualClock clock;
  const auto figures = [&](std::uint64_t seed) {
    auto one = compare_policies(table, requests, seed, 7, clock, no_progress);
    EXPECT_TRUE(one.has_value());
    return compare_json({.cluster = "x", .cases = {*std::move(one)}});
  };
  EXPECT_EQ(figures(1), figures(1));
  EXPECT_NE(figures(1), figures(1000));
}

TEST(Compare, PoliciesThatCannotPlaceAreTold) {
  const placement::TargetTable table = small_table();
  // 4 x 120 MiB do not fit; policies that do not heed space place them all the same.
  std::vector<placement::Request> requests;
  for (const char* name : {"a", "b", "c", "d"}) requests.push_back(small_request(name, Bytes::mib(120), 1));
  const auto one = compare_policies(table, requests, 1, 3, ManualClock(), no_progress);
  ASSERT_TRUE(one.has_value());
  EXPECT_NE(one->policies[0].refused.find("not enough space"), std::string::npos) << one->policies[0].refused;
  EXPECT_EQ(one->policies[0].runs, 0U);
  EXPECT_EQ(one->policies[5].refused, "");
  EXPECT_GT(one->policies[5].overflowing, 0);
  requests[0].pool = "nosuch";
  const auto wrong = compare_policies(table, requests, 1, 3, ManualClock(), no_progress);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("no pool 'nosuch'"), std::string::npos);
}

TEST(Compare, SeveralCasesAreRows) {
  EXPECT_EQ(compare_text(two_cases(), true, false, {}),
            "OSTCost after placing each batch on small\n"
            "Policies that draw: means of 10 runs\n"
            "\n"
            "REQUESTS  possible  balanced  paper  random\n"
            "one         1.2500    1.2500      -  1.5000\n"
            "two         1.0000    1.0000      -  1.5000\n");
}

TEST(Compare, OneCaseHasARowForEachPolicy) {
  Comparison comparison = two_cases();
  comparison.cases.pop_back();
  EXPECT_EQ(compare_text(comparison, false, true, {}),
            "balanced   1  1.250            -  1.000  50.0 %  0.00 %  0  0.0\n"
            "paper      -      -            -      -       -       -  -    -\n"
            "random    10  1.500  1.250-2.000  1.000  50.0 %  0.00 %  0  0.0\n"
            "\n"
            "OSTCost\n"
            "possible  ################################# 1.250\n"
            "balanced  ################################# 1.250\n"
            "paper     -\n"
            "random    ######################################## 1.500 (1.250-2.000)\n");
  EXPECT_EQ(compare_text({}, true, true, {}), "");
}

TEST(Compare, JsonTellsWhoRefused) {
  const auto json = nlohmann::json::parse(compare_json(two_cases()));
  const auto& policies = json["cases"][1]["policies"];
  EXPECT_EQ(policies[1]["refused"], "too large");
  EXPECT_TRUE(policies[1]["ost_cost"].is_null());
  EXPECT_TRUE(policies[2]["refused"].is_null());
  EXPECT_EQ(policies[2]["ost_cost"]["most"], 2.0);
}

TEST(Compare, ChartLeavesOutWhoRefused) {
  const SvgChart chart = compare_chart(two_cases());
  EXPECT_EQ(chart.categories, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(chart.series.size(), 4U) << "possible and three policies";
  EXPECT_EQ(chart.series[2].name, "paper");
  EXPECT_FALSE(chart.series[2].bars[0]);
  EXPECT_EQ(chart.series[3].bars[1]->high, 2);
  Comparison single = two_cases();
  single.cases.pop_back();
  EXPECT_EQ(compare_chart(single).categories, (std::vector<std::string>{"possible", "balanced", "paper", "random"}));
}

}  // namespace
}  // namespace iez::cli
