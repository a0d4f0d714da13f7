#include "coordinator/puller.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "coordinator/metrics.hpp"

namespace iez::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kFiles = 3;
const std::string kUrl = "http://node1:9853";

// A database that does as `iez db serve` does, and fails on demand: before a request took effect, or after.
class FakeDatabase final : public PulledDatabase {
 public:
  struct Application {
    std::string owner = "ann";
    std::string name;
    std::uint64_t number = 0;  // of its newest prediction; 0: none
    std::string key;
    bool offered = false;  // the prediction is for the coordinator
    std::string plan;      // of the newest allocation; empty: none
    std::string plan_key;  // of the prediction that it is for
    std::string verdict;   // of the newest prediction; empty: none
    bool local = false;
    std::uint64_t revision = 0;
    std::vector<int> states;  // 0 planned, 1 created, 2 expired
  };

  explicit FakeDatabase(Rng& rng) : rng_(rng) {}

  std::vector<Application> applications;
  std::uint64_t counter = 1;
  double fault = 0;      // probability
  std::size_t page = 2;  // items
  bool pages_stand_still = false;
  std::function<void()> before_post;  // what happens meanwhile
  std::uint64_t posts = 0;
  std::uint64_t taken = 0;

  void predict(Application& application) {
    application.number = ++numbers_;
    application.key = std::string(24, '0') + std::to_string(10'000'000 + numbers_);
    application.offered = true;
    application.verdict.clear();
    ++counter;
  }

  Result<std::uint64_t> revision() override {
    IEZ_CHECK(maybe());
    return counter;
  }
  Result<api::PredictionPage> predictions(std::uint64_t after) override {
    IEZ_CHECK(maybe());
    std::vector<const Application*> all;
    for (const Application& one : applications) {
      if (one.offered && one.verdict.empty() && one.number > after && !(one.plan_key == one.key && !one.plan.empty()))
        all.push_back(&one);
    }
    std::ranges::sort(all, {}, [](const Application* one) { return one->number; });
    api::PredictionPage out{.revision = counter, .predictions = {}, .next = 0};
    for (const Application* one : all) {
      if (out.predictions.size() == page) {
        out.next = pages_stand_still ? 1 : out.predictions.back().number;
        break;
      }
      api::OfferedPrediction prediction{.key = one->key, .number = one->number, .owner = one->owner, .request = {}};
      prediction.request.application = one->name;
      for (std::uint32_t i = 0; i < kFiles; ++i)
        prediction.request.files.push_back({.name = "/s/" + std::to_string(i), .bytes = 1});
      out.predictions.push_back(std::move(prediction));
    }
    return out;
  }
  Result<api::Posted> post(const api::PostedAllocation& posted) override {
    IEZ_CHECK(maybe());
    if (before_post) before_post();
    ++posts;
    api::Posted outcome = api::Posted::replaced;
    for (Application& one : applications) {
      const bool mine =
          posted.prediction.empty() ? one.plan == posted.answer.plan && one.plan_key == one.key : one.key == posted.prediction;
      if (!mine) continue;
      const bool has = !one.plan.empty() && one.plan_key == one.key;
      if (has && one.plan != posted.answer.plan) break;
      outcome = api::Posted::stored;
      if (posted.answer.plan.empty()) {
        one.verdict = posted.answer.verdict;
        ++counter;
        break;
      }
      if (!has) {
        ++taken;
        one.states.assign(kFiles, 0);
        one.revision = 0;
      }
      one.plan = posted.answer.plan;
      one.plan_key = one.key;
      one.local = false;
      one.revision = std::max(one.revision, posted.answer.revision);
      ++counter;
    }
    IEZ_CHECK(maybe());
    return outcome;
  }
  Result<api::AllocationPage> allocations(std::uint64_t after) override {
    IEZ_CHECK(maybe());
    api::AllocationPage out{.revision = counter, .allocations = {}, .next = 0};
    for (std::size_t i = after; i < applications.size(); ++i) {
      const Application& one = applications[i];
      if (one.plan.empty() || one.local) continue;
      if (out.allocations.size() == page) {
        out.next = i;
        break;
      }
      const auto count = [&](int state) { return static_cast<std::uint64_t>(std::ranges::count(one.states, state)); };
      out.allocations.push_back({.plan = one.plan,
                                 .number = i + 1,
                                 .revision = one.revision,
                                 .planned = count(0),
                                 .created = count(1),
                                 .expired = count(2)});
    }
    return out;
  }
  Result<api::AllocationStates> states(std::string_view plan) override {
    IEZ_CHECK(maybe());
    for (const Application& one : applications) {
      if (one.plan != plan) continue;
      api::AllocationStates out{.plan = one.plan, .planned = 0, .created = {}};
      for (std::uint32_t i = 0; i < one.states.size(); ++i) {
        if (one.states[i] == 0) ++out.planned;
        if (one.states[i] == 1) out.created.emplace_back(i, 1);
      }
      return out;
    }
    return fail(Errc::not_found, "no such plan");
  }

 private:
  Result<void> maybe() {
    if (static_cast<double>(rng_.below(1000)) < fault * 1000) return fail(Errc::io, "cut off");
    return {};
  }

  Rng& rng_;
  std::uint64_t numbers_ = 0;
};

// The ledger: it outlives a puller.
class FakePlanning final : public Planning {
 public:
  struct Plan {
    std::string owner;
    std::string application;
    std::uint64_t revision = 1;
    std::set<std::uint32_t> created;
  };
  std::map<std::string, Plan> plans;
  std::map<std::string, std::pair<std::string, std::string>> queue;  // plan to owner and application
  bool busy = false;
  std::uint32_t refuse_with = 0;   // a status
  bool as_good = false;            // Lustre's default is
  std::set<std::string> verdicts;  // of requests that waited, until somebody takes them away
  std::uint64_t made = 0;
  std::uint64_t number = 0;

  Reply<api::Submitted> plan(std::uint64_t id, const std::string& owner, const api::PlanRequest& request) override {
    EXPECT_EQ(request.database, kUrl);
    const std::string plan = id_text(id);
    if (plans.contains(plan) || verdicts.contains(plan)) return find(owner, plan);
    if (refuse_with != 0) return std::unexpected(api::Problem{.status = refuse_with, .type = "", .title = "", .detail = "no"});
    if (busy || queue.contains(plan)) {
      queue.emplace(plan, std::pair(owner, request.application));
      return api::Submitted{.answer = std::nullopt, .ticket = {.plan = plan}};
    }
    if (as_good) return no_plan();
    make(plan, owner, request.application);
    return find(owner, plan);
  }
  Reply<api::Submitted> find(const std::string& /*owner*/, const std::string& plan) override {
    if (verdicts.contains(plan)) return no_plan();
    const auto found = plans.find(plan);
    if (found == plans.end()) return std::unexpected(api::Problem{.status = 404, .type = "", .title = "", .detail = ""});
    api::PlanAnswer answer{.plan = plan, .revision = found->second.revision};
    answer.files.resize(kFiles);
    return api::Submitted{.answer = std::move(answer), .ticket = {}};
  }
  bool created(const std::string& /*owner*/, const std::string& plan, const api::CreatedRequest& request) override {
    const auto found = plans.find(plan);
    if (found == plans.end()) return true;
    for (const api::CreatedFile& file : request.files) found->second.created.insert(file.file);
    if (found->second.created.size() == kFiles) plans.erase(found);
    return true;
  }
  bool expire(const std::string& /*owner*/, const std::string& plan) override {
    plans.erase(plan);
    queue.erase(plan);
    verdicts.erase(plan);
    return true;
  }
  std::vector<PulledPlan> pending() override {
    std::vector<PulledPlan> out;
    for (const auto& [id, plan] : plans) out.push_back({.plan = id, .owner = plan.owner, .revision = plan.revision});
    return out;
  }
  std::uint64_t changes() override { return number; }

  void drain() {
    if (busy) return;
    number += queue.size();
    for (const auto& [plan, whose] : queue) {
      if (as_good) {
        verdicts.insert(plan);
      } else {
        make(plan, whose.first, whose.second);
      }
    }
    queue.clear();
  }
  void mend(const std::string& plan) {
    if (const auto found = plans.find(plan); found != plans.end()) {
      ++found->second.revision;
      ++number;
    }
  }

 private:
  static Reply<api::Submitted> no_plan() {
    api::PlanAnswer answer{.verdict = "Lustre's default is as good"};
    answer.files.resize(kFiles);
    return api::Submitted{.answer = std::move(answer), .ticket = {}};
  }

  // A newer plan of an application takes back the one before, as the service's does.
  void make(const std::string& plan, const std::string& owner, const std::string& application) {
    std::erase_if(plans, [&](const auto& one) { return one.second.owner == owner && one.second.application == application; });
    plans[plan] = {.owner = owner, .application = application, .revision = 1, .created = {}};
    ++made;
  }
};

class PullerTest : public testing::Test {
 protected:
  PullerTest() : log_(Logger::make({.level = LogLevel::off}).value()) { restart(); }

  void restart() {
    puller_ = std::make_unique<Puller>(PullOptions{.url = kUrl, .planner = "http://mds"}, database_, planning_, log_);
  }
  Duration turn() {
    now_ = std::max(puller_->turn(now_), now_);
    return now_;
  }
  FakeDatabase::Application& add(const std::string& name) {
    database_.applications.push_back({.name = name});
    return database_.applications.back();
  }

  Rng rng_{1};
  Logger log_;
  FakeDatabase database_{rng_};
  FakePlanning planning_;
  std::unique_ptr<Puller> puller_;
  Duration now_{0};
};

TEST_F(PullerTest, APredictionIsPlannedOnceAndItsFilesEndTheReservation) {
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  EXPECT_EQ(turn(), 5s);
  EXPECT_EQ(one.plan, id_text(plan_id("ann", one.key)));
  EXPECT_EQ(planning_.plans.size(), 1U);
  turn();
  turn();
  EXPECT_EQ(database_.posts, 1U);
  one.states[1] = 1;
  ++database_.counter;
  turn();
  EXPECT_EQ(planning_.plans.at(one.plan).created, std::set<std::uint32_t>{1});
  one.states = {1, 1, 1};
  ++database_.counter;
  turn();
  EXPECT_TRUE(planning_.plans.empty());
  EXPECT_EQ(puller_->figures().posted, 1U);
  EXPECT_EQ(puller_->figures().fetched, 1U);
  EXPECT_TRUE(puller_->figures().up);
}

TEST_F(PullerTest, AQueuedPlanIsPostedWhenItIsPlanned) {
  planning_.busy = true;
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  turn();
  turn();
  EXPECT_TRUE(one.plan.empty());
  EXPECT_EQ(planning_.queue.size(), 1U);
  EXPECT_EQ(puller_->figures().waiting, 1U);
  planning_.busy = false;
  planning_.drain();
  turn();
  EXPECT_EQ(one.plan, id_text(plan_id("ann", one.key)));
  EXPECT_EQ(planning_.made, 1U);
}

TEST_F(PullerTest, AVerdictIsPostedOnce) {
  planning_.as_good = true;
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  turn();
  EXPECT_EQ(one.verdict, "Lustre's default is as good");
  EXPECT_TRUE(one.plan.empty());
  EXPECT_TRUE(planning_.plans.empty());
  EXPECT_EQ(puller_->figures().verdicts, 1U);
  EXPECT_EQ(puller_->figures().waiting, 0U);
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(puller_->figures().fetched, 1U);
  EXPECT_EQ(database_.posts, 1U);
  // The next prediction is asked for anew, and may come to something else.
  planning_.as_good = false;
  database_.predict(one);
  turn();
  EXPECT_EQ(one.plan, id_text(plan_id("ann", one.key)));
}

TEST_F(PullerTest, AVerdictOfARequestThatWaitedIsTakenAway) {
  planning_.as_good = true;
  planning_.busy = true;
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  turn();
  planning_.busy = false;
  planning_.drain();
  ASSERT_EQ(planning_.verdicts.size(), 1U);
  turn();
  EXPECT_FALSE(one.verdict.empty());
  EXPECT_TRUE(planning_.verdicts.empty());
}

TEST_F(PullerTest, WhatWasReplacedIsTakenBack) {
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  turn();
  one.local = true;  // a run planned by itself meanwhile
  one.plan = "local";
  ++database_.counter;
  turn();
  EXPECT_TRUE(planning_.plans.empty());
}

TEST_F(PullerTest, APlanThatComesTooLateIsTakenBackAtOnce) {
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  std::size_t times = 0;
  database_.before_post = [&] {
    if (times++ == 0) database_.predict(one);
  };
  turn();
  EXPECT_EQ(puller_->figures().replaced, 1U);
  EXPECT_EQ(puller_->figures().posted, 0U);
  EXPECT_TRUE(planning_.plans.empty());
  turn();
  EXPECT_EQ(one.plan, id_text(plan_id("ann", one.key)));
  EXPECT_EQ(planning_.plans.size(), 1U);
}

TEST_F(PullerTest, AMendedPlanIsSentAnew) {
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  turn();
  planning_.mend(one.plan);
  turn();
  EXPECT_EQ(one.revision, 2U);
  EXPECT_EQ(database_.posts, 2U);
  turn();
  EXPECT_EQ(database_.posts, 2U);
}

TEST_F(PullerTest, WhatCannotBePlannedIsTriedAgainLater) {
  FakeDatabase::Application& one = add("ior");
  database_.predict(one);
  planning_.refuse_with = 409;
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_EQ(puller_->figures().refused, 1U);
  planning_.refuse_with = 0;
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_TRUE(one.plan.empty());
  now_ += 60s;
  turn();
  EXPECT_FALSE(one.plan.empty());
  // The coordinator's own trouble is no fault of the prediction.
  database_.predict(one);
  planning_.refuse_with = 507;
  turn();
  planning_.refuse_with = 0;
  turn();
  EXPECT_EQ(one.plan_key, one.key);
  EXPECT_EQ(puller_->figures().refused, 1U);
}

TEST_F(PullerTest, OneThatDoesNotAnswerIsAskedLessAndLess) {
  database_.fault = 1;
  std::vector<Duration> waits;
  for (int i = 0; i < 8; ++i) {
    const Duration before = now_;
    waits.push_back(turn() - before);
  }
  EXPECT_EQ(waits, (std::vector<Duration>{5s, 10s, 20s, 40s, 60s, 60s, 60s, 60s}));
  EXPECT_FALSE(puller_->figures().up);
  EXPECT_EQ(puller_->figures().failures, 8U);
  for (int i = 0; i < 60; ++i) turn();
  database_.fault = 0;
  database_.predict(add("ior"));
  const Duration before = now_;
  EXPECT_EQ(turn() - before, 5s);
  EXPECT_FALSE(database_.applications[0].plan.empty());
}

TEST_F(PullerTest, PagesThatDoNotGoOnAreAnError) {
  for (int i = 0; i < 7; ++i) database_.predict(add("app" + std::to_string(i)));
  database_.pages_stand_still = true;
  turn();
  EXPECT_EQ(puller_->figures().failures, 1U);
  database_.pages_stand_still = false;
  turn();
  for (const auto& one : database_.applications) EXPECT_FALSE(one.plan.empty());
}

TEST(Puller, IdsOfPlans) {
  EXPECT_EQ(plan_id("ann", "k"), plan_id("ann", "k"));
  EXPECT_NE(plan_id("ann", "k"), plan_id("bob", "k"));
  EXPECT_NE(plan_id("an", "nk"), plan_id("ann", "k"));
  EXPECT_EQ(parse_id(id_text(plan_id("ann", "k"))), plan_id("ann", "k"));
  EXPECT_EQ(plan_id("ann", "k") >> 63U, 0U);
}

TEST(Puller, Metrics) {
  EXPECT_EQ(pull_metrics_text({}), "");
  const std::vector<PullReport> reports{{.url = kUrl, .figures = {.up = true, .revision = 12, .posted = 3}}};
  const std::string text = pull_metrics_text(reports);
  EXPECT_NE(text.find("iez_pull_up{database=\"http://node1:9853\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("iez_pull_posted_total{database=\"http://node1:9853\"} 3\n"), std::string::npos);
}

// Whatever is cut off, killed, replaced, created and mended, in any order: when it is quiet, each prediction that asked for one
// has one plan, and what is reserved is what is not created of those, once.
TEST(Puller, AnyOrderOfFaults) {
  Logger quiet = Logger::make({.level = LogLevel::off}).value();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    FakeDatabase database(rng);
    FakePlanning planning;
    database.page = 1 + rng.below(4);
    const std::size_t count = 1 + rng.below(6);
    for (std::size_t i = 0; i < count; ++i) database.applications.push_back({.name = "app" + std::to_string(i)});
    const PullOptions options{.url = kUrl, .planner = "http://mds"};
    auto puller = std::make_unique<Puller>(options, database, planning, quiet);
    Duration now{0};
    database.fault = 0.1 * static_cast<double>(rng.below(4));
    for (int step = 0; step < 120; ++step) {
      FakeDatabase::Application& one = database.applications[rng.below(count)];
      switch (rng.below(10)) {
        case 0:
          database.predict(one);
          break;
        case 1:  // the run did not wait
          if (one.number == 0 || one.plan_key == one.key) break;
          one.plan = "local" + one.key;
          one.plan_key = one.key;
          one.local = true;
          one.states.assign(kFiles, 0);
          ++database.counter;
          break;
        case 2:
          if (one.plan.empty()) break;
          one.states[rng.below(kFiles)] = 1;
          ++database.counter;
          break;
        case 3:
          for (int& state : one.states) state = state == 0 ? 2 : state;
          ++database.counter;
          break;
        case 4:  // forgotten
          one = {.name = one.name};
          ++database.counter;
          break;
        case 5:
          planning.mend(one.plan);
          break;
        case 6:
          planning.busy = !planning.busy;
          planning.drain();
          break;
        case 7:  // killed and started again
          puller = std::make_unique<Puller>(options, database, planning, quiet);
          break;
        default:
          now = puller->turn(now);
      }
    }
    database.fault = 0;
    planning.busy = false;
    for (int i = 0; i < 4; ++i) {
      planning.drain();
      now = puller->turn(now);
    }
    std::set<std::string> reserved;
    for (const FakeDatabase::Application& one : database.applications) {
      EXPECT_TRUE(!one.offered || one.plan_key == one.key);
      if (one.local || one.plan.empty()) continue;
      EXPECT_EQ(one.plan, id_text(plan_id(one.owner, one.key)));
      if (std::ranges::count(one.states, 0) == 0) continue;
      // A plan that the coordinator forgot, since a later one of the same name was made for a prediction that is gone, stays as
      // the database has it.
      const auto found = planning.plans.find(one.plan);
      if (found == planning.plans.end()) continue;
      reserved.insert(one.plan);
      EXPECT_EQ(found->second.revision, one.revision);
      std::set<std::uint32_t> created;
      for (std::uint32_t i = 0; i < kFiles; ++i) {
        if (one.states[i] == 1) created.insert(i);
      }
      EXPECT_EQ(found->second.created, created);
    }
    std::set<std::string> pending;
    for (const auto& [id, plan] : planning.plans) pending.insert(id);
    EXPECT_EQ(pending, reserved);
    const std::uint64_t posts = database.posts;
    now = puller->turn(now);
    EXPECT_EQ(database.posts, posts) << "it is not quiet";
  }
}

}  // namespace
}  // namespace iez::coordinator
