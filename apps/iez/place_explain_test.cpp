#include "place_explain.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "place_test_support.hpp"

namespace iez::cli {
namespace {

class Explain : public testing::Test {
 protected:
  Explain() {
    model::Cluster cluster = small_cluster();
    cluster.osts[2].state.read_only = true;
    cluster.osts[3].state.degraded = true;
    cluster.osts[1].free = Bytes::mib(50);
    table_ = small_table(cluster);
  }

  placement::TargetTable table_;
  const std::vector<placement::Request> requests_{small_request("a", Bytes::mib(8), 1), small_request("b", Bytes::mib(20), 2)};
};

TEST_F(Explain, InSentences) {
  const placement::Plan plan = first_plan(table_, requests_);
  const PlanView view{.cluster = "small", .table = table_, .requests = requests_, .plan = plan};
  std::vector<OtherPlan> others;
  others.push_back({"same", plan});
  others.push_back({"shy", fail(Errc::limit, "too large")});
  EXPECT_EQ(explain_text(view, 1, others, true, {}),
            "b: 21.0 MB, file 2 of 2, policy first\n"
            "Why: 2 of 3 usable OSTs, 18.0 to 60.0 % full afterwards.\n"
            "Stripe size: 5.00 MiB (80 x 64 KiB), chosen so that the largest object is as small as it can be, 10.5 MB; "
            "the 21.0 MB go round the 2 objects 2 times.\n"
            "\n"
            "Its OSTs in stripe order, when all files are written; rank 1 is the least used of 4:\n"
            "STRIPE  OST  SERVER  BEFORE   AFTER  RANK BEFORE  RANK AFTER\n"
            "     0    0  oss0     0.0 %  18.0 %            1           3\n"
            "     1    1  oss0    50.0 %  60.0 %            4           4\n"
            "\n"
            "Not considered:\n"
            "  read-only: 2\n"
            "  degraded, and the others suffice: 3\n"
            "\n"
            "What the other policies do with all files (the OSTCost of first is 3.077):\n"
            "POLICY  OSTCOST  OSSCOST  OSTS OF THIS FILE\n"
            "same      3.077    2.000  0,1\n"
            "shy           -        -  too large\n");
}

TEST_F(Explain, AsJson) {
  const placement::Plan plan = first_plan(table_, requests_);
  const PlanView view{.cluster = "small", .table = table_, .requests = requests_, .plan = plan};
  std::vector<OtherPlan> others;
  others.push_back({"shy", fail(Errc::limit, "too large")});
  const auto json = nlohmann::json::parse(explain_json(view, 1, others));
  EXPECT_EQ(json["name"], "b");
  const auto& component = json["components"][0];
  EXPECT_EQ(component["rounds"], 2);
  EXPECT_EQ(component["stripe_size_given"], false);
  EXPECT_EQ(component["targets"][1]["rank_before"], 4);
  EXPECT_EQ(component["not_considered"][0], nlohmann::json({{"index", 2}, {"why", "read-only"}}));
  EXPECT_EQ(json["others"][0]["refused"], "too large");
  EXPECT_TRUE(json["others"][0]["ost_cost"].is_null());
}

TEST_F(Explain, PoolsAndComponentsThatAreNotReached) {
  placement::Request request{.name = "p", .bytes = Bytes::mib(1)};
  request.components = {{.end = Bytes::mib(4).count, .stripe_count = 1, .stripe_size = Bytes::mib(1), .pool = "flash"},
                        {.end = model::Extent::kEof, .stripe_count = 1}};
  const std::vector<placement::Request> requests{request};
  const placement::Plan plan = first_plan(table_, requests);
  const PlanView view{.cluster = "small", .table = table_, .requests = requests, .plan = plan};
  const std::string text = explain_text(view, 0, {}, true, {});
  EXPECT_NE(text.find("\nComponent 1, bytes 0 to 4194304:\nWhy: 1 of 2 usable OSTs"), std::string::npos) << text;
  EXPECT_NE(text.find("as the request asks; each object gets one stripe"), std::string::npos) << text;
  EXPECT_NE(text.find("  outside the pool: 2,3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nComponent 2, bytes 4194304 to eof:\nWhy: beyond the expected end of the file"), std::string::npos)
      << text;
  EXPECT_EQ(nlohmann::json::parse(explain_json(view, 0, {}))["components"][1]["rounds"], 0);
}

TEST_F(Explain, RanksShareAPlace) {
  table_.targets[2].capacity = {};
  EXPECT_EQ(ranks(table_, {}), (std::vector<std::size_t>{1, 3, 0, 1}));
  EXPECT_EQ(ranks(table_, std::vector<Bytes>{Bytes::mib(60), {}, {}, Bytes::mib(70)}), (std::vector<std::size_t>{2, 1, 0, 3}));
}

}  // namespace
}  // namespace iez::cli
