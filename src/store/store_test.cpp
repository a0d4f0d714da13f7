#include "store/store.hpp"

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/rows.hpp"
#include "store/store_test_support.hpp"

namespace iez::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Engines, StoreTest, testing::ValuesIn(engines()), [](const auto& one) { return one.param; });

TEST_P(StoreTest, AnApplicationIsMadeOnceForEachOwner) {
  const auto first = store_->ensure_application("ann", "ior", "f1");
  ASSERT_TRUE(first) << first.error().message;
  const auto again = store_->ensure_application("ann", "ior", "");
  ASSERT_TRUE(again);
  EXPECT_EQ(*first, *again);
  const auto other = store_->ensure_application("bob", "ior", "f1");
  ASSERT_TRUE(other);
  EXPECT_NE(first->id, other->id);
  EXPECT_EQ(store_->ensure_application("ann", "ior", "f2")->fingerprint, "f2");
  EXPECT_EQ(store_->find_by_fingerprint("bob", "f1").value()->id, other->id);
  EXPECT_FALSE(store_->find_by_fingerprint("ann", "f1").value());
  EXPECT_FALSE(store_->find_application("ann", "IOR").value());  // names are bytes
  EXPECT_EQ(store_->applications()->size(), 2U);
  EXPECT_EQ(store_->applications("bob")->size(), 1U);
}

TEST_P(StoreTest, ARunComesBackAsItWas) {
  const Id app = application();
  const std::string odd = "/scratch/\xff\xfe'\"\\;-- \n{}%s";
  const std::vector<FileRow> files{{.name = odd,
                                    .renamed = std::string(kMaxName, '\x80'),
                                    .written = Bytes{5},
                                    .read = Bytes{7},
                                    .stripe_count = 3,
                                    .stripe_size = Bytes::mib(4),
                                    .rank = 2,
                                    .ranks = 1,
                                    .created = true,
                                    .phase = 3,
                                    .read_phase = 1,
                                    .removed = true,
                                    .own_layout = true},
                                   {.name = std::string(kMaxName, 'x'), .written = Bytes{(1ULL << 62U)}}};
  const std::vector<Miss> misses{{.name = odd, .why = "unplanned"}};
  store::Run run = run_at(app, 1000);
  const auto id = store_->record_run(run, files, misses);
  ASSERT_TRUE(id) << id.error().message;
  reopen();
  const auto runs = store_->runs(app);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 1U);
  run.id = *id;
  run.key = runs->front().key;
  run.files = 2;
  run.files_kept = 2;
  run.written = Bytes{(1ULL << 62U) + 5};
  run.read = Bytes{7};
  run.misses = 1;
  EXPECT_EQ(runs->front(), run);
  EXPECT_EQ(run.key.size(), 32U);
  EXPECT_EQ(store_->files(*id).value(), files);
  EXPECT_EQ(store_->misses(*id).value(), misses);
  expect_whole();
}

TEST_P(StoreTest, RunsThatSawTargetsAreFoundAcrossApplications) {
  const Id one = application("one");
  const Id two = application("two");
  store::Run failed = run_at(one, 4000);
  failed.exit_status = 1;
  store::Run elsewhere = run_at(one, 5000);
  elsewhere.targets.clear();
  for (const store::Run& run : {run_at(one, 1000), run_at(two, 3000), run_at(one, 2000), failed, elsewhere}) {
    ASSERT_TRUE(store_->record_run(run, {}, {}));
  }
  const auto starts = [&](std::int64_t after, std::size_t last) {
    std::vector<std::int64_t> out;
    const std::vector<store::Run> runs = store_->runs_with_targets(after, last).value();
    for (const store::Run& run : runs) out.push_back(run.started_ns);
    return out;
  };
  EXPECT_EQ(starts(0, 10), (std::vector<std::int64_t>{3000, 2000, 1000}));
  EXPECT_EQ(starts(0, 2), (std::vector<std::int64_t>{3000, 2000}));
  EXPECT_EQ(starts(1500, 10), (std::vector<std::int64_t>{3000, 2000}));
  EXPECT_EQ(store_->runs_with_targets(0, 1)->front().targets, run_at(two, 3000).targets);
}

TEST(PhaseList, OstsMayBeMissing) {
  EXPECT_EQ(phase_list(run_at(1, 0).phases), "w 1.5 4096 2 2;r 0.25 7 1");
  EXPECT_EQ(parse_phase_list("w 1.5 4096 2 2;r 0.25 7 1"), run_at(1, 0).phases);
  for (const RunPhase& phase : parse_phase_list("w 1.5 4096 2;w 1.5 4096 2 x;w 1.5 4096 2 99999999999"))
    EXPECT_EQ(phase.osts, 0U);
  EXPECT_EQ(parse_phase_list("w 1.5 4096 2;w 1.5 4096 2 x").size(), 2U);
}

TEST(TargetList, WhatCannotBeReadIsLeftOut) {
  EXPECT_EQ(target_list(run_at(1, 0).targets), "scratch 4:0.125:2 7:1:0;home");
  EXPECT_EQ(parse_target_list("scratch 4:0.125:2 7:1:0;home"), run_at(1, 0).targets);
  EXPECT_TRUE(parse_target_list("").empty());
  EXPECT_TRUE(parse_target_list(";; ").empty());
  const auto odd = parse_target_list("s x:1:0 1:2:0 1:-1:0 1:nan:0 1:1 1 5:0.5:3:4 99999999999:1:0 2:0.5:1");
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_EQ(odd[0].targets, (std::vector<RunTarget>{{.ost = OstIndex{2}, .speed = 0.5, .place = 1}}));
}

TEST_P(StoreTest, TheSameKeyIsStoredOnce) {
  const Id app = application();
  store::Run run = run_at(app, 1);
  run.key = std::string(32, 'a');
  const std::vector<FileRow> files{{.name = "/a"}};
  const Id first = store_->record_run(run, files, {}).value();
  EXPECT_EQ(store_->record_run(run, files, {}).value(), first);
  EXPECT_EQ(store_->runs(app)->size(), 1U);
  Prediction prediction = prediction_at(app, 1, 2);
  prediction.key = std::string(32, 'b');
  const Id predicted = store_->put_prediction(prediction).value();
  EXPECT_EQ(store_->put_prediction(prediction).value(), predicted);
  Allocation allocation = allocation_of(predicted, 2, 2);
  allocation.key = std::string(32, 'c');
  const Id allocated = store_->put_allocation(allocation).value();
  EXPECT_EQ(store_->put_allocation(allocation).value(), allocated);
  EXPECT_EQ(store_->allocation(allocated).value()->planned, 2U);
  expect_whole();
}

TEST_P(StoreTest, OldRunsKeepTheirSumsOnly) {
  reopen({.keep_runs = 3});
  const Id app = application();
  const Id other = application("hacc");
  const std::vector<FileRow> files{{.name = "/a", .written = Bytes{10}}, {.name = "/b", .written = Bytes{1}}};
  const std::vector<Miss> misses{{.name = "/m", .why = "unplanned"}};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store_->record_run(run_at(app, 100 + i), files, misses));
  ASSERT_TRUE(store_->record_run(run_at(other, 1), files, {}));
  const auto runs = store_->runs(app).value();
  ASSERT_EQ(runs.size(), 5U);
  EXPECT_EQ(runs[0].started_ns, 104);
  EXPECT_EQ(runs[2].files_kept, 2U);
  EXPECT_EQ(runs[3].files_kept, 0U);
  EXPECT_EQ(runs[3].files, 2U);
  EXPECT_EQ(runs[3].written.count, 11U);
  EXPECT_EQ(runs[3].misses, 1U);
  EXPECT_THAT(store_->files(runs[3].id).value(), IsEmpty());
  EXPECT_THAT(store_->misses(runs[3].id).value(), IsEmpty());
  EXPECT_EQ(store_->files(store_->runs(other)->front().id)->size(), 2U);
  EXPECT_EQ(store_->runs(app, 2)->size(), 2U);
  expect_whole();
}

TEST_P(StoreTest, APredictionAndItsAllocationComeBack) {
  const Id app = application();
  Prediction prediction = prediction_at(app, 50, 3);
  prediction.id = store_->put_prediction(prediction).value();
  EXPECT_EQ(store_->unallocated_predictions()->size(), 1U);
  Allocation allocation = allocation_of(prediction.id, 60, 3);
  allocation.id = store_->put_allocation(allocation).value();
  EXPECT_THAT(store_->unallocated_predictions().value(), IsEmpty());
  reopen();
  const auto stored = store_->latest_prediction(app).value();
  ASSERT_TRUE(stored);
  prediction.key = stored->key;
  prediction.row_count = 3;
  prediction.bytes = Bytes{100 + 101 * 8 + 102};
  prediction.allocation = allocation.id;
  EXPECT_EQ(*stored, prediction);
  auto plan = store_->latest_allocation(app).value();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rows[1].name, "/scratch/out.1");
  EXPECT_EQ(plan->rows[1].created_as, "/scratch/tmp.1");
  EXPECT_EQ(plan->rows[1].files, 8U);
  EXPECT_EQ(plan->rows[1].layouts, allocation.rows[1].layouts);
  EXPECT_EQ(plan->rows[2].reason, "2 of 15 usable OSTs");
  EXPECT_EQ(plan->application, app);
  EXPECT_EQ(plan->planned, 3U);
  EXPECT_EQ(store_->find_allocation("plan-60").value(), plan);
  EXPECT_FALSE(store_->find_allocation("plan-61").value());
  expect_whole();
}

TEST_P(StoreTest, StatesChangeByRow) {
  const Id app = application();
  const Id prediction = store_->put_prediction(prediction_at(app, 1, 100)).value();
  const Id id = store_->put_allocation(allocation_of(prediction, 2, 100)).value();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < 70; ++i) rows.push_back(i);
  EXPECT_EQ(store_->set_states(id, PlanState::created, rows).value(), 70U);
  EXPECT_EQ(store_->set_states(id, PlanState::created, rows).value(), 0U);
  EXPECT_EQ(store_->applications()->front().waiting, 30U);
  EXPECT_EQ(store_->expire(0, 2).value(), 0U);  // made at 2
  EXPECT_EQ(store_->expire(app + 1, 100).value(), 0U);
  EXPECT_EQ(store_->expire(app, 3).value(), 30U);
  auto plan = store_->allocation(id).value();
  EXPECT_EQ(plan->created, 70U);
  EXPECT_EQ(plan->expired, 30U);
  EXPECT_EQ(plan->rows[1].state, PlanState::created);
  EXPECT_EQ(plan->rows[99].state, PlanState::expired);
  EXPECT_EQ(store_->set_states(id, PlanState::expired).value(), 70U);
  EXPECT_FALSE(store_->set_states(id + 5, PlanState::expired));
  expect_whole();
}

TEST_P(StoreTest, APlanThatIsGivenUpIsGoneThoughItsFilesExist) {
  const Id app = application();
  const auto prediction = store_->put_prediction(prediction_at(app, 100, 3));
  ASSERT_TRUE(prediction);
  const auto id = store_->put_allocation(allocation_of(*prediction, 200, 3));
  ASSERT_TRUE(id);
  ASSERT_TRUE(store_->set_states(*id, PlanState::created, std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(store_->withdraw(app).value(), 3U);
  const auto gone = store_->latest_allocation(app);
  ASSERT_TRUE(gone && *gone);
  EXPECT_EQ((*gone)->planned + (*gone)->created, 0U);
  EXPECT_EQ((*gone)->expired, 3U);
  for (const AllocationRow& row : (*gone)->rows) EXPECT_EQ(row.state, PlanState::expired);
  EXPECT_EQ(store_->withdraw(app).value(), 0U);
  expect_whole();
}

TEST_P(StoreTest, APredictionWithoutAPlanSaysWhy) {
  const Id app = application();
  const auto prediction = store_->put_prediction(prediction_at(app, 100, 3));
  ASSERT_TRUE(prediction);
  EXPECT_EQ(store_->unallocated_predictions()->size(), 1U);
  ASSERT_TRUE(store_->set_verdict(*prediction, "Lustre's default is as good"));
  EXPECT_EQ(store_->latest_prediction(app).value()->verdict, "Lustre's default is as good");
  EXPECT_TRUE(store_->unallocated_predictions()->empty());  // nobody needs to plan it
  EXPECT_FALSE(store_->set_verdict(*prediction + 1, "no such"));
}

TEST_P(StoreTest, ANewPlanReplacesWhatWasNotCreated) {
  const Id app = application();
  const Id prediction = store_->put_prediction(prediction_at(app, 1, 4)).value();
  const Id first = store_->put_allocation(allocation_of(prediction, 2, 4)).value();
  const std::vector<std::uint32_t> made{2};
  ASSERT_TRUE(store_->set_states(first, PlanState::created, made));
  const Id second = store_->put_allocation(allocation_of(prediction, 3, 4)).value();
  EXPECT_EQ(store_->allocation(first).value()->expired, 3U);
  EXPECT_EQ(store_->allocation(first).value()->created, 1U);
  EXPECT_EQ(store_->allocation(second).value()->planned, 4U);
  EXPECT_EQ(store_->latest_allocation(app).value()->id, second);
  expect_whole();
}

TEST_P(StoreTest, APlanThatComesLate) {
  const Id app = application();
  const Id old = store_->put_prediction(prediction_at(app, 1, 4)).value();
  const Id prediction = store_->put_prediction(prediction_at(app, 2, 4)).value();
  const std::string key = store_->prediction(prediction).value()->key;
  EXPECT_EQ(store_->find_prediction(key).value()->id, prediction);
  EXPECT_EQ(store_->find_prediction(key).value()->rows.size(), 4U);
  EXPECT_FALSE(store_->find_prediction(std::string(32, '0')).value());
  EXPECT_EQ(store_->unallocated_predictions(0, 10).value().size(), 1U);
  EXPECT_EQ(store_->unallocated_predictions(prediction, 10).value().size(), 0U);
  EXPECT_EQ(store_->unallocated_predictions(0, 0).value().size(), 0U);
  EXPECT_EQ(store_->put_late_allocation(allocation_of(old, 5, 4)).error().code, Errc::exists);

  const auto revised = [&](std::uint64_t revision) {
    Allocation plan = allocation_of(prediction, 5, 4);
    plan.plan = "00000000000000aa";
    plan.key = "00000000000000aa000000000000000" + std::to_string(revision);
    for (AllocationRow& row : plan.rows) row.layouts[0].osts = {{static_cast<std::uint32_t>(10 * revision)}};
    return plan;
  };
  const Id first = store_->put_late_allocation(revised(2)).value();
  EXPECT_EQ(store_->put_late_allocation(revised(2)).value(), first);
  EXPECT_EQ(store_->put_late_allocation(revised(1)).value(), first) << "of a lower revision";
  EXPECT_EQ(store_->put_late_allocation(allocation_of(prediction, 9, 4)).error().code, Errc::exists);
  Allocation elsewhere = revised(2);
  elsewhere.prediction = old;
  EXPECT_EQ(store_->put_late_allocation(elsewhere).error().code, Errc::exists);
  EXPECT_EQ(store_->allocations(app).value().size(), 1U);
  EXPECT_EQ(store_->unallocated_predictions(0, 10).value().size(), 0U);

  // What exists stays where it is.
  ASSERT_TRUE(store_->set_states(first, PlanState::created, std::vector<std::uint32_t>{2}));
  const Id second = store_->put_late_allocation(revised(3)).value();
  EXPECT_NE(second, first);
  const auto now = store_->allocation(second).value();
  EXPECT_EQ(now->created, 1U);
  EXPECT_EQ(now->planned, 3U);
  EXPECT_EQ(now->rows[2].layouts[0].osts[0].value, 20U);
  EXPECT_EQ(now->rows[3].layouts[0].osts[0].value, 30U);
  EXPECT_EQ(store_->latest_allocation(app).value()->id, second) << "although it was made at the same time";
  EXPECT_GT(now->made_ns, 5);
  ASSERT_EQ(store_->newest_allocations(0, 10).value().size(), 1U);
  EXPECT_EQ(store_->newest_allocations(0, 10).value()[0].id, second);
  EXPECT_EQ(store_->newest_allocations(second, 10).value().size(), 0U);

  // By a clock that is behind: it is the newest all the same.
  const Id next = store_->put_prediction(prediction_at(app, 100, 4)).value();
  ASSERT_TRUE(store_->put_late_allocation(allocation_of(next, 3, 4)));
  EXPECT_EQ(store_->latest_allocation(app).value()->prediction, next);
  EXPECT_EQ(store_->put_late_allocation(revised(4)).error().code, Errc::exists);
  expect_whole();
}

TEST_P(StoreTest, OldPlansGo) {
  reopen({.keep_runs = 5, .keep_plans = 2});
  const Id app = application();
  for (int i = 0; i < 8; ++i) {
    const Id prediction = store_->put_prediction(prediction_at(app, 10 * i, 3)).value();
    ASSERT_TRUE(store_->put_allocation(allocation_of(prediction, 10 * i + 1, 3)));
  }
  const auto info = store_->info().value();
  EXPECT_EQ(info.predictions, 5U);
  EXPECT_EQ(info.allocations, 5U);
  EXPECT_EQ(info.predicted, 6U);
  EXPECT_EQ(info.allocated, 6U);
  EXPECT_EQ(info.models, 1U);
  const auto plans = store_->allocations(app).value();
  EXPECT_EQ(plans.back().row_count, 3U);
  EXPECT_EQ(plans.back().expired, 3U);
  expect_whole();
}

TEST_P(StoreTest, ForgettingTakesAllOfOne) {
  const Id app = application();
  const Id other = application("hacc");
  const std::vector<FileRow> files{{.name = "/a"}, {.name = "/b"}};
  for (const Id id : {app, other}) {
    ASSERT_TRUE(store_->record_run(run_at(id, 1), files, {}));
    const Id prediction = store_->put_prediction(prediction_at(id, 1, 2)).value();
    ASSERT_TRUE(store_->put_allocation(allocation_of(prediction, 2, 2)));
  }
  EXPECT_EQ(store_->forget(app).value(), (Forgotten{.runs = 1, .files = 2, .predictions = 1, .allocations = 1}));
  EXPECT_FALSE(store_->find_application("ann", "ior").value());
  EXPECT_FALSE(store_->forget(app));
  const auto info = store_->info().value();
  EXPECT_EQ(info.applications, 1U);
  EXPECT_EQ(info.files, 2U);
  EXPECT_EQ(info.allocated, 2U);
  EXPECT_FALSE(store_->record_run(run_at(app, 2), {}, {}));
  EXPECT_NE(application(), app);  // a number is not used twice
  expect_whole();
}

TEST_P(StoreTest, TheRevisionGrowsWithEveryChangeAndNoOther) {
  const Id app = application();
  const auto before = store_->revision().value();
  ASSERT_TRUE(store_->runs(app));
  ASSERT_TRUE(store_->ensure_application("ann", "ior", ""));
  EXPECT_EQ(store_->revision().value(), before);
  ASSERT_TRUE(store_->record_run(run_at(app, 1), {}, {}));
  EXPECT_EQ(store_->revision().value(), before + 1);
  ASSERT_FALSE(store_->put_allocation(allocation_of(99, 1, 1)));
  EXPECT_EQ(store_->revision().value(), before + 1);
}

TEST_P(StoreTest, NothingOfARefusedRecordIsStored) {
  const Id app = application();
  const std::vector<FileRow> bad{{.name = "/a"}, {.name = std::string(kMaxName + 1, 'x')}};
  const auto refused = store_->record_run(run_at(app, 1), bad, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the name of a file has 4097 bytes, and at most 4096 are kept"));
  EXPECT_FALSE(store_->record_run(run_at(app, 1), std::vector<FileRow>{{.name = ""}}, {}));
  const Id prediction = store_->put_prediction(prediction_at(app, 1, 2)).value();
  const auto beyond = store_->put_allocation(allocation_of(prediction, 1, 3));
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("has row 2, and the prediction has 2 rows"));
  Allocation unsorted = allocation_of(prediction, 1, 2);
  std::swap(unsorted.rows[0], unsorted.rows[1]);
  EXPECT_FALSE(store_->put_allocation(unsorted));
  EXPECT_THAT(store_->runs(app).value(), IsEmpty());
  EXPECT_THAT(store_->allocations(app).value(), IsEmpty());
  EXPECT_FALSE(store_->ensure_application("ann", std::string(256, 'a'), ""));
  EXPECT_FALSE(store_->ensure_application("", "a", ""));
  expect_whole();
}

TEST_P(StoreTest, SeveralWritersAtOnceLoseNothing) {
  const Id app = application();
  constexpr int kWriters = 4;
  constexpr int kRuns = 15;
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, app, w] {
      SystemClock clock;
      auto store = Store::open(url_, clock, {.keep_runs = 1000});
      ASSERT_TRUE(store) << store.error().message;
      for (int i = 0; i < kRuns; ++i) {
        const std::vector<FileRow> files{{.name = "/f" + std::to_string(i)}};
        const auto done = (*store)->record_run(run_at(app, w * 1000 + i), files, {});
        ASSERT_TRUE(done) << done.error().message;
        const auto prediction = (*store)->put_prediction(prediction_at(app, w * 1000 + i, 2));
        ASSERT_TRUE(prediction) << prediction.error().message;
        // The prediction may be so old among those of the others that it is gone already.
        (void)(*store)->put_allocation(allocation_of(*prediction, i, 2));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(store_->runs(app)->size(), static_cast<std::size_t>(kWriters * kRuns));
  expect_whole();
}

TEST_P(StoreTest, ManyFilesOfOneRun) {
  const Id app = application();
  std::vector<FileRow> files(10'000);
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i] = {.name = fmt::format("/scratch/run/file.{:06}", i), .written = Bytes{i}};
  const auto id = store_->record_run(run_at(app, 1), files, {});
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(store_->files(*id).value(), files);
}

// ---- Files of SQLite ----

TEST(SqliteFile, IsForItsOwnerAlone) {
  const TemporaryFolder folder;
  SystemClock clock;
  const std::string path = folder.file("a/b/iez.db");
  ASSERT_TRUE(Store::open(path, clock));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(folder.file("a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::chmod(path.c_str(), 0660), 0);
  const auto refused = Store::open(path, clock);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("others may write to it (mode 0660)"));
  EXPECT_THAT(refused.error().message, HasSubstr("chmod 600 " + path));
}

TEST(SqliteFile, OfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  const TemporaryFolder folder;
  SystemClock clock;
  const std::string path = folder.file("iez.db");
  ASSERT_TRUE(Store::open(path, clock));
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  const auto refused = Store::open(path, clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::permission);
  EXPECT_THAT(refused.error().message, HasSubstr("a database is used by its owner alone"));
}

TEST(SqliteFile, ThatIsSomethingElseIsLeftAlone) {
  const TemporaryFolder folder;
  SystemClock clock;
  const std::string path = folder.file("note.txt");
  const std::string text(5000, 'n');
  {
    std::ofstream(path) << text;
  }
  ::chmod(path.c_str(), 0600);
  EXPECT_FALSE(Store::open(path, clock));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  const auto missing = Store::open(folder.file("none.db"), clock, {.create = false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

}  // namespace
}  // namespace iez::store
