#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <errmsg.h>
#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "base/text.hpp"
#include "store/session.hpp"

namespace iez::store {

namespace {

Failure::Kind kind_of(unsigned code) {
  switch (code) {
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case CR_SERVER_HANDSHAKE_ERR:
    case CR_STMT_CLOSED:
    case ER_SERVER_SHUTDOWN:
    case ER_NEW_ABORTING_CONNECTION:
    case ER_ABORTING_CONNECTION:
    case ER_CONNECTION_KILLED:
    case ER_CON_COUNT_ERROR:
      return Failure::Kind::lost;
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_QUERY_INTERRUPTED:
      return Failure::Kind::busy;
    case ER_DUP_ENTRY:
      return Failure::Kind::exists;
    default:
      return Failure::Kind::other;
  }
}

Errc code_of(unsigned code) {
  switch (code) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
      return Errc::permission;
    case ER_BAD_DB_ERROR:
      return Errc::not_found;
    default:
      return Errc::io;
  }
}

bool is_local(const StoreUrl& url) {
  return !url.socket.empty() || url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

bool is_integer(enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_YEAR:
      return true;
    default:
      return false;
  }
}

class MariadbSession final : public Session {
 public:
  MariadbSession(StoreUrl url, std::string password)
      : url_(std::move(url)), password_(std::move(password)), name_(to_string(url_)) {}
  ~MariadbSession() override { close(); }
  MariadbSession(const MariadbSession&) = delete;
  MariadbSession& operator=(const MariadbSession&) = delete;

  const Dialect& dialect() const override { return kMariadb; }
  std::string engine() override { return handle_ == nullptr ? "MariaDB" : mysql_get_server_info(handle_); }
  bool answers_may_be_lost() const override { return true; }

  Outcome<void> connect() override {
    close();
    handle_ = mysql_init(nullptr);
    if (handle_ == nullptr) return refused(fail(Errc::limit, "no memory for a connection"));
    set_options();
    const char* const host = url_.socket.empty() ? url_.host.c_str() : "localhost";
    const char* const socket = url_.socket.empty() ? nullptr : url_.socket.c_str();
    if (mysql_real_connect(handle_, host, url_.user.c_str(), password_.c_str(), url_.database.c_str(), url_.port, socket, 0) ==
        nullptr) {
      Failure failure = failure_of(mysql_errno(handle_), mysql_error(handle_));
      close();
      return std::unexpected(std::move(failure));
    }
    if (auto set = define("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); !set) return set;
    // A name that does not fit is an error, never cut.
    return define("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
  }

  Outcome<void> begin_write() override { return define("START TRANSACTION"); }
  Outcome<void> begin_read() override {
    if (auto set = define("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); !set) return set;
    return define("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
  }
  Outcome<void> commit() override { return define("COMMIT"); }
  void rollback() override {
    if (handle_ != nullptr && mysql_rollback(handle_) != 0) close();
  }

  Outcome<void> define(const std::string& sql) override {
    if (handle_ == nullptr) return std::unexpected(gone());
    if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) return std::unexpected(own_failure());
    // No statement given here has rows; one that has must not leave them in the way of the next.
    if (MYSQL_RES* const rows = mysql_store_result(handle_); rows != nullptr) mysql_free_result(rows);
    return {};
  }

  Outcome<std::uint64_t> run(std::string_view sql, std::span<const Value> bound) override {
    IEZ_TRY(MYSQL_STMT* const statement, execute(sql, bound));
    if (mysql_stmt_field_count(statement) != 0) mysql_stmt_free_result(statement);
    last_id_ = static_cast<Id>(mysql_stmt_insert_id(statement));
    return mysql_stmt_affected_rows(statement);
  }

  Outcome<void> query(std::string_view sql, std::span<const Value> bound, const Visitor& visitor) override {
    IEZ_TRY(MYSQL_STMT* const statement, execute(sql, bound));
    auto outcome = read_rows(statement, visitor);
    mysql_stmt_free_result(statement);
    return outcome;
  }

  Id last_id() const override { return last_id_; }

 private:
  struct Column {
    bool integer = false;
    bool real = false;
    long long number = 0;
    double fraction = 0;
    std::vector<char> bytes;
    unsigned long length = 0;
    my_bool null = 0;
    my_bool cut = 0;
  };

  void close() {
    for (const auto& [sql, statement] : statements_) mysql_stmt_close(statement);
    statements_.clear();
    if (handle_ != nullptr) mysql_close(handle_);
    handle_ = nullptr;
  }

  void set_options() {
    const unsigned connect_seconds = 10;
    const unsigned wait_seconds = 120;  // longer than the server waits for a lock
    const unsigned no = 0;
    const unsigned long packet = 64UL << 20U;
    mysql_optionsv(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
    mysql_optionsv(handle_, MYSQL_OPT_READ_TIMEOUT, &wait_seconds);
    mysql_optionsv(handle_, MYSQL_OPT_WRITE_TIMEOUT, &wait_seconds);
    mysql_optionsv(handle_, MYSQL_OPT_LOCAL_INFILE, &no);  // the server could ask for any file of ours
    mysql_optionsv(handle_, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
    mysql_optionsv(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const my_bool tls = url_.tls.value_or(!is_local(url_)) ? 1 : 0;
    mysql_optionsv(handle_, MYSQL_OPT_SSL_ENFORCE, &tls);
    const my_bool verify = url_.ca_file.empty() ? 0 : 1;
    if (verify != 0) mysql_optionsv(handle_, MYSQL_OPT_SSL_CA, url_.ca_file.c_str());
    mysql_optionsv(handle_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (url_.socket.empty()) {
      const unsigned protocol = MYSQL_PROTOCOL_TCP;
      mysql_optionsv(handle_, MYSQL_OPT_PROTOCOL, &protocol);
    }
  }

  Failure failure_of(unsigned code, std::string_view message) const {
    return {.kind = kind_of(code), .error = {.code = code_of(code), .message = fmt::format("{}: {} ({})", name_, message, code)}};
  }
  Failure own_failure() const { return failure_of(mysql_errno(handle_), mysql_error(handle_)); }
  Failure gone() const { return failure_of(CR_SERVER_GONE_ERROR, "the server went away"); }

  Outcome<MYSQL_STMT*> prepared(std::string_view sql) {
    if (handle_ == nullptr) return std::unexpected(gone());
    if (const auto known = statements_.find(sql); known != statements_.end()) return known->second;
    MYSQL_STMT* const statement = mysql_stmt_init(handle_);
    if (statement == nullptr) return std::unexpected(own_failure());
    if (mysql_stmt_prepare(statement, sql.data(), sql.size()) != 0) {
      Failure failure = failure_of(mysql_stmt_errno(statement), mysql_stmt_error(statement));
      failure.error.message += fmt::format(" in: {}", sql.substr(0, 200));
      mysql_stmt_close(statement);
      return std::unexpected(std::move(failure));
    }
    statements_.emplace(sql, statement);
    return statement;
  }

  Outcome<MYSQL_STMT*> execute(std::string_view sql, std::span<const Value> bound) {
    IEZ_TRY(MYSQL_STMT* const statement, prepared(sql));
    IEZ_ASSERT(mysql_stmt_param_count(statement) == bound.size());
    std::vector<MYSQL_BIND> binds(bound.size());
    std::vector<Value> held(bound.begin(), bound.end());  // the library takes pointers to values that may change
    std::vector<unsigned long> lengths(bound.size());
    for (std::size_t i = 0; i < held.size(); ++i) bind(binds[i], held[i], lengths[i]);
    if ((!binds.empty() && mysql_stmt_bind_param(statement, binds.data()) != 0) || mysql_stmt_execute(statement) != 0) {
      Failure failure = failure_of(mysql_stmt_errno(statement), mysql_stmt_error(statement));
      failure.error.message += fmt::format(" in: {}", sql.substr(0, 200));
      return std::unexpected(std::move(failure));
    }
    return statement;
  }

  static void bind(MYSQL_BIND& bind, Value& value, unsigned long& length) {
    switch (value.kind) {
      case Value::Kind::null:
        bind.buffer_type = MYSQL_TYPE_NULL;
        break;
      case Value::Kind::integer:
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = &value.integer;
        break;
      case Value::Kind::real:
        bind.buffer_type = MYSQL_TYPE_DOUBLE;
        bind.buffer = &value.real;
        break;
      case Value::Kind::bytes:
        bind.buffer_type = MYSQL_TYPE_BLOB;
        // A null pointer would be SQL's NULL.
        if (value.bytes.empty()) value.bytes = "";
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the library reads parameters, but its type is not const
        bind.buffer = const_cast<char*>(value.bytes.data());
        length = value.bytes.size();
        bind.buffer_length = length;
        bind.length = &length;
        break;
    }
  }

  Outcome<void> read_rows(MYSQL_STMT* statement, const Visitor& visitor) const {
    const auto failed = [&] { return std::unexpected(failure_of(mysql_stmt_errno(statement), mysql_stmt_error(statement))); };
    const unsigned count = mysql_stmt_field_count(statement);
    MYSQL_RES* const metadata = mysql_stmt_result_metadata(statement);
    if (metadata == nullptr) return failed();
    std::vector<Column> columns(count);
    std::vector<MYSQL_BIND> binds(count);
    for (unsigned i = 0; i < count; ++i) {
      const enum_field_types type = mysql_fetch_field_direct(metadata, i)->type;
      Column& column = columns[i];
      column.integer = is_integer(type);
      column.real = type == MYSQL_TYPE_DOUBLE || type == MYSQL_TYPE_FLOAT;
      binds[i].is_null = &column.null;
      binds[i].length = &column.length;
      binds[i].error = &column.cut;
      if (column.integer || column.real) {
        binds[i].buffer_type = column.integer ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_DOUBLE;
        binds[i].buffer = column.integer ? static_cast<void*>(&column.number) : static_cast<void*>(&column.fraction);
      } else {
        column.bytes.resize(512);
        binds[i].buffer_type = MYSQL_TYPE_BLOB;
        binds[i].buffer = column.bytes.data();
        binds[i].buffer_length = column.bytes.size();
      }
    }
    mysql_free_result(metadata);
    if (mysql_stmt_bind_result(statement, binds.data()) != 0 || mysql_stmt_store_result(statement) != 0) return failed();
    std::vector<Value> row(count);
    for (;;) {
      const int code = mysql_stmt_fetch(statement);
      if (code == MYSQL_NO_DATA) return {};
      if (code != 0 && code != MYSQL_DATA_TRUNCATED) return failed();
      for (unsigned i = 0; i < count; ++i) {
        Column& column = columns[i];
        if (column.null != 0) {
          row[i] = {};
        } else if (column.integer) {
          row[i] = Value::of(std::int64_t{column.number});
        } else if (column.real) {
          row[i] = Value::of(column.fraction);
        } else {
          if (column.length > column.bytes.size()) {
            // A buffer of this value alone: the bound one stays where it is.
            long_values_.resize(std::max<std::size_t>(long_values_.size(), count));
            long_values_[i].resize(column.length);
            MYSQL_BIND whole{};
            whole.buffer_type = MYSQL_TYPE_BLOB;
            whole.buffer = long_values_[i].data();
            whole.buffer_length = column.length;
            unsigned long length = 0;
            my_bool null = 0;
            whole.length = &length;
            whole.is_null = &null;
            if (mysql_stmt_fetch_column(statement, &whole, i, 0) != 0) return failed();
            row[i] = Value::of(std::string_view(long_values_[i].data(), long_values_[i].size()));
          } else {
            row[i] = Value::of(std::string_view(column.bytes.data(), column.length));
          }
        }
      }
      visitor(Row(row));
    }
  }

  StoreUrl url_;
  std::string password_;
  std::string name_;
  MYSQL* handle_ = nullptr;
  std::map<std::string, MYSQL_STMT*, std::less<>> statements_;
  mutable std::vector<std::string> long_values_;
  Id last_id_ = 0;
};

}  // namespace

Result<std::unique_ptr<Session>> make_mariadb_session(const StoreUrl& url) {
  std::string password = url.password;
  if (!url.password_file.empty()) {
    std::ifstream file(url.password_file, std::ios::binary);
    password.assign(std::istreambuf_iterator<char>(file), {});
    if (!file.is_open() || file.bad()) {
      return fail(Errc::permission, fmt::format("{}: the password of the database cannot be read", url.password_file));
    }
    while (!password.empty() && text::is_space(password.back())) password.pop_back();
  }
  return std::make_unique<MariadbSession>(url, std::move(password));
}

}  // namespace iez::store
