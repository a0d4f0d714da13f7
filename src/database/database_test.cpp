#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "database/database_server.hpp"
#include "database/exchange.hpp"
#include "http/document_test_support.hpp"
#include "runs/pull_note.hpp"

namespace iez::database {
namespace {

class ExchangeTest : public testing::Test {
 protected:
  ExchangeTest() : log_(Logger::make({.level = LogLevel::off}).value()) {
    std::string name = (std::filesystem::temp_directory_path() / "iez-database-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    store_ = store::Store::open("sqlite:" + folder_ + "/iez.db", clock_).value();
  }
  ~ExchangeTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Its key.
  std::string predict(const std::string& application, std::size_t rows, bool pulled = true, std::size_t padding = 0) {
    const auto app = store_->ensure_application("ann", application, "").value();
    store::Prediction prediction{.application = app.id, .made_ns = ++time_};
    runs::PullNote note{.host = "node1", .file_system = "lab", .rows = {}, .freed = {}, .slow = {}, .ran_s = 7.5};
    for (std::size_t i = 0; i < rows; ++i) {
      prediction.rows.push_back(
          {.name = "/lab/" + application + "." + std::to_string(i) + std::string(padding, 'x'), .bytes = Bytes{100}});
      if (i != 1) note.rows.push_back(static_cast<std::uint32_t>(i));  // one is on another file system
    }
    if (pulled) prediction.model = runs::with_pull_note("{}", note).value();
    return store_->prediction(store_->put_prediction(prediction).value()).value()->key;
  }

  static api::PostedAllocation posted(const std::string& key, std::size_t files, std::uint64_t revision = 1) {
    api::PostedAllocation out{.prediction = key, .planner = "http://mds:9850", .answer = {}};
    out.answer.plan = "00000000000000ab";
    out.answer.revision = revision;
    out.answer.policy = "balanced";
    out.answer.reasons = {"why"};
    for (std::size_t i = 0; i < files; ++i) {
      out.answer.files.push_back(
          {.layouts = {{.stripe_size = 65536, .osts = {static_cast<std::uint32_t>(revision)}}}, .reason = 0});
    }
    return out;
  }

  SystemClock clock_;
  Logger log_;
  std::string folder_;
  std::unique_ptr<store::Store> store_;
  std::int64_t time_ = 100;
};

TEST_F(ExchangeTest, OffersWhatIsMeantForTheCoordinator) {
  predict("other", 2, false);
  predict("ior", 3);
  const std::string key = predict("ior", 4);  // the one before is replaced
  const auto page = offered_predictions(*store_, 0, 0, log_).value();
  EXPECT_EQ(page.revision, store_->revision().value());
  EXPECT_EQ(page.next, 0U);
  ASSERT_EQ(page.predictions.size(), 1U);
  const api::OfferedPrediction& one = page.predictions[0];
  EXPECT_EQ(one.key, key);
  EXPECT_EQ(one.owner, "ann");
  EXPECT_EQ(one.request.application, "ior");
  EXPECT_EQ(one.request.file_system, "lab");
  ASSERT_EQ(one.request.files.size(), 3U);
  EXPECT_EQ(one.request.files[1].name, "/lab/ior.2");
  EXPECT_EQ(one.request.ran_s, 7.5);
  EXPECT_EQ(one.request.idle_s, 0) << "clocks may differ";
  const auto later = offered_predictions(*store_, 0, time_ + 3'000'000'000, log_).value();
  EXPECT_EQ(later.predictions.at(0).request.idle_s, 3);
  EXPECT_TRUE(offered_predictions(*store_, one.number, 0, log_)->predictions.empty());
  EXPECT_TRUE(offered_predictions(*store_, ~std::uint64_t{0}, 0, log_)->predictions.empty());
}

TEST_F(ExchangeTest, PagesHaveABound) {
  constexpr std::size_t kApplications = 230;  // more than are read at once
  for (std::size_t i = 0; i < kApplications; ++i) {
    const bool large = i % 50 == 10;
    predict("app" + std::to_string(i), large ? 1500 : 3, i % 3 != 0, large ? 1000 : 0);
  }
  std::uint64_t after = 0;
  std::set<std::string> names;
  std::size_t pages = 0;
  do {
    const auto page = offered_predictions(*store_, after, 0, log_).value();
    for (const auto& one : page.predictions) EXPECT_TRUE(names.insert(one.request.application).second);
    ASSERT_TRUE(page.next == 0 || page.next > after);
    after = page.next;
    ++pages;
  } while (after != 0);
  EXPECT_EQ(names.size(), 153U);
  EXPECT_GT(pages, 1U);
}

TEST_F(ExchangeTest, APlanIsTakenOnce) {
  const std::string key = predict("ior", 4);
  const auto first = take_allocation(*store_, posted(key, 3)).value();
  EXPECT_EQ(take_allocation(*store_, posted(key, 3)).value().allocation, first.allocation);
  EXPECT_TRUE(offered_predictions(*store_, 0, 0, log_)->predictions.empty());
  const auto stored = store_->allocation(first.allocation).value();
  ASSERT_EQ(stored->rows.size(), 3U);
  EXPECT_EQ(stored->rows[1].row, 2U);
  EXPECT_EQ(stored->planner, "http://mds:9850");
  EXPECT_EQ(stored->file_system, "lab");
  auto page = newest_allocations(*store_, 0).value();
  ASSERT_EQ(page.allocations.size(), 1U);
  EXPECT_EQ(page.allocations[0].plan, "00000000000000ab");
  EXPECT_EQ(page.allocations[0].revision, 1U);
  EXPECT_EQ(page.allocations[0].planned, 3U);

  ASSERT_TRUE(store_->set_states(first.allocation, store::PlanState::created, std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(states_of(*store_, "00000000000000ab").value(),
            (api::AllocationStates{.plan = "00000000000000ab", .planned = 1, .created = {{1, 2}}}));
  EXPECT_EQ(states_of(*store_, "00000000000000ac").error().code, Errc::not_found);

  // Planned anew: known by the plan alone, and what exists stays.
  const auto second = take_allocation(*store_, posted("", 3, 2)).value();
  EXPECT_NE(second.allocation, first.allocation);
  const auto anew = store_->allocation(second.allocation).value();
  EXPECT_EQ(anew->created, 2U);
  EXPECT_EQ(anew->rows[0].layouts[0].osts[0].value, 2U);
  EXPECT_EQ(anew->rows[1].layouts[0].osts[0].value, 1U);
  page = newest_allocations(*store_, 0).value();
  ASSERT_EQ(page.allocations.size(), 1U);
  EXPECT_EQ(page.allocations[0].revision, 2U);
}

// A file that the coordinator leaves to Lustre is none of the plan.
TEST_F(ExchangeTest, FilesWithoutALayoutAreLeftOut) {
  const std::string key = predict("ior", 4);
  auto given = posted(key, 3);
  given.answer.files[2].layouts.clear();
  const auto stored = store_->allocation(take_allocation(*store_, given).value().allocation).value();
  ASSERT_EQ(stored->rows.size(), 2U);
  EXPECT_EQ(stored->rows[1].row, 2U);
}

TEST_F(ExchangeTest, AVerdictEndsTheOffer) {
  const std::string old = predict("ior", 4);
  const std::string key = predict("ior", 4);
  api::PostedAllocation verdict{.prediction = key, .planner = "http://mds:9850", .answer = {}};
  verdict.answer.verdict = "Lustre's default is as good";
  verdict.answer.files.resize(3);
  EXPECT_EQ(take_allocation(*store_, verdict).value().allocation, 0);
  EXPECT_TRUE(offered_predictions(*store_, 0, 0, log_)->predictions.empty());
  EXPECT_EQ(store_->find_prediction(key).value()->verdict, "Lustre's default is as good");
  EXPECT_TRUE(newest_allocations(*store_, 0)->allocations.empty());
  ASSERT_TRUE(take_allocation(*store_, verdict)) << "told twice";
  const auto code = [&](const std::string& which) {
    api::PostedAllocation other = verdict;
    other.prediction = which;
    return take_allocation(*store_, other).error().code;
  };
  EXPECT_EQ(code(old), Errc::exists);
  EXPECT_EQ(code(std::string(32, 'f')), Errc::exists);
  EXPECT_EQ(code(predict("mine", 4, false)), Errc::exists);
  // The next one is offered again; what has a plan keeps it.
  const std::string next = predict("ior", 4);
  ASSERT_EQ(offered_predictions(*store_, 0, 0, log_)->predictions.size(), 1U);
  ASSERT_TRUE(take_allocation(*store_, posted(next, 3)));
  EXPECT_EQ(code(next), Errc::exists);
}

TEST_F(ExchangeTest, WhatIsRefused) {
  const std::string old = predict("ior", 4);
  const std::string key = predict("ior", 4);
  const auto code = [&](const api::PostedAllocation& given) { return take_allocation(*store_, given).error().code; };
  EXPECT_EQ(code(posted(old, 3)), Errc::exists);
  EXPECT_EQ(code(posted(std::string(32, 'f'), 3)), Errc::exists);
  EXPECT_EQ(code(posted("", 3)), Errc::exists);
  EXPECT_EQ(code(posted(key, 2)), Errc::invalid_argument);
  EXPECT_EQ(code(posted(key, 4)), Errc::invalid_argument);
  auto other = posted(key, 3);
  other.answer.plan = "../../etc";
  EXPECT_EQ(code(other), Errc::invalid_argument);
  EXPECT_EQ(code(posted(predict("mine", 4, false), 3)), Errc::exists);
  ASSERT_TRUE(take_allocation(*store_, posted(key, 3)));
  other.answer.plan = "00000000000000ac";
  EXPECT_EQ(code(other), Errc::exists) << "it has another plan";
  EXPECT_TRUE(store_->check()->empty());
}

TEST(DatabaseServer, EveryRouteIsInTheDocument) {
  std::vector<std::string> routes = database_routes();
  std::ranges::sort(routes);
  EXPECT_EQ(routes, http::documented_routes(openapi_document()));
}

}  // namespace
}  // namespace iez::database
