#include "runs/pull_note.hpp"

#include <gtest/gtest.h>

#include "api/plan_json.hpp"
#include "base/rng.hpp"

namespace iez::runs {
namespace {

PullNote some_note() {
  return {.host = "node1",
          .file_system = "scratch",
          .rows = {0, 1, 2, 5, 7, 8},
          .freed = {{.ost = 3, .bytes = 99}},
          .slow = {{.ost = 4, .speed = 0.25}},
          .always = true,
          .gap_s = 3600.5,
          .ran_s = 12.5};
}

TEST(PullNote, TravelsInTheModel) {
  const std::string model = with_pull_note(R"({"runs":3,"notes":["x"]})", some_note()).value();
  EXPECT_EQ(pull_note_of(model), some_note());
  EXPECT_NE(model.find(R"("runs":3)"), std::string::npos);
  EXPECT_NE(model.find(R"("rows":[[0,3],[5,1],[7,2]])"), std::string::npos) << model;
  EXPECT_EQ(pull_note_of(with_pull_note("", some_note()).value()), some_note());
}

TEST(PullNote, WithoutOneThePredictionIsNotForTheCoordinator) {
  for (const char* model : {"", "{}", R"({"runs":3})", R"({"pull":7})", R"({"pull":{}})", "\"pull\"",
                            R"({"pull":{"host":"a","file_system":"b","rows":[[1,2],[0,1]],"freed":[]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[[0,9999999]],"freed":[]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[[-1,1]],"freed":[]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[],"freed":[[1]]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[],"freed":[],"slow":[[1]]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[],"freed":[],"slow":[[1,0]]}})",
                            R"({"pull":{"host":"a","file_system":"b","rows":[],"freed":[],"slow":[[1,2]]}})"}) {
    EXPECT_FALSE(pull_note_of(model)) << model;
  }
}

TEST(PullNote, OfAnOlderNode) {
  const auto note = pull_note_of(R"({"pull":{"host":"a","file_system":"b","rows":[[0,2]],"spread":["/s/"],"freed":[]}})");
  ASSERT_TRUE(note);
  EXPECT_EQ(*note, (PullNote{.host = "a", .file_system = "b", .rows = {0, 1}, .freed = {}}));
}

TEST(PullNote, AnyRows) {
  constexpr std::uint64_t kSeed = 21;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int i = 0; i < 200; ++i) {
    PullNote note = some_note();
    note.rows.clear();
    const std::uint64_t share = rng.between(1, 9);
    for (std::uint32_t row = 0; row < 300; ++row) {
      if (rng.below(10) < share) note.rows.push_back(row);
    }
    EXPECT_EQ(pull_note_of(with_pull_note("{}", note).value()), note);
  }
}

TEST(PullNote, ToRequest) {
  store::Prediction prediction{.id = 4, .run = 9, .made_ns = 1'000'000'000};
  for (int i = 0; i < 9; ++i) prediction.rows.push_back({.name = "/s/a/" + std::to_string(i), .bytes = Bytes{100}});
  const auto request = pulled_request("ior", prediction, some_note(), 5'000'000'000).value();
  EXPECT_EQ(request.application, "ior");
  EXPECT_EQ(request.file_system, "scratch");
  EXPECT_EQ(request.host, "node1");
  EXPECT_EQ(request.run, "9");
  ASSERT_EQ(request.files.size(), 6U);
  EXPECT_EQ(request.files[3].name, "/s/a/5");
  EXPECT_EQ(request.freed, some_note().freed);
  EXPECT_EQ(request.slow, some_note().slow);
  EXPECT_TRUE(request.always);
  EXPECT_EQ(request.gap_s, 3600.5);
  EXPECT_EQ(request.ran_s, 12.5);
  EXPECT_EQ(request.idle_s, 4) << "since its run ended";
  EXPECT_EQ(pulled_request("ior", prediction, some_note(), 0)->idle_s, 0) << "clocks may differ";
  EXPECT_TRUE(api::check(request).has_value());
  prediction.rows.resize(8);
  EXPECT_EQ(pulled_request("ior", prediction, some_note(), 0).error().code, Errc::parse);
}

TEST(PullNote, TooLarge) {
  PullNote note = some_note();
  note.file_system = std::string(store::kMaxText, 'x');
  EXPECT_EQ(with_pull_note("{}", note).error().code, Errc::limit);
}

}  // namespace
}  // namespace iez::runs
