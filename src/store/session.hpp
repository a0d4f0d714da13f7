// The seam to a database engine: one connection that runs statements. Two stand behind it, SQLite and MariaDB/MySQL; everything
// above is written once, in SQL that both understand. Statements have '?' for values; none is ever built from input.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"
#include "store/dialect.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

namespace iez::store {

// What is bound to a statement, or read from a row. Texts belong to somebody else.
struct Value {
  enum class Kind : std::uint8_t { null, integer, real, bytes };
  Kind kind = Kind::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view bytes;

  static Value of(std::int64_t value) { return {.kind = Kind::integer, .integer = value}; }
  static Value of(std::int32_t value) { return of(std::int64_t{value}); }
  static Value of(std::uint32_t value) { return of(std::int64_t{value}); }
  // Both engines count to 2^63 - 1: more bytes than any file has.
  static Value of(std::uint64_t value) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return of(static_cast<std::int64_t>(value < kMost ? value : kMost));
  }
  static Value of(bool value) { return of(std::int64_t{value ? 1 : 0}); }
  static Value of(Bytes value) { return of(value.count); }
  static Value of(double value) { return {.kind = Kind::real, .real = value}; }
  static Value of(const std::optional<double>& value) { return value ? of(*value) : Value{}; }
  static Value of(std::string_view value) { return {.kind = Kind::bytes, .bytes = value}; }
  static Value of(const std::string& value) { return of(std::string_view(value)); }
  static Value of(const char* value) { return of(std::string_view(value)); }
};

template <typename... Arguments>
std::array<Value, sizeof...(Arguments)> values(const Arguments&... arguments) {
  return {Value::of(arguments)...};
}

// Of one result; valid during the call that gets it.
class Row {
 public:
  explicit Row(std::span<const Value> values) : values_(values) {}

  bool is_null(std::size_t column) const { return values_[column].kind == Value::Kind::null; }
  std::int64_t integer(std::size_t column) const;
  std::uint64_t number(std::size_t column) const;  // below 0: 0
  std::uint32_t small(std::size_t column) const;
  double real(std::size_t column) const;
  std::optional<double> maybe_real(std::size_t column) const;
  std::string text(std::size_t column) const { return std::string(values_[column].bytes); }
  Bytes size(std::size_t column) const { return Bytes{number(column)}; }
  bool flag(std::size_t column) const { return integer(column) != 0; }

 private:
  std::span<const Value> values_;
};

// Why a statement was not carried out.
struct Failure {
  enum class Kind : std::uint8_t {
    lost,    // the server went away: connect again, and repeat the transaction
    busy,    // somebody else was in the way: repeat the transaction
    exists,  // a key that must be unique is there
    other,
  };
  Kind kind = Kind::other;
  Error error;
};

template <typename T>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> refused(Error error) {
  return std::unexpected(Failure{.kind = Failure::Kind::other, .error = std::move(error)});
}
inline std::unexpected<Failure> refused(std::unexpected<Error> error) { return refused(std::move(error).error()); }

class Session {
 public:
  using Visitor = std::function<void(const Row&)>;

  virtual ~Session() = default;

  virtual const Dialect& dialect() const = 0;
  virtual std::string engine() = 0;

  // Again, after a failure of kind `lost`. All statements before it are gone with their transaction.
  [[nodiscard]] virtual Outcome<void> connect() = 0;
  // True: a commit may take effect without our hearing of it.
  virtual bool answers_may_be_lost() const = 0;

  [[nodiscard]] virtual Outcome<void> begin_write() = 0;
  [[nodiscard]] virtual Outcome<void> begin_read() = 0;  // all statements see one moment
  [[nodiscard]] virtual Outcome<void> commit() = 0;
  virtual void rollback() = 0;

  // One statement without values that changes the schema.
  [[nodiscard]] virtual Outcome<void> define(const std::string& sql) = 0;
  // Rows that were changed.
  [[nodiscard]] virtual Outcome<std::uint64_t> run(std::string_view sql, std::span<const Value> bound = {}) = 0;
  // REQUIRES: the visitor runs no statement.
  [[nodiscard]] virtual Outcome<void> query(std::string_view sql, std::span<const Value> bound, const Visitor& visitor) = 0;
  virtual Id last_id() const = 0;

  // The first number of the only row; nothing: no row, or NULL.
  [[nodiscard]] Outcome<std::optional<std::int64_t>> number(std::string_view sql, std::span<const Value> bound = {});
};

// Makes the file and its folder if `create` says so, both for their owner alone. Refuses a file that others could have written.
[[nodiscard]] Result<std::unique_ptr<Session>> open_sqlite_session(const std::string& path, bool create, Duration patience);
// Not yet connected.
[[nodiscard]] Result<std::unique_ptr<Session>> make_mariadb_session(const StoreUrl& url);

}  // namespace iez::store
