#include "store/schema.hpp"

#include <pwd.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace iez::store {

namespace {

constexpr std::array kTables{
    "CREATE TABLE {if} iez_meta (name {key} NOT NULL, value {int} NOT NULL, PRIMARY KEY (name)) {keyed}",
    "CREATE TABLE {if} applications (id {id}, owner {word} NOT NULL DEFAULT {empty}, name {word} NOT NULL, fingerprint {word} "
    "NOT "
    "NULL, created_ns {int} NOT NULL) {table}",
    "CREATE TABLE {if} runs (id {id}, run_key {key}, application {int} NOT NULL, started_ns {int} NOT NULL, ended_ns {int} NOT "
    "NULL, command {text} NOT NULL, host {word} NOT NULL, uid {int} NOT NULL, job {word} NOT NULL, ranks {int} NOT NULL, "
    "processes {int} NOT NULL, mode {int} NOT NULL, exit_status {int} NOT NULL, plan {word} NOT NULL, files {int} NOT NULL, "
    "written {int} NOT NULL, bytes_read {int} NOT NULL, misses {int} NOT NULL, planned {int} NOT NULL, unplanned {int} NOT NULL, "
    "accuracy {real}, by_weight {real}, foretold {int} NOT NULL, met {int} NOT NULL, kept {int} NOT NULL, "
    "phases {text} NOT NULL DEFAULT {empty}, targets {text} NOT NULL DEFAULT {empty}, FOREIGN KEY (application) REFERENCES "
    "applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE {if} files (run {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, renamed {path} NOT NULL, written "
    "{int} NOT NULL, bytes_read {int} NOT NULL, stripe_count {int} NOT NULL, stripe_size {int} NOT NULL, writer_rank {int} NOT "
    "NULL, writers {int} NOT NULL, created {int} NOT NULL, phase {int} NOT NULL DEFAULT -1, read_phase {int} NOT NULL DEFAULT "
    "-1, "
    "removed {int} NOT NULL DEFAULT 0, own_layout {int} NOT NULL DEFAULT 0, PRIMARY KEY (run, number), "
    "FOREIGN KEY (run) REFERENCES runs (id) ON DELETE CASCADE) {keyed}",
    "CREATE TABLE {if} misses (run {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, why {word} NOT NULL, "
    "PRIMARY KEY (run, number), FOREIGN KEY (run) REFERENCES runs (id) ON DELETE CASCADE) {keyed}",
    "CREATE TABLE {if} models (id {id}, application {int} NOT NULL, made_ns {int} NOT NULL, content {text} NOT NULL, "
    "FOREIGN KEY (application) REFERENCES applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE {if} predictions (id {id}, prediction_key {key}, application {int} NOT NULL, run {int} NOT NULL, made_ns {int} "
    "NOT NULL, ranks {int} NOT NULL, model {int} NOT NULL, accuracy {real}, row_count {int} NOT NULL, bytes {int} NOT NULL, kept "
    "{int} NOT NULL, phase_seconds {text} NOT NULL DEFAULT {empty}, verdict {word} NOT NULL DEFAULT {empty}, FOREIGN KEY "
    "(application) REFERENCES applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE {if} predicted (prediction {int} NOT NULL, number {int} NOT NULL, name {path} NOT NULL, created_as {path} NOT "
    "NULL DEFAULT {empty}, bytes {int} NOT NULL, high {int} NOT NULL, stripe_count {int} NOT NULL, stripe_size {int} NOT NULL, "
    "writer_rank {int} NOT NULL, shared {int} NOT NULL, pattern {int} NOT NULL, files {int} NOT NULL, phase {int} NOT NULL "
    "DEFAULT "
    "0, read_phase {int} NOT NULL DEFAULT -1, left_alone {int} NOT NULL DEFAULT 0, default_stripes {int} NOT NULL DEFAULT 1, "
    "default_stripe_size {int} NOT NULL DEFAULT 0, "
    "PRIMARY KEY (prediction, number), FOREIGN KEY (prediction) REFERENCES predictions (id) ON DELETE CASCADE) {keyed}",
    "CREATE TABLE {if} allocations (id {id}, allocation_key {key}, prediction {int} NOT NULL, application {int} NOT NULL, plan "
    "{word} NOT NULL, made_ns {int} NOT NULL, planner {word} NOT NULL, policy {word} NOT NULL, file_system {word} NOT NULL, "
    "details "
    "{text} NOT NULL, row_count {int} NOT NULL, planned {int} NOT NULL, created {int} NOT NULL, expired {int} NOT NULL, kept "
    "{int} "
    "NOT NULL, FOREIGN KEY (prediction) REFERENCES predictions (id) ON DELETE CASCADE, "
    "FOREIGN KEY (application) REFERENCES applications (id) ON DELETE CASCADE) {table}",
    "CREATE TABLE {if} allocated (allocation {int} NOT NULL, number {int} NOT NULL, turn {int} NOT NULL, stripe_size {int} NOT "
    "NULL, "
    "stripe_count {int} NOT NULL, osts {text} NOT NULL, reason {text} NOT NULL, state {int} NOT NULL, "
    "PRIMARY KEY (allocation, number, turn), FOREIGN KEY (allocation) REFERENCES allocations (id) ON DELETE CASCADE) {keyed}",
    "CREATE TABLE {if} operations (operation {key} NOT NULL, made_ns {int} NOT NULL, PRIMARY KEY (operation)) {keyed}",
};

struct Index {
  std::string_view table;
  std::string_view name;
  std::string_view columns;
  bool unique;
};

constexpr std::array kIndices{
    Index{"applications", "applications_owner_name", "owner, name", true},
    Index{"runs", "runs_key", "run_key", true},
    Index{"runs", "runs_time", "application, started_ns", false},
    Index{"models", "models_application", "application, made_ns", false},
    Index{"predictions", "predictions_key", "prediction_key", true},
    Index{"predictions", "predictions_time", "application, made_ns", false},
    Index{"allocations", "allocations_key", "allocation_key", true},
    Index{"allocations", "allocations_time", "application, made_ns", false},
    Index{"allocations", "allocations_prediction", "prediction", false},
    Index{"allocations", "allocations_plan", "plan", false},
    Index{"operations", "operations_time", "made_ns", false},
};

Outcome<bool> there(Session& session, std::string_view sql, std::string_view first, std::string_view second = {}) {
  const auto both = values(first, second);
  IEZ_TRY(const auto count, session.number(sql, std::span(both).first(second.empty() ? 1 : 2)));
  return count.value_or(0) > 0;
}

Outcome<void> make_tables(Session& session) {
  for (const std::string_view table : kTables) {
    std::string sql = expand(table, session.dialect());
    sql.replace(sql.find("{if}"), 4, "IF NOT EXISTS");
    IEZ_CHECK(session.define(sql));
  }
  return {};
}

Outcome<void> make_indices(Session& session) {
  for (const Index& index : kIndices) {
    IEZ_TRY(const bool exists, there(session, session.dialect().index_exists, index.table, index.name));
    if (exists) continue;
    IEZ_CHECK(session.define(
        fmt::format("CREATE {}INDEX {} ON {} ({})", index.unique ? "UNIQUE " : "", index.name, index.table, index.columns)));
  }
  return {};
}

// The source's two tables: the requests of the next runs, and the same with targets, for the newest of each application.
Outcome<void> make_views(Session& session) {
  IEZ_CHECK(session.define("DROP VIEW IF EXISTS requests"));
  IEZ_CHECK(session.define("DROP VIEW IF EXISTS placements"));
  const std::string name = as_text(session.dialect(), "r.name");
  IEZ_CHECK(session.define(fmt::format(
      "CREATE VIEW requests AS SELECT {} AS file_name, r.bytes AS write_bytes, r.stripe_count AS stripe_count, r.writer_rank AS "
      "`rank` FROM predicted r JOIN predictions p ON p.id = r.prediction WHERE NOT EXISTS (SELECT 1 FROM predictions n WHERE "
      "n.application = p.application AND (n.made_ns > p.made_ns OR (n.made_ns = p.made_ns AND n.id > p.id)))",
      name)));
  return session.define(fmt::format(
      "CREATE VIEW placements AS SELECT {} AS file_name, t.stripe_size AS stripe_size, t.stripe_count AS stripe_count, "
      "r.writer_rank AS `rank`, {} AS ost_list FROM allocated t JOIN allocations a ON a.id = t.allocation JOIN predicted r ON "
      "r.prediction = a.prediction AND r.number = t.number WHERE NOT EXISTS (SELECT 1 FROM allocations n WHERE n.application = "
      "a.application AND (n.made_ns > a.made_ns OR (n.made_ns = a.made_ns AND n.id > a.id)))",
      name, as_text(session.dialect(), "t.osts")));
}

Outcome<void> add_column(Session& session, std::string_view table, std::string_view column, std::string_view type) {
  IEZ_TRY(const bool exists, there(session, session.dialect().column_exists, table, column));
  if (exists) return {};
  return session.define(expand(fmt::format("ALTER TABLE {} ADD COLUMN {} {}", table, column, type), session.dialect()));
}

Outcome<std::vector<Id>> ids(Session& session, std::string_view sql) {
  std::vector<Id> found;
  IEZ_CHECK(session.query(sql, {}, [&](const Row& row) { found.push_back(row.integer(0)); }));
  return found;
}

std::string user_name(std::uint32_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("{}", uid);
}

// Whoever ran it last; an application that never ran is of the one who migrates.
Outcome<void> name_owners(Session& session) {
  const auto nobody = values(std::string_view());
  std::vector<Id> nameless;
  IEZ_CHECK(session.query("SELECT id FROM applications WHERE owner = ?", nobody,
                          [&](const Row& row) { nameless.push_back(row.integer(0)); }));
  for (const Id id : nameless) {
    IEZ_TRY(const auto uid,
            session.number("SELECT uid FROM runs WHERE application = ? ORDER BY started_ns DESC, id DESC LIMIT 1", values(id)));
    const std::string owner = user_name(uid ? static_cast<std::uint32_t>(*uid) : geteuid());
    IEZ_CHECK(session.run("UPDATE applications SET owner = ? WHERE id = ?", values(owner, id)));
  }
  return {};
}

Outcome<void> give_keys(Session& session, std::string_view select, std::string_view update) {
  IEZ_TRY(const auto keyless, ids(session, select));
  for (const Id id : keyless) {
    const std::string key = new_key();
    IEZ_CHECK(session.run(update, values(key, id)));
  }
  return {};
}

Outcome<void> from_1_to_2(Session& session) {
  IEZ_CHECK(add_column(session, "applications", "owner", "{word} NOT NULL DEFAULT {empty}"));
  IEZ_CHECK(name_owners(session));
  IEZ_TRY(const bool old_index, there(session, session.dialect().index_exists, "applications", "applications_name"));
  if (old_index) IEZ_CHECK(session.define(drop_index_sql(session.dialect(), "applications", "applications_name")));
  IEZ_CHECK(add_column(session, "runs", "run_key", "{key}"));
  IEZ_CHECK(add_column(session, "predictions", "prediction_key", "{key}"));
  IEZ_CHECK(add_column(session, "allocations", "allocation_key", "{key}"));
  IEZ_CHECK(give_keys(session, "SELECT id FROM runs WHERE run_key IS NULL", "UPDATE runs SET run_key = ? WHERE id = ?"));
  IEZ_CHECK(give_keys(session, "SELECT id FROM predictions WHERE prediction_key IS NULL",
                      "UPDATE predictions SET prediction_key = ? WHERE id = ?"));
  IEZ_CHECK(give_keys(session, "SELECT id FROM allocations WHERE allocation_key IS NULL",
                      "UPDATE allocations SET allocation_key = ? WHERE id = ?"));
  IEZ_CHECK(add_column(session, "predicted", "created_as", "{path} NOT NULL DEFAULT {empty}"));
  return {};
}

Outcome<void> from_2_to_3(Session& session) {
  IEZ_CHECK(add_column(session, "runs", "phases", "{text} NOT NULL DEFAULT {empty}"));
  for (const std::string_view column : {"phase", "read_phase"}) {
    IEZ_CHECK(add_column(session, "files", column, "{int} NOT NULL DEFAULT -1"));
  }
  for (const std::string_view column : {"removed", "own_layout"}) {
    IEZ_CHECK(add_column(session, "files", column, "{int} NOT NULL DEFAULT 0"));
  }
  IEZ_CHECK(add_column(session, "predictions", "phase_seconds", "{text} NOT NULL DEFAULT {empty}"));
  IEZ_CHECK(add_column(session, "predictions", "verdict", "{word} NOT NULL DEFAULT {empty}"));
  IEZ_CHECK(add_column(session, "predicted", "phase", "{int} NOT NULL DEFAULT 0"));
  IEZ_CHECK(add_column(session, "predicted", "read_phase", "{int} NOT NULL DEFAULT -1"));
  IEZ_CHECK(add_column(session, "predicted", "left_alone", "{int} NOT NULL DEFAULT 0"));
  IEZ_CHECK(add_column(session, "predicted", "default_stripes", "{int} NOT NULL DEFAULT 1"));
  return add_column(session, "predicted", "default_stripe_size", "{int} NOT NULL DEFAULT 0");
}

Outcome<void> from_3_to_4(Session& session) { return add_column(session, "runs", "targets", "{text} NOT NULL DEFAULT {empty}"); }

Outcome<Migration> change(Session& session, std::int64_t now_ns) {
  IEZ_TRY(const auto version, schema_version(session));
  Migration done{.from = version.value_or(0), .to = kSchemaVersion};
  if (version && *version == kSchemaVersion) return done;
  if (version && (*version > kSchemaVersion || *version < kOldestSchema)) return refused(unknown_version(*version));
  done.steps = steps_from(version);
  if (version && *version < 2) IEZ_CHECK(from_1_to_2(session));
  if (version && *version < 3) IEZ_CHECK(from_2_to_3(session));
  if (version) IEZ_CHECK(from_3_to_4(session));
  IEZ_CHECK(make_tables(session));
  IEZ_CHECK(make_indices(session));
  IEZ_CHECK(make_views(session));
  const std::string ignore = expand("{ignore} INTO iez_meta (name, value) VALUES (?, ?)", session.dialect());
  IEZ_CHECK(session.run(ignore, values("revision", std::int64_t{1})));
  IEZ_CHECK(session.run(ignore, values("created_ns", now_ns)));
  // Last: until then all steps are repeated by whoever comes next.
  IEZ_CHECK(session.run(ignore, values("schema", kSchemaVersion)));
  IEZ_CHECK(session.run("UPDATE iez_meta SET value = ? WHERE name = ?", values(kSchemaVersion, "schema")));
  IEZ_CHECK(session.run("UPDATE iez_meta SET value = value + 1 WHERE name = ?", values("revision")));
  return done;
}

}  // namespace

Outcome<std::optional<std::uint32_t>> schema_version(Session& session) {
  IEZ_TRY(const bool ours, there(session, session.dialect().table_exists, "iez_meta"));
  if (!ours) {
    IEZ_TRY(const auto others, session.number(session.dialect().any_table));
    if (others.value_or(0) == 0) return std::nullopt;
    return refused(
        fail(Errc::unsupported, "the database holds other tables, and is no interaction database of iez; name another"));
  }
  IEZ_TRY(const auto version, session.number("SELECT value FROM iez_meta WHERE name = ?", values("schema")));
  if (!version) return std::nullopt;  // a server whose first setup was cut off
  return static_cast<std::uint32_t>(*version);
}

Outcome<Migration> bring_up(Session& session, std::int64_t now_ns) {
  const Dialect& dialect = session.dialect();
  if (dialect.schema_lock.empty()) {
    IEZ_CHECK(session.begin_write());
    auto done = change(session, now_ns);
    if (!done) {
      session.rollback();
      return done;
    }
    IEZ_CHECK(session.commit());
    return done;
  }
  IEZ_TRY(const auto locked, session.number(dialect.schema_lock));
  if (locked.value_or(0) != 1) {
    return refused(fail(Errc::io, "somebody else has been changing the schema of the database for a minute; try again later"));
  }
  auto done = change(session, now_ns);
  (void)session.number(dialect.schema_unlock);  // it ends with the connection at the latest
  return done;
}

std::vector<std::string> steps_from(std::optional<std::uint32_t> version) {
  if (!version) return {"make the tables, indices and views of version 4"};
  std::vector<std::string> steps;
  if (*version < 2) {
    steps = {"applications: add the owner (of the newest run), unique with the name",
             "runs, predictions, allocations: add keys, by which they are known outside",
             "predicted: add the name that a file is created by",
             "operations: make the table, so that a commit whose answer was lost is found again",
             "requests, placements: make the views anew"};
  }
  if (*version < 3) {
    steps.emplace_back("runs, files: add the phases in which files were written and read");
    steps.emplace_back("predictions, predicted: add phases, default stripes, and why there is no plan");
  }
  if (*version < 4) steps.emplace_back("runs: add how fast OSTs were beside each other");
  return steps;
}

Error unknown_version(std::uint32_t version) {
  return {.code = Errc::unsupported,
          .message =
              fmt::format("the database has schema version {}, and this iez knows {} to {}; use a newer iez. Nothing was changed",
                          version, kOldestSchema, kSchemaVersion)};
}

std::string new_key() {
  std::array<unsigned char, 16> bytes{};
  IEZ_ASSERT(getentropy(bytes.data(), bytes.size()) == 0);
  std::string key;
  key.reserve(32);
  for (const unsigned byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

}  // namespace iez::store
