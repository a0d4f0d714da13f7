#include "runs/guard_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "store/store_test_support.hpp"

namespace iez::runs {
namespace {

store::Run run(bool placed, double seconds, std::uint32_t ranks = 4) {
  store::Run out;
  out.ranks = ranks;
  out.mode = placed ? store::RunMode::place : store::RunMode::learn;
  out.planned = placed ? 30 : 0;
  out.phases = {{.seconds = seconds / 2, .bytes = Bytes::mib(100), .files = 15},
                {.seconds = seconds / 2, .bytes = Bytes::mib(100), .files = 15}};
  return out;
}

GuardAnswer judge(std::vector<store::Run> oldest_first) {
  std::ranges::reverse(oldest_first);
  return judge_history(oldest_first, shape_of(run(false, 1)));
}

TEST(GuardHistory, NothingIsKnownOfRunsOfOneKind) {
  EXPECT_EQ(judge({}).gain.gain, planning::Gain::unknown);
  EXPECT_EQ(judge({run(false, 1), run(false, 1)}).gain.gain, planning::Gain::unknown);
  EXPECT_FALSE(judge({run(true, 1)}).step_back);
}

TEST(GuardHistory, OneSlowRunIsEnoughWhereItIsSlowByFar) {
  const GuardAnswer answer = judge({run(false, 1), run(true, 2)});
  EXPECT_TRUE(answer.step_back);
  EXPECT_EQ(answer.tries_in, kRetry);
  EXPECT_EQ(gain_text(answer), "write 0.50x the default's rate (1 run each)");
}

TEST(GuardHistory, AFasterPlanGoesOn) {
  const GuardAnswer answer = judge({run(false, 2), run(true, 1), run(true, 1)});
  EXPECT_FALSE(answer.step_back);
  EXPECT_EQ(answer.gain.gain, planning::Gain::faster);
  EXPECT_EQ(gain_text(answer), "write 2.00x the default's rate (1 by default, 2 placed)");
}

TEST(GuardHistory, OtherShapesSayNothing) {
  EXPECT_EQ(judge({run(false, 1), run(true, 2, 8)}).gain.gain, planning::Gain::unknown);
  store::Run larger = run(true, 2);
  larger.phases[0].bytes = Bytes::mib(900);
  EXPECT_EQ(judge({run(false, 1), larger}).gain.gain, planning::Gain::unknown);
}

TEST(GuardHistory, RunsThatAreOverAtOnceSayNothing) {
  EXPECT_EQ(judge({run(false, 0.01), run(true, 0.09)}).gain.gain, planning::Gain::unknown);
}

TEST(GuardHistory, FailedRunsAndThoseThatPlacedNothingAreNoPlacedOnes) {
  store::Run failed = run(true, 9);
  failed.exit_status = 1;
  store::Run existing = run(true, 1);
  existing.planned = 0;
  const GuardAnswer answer = judge({run(false, 1), failed, existing});
  EXPECT_EQ(answer.gain.placed, 0U);
  EXPECT_FALSE(answer.step_back);
}

TEST(GuardHistory, WhatTheTestCannotTellIsNotClear) {
  EXPECT_EQ(gain_text(judge({run(false, 1), run(true, 1.15), run(true, 1.15)})),
            "write not clear yet (0.87x; 1 by default, 2 placed)");
  EXPECT_EQ(gain_text(judge({run(false, 1), run(true, 1.02)})), "write as fast as by default (0.98x, 1 run each)");
}

TEST(GuardHistory, OneRunShowsNoConfidence) {
  EXPECT_EQ(ratio_text(judge({run(false, 50), run(true, 1)}).writes), "50.00x");
  EXPECT_EQ(ratio_text(judge({run(false, 50), run(true, 1), run(true, 1)}).writes), "50.00x");
  EXPECT_EQ(ratio_text(judge({run(false, 2), run(false, 2), run(true, 1), run(true, 1)}).writes), "2.00x (1.78 to 2.25)");
}

// A promise that runs disprove is never told as one: what was measured stands beside it.
TEST(GuardHistory, WhatIsPromisedAndWhatWasMeasured) {
  const std::string promise = "predicted to take 7 % of the default's time";
  EXPECT_EQ(told_promise(promise, judge({run(false, 1)})), promise);
  EXPECT_EQ(told_promise(promise, judge({run(false, 1), run(false, 1), run(true, 1.05), run(true, 1.05)})),
            "forecast 7 % of the default's time, measured 105 % over 4 runs");
  EXPECT_EQ(told_promise(promise, judge({run(false, 1), run(true, 1.15), run(true, 1.15)})),
            "forecast 7 % of the default's time, measured 115 % over 3 runs, which is not clear yet");
  EXPECT_EQ(told_promise(promise + "; OST 3 works at about 0.50 of the others' speed", judge({run(false, 2), run(true, 1)})),
            "forecast 7 % of the default's time, measured 50 % over 2 runs; OST 3 works at about 0.50 of the others' speed");
  EXPECT_EQ(
      told_promise("as fast as the default and more even: OSTCost 1.1 instead of 1.3", judge({run(false, 1), run(true, 1.02)})),
      "as fast as the default and more even: OSTCost 1.1 instead of 1.3; measured 102 % of the default's time over 2 runs");
}

// ---- What counts ----

constexpr std::int64_t kDay = 24LL * 3600 * 1'000'000'000;

// Runs in which 5 of 20 files were placed, or that wrote over files which lie as placed, are of neither way.
TEST(GuardHistory, RunsOfNeitherWayDoNotCount) {
  store::Run part = run(true, 9);
  part.planned = 5;
  EXPECT_EQ(judge({run(false, 1), part}).gain.placed, 0U);

  std::vector<store::Run> newest_first{run(false, 1), run(true, 9), run(false, 1)};
  newest_first[0].key = "over";
  const FactsOf facts{
      .run = [](const store::Run& one) { return RunFacts{.created = one.key == "over" ? 0.1 : 1, .plan_files = {}}; },
      .changed = {}};
  const GuardAnswer answer = judge_history(newest_first, shape_of(newest_first[0]), facts);
  EXPECT_EQ(answer.gain.by_default, 1U);
  EXPECT_EQ(ways_of(newest_first, 9, facts), (std::vector{Way::written_over, Way::placed, Way::by_default}));
  // What is not known counts where nothing was placed before.
  EXPECT_EQ(ways_of(newest_first, 9), (std::vector{Way::not_known, Way::placed, Way::by_default}));
}

// Files that the plan leaves to Lustre do not make a run one of neither way; most of those that it should have had do.
TEST(GuardHistory, PlacedIsMostOfWhatThePlanHad) {
  store::Run one = run(true, 1);
  one.planned = 10;
  const auto way = [&one](std::uint64_t plan_files) {
    const FactsOf facts{.run = [=](const store::Run&) { return RunFacts{.created = {}, .plan_files = plan_files}; },
                        .changed = {}};
    return ways_of(std::span(&one, 1), 1, facts).front();
  };
  EXPECT_EQ(way(11), Way::placed);
  EXPECT_EQ(way(20), Way::placed);
  EXPECT_EQ(way(21), Way::partly_placed);
  one.unplanned = 10;
  EXPECT_EQ(way(10), Way::placed);
  one.unplanned = 11;
  EXPECT_EQ(way(10), Way::partly_placed);
}

// Of 20 files, 5 have names that nobody can predict: such runs are compared, too.
TEST(GuardHistory, SomeFilesAreNeverPredicted) {
  const FactsOf facts{.run = [](const store::Run&) { return RunFacts{.created = 1, .plan_files = 15}; }, .changed = {}};
  std::vector<store::Run> newest_first{run(true, 3), run(true, 3), run(false, 1)};
  for (store::Run& one : newest_first) {
    for (store::RunPhase& phase : one.phases) phase.files = 10;
    if (one.mode != store::RunMode::place) continue;
    one.planned = 15;
    one.unplanned = 5;
  }
  EXPECT_TRUE(judge_history(newest_first, shape_of(newest_first[0]), facts).step_back);
}

// A plan of one pattern for 100 files, by which some were placed.
TEST(GuardHistory, APatternIsAsManyFilesAsItHasLayouts) {
  const store::TemporaryFolder folder;
  SystemClock clock;
  const auto store = store::Store::open("sqlite:" + folder.file("iez.db"), clock, {.keep_plans = 1}).value();
  const store::Id application = store->ensure_application("ann", "ior", "").value().id;
  const auto plan = [&](const std::string& name, std::uint64_t files) {
    store::Prediction prediction{.application = application, .made_ns = static_cast<std::int64_t>(files)};
    prediction.rows = {{.name = "/s/{number:number}", .bytes = Bytes::mib(2), .open = true, .files = files}};
    prediction.id = store->put_prediction(prediction).value();
    store::Allocation allocation{.prediction = prediction.id, .plan = name, .made_ns = prediction.made_ns, .planner = "local"};
    allocation.rows.push_back(
        {.row = 0, .layouts = std::vector<store::StripeLayout>(files, {.stripe_size = Bytes::mib(1), .osts = {OstIndex{0}}})});
    ASSERT_TRUE(store->put_allocation(allocation));
  };
  store::Run one = run(true, 1);
  one.phases = {{.seconds = 1, .bytes = Bytes::mib(200), .files = 100}};
  one.plan = "patterns";
  const auto way = [&](std::uint64_t planned) {
    one.planned = planned;
    return ways_of(std::span(&one, 1), 1, stored_facts(*store)).front();
  };
  plan("patterns", 100);
  EXPECT_EQ(way(2), Way::partly_placed);
  EXPECT_EQ(way(60), Way::placed);
  plan("newer", 101);  // the rows of the one before are dropped
  ASSERT_TRUE(store->find_allocation("patterns").value()->rows.empty());
  EXPECT_EQ(way(2), Way::partly_placed);
  EXPECT_EQ(way(60), Way::placed);
}

TEST(GuardHistory, OldRunsAreForgotten) {
  std::vector<store::Run> history{run(false, 5), run(true, 1)};
  history[1].started_ns = 29 * kDay;
  EXPECT_EQ(judge(history).gain.gain, planning::Gain::faster);
  history[1].started_ns = 31 * kDay;
  EXPECT_EQ(judge(history).gain.gain, planning::Gain::unknown);
}

TEST(GuardHistory, OnlyTheNewestCount) {
  std::vector<store::Run> history{run(false, 5)};
  while (history.size() < kLike) history.push_back(run(true, 1));
  EXPECT_EQ(judge(history).gain.placed, kOfEach);
  EXPECT_EQ(judge(history).gain.by_default, 1U);
  EXPECT_FALSE(judge(history).by_default_once);
  history.push_back(run(true, 1));
  EXPECT_EQ(judge(history).gain.by_default, 0U);
  EXPECT_TRUE(judge(history).by_default_once);
}

// ---- One by default, to compare with ----

const FactsOf kAllCreated{.run = [](const store::Run&) { return RunFacts{.created = 1, .plan_files = {}}; }, .changed = {}};

GuardAnswer judge_ranks(std::vector<store::Run> oldest_first, std::uint32_t ranks, const FactsOf& facts = kAllCreated) {
  std::ranges::reverse(oldest_first);
  return judge_history(oldest_first, shape_of(run(false, 1, ranks)), facts);
}

TEST(GuardHistory, AnotherShapeIsComparedOnce) {
  std::vector<store::Run> history{run(false, 1, 8), run(true, 0.5, 8), run(true, 1, 12)};
  EXPECT_FALSE(judge_ranks(history, 12).by_default_once);
  history.push_back(run(true, 1, 12));
  EXPECT_TRUE(judge_ranks(history, 12).by_default_once);
  EXPECT_FALSE(judge_ranks(history, 8).by_default_once);
  history.push_back(run(false, 0.4, 12));
  EXPECT_FALSE(judge_ranks(history, 12).by_default_once);
  EXPECT_TRUE(judge_ranks(history, 12).step_back);
}

TEST(GuardHistory, WhatCannotBeComparedIsNotTriedAgain) {
  EXPECT_FALSE(judge({run(true, 0.05), run(true, 0.05), run(true, 0.05)}).by_default_once);
  EXPECT_EQ(judge({run(true, 0.05), run(true, 0.05), run(true, 0.05)}).too_short, 3U);
  // The one by default was too short, or wrote over files.
  EXPECT_FALSE(judge({run(true, 1), run(true, 1), run(false, 0.05), run(true, 1), run(true, 1)}).by_default_once);
  const FactsOf over{.run = [](const store::Run&) { return RunFacts{.created = 0, .plan_files = {}}; }, .changed = {}};
  EXPECT_FALSE(judge_ranks({run(true, 1), run(true, 1), run(false, 1), run(true, 1), run(true, 1)}, 4, over).by_default_once);
}

// Files that grow with every run are of a new shape every few runs: still, at most one in five goes by default.
TEST(GuardHistory, SizesThatGrowAreSeldomCompared) {
  std::vector<store::Run> history;
  std::size_t by_default = 0;
  constexpr std::size_t kRuns = 60;
  for (std::size_t i = 0; i < kRuns; ++i) {
    store::Run next = run(i > 0, 1);
    for (store::RunPhase& phase : next.phases) {
      phase.bytes = Bytes{static_cast<std::uint64_t>(1e8 * std::pow(1.1, static_cast<double>(i)))};
    }
    std::vector<store::Run> newest_first(history.rbegin(), history.rend());
    if (judge_history(newest_first, shape_of(next), kAllCreated).by_default_once) {
      next.planned = 0;
      next.mode = store::RunMode::learn;
      ++by_default;
    }
    history.push_back(next);
  }
  EXPECT_GE(by_default, 1U);
  EXPECT_LE(by_default, kRuns / 5);
}

// ---- Writes and reads ----

// What a run took to write and to read again what the one before it wrote.
store::Run reading(bool placed, double write, double read, Bytes bytes = Bytes::mib(200)) {
  store::Run out = run(placed, write);
  out.written = Bytes::mib(200);
  out.phases.push_back({.reads = true, .seconds = read, .bytes = bytes, .files = 30});
  return out;
}

store::Run writing(bool placed, double write) {
  store::Run out = run(placed, write);
  out.written = Bytes::mib(200);
  return out;
}

TEST(GuardHistory, ReadsThatNoRunByDefaultHadSayNothing) {
  // The first run has nothing to go on from; those after it do.
  const GuardAnswer slow = judge({writing(false, 1), reading(true, 1, 5), reading(true, 1, 5)});
  EXPECT_FALSE(slow.step_back);
  EXPECT_EQ(gain_text(slow), "write as fast as by default (1.00x, 1 by default, 2 placed)");
  const GuardAnswer fast = judge({writing(false, 1), reading(true, 2, 0.2), reading(true, 2, 0.2)});
  EXPECT_TRUE(fast.step_back);
  EXPECT_EQ(gain_text(fast), "write 0.50x the default's rate (1 by default, 2 placed)");
  // As little as reads of another amount, or out of memory.
  EXPECT_FALSE(judge({reading(false, 1, 1, Bytes::mib(100)), reading(true, 1, 5), reading(true, 1, 5)}).step_back);
  EXPECT_FALSE(judge({reading(false, 1, 0.05), reading(true, 1, 5), reading(true, 1, 5)}).step_back);
}

TEST(GuardHistory, WhatIsWaitedForIsTheSumOfBoth) {
  const GuardAnswer slow = judge({reading(false, 1, 1), reading(true, 1, 1), reading(true, 1, 4)});
  EXPECT_TRUE(slow.step_back);
  EXPECT_EQ(gain_text(slow),
            "write as fast as by default (1.00x, 1 by default, 2 placed), read 0.25x the default's rate (1 run each), "
            "both 0.40x the default's rate (1 run each)");
  // Fast reads make up for slower writes, if they gain more.
  EXPECT_TRUE(judge({reading(false, 1, 1), reading(true, 2, 1), reading(true, 2, 0.2)}).step_back);
  EXPECT_FALSE(judge({reading(false, 1, 5), reading(true, 2, 5), reading(true, 2, 0.2)}).step_back);
}

// What the first placed run reads lies by default, and what the first run by default after placed ones reads lies as placed.
TEST(GuardHistory, ReadsAreOfTheRunBefore) {
  std::vector<store::Run> history{reading(false, 1, 1), reading(true, 1, 9)};
  EXPECT_EQ(judge(history).reads.gain, planning::Gain::unknown);
  EXPECT_FALSE(judge(history).step_back);
  history.insert(history.end(), {reading(true, 1, 1), reading(false, 1, 9), reading(false, 1, 1)});
  const planning::Comparison reads = judge_ranks(history, 4).reads;
  EXPECT_EQ(reads.placed, 1U);
  EXPECT_EQ(reads.by_default, 2U);
  EXPECT_EQ(reads.gain, planning::Gain::alike);
}

// ---- Shapes ----

// A prediction has the shape of its run: smaller files that are planned together with larger ones make no phases, files that are
// left to Lustre do, and what was written over counts each time.
TEST(GuardHistory, APredictionIsLikeTheRunThatItForetells) {
  store::Prediction prediction{.run = 7, .ranks = 4};
  std::vector<store::FileRow> files;
  for (int i = 0; i < 30; ++i) {
    prediction.rows.push_back({.name = "large", .bytes = Bytes::mib(2), .left_alone = i < 10});
    prediction.rows.push_back({.name = "small", .bytes = Bytes::kib(900)});
    files.push_back({.name = "large", .written = Bytes::mib(2), .phase = 0});
    files.push_back({.name = "small", .written = Bytes::kib(900), .phase = 0});
  }
  store::Run learnt = run(false, 1);
  learnt.id = 7;
  learnt.phases = {{.seconds = 1, .bytes = Bytes::mib(60), .files = 30}};
  EXPECT_TRUE(alike(shape_of(prediction, Bytes::mib(1)), shape_of(learnt)));
  learnt.phases[0].bytes = Bytes::mib(180);
  EXPECT_FALSE(alike(shape_of(prediction, Bytes::mib(1)), shape_of(learnt)));
  EXPECT_TRUE(alike(shape_of(prediction, Bytes::mib(1), std::span(&learnt, 1), files), shape_of(learnt)));
}

// Back to the default, then one try after kRetry runs; if that is fast, placing goes on, else the pause begins anew.
TEST(GuardHistory, APlanIsTriedAgainAfterAPause) {
  std::vector<store::Run> history{run(false, 1), run(true, 2)};
  for (std::size_t i = 0; i < kRetry; ++i) {
    EXPECT_TRUE(judge(history).step_back) << i;
    EXPECT_EQ(judge(history).tries_in, kRetry - i);
    history.push_back(run(false, 1));
  }
  EXPECT_FALSE(judge(history).step_back);
  std::vector<store::Run> slow = history;
  slow.push_back(run(true, 2));
  EXPECT_TRUE(judge(slow).step_back);
  history.push_back(run(true, 0.5));
  EXPECT_FALSE(judge(history).step_back);
  EXPECT_EQ(judge(history).gain.gain, planning::Gain::faster);  // what was slow before the pause is forgotten
}

// Sooner after something changed; then the runs placed before do not count either, nor do they as more are placed.
TEST(GuardHistory, APlanIsTriedAgainAfterAChange) {
  FactsOf facts = kAllCreated;
  facts.changed = [](const store::Run& run, std::int64_t then_ns) { return run.started_ns < 5 && then_ns >= 5; };
  std::vector<store::Run> history{run(false, 1), run(true, 2)};
  const auto add = [&](bool placed, double seconds) {
    history.push_back(run(placed, seconds));
    history.back().started_ns = history.back().ended_ns = static_cast<std::int64_t>(history.size());
  };
  EXPECT_EQ(judge_ranks(history, 4, facts).tries_in, kRetry);
  add(false, 1);
  add(false, 1);
  EXPECT_EQ(judge_ranks(history, 4, facts).tries_in, kRetry - 2);
  add(false, 1);  // the fifth
  EXPECT_FALSE(judge_ranks(history, 4, facts).step_back);
  EXPECT_TRUE(judge_ranks(history, 4).step_back);
  for (std::size_t placed = 1; placed <= 2; ++placed) {
    add(true, 0.5);
    EXPECT_EQ(judge_ranks(history, 4, facts).gain.gain, planning::Gain::faster);
    EXPECT_EQ(judge_ranks(history, 4, facts).gain.placed, placed);
    EXPECT_EQ(judge_ranks(history, 4, facts).gain.by_default, 4U);
  }
  std::vector<store::Run> slow(history.begin(), history.begin() + 5);
  slow.push_back(run(true, 2));
  slow.back().started_ns = slow.back().ended_ns = 6;
  EXPECT_EQ(judge_ranks(slow, 4, facts).tries_in, kRetry);
}

// What changes is which OSTs runs saw to be slow, on the file systems that a run wrote to.
TEST(GuardHistory, OtherSuspectsAreAChange) {
  const store::TemporaryFolder folder;
  SystemClock clock;
  const auto store = store::Store::open("sqlite:" + folder.file("iez.db"), clock).value();
  const store::Id application = store->ensure_application("ann", "ior", "").value().id;
  const auto ran = [&](std::int64_t second, double speed) {
    store::Run one = run(true, 1);
    one.application = application;
    one.started_ns = second * 1'000'000'000;
    one.ended_ns = one.started_ns + 500'000'000;
    one.targets = {{.file_system = "scratch", .targets = {{.ost = OstIndex{4}, .speed = speed}}}};
    EXPECT_TRUE(store->record_run(one, {}, {}));
    return one;
  };
  const std::int64_t base = kDay / 1'000'000'000 * 20'000;
  const FactsOf facts = stored_facts(*store);
  const store::Run before = ran(base, 1);
  const store::Run slow = ran(base + 10, 0.1);
  const store::Run still = ran(base + 20, 0.1);
  EXPECT_FALSE(facts.changed(before, before.ended_ns));
  EXPECT_TRUE(facts.changed(before, slow.ended_ns));
  EXPECT_TRUE(facts.changed(slow, slow.ended_ns));  // it is known now
  EXPECT_FALSE(facts.changed(still, still.ended_ns));
  const store::Run mended = ran(base + 30, 1);
  EXPECT_TRUE(facts.changed(still, mended.ended_ns));
  EXPECT_TRUE(facts.changed(slow, mended.ended_ns));
  store::Run elsewhere = still;
  elsewhere.targets.front().file_system = "home";
  EXPECT_FALSE(facts.changed(elsewhere, mended.ended_ns));
}

TEST(GuardHistory, PhasesAreComparedByPosition) {
  std::vector<store::Run> runs{run(true, 1), run(false, 1)};
  runs[0].phases[1].seconds = 0.25;
  runs[0].phases[1].osts = 15;
  runs[1].phases[1].osts = 9;
  const PhaseGains phases = compare_phases(runs, shape_of(runs[1]));
  ASSERT_EQ(phases.writes.size(), 2U);
  EXPECT_NEAR(phases.writes[0].gain.ratio, 1, 1e-9);
  EXPECT_NEAR(phases.writes[1].gain.ratio, 2, 1e-9);
  EXPECT_EQ(phases.writes[0].osts_placed, 0U);
  EXPECT_EQ(phases.writes[1].osts_placed, 15U);
  EXPECT_EQ(phases.writes[1].osts_by_default, 9U);
  EXPECT_TRUE(phases.reads.empty());
}

TEST(GuardHistory, SoArePhasesOfReads) {
  std::vector<store::Run> newest_first{reading(true, 1, 1), reading(true, 1, 7), reading(false, 1, 1)};
  for (store::Run& one : newest_first) {
    one.phases.push_back({.reads = true, .seconds = 1, .bytes = Bytes::mib(200), .files = 30});
  }
  newest_first[0].phases.back().seconds = 2;
  const PhaseGains phases = compare_phases(newest_first, shape_of(newest_first[0]));
  EXPECT_EQ(phases.writes.size(), 2U);
  ASSERT_EQ(phases.reads.size(), 2U);
  EXPECT_NEAR(phases.reads[0].gain.ratio, 1, 1e-9);
  EXPECT_EQ(phases.reads[0].gain.placed, 1U);  // what the first placed run read lay by default
  EXPECT_NEAR(phases.reads[1].gain.ratio, 0.5, 1e-9);
}

// One run by default says little: where placed ones seem slower, the next goes by default, and a few of both decide.
TEST(GuardHistory, WhatSeemsSlowerIsComparedAgain) {
  std::vector<store::Run> history{run(false, 1)};
  std::size_t placed = 0;
  for (int i = 0; i < 8 && !judge_ranks(history, 4).step_back; ++i) {
    const bool by_default = judge_ranks(history, 4).by_default_once;
    if (!by_default) ++placed;
    history.push_back(by_default ? run(false, 1.01) : run(true, i % 2 == 0 ? 1.13 : 1.15));
  }
  EXPECT_TRUE(judge_ranks(history, 4).step_back);
  EXPECT_LE(placed, 3U);

  EXPECT_TRUE(judge({run(false, 1), run(true, 1.13), run(true, 1.13)}).by_default_once);
  EXPECT_FALSE(judge({run(false, 1), run(true, 1.13)}).by_default_once);
  EXPECT_FALSE(judge({run(false, 1), run(true, 1.03), run(true, 1.03)}).by_default_once);
  EXPECT_FALSE(judge({run(false, 1), run(true, 0.9), run(true, 0.9)}).by_default_once);
  // What was done once is not done again before another placed run.
  EXPECT_FALSE(judge({run(false, 1), run(true, 1.13), run(true, 1.13), run(false, 1)}).by_default_once);
  EXPECT_FALSE(judge({run(false, 1), run(false, 1), run(true, 1.1), run(true, 1.1)}).by_default_once);
}

// A file system whose placed runs are k times as slow, seen through noise: within three placed runs iez is back; and where they
// are as fast, it hardly ever steps back.
TEST(GuardHistory, StepsBackSoonAndSeldomInVain) {
  int in_vain = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto noisy = [&](double seconds) { return seconds * std::exp(0.1 * (rng.unit() + rng.unit() - 1)); };
    for (const double slower : {1.0, 1.8, 10.0}) {
      std::vector<store::Run> history{run(false, noisy(1))};
      int placed = 0;
      while (placed < 6 && !judge(history).step_back) {
        history.push_back(run(true, noisy(slower)));
        ++placed;
      }
      if (slower > 1) {
        EXPECT_LE(placed, 3);
      } else if (placed < 6) {
        ++in_vain;
      }
    }
  }
  EXPECT_LE(in_vain, 15);
}

}  // namespace
}  // namespace iez::runs
