#include "place_view.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "place_test_support.hpp"

namespace iez::cli {
namespace {

constexpr std::size_t kAll = ~std::size_t{0};

std::vector<OstIndex> indices(std::initializer_list<std::uint32_t> values) {
  std::vector<OstIndex> osts;
  for (const std::uint32_t value : values) osts.push_back({value});
  return osts;
}

class View : public testing::Test {
 protected:
  PlanView view(std::span<const placement::Request> requests, const placement::Plan& plan) const {
    return {.cluster = "small", .table = table_, .requests = requests, .plan = plan};
  }

  placement::TargetTable table_ = small_table();
  const std::vector<placement::Request> requests_{small_request("a", Bytes::mib(20), 2), small_request("b", Bytes::mib(10), 1)};
};

TEST(OstList, JoinsRunsInTheOrderGiven) {
  EXPECT_EQ(ost_list({}), "");
  EXPECT_EQ(ost_list(indices({7})), "7");
  EXPECT_EQ(ost_list(indices({0, 1, 2, 3, 7, 9})), "0-3,7,9");
  EXPECT_EQ(ost_list(indices({0, 1, 5})), "0,1,5") << "two are no range";
  EXPECT_EQ(ost_list(indices({3, 2, 1})), "3,2,1");
  EXPECT_EQ(ost_list(indices({5, 6, 7, 0, 1, 2})), "5-7,0-2");
  EXPECT_EQ(ost_list(indices({4, 4, 5, 6})), "4,4-6") << "overstriped";
  EXPECT_EQ(ost_list(indices({4294967295U, 0})), "4294967295,0");
}

TEST(UseText, TinyUseIsNotNothing) {
  EXPECT_EQ(use_text(0), "0.0 %");
  EXPECT_EQ(use_text(0.00032), "0.032 %");
  EXPECT_EQ(use_text(0.4375), "43.8 %");
  EXPECT_EQ(bound_text(0.4375 - 1e-9), "43.8 %") << "as what reaches it";
}

TEST_F(View, TablesAndSummary) {
  const placement::Plan plan = first_plan(table_, requests_);
  EXPECT_EQ(plan_text(view(requests_, plan), kAll, true, {}),
            "2 files, 31.5 MB, on small (4 OSTs, 2 servers), policy first\n"
            "\n"
            "FILE    BYTES  STRIPES  STRIPE SIZE  OSTS\n"
            "a     21.0 MB        2     5.00 MiB  0,1\n"
            "b     10.5 MB        1     4.00 MiB  0\n"
            "\n"
            "OST  SERVER    ADDED  BEFORE   AFTER\n"
            "  0  oss0    21.0 MB   0.0 %  20.0 %  [++++++........................]\n"
            "  1  oss0    10.5 MB   0.0 %  10.0 %  [+++...........................]\n"
            "  2  oss1        0 B   0.0 %   0.0 %  [..............................]\n"
            "  3  oss1        0 B   0.0 %   0.0 %  [..............................]\n"
            "\n"
            "             BEFORE   AFTER\n"
            "OSTCost       1.000   2.667\n"
            "OSSCost       1.000   2.000\n"
            "largest use   0.0 %  20.0 %\n"
            "mean use      0.0 %   7.5 %\n"
            "No placement of these files has a largest use below 10.0 %: this one is 100.00 % above\n");
}

TEST_F(View, LimitAndRowsOnly) {
  const placement::Plan plan = first_plan(table_, requests_);
  EXPECT_EQ(plan_text(view(requests_, plan), kAll, false, {}), "a  21.0 MB  2  5.00 MiB  0,1\nb  10.5 MB  1  4.00 MiB  0\n");
  EXPECT_EQ(plan_text(view(requests_, plan), 1, false, {}), "a  21.0 MB  2  5.00 MiB  0,1\n");
  EXPECT_TRUE(plan_text(view(requests_, plan), 1, true, {}).starts_with("2 files (1 shown), 31.5 MB, on small"));
}

TEST_F(View, NothingToPlace) {
  const placement::Plan plan = first_plan(table_, {});
  const std::string text = plan_text(view({}, plan), kAll, true, {});
  EXPECT_TRUE(text.starts_with("0 files, 0 B, on small (4 OSTs, 2 servers), policy first\n\nOST  SERVER")) << text;
  EXPECT_NE(text.find("is as good as any"), std::string::npos);
  EXPECT_EQ(plan_csv(view({}, plan), kAll), "name,start,end,bytes,stripe_count,stripe_size,pool,osts\n");
  EXPECT_EQ(nlohmann::json::parse(plan_json(view({}, plan), kAll))["files"].size(), 0U);
}

TEST_F(View, AvoidedAndOverflowingTargets) {
  model::Cluster cluster = small_cluster();
  cluster.osts[2].state.active = false;
  cluster.osts[3].state.active = false;
  cluster.osts[1].available = Bytes::mib(1);
  table_ = small_table(cluster);
  const placement::Plan plan = first_plan(table_, requests_);
  const std::string text = plan_text(view(requests_, plan), kAll, true, {});
  EXPECT_NE(text.find("Avoided OSTs: 2,3 (inactive)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("OSTs that would run out of space: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("9.44 MB too much\n"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(plan_json(view(requests_, plan), kAll));
  EXPECT_EQ(json["targets"][2]["avoided"], "inactive");
  EXPECT_TRUE(json["targets"][1]["avoided"].is_null());
  EXPECT_EQ(json["targets"][1]["runs_out_of_space"], true);
  EXPECT_EQ(json["targets"][0]["runs_out_of_space"], false);
}

TEST_F(View, ProgressiveFilesShowTheirComponents) {
  placement::Request request{.name = "p", .bytes = Bytes::mib(8)};
  request.components = {{.end = Bytes::mib(4).count, .stripe_count = 1, .pool = "flash"},
                        {.end = Bytes::mib(64).count, .stripe_count = 2},
                        {.end = model::Extent::kEof, .stripe_count = -1}};
  const std::vector<placement::Request> requests{request};
  const placement::Plan plan = first_plan(table_, requests);
  EXPECT_EQ(plan_text(view(requests, plan), kAll, false, {}),
            "p  4.00 MiB  4.19 MB  1  4.00 MiB  0\n"
            "p  64.0 MiB  4.19 MB  2  2.00 MiB  0,1\n"
            "p       eof      0 B  4  4.00 MiB  (not reached)\n");
  EXPECT_EQ(plan_csv(view(requests, plan), kAll),
            "name,start,end,bytes,stripe_count,stripe_size,pool,osts\n"
            "p,0,4194304,4194304,1,4194304,flash,0\n"
            "p,4194304,67108864,4194304,2,2097152,,\"0,1\"\n"
            "p,67108864,eof,0,4,4194304,,\n");
  const auto json = nlohmann::json::parse(plan_json(view(requests, plan), kAll));
  ASSERT_EQ(json["files"].size(), 1U);
  ASSERT_EQ(json["files"][0]["components"].size(), 3U);
  EXPECT_EQ(json["files"][0]["components"][0]["pool"], "flash");
  EXPECT_EQ(json["files"][0]["components"][1]["osts"], nlohmann::json({0, 1}));
  EXPECT_TRUE(json["files"][0]["components"][2]["end"].is_null());
}

TEST_F(View, JsonHasTheFigures) {
  const placement::Plan plan = first_plan(table_, requests_);
  const auto json = nlohmann::json::parse(plan_json(view(requests_, plan), 1));
  EXPECT_EQ(json["file_count"], 2);
  EXPECT_EQ(json["total_file_bytes"], 30 << 20);
  EXPECT_EQ(json["files"].size(), 1U);
  EXPECT_NEAR(json["after"]["ost_cost"].get<double>(), 8.0 / 3, 1e-12);
  EXPECT_NEAR(json["after"]["mean_utilisation"].get<double>(), 0.075, 1e-12);
  EXPECT_NEAR(json["above_bound"].get<double>(), 1, 1e-6);
  EXPECT_EQ(json["targets"][0]["added_bytes"], 20 << 20);
  PlanView unknown = view(requests_, plan);
  unknown.servers_known = false;
  EXPECT_TRUE(nlohmann::json::parse(plan_json(unknown, 1))["after"]["oss_cost"].is_null());
  EXPECT_NE(plan_text(unknown, 1, true, {}).find("OSSCost           -       -\n"), std::string::npos);
}

TEST_F(View, NamesFromOutsideAreQuotedAndHarmless) {
  const std::vector<placement::Request> requests{small_request("a,\"b\"\x1b\n", Bytes::mib(4), 1)};
  const placement::Plan plan = first_plan(table_, requests);
  EXPECT_NE(plan_csv(view(requests, plan), kAll).find("\"a,\"\"b\"\"\x1b\n\",0,eof"), std::string::npos);
  EXPECT_EQ(plan_text(view(requests, plan), kAll, true, {}).find('\x1b'), std::string::npos);
}

TEST_F(View, LongListsAreCutOnATerminalOnly) {
  model::Cluster cluster = small_cluster();
  cluster.osts.clear();
  for (std::uint32_t i = 0; i < 100; ++i) {
    cluster.osts.push_back(
        {.index = {2 * i}, .oss = 0, .total = Bytes::gib(1), .free = Bytes::gib(1), .available = Bytes::gib(1)});
  }
  cluster.pools.clear();
  table_ = small_table(cluster);
  const std::vector<placement::Request> requests{small_request("wide", Bytes::mib(100), -1)};
  const placement::Plan plan = first_plan(table_, requests);
  const std::string cut = plan_text(view(requests, plan), kAll, false, {.interactive = true});
  EXPECT_TRUE(cut.ends_with(",...\n")) << cut;
  EXPECT_LT(cut.size(), 110U);
  EXPECT_TRUE(plan_text(view(requests, plan), kAll, false, {}).ends_with(",196,198\n"));
  // More than 40 OSTs: a histogram.
  const std::string text = plan_text(view(requests, plan), kAll, true, {});
  EXPECT_NE(text.find("Use of the 100 OSTs: 0.0 % to 0.0 % before, 0.098 % to 0.098 % after"), std::string::npos) << text;
  EXPECT_NE(text.find("0.09 -   0.10 %  ############################## 100\n"), std::string::npos) << text;
}

TEST(Bins, CountEveryValueOnce) {
  EXPECT_TRUE(utilisation_bins({}).empty());
  const auto one = utilisation_bins(std::vector<double>{0.5, 0.5});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].targets, 2U);
  EXPECT_NEAR(one[0].from, 0.5, 1e-12);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<double> values(1 + rng.below(50));
    const double scale = std::pow(10, static_cast<double>(rng.below(12)) - 8);
    for (double& value : values) value = rng.unit() * scale;
    const auto bins = utilisation_bins(values);
    EXPECT_LE(bins.size(), 16U);
    EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), std::size_t{0},
                              [](std::size_t sum, const auto& bin) { return sum + bin.targets; }),
              values.size());
    for (const auto& bin : bins) {
      const auto inside = std::ranges::count_if(values, [&](double v) { return v >= bin.from && v < bin.to; });
      EXPECT_NEAR(static_cast<double>(inside), static_cast<double>(bin.targets), 1);
    }
    EXPECT_GT(bins.front().targets, 0U);
    EXPECT_GT(bins.back().targets, 0U);
  }
}

TEST_F(View, ChartHasEveryTargetBeforeAndAfter) {
  const placement::Plan plan = first_plan(table_, requests_);
  const SvgChart chart = plan_chart(view(requests_, plan));
  EXPECT_EQ(chart.categories, (std::vector<std::string>{"0", "1", "2", "3"}));
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_NEAR(chart.series[0].bars[0]->value, 0, 1e-12);
  EXPECT_NEAR(chart.series[1].bars[0]->value, 20, 1e-12);
}

}  // namespace
}  // namespace iez::cli
