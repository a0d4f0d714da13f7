#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "sql/sqlite.hpp"
#include "store/session.hpp"

namespace iez::store {

namespace {

std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return fmt::format("user {}", uid);
}

// The folder is made for its owner alone; what is there already stays as it is.
Result<void> make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return {};
  IEZ_CHECK(make_folder(folder.parent_path()));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, fmt::format("{}: cannot make the folder of the database", folder.string()));
  }
  return {};
}

// True: several hosts may have it mounted, and the shared memory of a write-ahead log would be of one of them only.
bool on_network(const std::string& path) {
  constexpr std::array<std::uint32_t, 9> kMagics{
      0x6969,      // NFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x00C36400,  // Ceph
      0x01021997,  // 9p
      0x65735546,  // FUSE: not known what is behind it
  };
  struct statfs status{};
  if (::statfs(path.c_str(), &status) != 0) return true;
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  return std::find(kMagics.begin(), kMagics.end(), magic) != kMagics.end();
}

Failure failure_of(sql::Database& database, const std::string& path) {
  std::string message = database.take_failure();
  const int code = database.failure_code();
  Failure failure{.kind = Failure::Kind::other, .error = {.code = Errc::io, .message = {}}};
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      failure.kind = Failure::Kind::busy;
      message = "somebody else is writing to the database: " + message;
      break;
    case SQLITE_CONSTRAINT:
      if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY) failure.kind = Failure::Kind::exists;
      break;
    case SQLITE_FULL:
      failure.error.os_errno = ENOSPC;
      message = "no space left for the database; nothing was changed: " + message;
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      failure.error.code = Errc::permission;
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      failure.error.code = Errc::parse;
      message = "the database is damaged, or none of SQLite; move the file away, and `iez db import` an export: " + message;
      break;
    default:
      break;
  }
  failure.error.message = fmt::format("{}: {}", text::printable(path), message);
  return failure;
}

class SqliteSession final : public Session {
 public:
  SqliteSession(std::unique_ptr<sql::Database> database, std::string path)
      : database_(std::move(database)), path_(std::move(path)) {}

  const Dialect& dialect() const override { return kSqlite; }
  std::string engine() override { return fmt::format("SQLite {}", sqlite3_libversion()); }
  Outcome<void> connect() override { return {}; }
  bool answers_may_be_lost() const override { return false; }

  Outcome<void> begin_write() override { return define("BEGIN IMMEDIATE"); }
  Outcome<void> begin_read() override { return define("BEGIN"); }
  Outcome<void> commit() override {
    if (database_->commit()) return {};
    return std::unexpected(failure_of(*database_, path_));
  }
  void rollback() override {
    database_->rollback();
    (void)database_->take_failure();  // the failure that led here is told already
  }

  Outcome<void> define(const std::string& sql) override {
    database_->run(sql.c_str());
    return done();
  }

  Outcome<std::uint64_t> run(std::string_view sql, std::span<const Value> bound) override {
    {
      sql::Query query(*database_, sql);
      bind(query, bound);
      query.run();
    }
    if (auto outcome = done(); !outcome) return std::unexpected(std::move(outcome).error());
    return database_->changes();
  }

  Outcome<void> query(std::string_view sql, std::span<const Value> bound, const Visitor& visitor) override {
    {
      sql::Query query(*database_, sql);
      bind(query, bound);
      std::vector<Value> row(static_cast<std::size_t>(query.columns()));
      while (query.next()) {
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = value_at(query, static_cast<int>(i));
        visitor(Row(row));
      }
    }
    return done();
  }

  Id last_id() const override { return database_->last_id(); }

 private:
  Outcome<void> done() {
    if (!database_->failed()) return {};
    return std::unexpected(failure_of(*database_, path_));
  }

  static void bind(sql::Query& query, std::span<const Value> bound) {
    for (const Value& value : bound) {
      switch (value.kind) {
        case Value::Kind::null:
          query.bind_null();
          break;
        case Value::Kind::integer:
          query.bind(value.integer);
          break;
        case Value::Kind::real:
          query.bind(value.real);
          break;
        case Value::Kind::bytes:
          query.bind(value.bytes);
          break;
      }
    }
  }

  static Value value_at(const sql::Query& query, int column) {
    switch (query.kind(column)) {
      case sql::Query::Kind::null:
        return {};
      case sql::Query::Kind::integer:
        return Value::of(query.signed_number(column));
      case sql::Query::Kind::real:
        return Value::of(query.real(column));
      case sql::Query::Kind::bytes:
        break;
    }
    return Value::of(query.view(column));
  }

  std::unique_ptr<sql::Database> database_;
  std::string path_;
};

Result<void> check_owner(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::invalid_argument, fmt::format("{}: is no regular file; expected a database", text::printable(path)));
  }
  if (status.st_uid != geteuid()) {
    return fail(Errc::permission,
                fmt::format("{}: belongs to {}, and a database is used by its owner alone; run as {}, or name another one by "
                            "--store or IEZ_STORE",
                            text::printable(path), user_name(status.st_uid), user_name(status.st_uid)));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(Errc::permission, fmt::format("{}: others may write to it (mode {:04o}), so what it says cannot be trusted; look "
                                              "at it, then: chmod 600 {}",
                                              text::printable(path), status.st_mode & 07777U, text::printable(path)));
  }
  return {};
}

// By sudo, a new database among somebody's files would be root's, and its owner-to-be could never use it.
Result<void> check_maker(const std::string& path) {
  const char* const sudo = std::getenv("SUDO_UID");
  const auto user = text::parse_u64(sudo == nullptr ? "" : sudo);
  struct stat status{};
  if (geteuid() != 0 || !user || *user == 0 || ::stat(path.c_str(), &status) == 0) return {};
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  while (!error && ::stat(folder.c_str(), &status) != 0 && folder.has_relative_path()) folder = folder.parent_path();
  if (error || status.st_uid != *user) return {};
  return fail(
      Errc::permission,
      fmt::format("{}: made by sudo, it would belong to root in a directory of {}, who could not use it; run as {}, without "
                  "sudo, or name one by --store in a directory of root",
                  text::printable(path), user_name(status.st_uid), user_name(status.st_uid)));
}

}  // namespace

Result<std::unique_ptr<Session>> open_sqlite_session(const std::string& path, bool create, Duration patience) {
  if (create) IEZ_CHECK(check_maker(path));
  if (create) IEZ_CHECK(make_folder(std::filesystem::path(path).parent_path()));
  // Never opened here when it is there: POSIX locks of a process end with any descriptor of the file that it closes.
  if (create) {
    const input::UniqueFd made(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600));
    if (!made && errno != EEXIST) return fail_errno(errno, text::printable(path));
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return fail(Errc::not_found, fmt::format("{}: there is no such database", text::printable(path)));
    return fail_errno(errno, text::printable(path));
  }
  IEZ_CHECK(check_owner(path, status));
  const bool write_ahead_log = !on_network(path);
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  auto opened = sql::Database::open(
      path, {.durability = sql::Durability::machine, .write_ahead_log = write_ahead_log, .create = false, .patience = wait});
  if (!opened && opened.error().message.find("file is not a database") != std::string::npos) {
    return fail(Errc::parse,
                fmt::format("{}: no interaction database, nor another one of SQLite; choose another file, or move this one away",
                            text::printable(path)));
  }
  IEZ_TRY(auto database, std::move(opened));
  database->run("PRAGMA foreign_keys = ON");
  if (database->failed()) return std::unexpected(failure_of(*database, path).error);
  return std::make_unique<SqliteSession>(std::move(database), path);
}

}  // namespace iez::store
