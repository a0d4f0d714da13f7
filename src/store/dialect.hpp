// Where SQLite and MariaDB/MySQL differ. All else is SQL that both understand.
//
// Thread safety: constants.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace iez::store {

struct Dialect {
  std::string_view name;

  // Types and options of tables, put in place of {id}, {int}, ... by expand().
  std::string_view id;       // a number that is counted up and never used twice
  std::string_view integer;  // {int}
  std::string_view real;
  std::string_view word;     // {word}: up to 255 bytes, can be a key
  std::string_view key;      // {key}: 32 bytes
  std::string_view path;     // {path}: up to 4096 bytes
  std::string_view text;     // any bytes
  std::string_view empty;    // {empty}: an empty text as default
  std::string_view table;    // {table}: behind the columns
  std::string_view keyed;    // {keyed}: the same, of a table that is read by its primary key alone
  std::string_view as_text;  // of as_text()

  // Statements. Each is given names as values.
  std::string_view table_exists;   // table
  std::string_view column_exists;  // table, column
  std::string_view index_exists;   // table, index
  std::string_view any_table;      // how many tables and views there are
  std::string_view size;           // bytes of the database
  std::string_view ignore;         // {ignore}: INSERT that passes over a key that is there
  std::string_view drop_index;     // of drop_index_sql()

  std::string_view schema_lock;  // taken while the schema changes; empty: a transaction does it
  std::string_view schema_unlock;

  std::size_t batch;  // rows that one INSERT takes
};

extern const Dialect kSqlite;
extern const Dialect kMariadb;

// Replaces {id}, {int}, ... by what the dialect says. What is in other braces stays.
std::string expand(std::string_view sql, const Dialect& dialect);

// Bytes, as text for people who query.
std::string as_text(const Dialect& dialect, std::string_view expression);

std::string drop_index_sql(const Dialect& dialect, std::string_view table, std::string_view index);

}  // namespace iez::store
