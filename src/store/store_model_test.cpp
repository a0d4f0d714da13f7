// Random operations against a model in memory: what the store answers is what plain maps would.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "store/store_test_support.hpp"

namespace iez::store {
namespace {

struct ModelRun {
  Run run;
  std::vector<FileRow> files;
};
struct ModelPlan {
  Id id = 0;
  Id prediction = 0;
  std::int64_t made_ns = 0;
  std::vector<PlanState> states;
};
struct ModelApp {
  Id id = 0;
  std::vector<ModelRun> runs;
  std::vector<std::pair<std::int64_t, Id>> predictions;  // when, number
  std::map<Id, std::vector<PredictionRow>> rows;
  std::vector<ModelPlan> plans;
};

constexpr std::uint32_t kKeepRuns = 4;
constexpr std::uint32_t kKeepPlans = 2;

class StoreModelTest : public StoreTest {
 protected:
  static std::string name(Rng& rng) {
    std::string out = "/";
    for (std::uint64_t i = rng.between(1, 12); i > 0; --i) out += static_cast<char>(rng.between(1, 255));
    return out;
  }

  void step(Rng& rng) {
    const std::string app_name = "app" + std::to_string(rng.below(3));
    ModelApp& app = model_[app_name];
    if (app.id == 0) {
      const auto made = store_->ensure_application("ann", app_name, "");
      ASSERT_TRUE(made) << made.error().message;
      app.id = made->id;
    }
    time_ += static_cast<std::int64_t>(rng.between(1, 5));
    switch (rng.below(10)) {
      case 0:
      case 1:
      case 2:
        return record(rng, app);
      case 3:
      case 4:
        return predict(rng, app);
      case 5:
      case 6:
        return allocate(app);
      case 7:
        return change_states(rng, app);
      case 8:
        return expire(rng, app);
      default:
        if (!rng.chance(0.2)) return reopen({.keep_runs = kKeepRuns, .keep_plans = kKeepPlans});
        ASSERT_TRUE(store_->forget(app.id));
        model_.erase(app_name);
    }
  }

  void record(Rng& rng, ModelApp& app) {
    ModelRun one{.run = run_at(app.id, time_), .files = {}};
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
      one.files.push_back(
          {.name = name(rng), .written = Bytes{rng.below(1000)}, .rank = static_cast<std::int32_t>(rng.below(4))});
      one.run.written += one.files.back().written;
    }
    const auto id = store_->record_run(one.run, one.files, {});
    ASSERT_TRUE(id) << id.error().message;
    one.run.id = *id;
    app.runs.push_back(std::move(one));
  }

  void predict(Rng& rng, ModelApp& app) {
    const auto prediction = prediction_at(app.id, time_, rng.between(1, 5));
    const auto id = store_->put_prediction(prediction);
    ASSERT_TRUE(id) << id.error().message;
    app.predictions.emplace_back(time_, *id);
    app.rows[*id] = prediction.rows;
    for (ModelPlan& plan : app.plans) {
      if (!has_rows(app, plan)) std::replace(plan.states.begin(), plan.states.end(), PlanState::planned, PlanState::expired);
    }
  }

  // Its prediction is one of those whose rows are kept.
  static bool has_rows(const ModelApp& app, const ModelPlan& plan) {
    const auto first = app.predictions.end() - std::min<std::ptrdiff_t>(std::ssize(app.predictions), kKeepPlans);
    return std::any_of(first, app.predictions.end(), [&](const auto& one) { return one.second == plan.prediction; });
  }

  void allocate(ModelApp& app) {
    if (app.predictions.empty()) return;
    const Id prediction = app.predictions.back().second;
    const std::size_t rows = app.rows[prediction].size();
    const auto id = store_->put_allocation(allocation_of(prediction, time_, rows));
    ASSERT_TRUE(id) << id.error().message;
    for (ModelPlan& plan : app.plans)
      std::replace(plan.states.begin(), plan.states.end(), PlanState::planned, PlanState::expired);
    app.plans.push_back({.id = *id, .prediction = prediction, .made_ns = time_, .states = std::vector<PlanState>(rows)});
  }

  void change_states(Rng& rng, ModelApp& app) {
    if (app.plans.empty() || !has_rows(app, app.plans.back())) return;
    ModelPlan& plan = app.plans.back();
    const auto row = static_cast<std::uint32_t>(rng.below(plan.states.size()));
    const bool changes = plan.states[row] != PlanState::created;
    const auto changed = store_->set_states(plan.id, PlanState::created, std::span(&row, 1));
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(*changed, changes ? 1U : 0U);
    plan.states[row] = PlanState::created;
  }

  void expire(Rng& rng, const ModelApp& app) {
    const std::int64_t before = time_ - static_cast<std::int64_t>(rng.below(20));
    const bool all = rng.chance(0.5);
    std::uint64_t expected = 0;
    for (auto& [_, one] : model_) {
      if (!all && one.id != app.id) continue;
      for (ModelPlan& plan : one.plans) {
        if (plan.made_ns >= before) continue;
        for (PlanState& state : plan.states) {
          if (state != PlanState::planned) continue;
          state = PlanState::expired;
          ++expected;
        }
      }
    }
    EXPECT_EQ(store_->expire(all ? 0 : app.id, before).value(), expected);
  }

  void compare() {
    EXPECT_EQ(store_->applications()->size(), model_.size());
    for (const auto& [_, app] : model_) {
      const auto runs = store_->runs(app.id).value();
      ASSERT_EQ(runs.size(), app.runs.size());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const ModelRun& expected = app.runs[app.runs.size() - 1 - i];
        EXPECT_EQ(runs[i].id, expected.run.id);
        EXPECT_EQ(runs[i].written, expected.run.written);
        EXPECT_EQ(runs[i].files, expected.files.size());
        EXPECT_EQ(store_->files(runs[i].id).value(), i < kKeepRuns ? expected.files : std::vector<FileRow>());
      }
      const auto prediction = store_->latest_prediction(app.id).value();
      ASSERT_EQ(prediction.has_value(), !app.predictions.empty());
      if (prediction) {
        EXPECT_EQ(prediction->id, app.predictions.back().second);
        EXPECT_EQ(prediction->rows, app.rows.at(prediction->id));
      }
      const auto plan = store_->latest_allocation(app.id).value();
      // It goes with its prediction, when that one is too old.
      const bool old =
          app.plans.empty() ||
          std::none_of(app.predictions.end() - std::min<std::ptrdiff_t>(std::ssize(app.predictions), kKeepRuns),
                       app.predictions.end(), [&](const auto& p) { return p.second == app.plans.back().prediction; });
      ASSERT_EQ(plan.has_value(), !old);
      if (!plan) continue;
      const ModelPlan& expected = app.plans.back();
      EXPECT_EQ(plan->id, expected.id);
      EXPECT_EQ(plan->planned,
                static_cast<std::uint64_t>(std::count(expected.states.begin(), expected.states.end(), PlanState::planned)));
      for (const AllocationRow& row : plan->rows) EXPECT_EQ(row.state, expected.states.at(row.row));
    }
    expect_whole();
  }

  std::map<std::string, ModelApp> model_;
  std::int64_t time_ = 1000;
};

INSTANTIATE_TEST_SUITE_P(Engines, StoreModelTest, testing::ValuesIn(engines()), [](const auto& one) { return one.param; });

TEST_P(StoreModelTest, RandomOperations) {
  const std::uint64_t seed = static_cast<std::uint64_t>(clock_.wall().time_since_epoch().count());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  reopen({.keep_runs = kKeepRuns, .keep_plans = kKeepPlans});
  for (int i = 0; i < 200; ++i) {
    step(rng);
    if (HasFatalFailure()) return;
    if (i % 10 == 9) compare();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace iez::store
