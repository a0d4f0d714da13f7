#include "store/schema.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store_test_support.hpp"

namespace iez::store {
namespace {

using testing::HasSubstr;

// The schema as version 1 was released, with an application that ran once and was planned. Statements for both engines.
constexpr const char* kVersion1[] = {
    "CREATE TABLE iez_meta (name {key} NOT NULL, value {int} NOT NULL, PRIMARY KEY (name)) {keyed}",
    "CREATE TABLE applications (id {id}, name {word} NOT NULL, fingerprint {word} NOT NULL, created_ns {int} NOT NULL) {table}",
    "CREATE UNIQUE INDEX applications_name ON applications (name)",
    "CREATE TABLE runs (id {id}, application {int} NOT NULL, started_ns {int} NOT NULL, ended_ns {int} NOT NULL, command {text} "
    "NOT "
    "NULL, host {word} NOT NULL, uid {int} NOT NULL, job {word} NOT NULL, ranks {int} NOT NULL, processes {int} NOT NULL, mode "
    "{int} "
    "NOT NULL, exit_status {int} NOT NULL, plan {word} NOT NULL, files {int} NOT NULL, written {int} NOT NULL, bytes_read {int} "
    "NOT "
    "NULL, misses {int} NOT NULL, planned {int} NOT NULL, unplanned {int} NOT NULL, accuracy {real}, by_weight {real}, foretold "
    "{int} "
    "NOT NULL, met {int} NOT NULL, kept {int} NOT NULL, FOREIGN KEY (application) REFERENCES applications (id) ON DELETE "
    "CASCADE) "
    "{table}",
    "CREATE INDEX runs_time ON runs (application, started_ns)",
    "CREATE TABLE files (run {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, renamed {path} NOT NULL, written {int} "
    "NOT "
    "NULL, bytes_read {int} NOT NULL, stripe_count {int} NOT NULL, stripe_size {int} NOT NULL, writer_rank {int} NOT NULL, "
    "writers "
    "{int} NOT NULL, created {int} NOT NULL, PRIMARY KEY (run, number), FOREIGN KEY (run) REFERENCES runs (id) ON DELETE "
    "CASCADE) "
    "{keyed}",
    "CREATE TABLE misses (run {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, why {word} NOT NULL, PRIMARY KEY "
    "(run, "
    "number), FOREIGN KEY (run) REFERENCES runs (id) ON DELETE CASCADE) {keyed}",
    "CREATE TABLE models (id {id}, application {int} NOT NULL, made_ns {int} NOT NULL, content {text} NOT NULL, FOREIGN KEY "
    "(application) REFERENCES applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE predictions (id {id}, application {int} NOT NULL, run {int} NOT NULL, made_ns {int} NOT NULL, ranks {int} NOT "
    "NULL, "
    "model {int} NOT NULL, accuracy {real}, row_count {int} NOT NULL, bytes {int} NOT NULL, kept {int} NOT NULL, FOREIGN KEY "
    "(application) REFERENCES applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE predicted (prediction {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, bytes {int} NOT NULL, high "
    "{int} "
    "NOT NULL, stripe_count {int} NOT NULL, stripe_size {int} NOT NULL, writer_rank {int} NOT NULL, shared {int} NOT NULL, "
    "pattern "
    "{int} NOT NULL, files {int} NOT NULL, PRIMARY KEY (prediction, number), FOREIGN KEY (prediction) REFERENCES predictions "
    "(id) ON "
    "DELETE CASCADE) {keyed}",
    "CREATE TABLE allocations (id {id}, prediction {int} NOT NULL, application {int} NOT NULL, plan {word} NOT NULL, made_ns "
    "{int} NOT "
    "NULL, planner {word} NOT NULL, policy {word} NOT NULL, file_system {word} NOT NULL, details {text} NOT NULL, row_count "
    "{int} NOT "
    "NULL, planned {int} NOT NULL, created {int} NOT NULL, expired {int} NOT NULL, kept {int} NOT NULL, FOREIGN KEY (prediction) "
    "REFERENCES predictions (id) ON DELETE CASCADE, FOREIGN KEY (application) REFERENCES applications (id) ON DELETE CASCADE) "
    "{table}",
    "CREATE TABLE allocated (allocation {int} NOT NULL, number {int} NOT NULL, turn {int} NOT NULL, stripe_size {int} NOT NULL, "
    "stripe_count {int} NOT NULL, osts {text} NOT NULL, reason {text} NOT NULL, state {int} NOT NULL, PRIMARY KEY (allocation, "
    "number, "
    "turn), FOREIGN KEY (allocation) REFERENCES allocations (id) ON DELETE CASCADE) {keyed}",
    "INSERT INTO iez_meta (name, value) VALUES (x'736368656d61', 1), (x'7265766973696f6e', 41)",
    "INSERT INTO applications VALUES (7, x'696f72', x'6631', 5)",
    "INSERT INTO applications VALUES (8, x'68616363', x'', 6)",
    "INSERT INTO runs VALUES (3, 7, 100, 200, x'696f72', x'6e31', 0, x'', 4, 4, 0, 0, x'', 1, 9, 0, 0, 0, 1, NULL, NULL, 0, 0, "
    "1)",
    "INSERT INTO files VALUES (3, 0, x'2f61', x'', 9, 0, 1, 1048576, 0, 1, 1)",
    "INSERT INTO models VALUES (1, 7, 300, x'7b7d')",
    "INSERT INTO predictions VALUES (2, 7, 3, 300, 4, 1, 99.5, 1, 9, 1)",
    "INSERT INTO predicted VALUES (2, 0, x'2f61', 9, 10, 1, 0, 0, 0, 0, 1)",
    "INSERT INTO allocations VALUES (5, 2, 7, x'7031', 400, x'6c6f63616c', x'62616c616e636564', x'', x'7b7d', 1, 1, 0, 0, 1)",
    "INSERT INTO allocated VALUES (5, 0, 0, 1048576, 2, x'342c39', x'626563617573652e', 0)",
};

class MigrationTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    fresh_ = shape();
    store_.reset();
    if (GetParam() == "mariadb") {
      empty_mariadb();
    } else {
      std::filesystem::remove_all(folder_.file("state"));
      std::filesystem::create_directory(folder_.file("state"));
    }
    const auto session = direct();
    for (const char* const sql : kVersion1) {
      const auto done = session->define(expand(sql, session->dialect()));
      ASSERT_TRUE(done) << done.error().error.message;
    }
  }

  std::unique_ptr<Session> direct() {
    if (GetParam() == "mariadb") return mariadb_session();
    auto session = open_sqlite_session(folder_.file("state/iez.db"), true, Duration{1'000'000'000});
    EXPECT_TRUE(session) << (session ? "" : session.error().message);
    return *std::move(session);
  }

  // Columns of each table, by name: a column that was added stands behind the others.
  std::map<std::string, std::string> shape() {
    std::map<std::string, std::string> columns;
    const auto session = direct();
    for (const char* const table : {"iez_meta", "applications", "runs", "files", "misses", "models", "predictions", "predicted",
                                    "allocations", "allocated", "operations", "requests", "placements"}) {
      const auto name = values(table);
      const bool sqlite = &session->dialect() == &kSqlite;
      const auto done =
          session->query(sqlite ? "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM pragma_table_info(CAST(? AS TEXT))"
                                : "SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = "
                                  "DATABASE() AND table_name = ?",
                         name, [&](const Row& row) { columns[std::string(table) + '.' + row.text(0)] = row.text(1); });
      EXPECT_TRUE(done) << (done ? "" : done.error().error.message);
    }
    return columns;
  }

  std::map<std::string, std::string> fresh_;
};

INSTANTIATE_TEST_SUITE_P(Engines, MigrationTest, testing::ValuesIn(engines()), [](const auto& one) { return one.param; });

TEST_P(MigrationTest, Version1BecomesThePresentOne) {
  const auto would = migrate(url_, true, clock_);
  ASSERT_TRUE(would) << would.error().message;
  EXPECT_EQ(would->from, 1U);
  EXPECT_EQ(would->steps.size(), 8U);
  const auto done = migrate(url_, false, clock_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->from, 1U);
  EXPECT_EQ(done->to, kSchemaVersion);
  EXPECT_EQ(shape(), fresh_);
  EXPECT_GT(fresh_.size(), 80U);
  reopen({.upgrade = Upgrade::never});
  const auto app = store_->find_application("root", "ior").value();  // uid 0 ran it
  ASSERT_TRUE(app);
  EXPECT_EQ(app->id, 7);
  const auto runs = store_->runs(7).value();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].key.size(), 32U);
  EXPECT_EQ(store_->files(3)->front().name, "/a");
  const auto prediction = store_->latest_prediction(7).value();
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->model, "{}");
  EXPECT_EQ(prediction->rows[0].created_as, "");
  const auto plan = store_->latest_allocation(7).value();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rows[0].layouts[0].osts, (std::vector<OstIndex>{{4}, {9}}));
  EXPECT_EQ(plan->rows[0].reason, "because.");
  EXPECT_EQ(store_->files(3)->front().phase, -1);
  EXPECT_EQ(prediction->rows[0].default_stripes, 1U);
  EXPECT_GT(store_->revision().value(), 41U);
  ASSERT_TRUE(store_->record_run(run_at(8, 1), {}, {}));
  expect_whole();
  EXPECT_EQ(migrate(url_, false, clock_)->steps, std::vector<std::string>());
}

TEST_P(MigrationTest, AFileOfOurOwnIsMigratedOnOpening) {
  auto opened = Store::open(url_, clock_);
  if (GetParam() == "mariadb") {
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("schema version 1, older than 4; its administrator runs `iez db migrate`"));
    opened = Store::open(url_, clock_, {.upgrade = Upgrade::always});
  }
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->info()->schema, kSchemaVersion);
}

TEST_P(MigrationTest, StepsThatWereDoneAreNotInTheWay) {
  {
    // As a server that failed in the middle leaves it: it commits each step.
    const auto session = direct();
    for (const char* const sql :
         {"ALTER TABLE applications ADD COLUMN owner {word} NOT NULL DEFAULT {empty}",
          "ALTER TABLE runs ADD COLUMN run_key {key}", "CREATE UNIQUE INDEX runs_key ON runs (run_key)"}) {
      ASSERT_TRUE(session->define(expand(sql, session->dialect())));
    }
  }
  ASSERT_TRUE(migrate(url_, false, clock_));
  EXPECT_EQ(shape(), fresh_);
  reopen();
  expect_whole();
}

TEST_P(MigrationTest, Version3GetsWhatRunsSawOfTargets) {
  ASSERT_TRUE(migrate(url_, false, clock_));
  {
    const auto session = direct();
    ASSERT_TRUE(session->define("ALTER TABLE runs DROP COLUMN targets"));
    ASSERT_TRUE(session->run("UPDATE iez_meta SET value = 3 WHERE name = ?", values("schema")));
  }
  EXPECT_EQ(migrate(url_, true, clock_)->steps.size(), 1U);
  ASSERT_TRUE(migrate(url_, false, clock_));
  EXPECT_EQ(shape(), fresh_);
  reopen({.upgrade = Upgrade::never});
  EXPECT_TRUE(store_->runs(7)->front().targets.empty());
  expect_whole();
}

TEST_P(MigrationTest, AVersionThatIsNotKnownIsLeftAlone) {
  {
    const auto session = direct();
    ASSERT_TRUE(session->run("UPDATE iez_meta SET value = 5 WHERE name = ?", values("schema")));
  }
  const auto before = shape();
  const auto opened = Store::open(url_, clock_, {.upgrade = Upgrade::always});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unsupported);
  EXPECT_THAT(opened.error().message,
              HasSubstr("schema version 5, and this iez knows 1 to 4; use a newer iez. Nothing was changed"));
  EXPECT_FALSE(migrate(url_, false, clock_));
  EXPECT_EQ(shape(), before);
}

TEST_P(MigrationTest, TheViewsHaveTheColumnsOfTheSource) {
  ASSERT_TRUE(migrate(url_, false, clock_));
  const auto session = direct();
  std::vector<std::string> rows;
  ASSERT_TRUE(session->query("SELECT file_name, write_bytes, stripe_count, `rank` FROM requests WHERE file_name = '/a'", {},
                             [&](const Row& row) { rows.push_back(row.text(0) + ' ' + std::to_string(row.integer(1))); }));
  ASSERT_TRUE(session->query("SELECT file_name, stripe_size, stripe_count, `rank`, ost_list FROM placements", {},
                             [&](const Row& row) { rows.push_back(row.text(0) + ' ' + row.text(4)); }));
  EXPECT_THAT(rows, testing::ElementsAre("/a 9", "/a 4,9"));
}

TEST(Schema, OfSomebodyElse) {
  const TemporaryFolder folder;
  SystemClock clock;
  {
    auto session = open_sqlite_session(folder.file("x.db"), true, Duration{0});
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->define("CREATE TABLE runs (a)"));
  }
  const auto opened = Store::open(folder.file("x.db"), clock);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("no interaction database of iez"));
  EXPECT_FALSE(migrate(folder.file("none.db"), false, clock));
}

}  // namespace
}  // namespace iez::store
