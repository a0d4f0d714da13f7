#include "store/core.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace iez::store {

namespace {

constexpr Duration kFirstPause{10'000'000};
constexpr Duration kLongestPause{1'000'000'000};
constexpr std::int64_t kOperationsKept = 86'400'000'000'000;  // a day: nobody waits that long for an answer

Result<std::unique_ptr<Session>> session_of(const StoreUrl& url, const OpenOptions& options) {
  if (url.server) return make_mariadb_session(url);
  return open_sqlite_session(url.path, options.create, options.patience);
}

std::string insert_sql(std::string_view insert, std::size_t columns, std::size_t rows) {
  std::string one = "(?";
  for (std::size_t i = 1; i < columns; ++i) one += ", ?";
  one += ')';
  std::string sql(insert);
  sql += one;
  for (std::size_t i = 1; i < rows; ++i) {
    sql += ", ";
    sql += one;
  }
  return sql;
}

}  // namespace

Result<std::unique_ptr<Core>> Core::open(std::string_view url, Clock& clock, const OpenOptions& options) {
  IEZ_TRY(StoreUrl parsed, parse_store_url(url));
  IEZ_TRY(auto session, session_of(parsed, options));
  auto core = std::make_unique<Core>(std::move(session), std::move(parsed), clock, options);
  core->connected_ = !core->url_.server;
  const auto once = [&]() -> Outcome<void> {
    Session& own = *core->session_;
    IEZ_TRY(const auto version, schema_version(own));
    if (version && *version == kSchemaVersion) return {};
    if (version && *version > kSchemaVersion) return refused(unknown_version(*version));
    if (!version && !options.create) return refused(fail(Errc::not_found, "there is no interaction database yet"));
    const bool may =
        !version || options.upgrade == Upgrade::always || (options.upgrade == Upgrade::own_file && !core->url_.server);
    if (!may) {
      return refused(
          fail(Errc::unsupported, fmt::format("the database has schema version {}, older than {}; its administrator runs "
                                              "`iez db migrate`",
                                              *version, kSchemaVersion)));
    }
    IEZ_CHECK(bring_up(own, core->now_ns()));
    return {};
  };
  if (auto done = core->repeat(once); !done) {
    // Messages of a session name the database already.
    const std::string name = to_string(core->url_);
    const std::string& message = done.error().message;
    const bool named = message.starts_with(name) || (!core->url_.server && message.starts_with(core->url_.path));
    if (named) return std::unexpected(std::move(done).error());
    return with_context(std::move(done).error(), name);
  }
  if (core->session_->answers_may_be_lost()) {
    const std::int64_t before = core->now_ns() - kOperationsKept;
    (void)core->session_->run("DELETE FROM operations WHERE made_ns < ?",
                              values(before));  // the next one who opens it tries again
  }
  return core;
}

Result<void> Core::repeat(const std::function<Outcome<void>()>& once) {
  const Duration until = clock_.monotonic() + options_.patience;
  Duration pause = kFirstPause;
  for (;;) {
    Outcome<void> outcome;
    if (!connected_) outcome = session_->connect();
    if (outcome) {
      connected_ = true;
      outcome = once();
      if (outcome) return {};
      session_->rollback();
    }
    Failure failure = std::move(outcome).error();
    if (failure.kind == Failure::Kind::lost) connected_ = false;
    const bool passes = failure.kind == Failure::Kind::lost || failure.kind == Failure::Kind::busy;
    if (!passes || clock_.monotonic() + pause > until) return std::unexpected(std::move(failure).error);
    clock_.sleep(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<void> Core::write_once(const std::function<Outcome<void>(Session&)>& change) {
  const auto once = [&]() -> Outcome<void> {
    IEZ_CHECK(session_->begin_write());
    // What fails from here on is final.
    const auto tried = [&]() -> Outcome<void> {
      IEZ_CHECK(change(*session_));
      IEZ_CHECK(grow_revision());
      return session_->commit();
    };
    auto outcome = tried();
    if (outcome) return outcome;
    Failure failure = std::move(outcome).error();
    if (failure.kind == Failure::Kind::lost) connected_ = false;
    failure.kind = Failure::Kind::other;
    return std::unexpected(std::move(failure));
  };
  return repeat(once);
}

Outcome<bool> Core::note_operation(const std::string& operation) {
  if (operation.empty()) return true;
  // First in the transaction: where the earlier try is still being committed, this waits for it.
  auto noted = session_->run("INSERT INTO operations (operation, made_ns) VALUES (?, ?)", values(operation, now_ns()));
  if (noted) return true;
  if (noted.error().kind == Failure::Kind::exists) return false;
  return std::unexpected(std::move(noted).error());
}

// Last in the transaction: on a server its row is what writers wait for.
Outcome<void> Core::grow_revision() {
  IEZ_CHECK(session_->run("UPDATE iez_meta SET value = value + 1 WHERE name = ?", values("revision")));
  return {};
}

Batch::Batch(Session& session, std::string_view insert, std::size_t columns)
    : session_(session),
      insert_(insert),
      columns_(columns),
      batch_(session.dialect().batch),
      full_(insert_sql(insert, columns, batch_)) {
  values_.reserve(columns * batch_);
}

Outcome<void> Batch::add(std::span<const Value> row) {
  IEZ_ASSERT(row.size() == columns_);
  values_.insert(values_.end(), row.begin(), row.end());
  if (values_.size() < columns_ * batch_) return {};
  return send(batch_);
}

Outcome<void> Batch::flush() {
  if (values_.empty()) return {};
  return send(values_.size() / columns_);
}

Outcome<void> Batch::send(std::size_t rows) {
  auto sent = rows == batch_ ? session_.run(full_, values_) : session_.run(insert_sql(insert_, columns_, rows), values_);
  values_.clear();
  held_.clear();
  if (!sent) return std::unexpected(std::move(sent).error());
  return {};
}

}  // namespace iez::store
