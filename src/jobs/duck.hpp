// DuckDB without exceptions: a database in memory, which reads and writes Parquet files and answers SQL on all processors.
//
// The library (64 MB) is loaded by the first Duck::open() of a process: other commands of iez do not pay for it. It is looked for
// beside the program (PROGRAM/../lib*/iez), where the build found it, and where the system keeps libraries; the environment
// variable IEZ_DUCKDB_LIBRARY names another.
//
// Thread safety: none; a Duck is used by one thread at a time, and works on several inside. Ownership: appenders do not outlive
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jobs/result_table.hpp"

namespace iez::jobs {

enum class ColumnKind : std::uint8_t { text, integer, timestamp, number, date, huge };

// "VARCHAR", as SQL names it.
std::string_view sql_type(ColumnKind kind);

struct DuckColumn {
  std::string_view name;
  ColumnKind kind = ColumnKind::integer;
};

class DuckAppender;
class DuckFold;

class Duck {
 public:
  struct Options {
    unsigned threads = 0;          // 0: as many as there are processors
    std::string temporary_folder;  // for what does not fit into memory; empty: below TMPDIR or /tmp. Made when it is needed
  };

  [[nodiscard]] static Result<Duck> open(const Options& options);
  ~Duck();
  Duck(Duck&& other) noexcept;
  Duck& operator=(Duck&&) = delete;
  Duck(const Duck&) = delete;
  Duck& operator=(const Duck&) = delete;

  [[nodiscard]] Result<void> run(std::string_view sql);
  // Columns of numbers and texts only: SQL casts the others. Whole numbers that do not fit into 64 bits become doubles.
  [[nodiscard]] Result<ResultTable> query(std::string_view sql);
  // The columns of the table, all of them, in order.
  [[nodiscard]] Result<DuckAppender> append_to(const std::string& table, std::span<const DuckColumn> columns);
  // Shows these columns of a table, or view, to a fold (duck_fold.hpp): texts, whole numbers and times. Fails where one is
  // absent.
  [[nodiscard]] Result<void> fold(std::string_view table, std::span<const DuckColumn> columns, DuckFold& into);

 private:
  struct Handles;
  explicit Duck(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

// Fills a table, cell by cell, in the order of its columns. Rows are in the table after finish().
class DuckAppender {
 public:
  ~DuckAppender();
  DuckAppender(DuckAppender&& other) noexcept;
  DuckAppender& operator=(DuckAppender&&) = delete;
  DuckAppender(const DuckAppender&) = delete;
  DuckAppender& operator=(const DuckAppender&) = delete;

  // REQUIRES: the column is of that kind; a text is valid UTF-8 without NUL.
  void text(std::string_view value);
  void integer(std::int64_t value);
  void count(std::uint64_t value) { integer(static_cast<std::int64_t>(value)); }  // into a column of integers
  void timestamp(std::int64_t seconds);                                           // since 1970
  void number(double value);
  void date(std::int64_t days);  // since 1970
  __extension__ void huge(unsigned __int128 value);
  void null();
  [[nodiscard]] Result<void> end_row();
  [[nodiscard]] Result<void> finish();

 private:
  friend class Duck;
  struct Handles;
  explicit DuckAppender(std::unique_ptr<Handles> handles);
  [[nodiscard]] Result<void> flush();
  std::unique_ptr<Handles> handles_;
};

// 'it''s': a text of SQL.
std::string sql_text(std::string_view text);

}  // namespace iez::jobs
