#include "coordinator/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

namespace iez::coordinator {

namespace {

constexpr std::uint64_t kSchema = 1;

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS plans (id INTEGER PRIMARY KEY, plan BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, made_ns INTEGER NOT NULL, user BLOB NOT "
    "NULL,"
    " body BLOB NOT NULL, problem BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS about (version INTEGER NOT NULL);"
    "INSERT INTO about SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM about)";

std::unexpected<Error> failure(sql::Database& database, std::string_view what) {
  const std::string text = database.take_failure();
  // SQLITE_FULL; the disk's ENOSPC comes as that.
  const bool full = text.find("(13)") != std::string::npos || text.find("disk is full") != std::string::npos;
  return fail(full ? Errc::limit : Errc::io, fmt::format("the ledger {}: {}", what, text));
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& folder, sql::Durability durability) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    std::filesystem::create_directories(folder, error);
    if (error) return fail_errno(error.value(), folder);
    ::chmod(folder.c_str(), 0700);
  }
  const std::string lock_path = folder + "/coordinator.lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return fail_errno(errno, lock_path);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return fail(Errc::exists, fmt::format("{}: another coordinator uses this folder", folder));
  }
  const std::string path = folder + "/coordinator.db";
  // SQLite gives its other files the mode of this one.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    const int code = errno;
    ::close(lock);
    return fail_errno(code, path);
  }
  ::close(file);
  auto database = sql::Database::open(path, durability);
  if (!database) {
    ::close(lock);
    return std::unexpected(std::move(database).error());
  }
  std::unique_ptr<Ledger> ledger(new Ledger(lock, *std::move(database)));
  sql::Database& db = *ledger->database_;
  db.run(kTables);
  {
    sql::Query version(db, "SELECT version FROM about");
    if (version.next() && version.number(0) > kSchema) {
      return fail(Errc::unsupported, fmt::format("{}: of version {}; this program knows {}", path, version.number(0), kSchema));
    }
  }
  if (db.failed()) return with_context(failure(db, "cannot be opened").error(), path);
  return ledger;
}

Ledger::~Ledger() {
  database_.reset();
  ::close(lock_);
}

Result<void> Ledger::load(const std::function<void(StoredPlan&&)>& plan, const std::function<void(Queued&&)>& queued) {
  {
    sql::Query rows(*database_, "SELECT id, plan FROM plans");
    while (rows.next()) {
      const auto bytes = rows.bytes(1);
      auto stored = decode(bytes);
      if (!stored || stored->id != rows.number(0)) {
        return fail(Errc::parse,
                    fmt::format("the ledger: plan {} cannot be read: {}; move the ledger away to start without it",
                                id_text(rows.number(0)), stored ? "it says it is another one" : stored.error().message));
      }
      plan(*std::move(stored));
    }
  }
  {
    sql::Query rows(*database_, "SELECT id, turn, made_ns, user, body, problem FROM queue ORDER BY turn");
    while (rows.next()) {
      queued({.id = rows.number(0),
              .turn = rows.number(1),
              .made_ns = rows.signed_number(2),
              .user = rows.text(3),
              .body = rows.text(4),
              .outcome = rows.text(5)});
    }
  }
  if (database_->failed()) return failure(*database_, "cannot be read");
  return {};
}

Result<void> Ledger::commit(std::span<const Change> changes) {
  sql::Database& db = *database_;
  db.begin();
  for (const Change& change : changes) {
    if (change.plan_after) {
      const auto bytes = encode(*change.plan_after);
      sql::Query(db, "INSERT OR REPLACE INTO plans VALUES (?, ?)", change.id, bytes).run();
    } else if (change.plan_before) {
      sql::Query(db, "DELETE FROM plans WHERE id = ?", change.id).run();
    }
    if (change.queued_after) {
      const Queued& row = *change.queued_after;
      sql::Query(db, "INSERT OR REPLACE INTO queue VALUES (?, ?, ?, ?, ?, ?)", row.id, row.turn, row.made_ns, row.user, row.body,
                 row.outcome)
          .run();
    } else if (change.queued_before) {
      sql::Query(db, "DELETE FROM queue WHERE id = ?", change.id).run();
    }
    if (db.failed()) break;
  }
  if (!db.commit()) return failure(db, "takes nothing");
  return {};
}

}  // namespace iez::coordinator
