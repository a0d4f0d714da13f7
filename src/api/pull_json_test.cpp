#include "api/pull_json.hpp"

#include <gtest/gtest.h>

#include "api/plan_json.hpp"
#include "base/rng.hpp"

namespace iez::api {
namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";

PredictionPage some_page() {
  PredictionPage page{.revision = 7, .predictions = {}, .next = 12};
  OfferedPrediction& one = page.predictions.emplace_back();
  one.key = kKey;
  one.number = 12;
  one.owner = "ann";
  one.request.application = "ior";
  one.request.file_system = "lab";
  one.request.files = {{.name = "/lab/a.{}", .bytes = 5, .files = 3}, {.name = "/lab/\xff", .bytes = 6, .high = 9}};
  one.request.freed = {{.ost = 3, .bytes = 100}};
  return page;
}

PostedAllocation some_posted() {
  PostedAllocation posted{.prediction = kKey, .planner = "http://mds:9850", .answer = {}};
  posted.answer.plan = "00000000000000ab";
  posted.answer.files = {{.layouts = {{.stripe_size = 65536, .osts = {0, 4}}}, .reason = 0}};
  posted.answer.reasons = {"balanced"};
  return posted;
}

AllocationPage some_allocations() {
  AllocationPage page{.revision = 9, .allocations = {}, .next = 0};
  page.allocations.push_back({.plan = "00000000000000ab", .number = 3, .revision = 2, .planned = 1, .created = 4, .expired = 5});
  return page;
}

const AllocationStates kStates{.plan = "00000000000000ab", .planned = 2, .created = {{0, 2}, {5, 1}}};

TEST(PullJson, RoundTrips) {
  EXPECT_EQ(parse_revision(revision_json(42)).value(), 42U);
  EXPECT_EQ(parse_prediction_page(to_json(some_page())).value(), some_page());
  EXPECT_EQ(parse_posted_allocation(to_json(some_posted())).value(), some_posted());
  EXPECT_EQ(parse_allocation_page(to_json(some_allocations())).value(), some_allocations());
  EXPECT_EQ(parse_allocation_states(to_json(kStates)).value(), kStates);
}

TEST(PullJson, WhatMakesNoSenseIsTold) {
  const auto message = [](const auto& parsed) { return parsed ? std::string() : parsed.error().message; };
  EXPECT_EQ(message(parse_revision("{}")), "field 'revision' is missing");
  EXPECT_NE(message(parse_revision(R"({"revision":"7"})")).find("revision"), std::string::npos);
  EXPECT_NE(message(parse_revision(R"({"revision":-1})")).find("revision"), std::string::npos);
  EXPECT_NE(message(parse_prediction_page(R"({"predictions":[{"owner":"ann"}]})")).find("32 hexadecimal"), std::string::npos);
  PredictionPage page = some_page();
  page.predictions[0].owner.clear();
  EXPECT_NE(message(parse_prediction_page(to_json(page))).find("no owner"), std::string::npos);
  page = some_page();
  page.predictions.resize(kMaxPageItems + 1, page.predictions[0]);
  EXPECT_NE(message(parse_prediction_page(to_json(page))).find("at most 1000"), std::string::npos);
  PostedAllocation posted = some_posted();
  posted.answer.plan.clear();
  EXPECT_NE(message(parse_posted_allocation(to_json(posted))).find("id of its plan"), std::string::npos);
  posted = some_posted();
  posted.answer.files[0].reason = 5;
  EXPECT_NE(message(parse_posted_allocation(to_json(posted))).find("reason 5"), std::string::npos);
  for (const char* bad : {R"({"created":[[1]]})", R"({"created":[[1,0]]})", R"({"created":[[4,2],[5,1]]})",
                          R"({"created":[[999999,2]]})", R"({"created":[["a",1]]})", R"({"created":7})"}) {
    EXPECT_FALSE(parse_allocation_states(bad)) << bad;
  }
}

// A text that is cut off anywhere, or has a byte changed, is refused or read as something: never a crash, never a half record
// that looks whole.
TEST(PullJson, CutOffAndChanged) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (const std::string& text : {to_json(some_page()), to_json(some_posted()), to_json(some_allocations()), to_json(kStates)}) {
    for (std::size_t end = 0; end < text.size(); ++end) {
      const std::string_view part = std::string_view(text).substr(0, end);
      EXPECT_FALSE(parse_prediction_page(part));
      EXPECT_FALSE(parse_posted_allocation(part));
      EXPECT_FALSE(parse_allocation_page(part));
      EXPECT_FALSE(parse_allocation_states(part));
    }
    for (int i = 0; i < 2000; ++i) {
      std::string changed = text;
      changed[rng.below(changed.size())] = static_cast<char>(rng.below(256));
      (void)parse_prediction_page(changed);
      (void)parse_allocation_page(changed);
      if (const auto posted = parse_posted_allocation(changed)) {
        EXPECT_FALSE(posted->answer.plan.empty());
      }
    }
  }
}

}  // namespace
}  // namespace iez::api
