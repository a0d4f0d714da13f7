#include "sql/sqlite.hpp"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace iez::sql {

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const OpenOptions& options) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | (options.create ? SQLITE_OPEN_CREATE : 0), nullptr);
  if (code != SQLITE_OK) {
    std::string message = fmt::format("{}: {}", path, handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
    sqlite3_close(handle);
    return fail(Errc::io, std::move(message));
  }
  std::unique_ptr<Database> database(new Database(handle));
  // A leftover reader, such as somebody's sqlite3 shell, must not make requests fail at once.
  sqlite3_busy_timeout(handle, static_cast<int>(options.patience.count()));
  sqlite3_extended_result_codes(handle, 1);
  database->run(options.durability == Durability::machine ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF");
  database->run(options.write_ahead_log ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
  database->run("PRAGMA temp_store = MEMORY");
  if (std::string failure = database->take_failure(); !failure.empty()) {
    return fail(Errc::io, fmt::format("{}: {}", path, failure));
  }
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

void Database::run(const char* sql) {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) note(code, sql);
}

bool Database::commit() {
  if (failure_.empty()) run("COMMIT");
  if (failure_.empty()) return true;
  rollback();
  return false;
}

void Database::rollback() {
  // An error such as a full disk may have ended the transaction already.
  if (sqlite3_get_autocommit(handle_) == 0) run("ROLLBACK");
}

std::string Database::take_failure() { return std::exchange(failure_, {}); }

std::uint64_t Database::changes() const { return static_cast<std::uint64_t>(sqlite3_changes64(handle_)); }

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_); }

sqlite3_stmt* Database::prepare(std::string_view sql) {
  if (const auto known = statements_.find(sql); known != statements_.end()) return known->second;
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    note(code, sql);
    return nullptr;
  }
  statements_.emplace(sql, statement);
  return statement;
}

void Database::note(int code, std::string_view sql) {
  if (!failure_.empty()) return;
  failure_ = fmt::format("{} ({}) in: {}", sqlite3_errmsg(handle_), code, sql);
  failure_code_ = code;
}

Query::Query(Database& database, std::string_view sql) : database_(database), sql_(sql), statement_(database.prepare(sql)) {
  IEZ_ASSERT(statement_ == nullptr || sqlite3_stmt_busy(statement_) == 0);
}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Query::next() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.note(code, sql_);
  return false;
}

std::uint64_t Query::number(int column) const { return static_cast<std::uint64_t>(signed_number(column)); }
std::int64_t Query::signed_number(int column) const { return sqlite3_column_int64(statement_, column); }

double Query::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Query::text(int column) const {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::vector<std::byte> Query::bytes(int column) const {
  const auto* const data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, data + sqlite3_column_bytes(statement_, column)};
}

bool Query::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

int Query::columns() const { return statement_ == nullptr ? 0 : sqlite3_column_count(statement_); }

Query::Kind Query::kind(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_NULL:
      return Kind::null;
    case SQLITE_INTEGER:
      return Kind::integer;
    case SQLITE_FLOAT:
      return Kind::real;
    default:
      return Kind::bytes;
  }
}

std::string_view Query::view(int column) const {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Query::bind_null() {
  if (statement_ == nullptr) return;
  if (const int code = sqlite3_bind_null(statement_, ++bound_); code != SQLITE_OK) database_.note(code, sql_);
}

void Query::bind(std::int64_t value) {
  if (statement_ == nullptr) return;
  if (const int code = sqlite3_bind_int64(statement_, ++bound_, value); code != SQLITE_OK) database_.note(code, sql_);
}

void Query::bind(double value) {
  if (statement_ == nullptr) return;
  if (const int code = sqlite3_bind_double(statement_, ++bound_, value); code != SQLITE_OK) database_.note(code, sql_);
}

void Query::bind(std::string_view value) { bind(std::as_bytes(std::span(value.data(), value.size()))); }

void Query::bind(std::span<const std::byte> value) {
  if (statement_ == nullptr) return;
  // A null pointer would be SQL's NULL. The bytes outlive the query: they are the caller's arguments.
  const void* const data = value.empty() ? static_cast<const void*>("") : value.data();
  const int code = sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) database_.note(code, sql_);
}

}  // namespace iez::sql
