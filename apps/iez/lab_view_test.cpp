#include "lab_view.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace iez::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

lab::Config small() {
  lab::Config config;
  config.name = "lab";
  config.dir = "/lab";
  config.oss_count = 2;
  config.osts_per_oss = 2;
  return config;
}

std::vector<lab::NodeState> states() {
  return {{.node = "mds", .pid = 10, .answer = R"({"inodes": 3})"},
          {.node = "oss0", .pid = 11, .answer = R"({"osts": [{"ost": 0, "total_bytes": 1000, "used_bytes": 250, "objects": 4},
                                  {"ost": 1, "total_bytes": 1000, "used_bytes": 2000, "speed": 0.1, "full": true, "off": true},
                                  {"ost": 99, "total_bytes": 1}, {"ost": "x"}, 5]})"},
          {.node = "oss1"},
          {.node = "client0", .pid = 12, .answer = "{}", .mounted = false}};
}

TEST(LabView, StatusTellsFourStates) {
  auto nodes = states();
  const auto words = [&] {
    std::vector<std::string> found;
    const json report = json::parse(lab_status_json(small(), nodes));
    for (const json& node : report["nodes"]) found.push_back(node["state"]);
    return found;
  };
  EXPECT_THAT(words(), ElementsAre("up", "up", "down", "unmounted"));
  nodes[3].mounted = true;
  nodes[0].answer.clear();
  EXPECT_THAT(words(), ElementsAre("silent", "up", "down", "up"));
  const std::string text = lab_status_text(small(), nodes, {}, true);
  EXPECT_THAT(text, HasSubstr("lab-OST0000 to lab-OST0001"));
  EXPECT_THAT(text, HasSubstr("/lab/mnt/client0"));
  EXPECT_THAT(text, HasSubstr("silent"));
}

TEST(LabView, SpaceIsWhatServersSayAndUnknownWhereTheyAreSilent) {
  const auto rows = lab_df_rows(small(), states());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_TRUE(rows[0].known);
  EXPECT_EQ(rows[0].used, 250U);
  EXPECT_EQ(rows[0].objects, 4U);
  EXPECT_THAT(rows[1].faults, ElementsAre("slow 0.1", "full", "off"));
  EXPECT_FALSE(rows[2].known);
  EXPECT_EQ(rows[3].oss, 1U);

  const json report = json::parse(lab_df_json(small(), rows));
  EXPECT_EQ(report["osts"][0]["free"], 750);
  EXPECT_EQ(report["osts"][1]["free"], 0) << "more used than there is";
  EXPECT_TRUE(report["osts"][2]["free"].is_null());
  EXPECT_THAT(lab_df_text(small(), rows, {}, true), HasSubstr("no answer"));
  EXPECT_TRUE(report["ost_cost"].is_null()) << "one of them is not known";
  std::vector<LabDfRow> even(3);
  for (LabDfRow& row : even) row = {.ost = 0, .oss = 0, .known = true, .total = 1000, .used = 100};
  even[1].used = 400;
  EXPECT_DOUBLE_EQ(json::parse(lab_df_json(small(), even))["ost_cost"].get<double>(), 2.0);
  EXPECT_THAT(lab_df_text(small(), even, {}, true), HasSubstr("\nOSTCost 2.000 "));
  EXPECT_THAT(lab_df_text(small(), even, {}, false), testing::Not(HasSubstr("OSTCost")));
}

TEST(LabView, AnswersThatAreNoJsonAreNoAnswers) {
  auto nodes = states();
  nodes[1].answer = "{\"osts\": 5";
  EXPECT_FALSE(lab_df_rows(small(), nodes)[0].known);
  nodes[1].answer = R"({"osts": 5})";
  EXPECT_FALSE(lab_df_rows(small(), nodes)[0].known);
}

TEST(LabView, FaultsGoToTheNodesThatTheyAreOf) {
  const auto slow = lab_fault_of(small(), "slow", "ost3", 0.1);
  ASSERT_TRUE(slow) << slow.error().message;
  ASSERT_EQ(slow->requests.size(), 1U);
  EXPECT_EQ(slow->requests[0].first, "oss1");
  EXPECT_EQ(slow->requests[0].second.ost, 3);
  EXPECT_DOUBLE_EQ(slow->requests[0].second.value, 0.1);

  const auto off = lab_fault_of(small(), "off", "ost0", {});
  ASSERT_TRUE(off);
  ASSERT_EQ(off->requests.size(), 2U) << "the metadata server must know, too";
  EXPECT_EQ(off->requests[1].first, "mds");

  const auto none = lab_fault_of(small(), "none", "", {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->best_effort);
  EXPECT_EQ(none->requests.size(), 3U) << "servers only";

  const auto kill = lab_fault_of(small(), "kill", "client0", {});
  ASSERT_TRUE(kill);
  EXPECT_THAT(kill->kill, ElementsAre("client0"));
}

TEST(LabView, FaultsThatMakeNoSenseSayWhatDoes) {
  struct Case {
    const char* kind;
    const char* target;
    std::optional<double> value;
    const char* said;
  };
  for (const Case& one : {Case{"slow", "ost4", 0.5, "expected ost0 to ost3"}, Case{"slow", "ost1", {}, "needs a value"},
                          Case{"full", "ost1", 0.5, "takes no value"}, Case{"slow", "ost1", 0.0, "more than 0"},
                          Case{"drop", "oss0", 1.5, "at least 0"}, Case{"drop", "client0", 0.5, "needs a server"},
                          Case{"full", "oss0", {}, "needs an OST"}, Case{"kill", "ost0", {}, "needs a node"},
                          Case{"kill", "", {}, "needs a node"}, Case{"burn", "ost0", {}, "no fault 'burn'"}}) {
    SCOPED_TRACE(std::string(one.kind) + ' ' + one.target);
    const auto fault = lab_fault_of(small(), one.kind, one.target, one.value);
    ASSERT_FALSE(fault);
    EXPECT_EQ(fault.error().code, Errc::invalid_argument);
    EXPECT_THAT(fault.error().message, HasSubstr(one.said));
  }
}

}  // namespace
}  // namespace iez::cli
