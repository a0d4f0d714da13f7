// SQLite as iez uses it: one connection, statements prepared once, no exceptions.
//
// A statement that fails answers as if there were no row, and the failure stays until it is taken: whoever ends a transaction
// looks at it once, instead of everybody after every row. Nothing of a transaction with a failure is committed.
//
// Durability: when commit() returns, the write-ahead log is at least in the host's page cache, so that what was committed
// outlives the process. With Durability::machine it is on the disk, and outlives the host.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace iez::sql {

// What a commit outlives.
enum class Durability : std::uint8_t { process, machine };

struct OpenOptions {
  Durability durability = Durability::machine;
  // The write-ahead log needs memory that all users share: on a file system that several hosts mount, a journal does not.
  bool write_ahead_log = true;
  bool create = true;
  std::chrono::milliseconds patience{2000};  // for another writer
};

class Database {
 public:
  // Made if it is not there, with the mode that the umask leaves.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path, Durability durability) {
    return open(path, OpenOptions{.durability = durability});
  }
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::string& path, const OpenOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql);  // several statements without values

  void begin() { run("BEGIN IMMEDIATE"); }
  bool commit();  // false: rolled back; the failure is still to be taken
  void rollback();

  // The first failure since the last call; empty: none.
  std::string take_failure();
  bool failed() const { return !failure_.empty(); }
  int failure_code() const { return failure_code_; }  // of SQLite, extended; of the failure that is there, or was taken last

  std::uint64_t changes() const;  // rows that the last statement changed
  std::int64_t last_id() const;   // of the row that was added last

 private:
  friend class Query;
  explicit Database(sqlite3* handle) : handle_(handle) {}
  sqlite3_stmt* prepare(std::string_view sql);  // null: failed
  void note(int code, std::string_view sql);

  sqlite3* handle_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
  std::string failure_;
  int failure_code_ = 0;
};

// One run of a statement. Values are bound in order. REQUIRES: no other Query of the same text lives; texts and bytes outlive it.
class Query {
 public:
  Query(Database& database, std::string_view sql);
  template <typename... Values>
  Query(Database& database, std::string_view sql, const Values&... values) : Query(database, sql) {
    (bind(values), ...);
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool next();                  // to the next row
  void run() { (void)next(); }  // of a statement that has no rows

  // Of the row. Columns count from 0.
  std::uint64_t number(int column) const;
  std::int64_t signed_number(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::vector<std::byte> bytes(int column) const;
  bool is_null(int column) const;

  // As the row has it; texts and bytes are valid until the next row.
  enum class Kind : std::uint8_t { null, integer, real, bytes };
  int columns() const;
  Kind kind(int column) const;
  std::string_view view(int column) const;

  void bind_null();

  void bind(std::uint64_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(std::uint32_t value) { bind(std::int64_t{value}); }
  void bind(std::int64_t value);
  void bind(std::int32_t value) { bind(std::int64_t{value}); }
  void bind(double value);
  void bind(std::string_view value);  // as bytes: names need not be UTF-8
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(std::span<const std::byte> value);
  void bind(const std::vector<std::byte>& value) { bind(std::span(value)); }

 private:
  Database& database_;
  std::string_view sql_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

}  // namespace iez::sql
