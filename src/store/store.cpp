#include "store/store.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "store/core.hpp"
#include "store/rows.hpp"

namespace iez::store {

namespace {

constexpr std::string_view kNewestOf = "WHERE application = ? ORDER BY made_ns DESC, id DESC LIMIT 1";

// The newest of each application, where it has no allocation yet.
constexpr std::string_view kUnallocated =
    "WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.prediction = p.id) AND NOT EXISTS (SELECT 1 FROM predictions n WHERE "
    "n.application = p.application AND (n.made_ns > p.made_ns OR (n.made_ns = p.made_ns AND n.id > p.id))) AND "
    "length(p.verdict) = 0";

Failure missing(std::string_view what, Id id) {
  return {.kind = Failure::Kind::other,
          .error = {.code = Errc::not_found, .message = fmt::format("the database has no {} {}", what, id)}};
}

// Changes of one application come one after another, on a server too: its row is locked until the transaction ends.
Outcome<void> lock_application(Session& session, Id id) {
  IEZ_CHECK(session.run("UPDATE applications SET created_ns = created_ns WHERE id = ?", values(id)));
  IEZ_TRY(const auto there, session.number("SELECT id FROM applications WHERE id = ?", values(id)));
  if (!there) return std::unexpected(missing("application", id));
  return {};
}

template <typename T>
std::optional<T> first_of(std::vector<T> found) {
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Outcome<std::optional<Prediction>> with_rows(Session& session, std::optional<Prediction> prediction) {
  if (!prediction) return prediction;
  IEZ_TRY(prediction->rows, select_predicted(session, prediction->id));
  return prediction;
}

Outcome<std::optional<Allocation>> with_rows(Session& session, std::optional<Allocation> allocation) {
  if (!allocation) return allocation;
  IEZ_TRY(allocation->rows, select_allocated(session, allocation->id));
  return allocation;
}

// Rows that are still planned, of the allocations that the statement gives, become expired.
Outcome<std::uint64_t> expire_rows(Session& session, std::string_view select, std::span<const Value> bound) {
  std::vector<Id> found;
  IEZ_CHECK(session.query(select, bound, [&](const Row& row) { found.push_back(row.integer(0)); }));
  std::uint64_t changed = 0;
  for (const Id id : found) {
    IEZ_TRY(const auto rows,
            session.number("SELECT count(*) FROM allocated WHERE allocation = ? AND turn = 0 AND state = 0", values(id)));
    changed += static_cast<std::uint64_t>(rows.value_or(0));
    IEZ_CHECK(session.run("UPDATE allocated SET state = 2 WHERE allocation = ? AND state = 0", values(id)));
    IEZ_CHECK(count_states(session, id));
  }
  return changed;
}

}  // namespace

std::string_view to_string(RunMode mode) { return mode == RunMode::learn ? "learn" : "place"; }

std::string_view to_string(PlanState state) {
  switch (state) {
    case PlanState::planned:
      return "planned";
    case PlanState::created:
      return "created";
    case PlanState::expired:
      break;
  }
  return "expired";
}

Store::Store(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(std::string_view url, Clock& clock, const OpenOptions& options) {
  IEZ_TRY(auto core, Core::open(url, clock, options));
  return std::unique_ptr<Store>(new Store(std::move(core)));
}

Result<Migration> migrate(std::string_view url, bool dry_run, Clock& clock) {
  IEZ_TRY(const StoreUrl parsed, parse_store_url(url));
  const OpenOptions options{.upgrade = Upgrade::never, .create = false};
  auto session = parsed.server ? make_mariadb_session(parsed) : open_sqlite_session(parsed.path, false, options.patience);
  if (!session) return std::unexpected(std::move(session).error());
  Session& own = **session;
  const auto work = [&]() -> Outcome<Migration> {
    IEZ_CHECK(own.connect());
    IEZ_TRY(const auto version, schema_version(own));
    if (!version) return refused(fail(Errc::not_found, "there is no interaction database yet; `iez run` makes one"));
    if (*version > kSchemaVersion || *version < kOldestSchema) return refused(unknown_version(*version));
    if (dry_run) return Migration{.from = *version, .to = kSchemaVersion, .steps = steps_from(version)};
    return bring_up(own, clock.wall().time_since_epoch().count());
  };
  auto done = work();
  if (!done) return with_context(std::move(done).error().error, to_string(parsed));
  return *std::move(done);
}

// ---- Applications ----

Result<Application> Store::ensure_application(std::string_view owner, std::string_view name, std::string_view fingerprint) {
  const Application wanted{.owner = std::string(owner),
                           .name = std::string(name),
                           .fingerprint = std::string(fingerprint),
                           .created_ns = core_->now_ns()};
  IEZ_CHECK(validate(wanted));
  // Most runs find it as it is: no need to write.
  IEZ_TRY(auto known, find_application(owner, name));
  if (known && (fingerprint.empty() || known->fingerprint == fingerprint)) return *std::move(known);
  return core_->write([&](Session& session) { return store::ensure_application(session, wanted); });
}

Result<std::optional<Application>> Store::find_application(std::string_view owner, std::string_view name) {
  return core_->read([&](Session& session) { return select_application(session, owner, name); });
}

Result<std::optional<Application>> Store::find_by_fingerprint(std::string_view owner, std::string_view fingerprint) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Application>> {
    std::optional<std::string> name;
    IEZ_CHECK(session.query("SELECT name FROM applications WHERE owner = ? AND fingerprint = ? ORDER BY id DESC LIMIT 1",
                            values(owner, fingerprint), [&](const Row& row) { name = row.text(0); }));
    if (!name || fingerprint.empty()) return std::nullopt;
    return select_application(session, owner, *name);
  });
}

Result<std::optional<Application>> Store::application(Id id) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Application>> {
    std::optional<Application> found;
    IEZ_CHECK(session.query("SELECT id, owner, name, fingerprint, created_ns FROM applications WHERE id = ?", values(id),
                            [&](const Row& row) {
                              found = Application{.id = row.integer(0),
                                                  .owner = row.text(1),
                                                  .name = row.text(2),
                                                  .fingerprint = row.text(3),
                                                  .created_ns = row.integer(4)};
                            }));
    return found;
  });
}

Result<std::vector<ApplicationSummary>> Store::applications(std::string_view owner) {
  return core_->read([&](Session& session) -> Outcome<std::vector<ApplicationSummary>> {
    std::vector<ApplicationSummary> all;
    IEZ_CHECK(session.query(
        "SELECT a.id, a.owner, a.name, a.fingerprint, a.created_ns, (SELECT count(*) FROM runs r WHERE r.application = a.id), "
        "(SELECT max(r.started_ns) FROM runs r WHERE r.application = a.id), (SELECT count(*) FROM predictions p WHERE "
        "p.application = "
        "a.id), (SELECT count(*) FROM allocations l WHERE l.application = a.id), (SELECT CAST(COALESCE(sum(r.files), 0) AS "
        "SIGNED) FROM "
        "runs r WHERE r.application = a.id AND r.kept = 1), (SELECT CAST(COALESCE(sum(l.planned), 0) AS SIGNED) FROM allocations "
        "l "
        "WHERE l.application = a.id) FROM applications a ORDER BY a.owner, a.name",
        {}, [&](const Row& row) {
          if (!owner.empty() && row.text(1) != owner) return;
          all.push_back({.application = {.id = row.integer(0),
                                         .owner = row.text(1),
                                         .name = row.text(2),
                                         .fingerprint = row.text(3),
                                         .created_ns = row.integer(4)},
                         .runs = row.number(5),
                         .last_run_ns = row.is_null(6) ? 0 : row.integer(6),
                         .predictions = row.number(7),
                         .allocations = row.number(8),
                         .file_rows = row.number(9),
                         .waiting = row.number(10)});
        }));
    return all;
  });
}

Result<Forgotten> Store::forget(Id application) {
  return core_->write([&](Session& session) -> Outcome<Forgotten> {
    IEZ_CHECK(lock_application(session, application));
    const auto count = [&](std::string_view sql) { return session.number(sql, values(application)); };
    IEZ_TRY(const auto runs, count("SELECT count(*) FROM runs WHERE application = ?"));
    IEZ_TRY(const auto files, count("SELECT count(*) FROM files WHERE run IN (SELECT id FROM runs WHERE application = ?)"));
    IEZ_TRY(const auto predictions, count("SELECT count(*) FROM predictions WHERE application = ?"));
    IEZ_TRY(const auto allocations, count("SELECT count(*) FROM allocations WHERE application = ?"));
    IEZ_CHECK(session.run("DELETE FROM applications WHERE id = ?", values(application)));
    return Forgotten{.runs = static_cast<std::uint64_t>(runs.value_or(0)),
                     .files = static_cast<std::uint64_t>(files.value_or(0)),
                     .predictions = static_cast<std::uint64_t>(predictions.value_or(0)),
                     .allocations = static_cast<std::uint64_t>(allocations.value_or(0))};
  });
}

// ---- Runs ----

Result<Id> Store::record_run(const Run& run, std::span<const FileRow> files, std::span<const Miss> misses) {
  IEZ_CHECK(validate(run, files, misses));
  Run keyed = run;
  if (keyed.key.empty()) keyed.key = new_key();
  return core_->write([&](Session& session) -> Outcome<Id> {
    IEZ_CHECK(lock_application(session, keyed.application));
    IEZ_TRY(const auto known, run_by_key(session, keyed.key));
    if (known) return *known;
    IEZ_TRY(const Id id, insert_run(session, keyed, files, misses));
    IEZ_CHECK(drop_old_files(session, keyed.application, core_->options().keep_runs));
    return id;
  });
}

Result<std::vector<Run>> Store::runs(Id application, std::size_t last) {
  const std::uint64_t limit = last == 0 ? std::uint64_t{1} << 62U : last;
  return core_->read([&](Session& session) {
    return select_runs(session, "WHERE application = ? ORDER BY started_ns DESC, id DESC LIMIT ?", values(application, limit));
  });
}

Result<std::vector<Run>> Store::runs_with_targets(std::int64_t after_ns, std::size_t last) {
  constexpr std::int64_t kLookedAt = 4;  // times as many, by the primary key: a site has many runs, and no index for this
  return core_->read([&](Session& session) -> Outcome<std::vector<Run>> {
    IEZ_TRY(const auto newest, session.number("SELECT MAX(id) FROM runs"));
    const std::int64_t far = static_cast<std::int64_t>(std::min<std::size_t>(last, 1'000'000)) * kLookedAt;
    return select_runs(session,
                       "WHERE id > ? AND ended_ns > ? AND exit_status = 0 AND LENGTH(targets) > 0 ORDER BY ended_ns DESC, id "
                       "DESC LIMIT ?",
                       values(newest.value_or(0) - far, after_ns, std::uint64_t{last}));
  });
}

Result<std::vector<FileRow>> Store::files(Id run) {
  return core_->read([&](Session& session) { return select_files(session, run); });
}

Result<std::vector<Miss>> Store::misses(Id run) {
  return core_->read([&](Session& session) { return select_misses(session, run); });
}

// ---- Predictions ----

Result<Id> Store::put_prediction(const Prediction& prediction) {
  IEZ_CHECK(validate(prediction));
  Prediction head = prediction;
  if (head.key.empty()) head.key = new_key();
  return core_->write([&](Session& session) -> Outcome<Id> {
    IEZ_CHECK(lock_application(session, head.application));
    IEZ_TRY(const auto known, prediction_by_key(session, head.key));
    if (known) return *known;
    IEZ_TRY(const Id id, insert_prediction(session, head));
    IEZ_CHECK(drop_old_plans(session, head.application, core_->options().keep_plans, core_->options().keep_runs));
    return id;
  });
}

Result<std::optional<Prediction>> Store::prediction(Id id) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Prediction>> {
    IEZ_TRY(auto found, select_predictions(session, "WHERE p.id = ?", values(id)));
    return with_rows(session, first_of(std::move(found)));
  });
}

Result<std::optional<Prediction>> Store::latest_prediction(Id application) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Prediction>> {
    IEZ_TRY(auto found, select_predictions(session, kNewestOf, values(application)));
    return with_rows(session, first_of(std::move(found)));
  });
}

Result<std::vector<Prediction>> Store::unallocated_predictions() {
  return core_->read(
      [&](Session& session) { return select_predictions(session, std::string(kUnallocated) + " ORDER BY p.made_ns, p.id", {}); });
}

Result<std::vector<Prediction>> Store::unallocated_predictions(Id after, std::size_t most) {
  return core_->read([&](Session& session) {
    return select_predictions(session, std::string(kUnallocated) + " AND p.id > ? ORDER BY p.id LIMIT ?",
                              values(after, std::uint64_t{most}));
  });
}

Result<std::optional<Prediction>> Store::find_prediction(std::string_view key) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Prediction>> {
    IEZ_TRY(auto found, select_predictions(session, "WHERE p.prediction_key = ?", values(key)));
    return with_rows(session, first_of(std::move(found)));
  });
}

// ---- Allocations ----

namespace {

// False: a later one of the same plan is there. REQUIRES: the application is locked.
Outcome<bool> fit_late_allocation(Session& session, Allocation& head) {
  IEZ_TRY(const auto newest_prediction, select_predictions(session, kNewestOf, values(head.application)));
  if (newest_prediction.front().id != head.prediction) {
    return refused(fail(Errc::exists, fmt::format("prediction {} is not the newest one any more", head.prediction)));
  }
  IEZ_TRY(const auto newest, select_allocations(session, kNewestOf, values(head.application)));
  if (newest.empty()) return true;
  const Allocation& before = newest.front();
  head.made_ns = std::max(head.made_ns, before.made_ns + 1);
  if (before.prediction != head.prediction) return true;
  if (before.plan != head.plan) {
    return refused(fail(Errc::exists, fmt::format("prediction {} has plan {} already", head.prediction, before.plan)));
  }
  if (before.key.starts_with(head.plan) && before.key >= head.key) return false;
  IEZ_TRY(const auto rows, select_allocated(session, before.id));
  for (AllocationRow& row : head.rows) {
    const auto old = std::ranges::lower_bound(rows, row.row, {}, &AllocationRow::row);
    if (old == rows.end() || old->row != row.row || old->state == PlanState::planned) continue;
    row.state = old->state;
    row.layouts = old->layouts;
    row.reason = old->reason;
  }
  return true;
}

Result<Id> store_allocation(Core& core, const Allocation& allocation, bool late) {
  IEZ_CHECK(validate(allocation));
  Allocation given = allocation;
  if (given.key.empty()) given.key = new_key();
  return core.write([&](Session& session) -> Outcome<Id> {
    Allocation head = given;
    IEZ_TRY(const auto owner, session.number("SELECT application FROM predictions WHERE id = ?", values(head.prediction)));
    if (!owner) return std::unexpected(missing("prediction", head.prediction));
    IEZ_CHECK(lock_application(session, *owner));
    IEZ_TRY(const auto known, allocation_by_key(session, head.key));
    if (known) {
      IEZ_TRY(const auto whose, session.number("SELECT prediction FROM allocations WHERE id = ?", values(*known)));
      if (!late || whose == head.prediction) return *known;
      return refused(fail(Errc::exists, fmt::format("plan {} is that of another prediction", head.plan)));
    }
    IEZ_TRY(const auto found, select_predictions(session, "WHERE p.id = ?", values(head.prediction)));
    if (found.empty()) return std::unexpected(missing("prediction", head.prediction));
    IEZ_TRY(const auto kept, session.number("SELECT kept FROM predictions WHERE id = ?", values(head.prediction)));
    if (kept.value_or(0) == 0) {
      return refused(
          fail(Errc::not_found, fmt::format("the rows of prediction {} are gone: there are newer ones", head.prediction)));
    }
    if (!head.rows.empty() && head.rows.back().row >= found.front().row_count) {
      return refused(fail(Errc::invalid_argument, fmt::format("the allocation has row {}, and the prediction has {} rows",
                                                              head.rows.back().row, found.front().row_count)));
    }
    head.application = found.front().application;
    if (late) {
      IEZ_TRY(const bool newer, fit_late_allocation(session, head));
      if (!newer) return found.front().allocation;
    }
    IEZ_CHECK(expire_rows(session, "SELECT id FROM allocations WHERE application = ? AND planned > 0", values(head.application)));
    IEZ_TRY(const Id id, insert_allocation(session, head));
    IEZ_CHECK(drop_old_plans(session, head.application, core.options().keep_plans, core.options().keep_runs));
    return id;
  });
}

}  // namespace

Result<Id> Store::put_allocation(const Allocation& allocation) { return store_allocation(*core_, allocation, false); }

Result<Id> Store::put_late_allocation(const Allocation& allocation) { return store_allocation(*core_, allocation, true); }

Result<std::optional<Allocation>> Store::allocation(Id id) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Allocation>> {
    IEZ_TRY(auto found, select_allocations(session, "WHERE id = ?", values(id)));
    return with_rows(session, first_of(std::move(found)));
  });
}

Result<std::optional<Allocation>> Store::find_allocation(std::string_view plan) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Allocation>> {
    IEZ_TRY(auto found, select_allocations(session, "WHERE plan = ? ORDER BY made_ns DESC, id DESC LIMIT 1", values(plan)));
    return with_rows(session, first_of(std::move(found)));
  });
}

Result<std::optional<Allocation>> Store::latest_allocation(Id application) {
  return core_->read([&](Session& session) -> Outcome<std::optional<Allocation>> {
    IEZ_TRY(auto found, select_allocations(session, kNewestOf, values(application)));
    return with_rows(session, first_of(std::move(found)));
  });
}

Result<std::vector<Allocation>> Store::allocations(Id application) {
  return core_->read([&](Session& session) {
    return select_allocations(session, "WHERE application = ? ORDER BY made_ns DESC, id DESC", values(application));
  });
}

Result<std::vector<Allocation>> Store::newest_allocations(Id after, std::size_t most) {
  return core_->read([&](Session& session) {
    return select_allocations(session,
                              "WHERE id > ? AND NOT EXISTS (SELECT 1 FROM allocations n WHERE n.application = "
                              "allocations.application AND (n.made_ns > allocations.made_ns OR (n.made_ns = allocations.made_ns "
                              "AND n.id > allocations.id))) ORDER BY id LIMIT ?",
                              values(after, std::uint64_t{most}));
  });
}

Result<std::uint64_t> Store::set_states(Id allocation, PlanState state, std::span<const std::uint32_t> rows) {
  const auto number = static_cast<std::int32_t>(state);
  return core_->write([&](Session& session) -> Outcome<std::uint64_t> {
    IEZ_TRY(const auto owner, session.number("SELECT application FROM allocations WHERE id = ?", values(allocation)));
    if (!owner) return std::unexpected(missing("allocation", allocation));
    IEZ_CHECK(lock_application(session, *owner));
    IEZ_TRY(const auto kept, session.number("SELECT kept FROM allocations WHERE id = ?", values(allocation)));
    if (!kept) return std::unexpected(missing("allocation", allocation));
    if (*kept == 0) return 0;  // its rows are gone
    std::uint64_t changed = 0;
    if (rows.empty()) {
      IEZ_TRY(const auto others, session.number("SELECT count(*) FROM allocated WHERE allocation = ? AND turn = 0 AND state <> ?",
                                                values(allocation, number)));
      changed = static_cast<std::uint64_t>(others.value_or(0));
      IEZ_CHECK(
          session.run("UPDATE allocated SET state = ? WHERE allocation = ? AND state <> ?", values(number, allocation, number)));
    } else {
      // A fixed number of places, so that there is one statement; those left over take the first number once more.
      constexpr std::size_t kPlaces = 32;
      constexpr std::string_view kWhere =
          "WHERE allocation = ? AND state <> ? AND number IN (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
      static const std::string kCount = "SELECT count(*) FROM allocated " + std::string(kWhere) + " AND turn = 0";
      static const std::string kUpdate = "UPDATE allocated SET state = ? " + std::string(kWhere);
      for (std::size_t at = 0; at < rows.size(); at += kPlaces) {
        std::vector<Value> bound{Value::of(number), Value::of(allocation), Value::of(number)};
        for (std::size_t i = 0; i < kPlaces; ++i) bound.push_back(Value::of(rows[at + i < rows.size() ? at + i : at]));
        IEZ_TRY(const auto others, session.number(kCount, std::span(bound).subspan(1)));
        if (others.value_or(0) == 0) continue;
        changed += static_cast<std::uint64_t>(*others);
        IEZ_CHECK(session.run(kUpdate, bound));
      }
    }
    IEZ_CHECK(count_states(session, allocation));
    return changed;
  });
}

Result<void> Store::set_verdict(Id prediction, std::string_view verdict) {
  const std::string kept(verdict.substr(0, kMaxShort));
  const auto done = core_->write([&](Session& session) -> Outcome<std::uint64_t> {
    IEZ_TRY(const auto owner, session.number("SELECT application FROM predictions WHERE id = ?", values(prediction)));
    if (!owner) return std::unexpected(missing("prediction", prediction));
    IEZ_CHECK(lock_application(session, *owner));
    return session.run("UPDATE predictions SET verdict = ? WHERE id = ?", values(std::string_view(kept), prediction));
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<std::uint64_t> Store::withdraw(Id application) {
  return core_->write([&](Session& session) -> Outcome<std::uint64_t> {
    IEZ_CHECK(lock_application(session, application));
    std::vector<Id> alive;
    IEZ_CHECK(session.query("SELECT id FROM allocations WHERE application = ? AND planned + created > 0 ORDER BY id",
                            values(application), [&](const Row& row) { alive.push_back(row.integer(0)); }));
    std::uint64_t changed = 0;
    const auto gone = static_cast<std::int32_t>(PlanState::expired);
    for (const Id id : alive) {
      IEZ_TRY(const auto rows, session.number("SELECT planned + created FROM allocations WHERE id = ?", values(id)));
      changed += static_cast<std::uint64_t>(rows.value_or(0));
      IEZ_CHECK(session.run("UPDATE allocated SET state = ? WHERE allocation = ?", values(gone, id)));
      IEZ_CHECK(session.run("UPDATE allocations SET expired = expired + planned + created WHERE id = ?", values(id)));
      IEZ_CHECK(session.run("UPDATE allocations SET planned = 0, created = 0 WHERE id = ?", values(id)));
    }
    return changed;
  });
}

Result<std::uint64_t> Store::expire(Id application, std::int64_t before_ns) {
  return core_->write([&](Session& session) -> Outcome<std::uint64_t> {
    std::vector<Id> applications;
    IEZ_CHECK(session.query("SELECT DISTINCT application FROM allocations WHERE planned > 0 AND made_ns < ? ORDER BY application",
                            values(before_ns), [&](const Row& row) {
                              if (application == 0 || row.integer(0) == application) applications.push_back(row.integer(0));
                            }));
    std::uint64_t changed = 0;
    for (const Id one : applications) {
      IEZ_CHECK(session.run("UPDATE applications SET created_ns = created_ns WHERE id = ?", values(one)));
      IEZ_TRY(const std::uint64_t rows,
              expire_rows(session, "SELECT id FROM allocations WHERE planned > 0 AND made_ns < ? AND application = ?",
                          values(before_ns, one)));
      changed += rows;
    }
    return changed;
  });
}

// ---- The whole ----

Result<std::uint64_t> Store::revision() {
  return core_->read([](Session& session) -> Outcome<std::uint64_t> {
    IEZ_TRY(const auto found, session.number("SELECT value FROM iez_meta WHERE name = ?", values("revision")));
    return static_cast<std::uint64_t>(found.value_or(0));
  });
}

Result<StoreInfo> Store::info() {
  return core_->read([&](Session& session) -> Outcome<StoreInfo> {
    StoreInfo info{.url = to_string(core_->url()), .engine = session.engine()};
    const auto number = [&](std::string_view sql, std::uint64_t& to) -> Outcome<void> {
      IEZ_TRY(const auto found, session.number(sql));
      to = static_cast<std::uint64_t>(found.value_or(0));
      return {};
    };
    IEZ_TRY(const auto version, schema_version(session));
    info.schema = version.value_or(0);
    IEZ_TRY(const auto revision, session.number("SELECT value FROM iez_meta WHERE name = ?", values("revision")));
    info.revision = static_cast<std::uint64_t>(revision.value_or(0));
    IEZ_CHECK(number(session.dialect().size, info.bytes));
    IEZ_CHECK(number("SELECT count(*) FROM applications", info.applications));
    IEZ_CHECK(number("SELECT count(*) FROM runs", info.runs));
    IEZ_CHECK(number("SELECT count(*) FROM files", info.files));
    IEZ_CHECK(number("SELECT count(*) FROM misses", info.misses));
    IEZ_CHECK(number("SELECT count(*) FROM models", info.models));
    IEZ_CHECK(number("SELECT count(*) FROM predictions", info.predictions));
    IEZ_CHECK(number("SELECT count(*) FROM predicted", info.predicted));
    IEZ_CHECK(number("SELECT count(*) FROM allocations", info.allocations));
    IEZ_CHECK(number("SELECT count(*) FROM allocated WHERE turn = 0", info.allocated));
    return info;
  });
}

}  // namespace iez::store
