// The ten analyses: SQL that is shipped with iez (sql/*.sql), asked of a store, with the tables that it answers.
//
// Each file of SQL holds statements; "-- table NAME: CAPTION" before one names its table. Thresholds come from a table `options`
// of one row, which is made from AnalysisOptions: the same files run in other engines. Docs: docs/guide/jobs.md.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "jobs/duck.hpp"

namespace iez::jobs {

struct AnalysisOptions {
  double longest_hours = 24;    // jobs of duration and nodes run less than this
  double short_hours = 2;       // what counts as short
  double few_nodes = 100;       // what counts as few
  double node_memory = 0;       // bytes of a node, for jobs whose memory is not known; 0: not known
  double similar_runs = 3;      // a group of similar runs has at least so many
  double busy_hour = 1.5;       // times the bytes of an average hour
  double small_call = 65536;    // bytes: a user whose mean call is smaller is told
  double least_bytes = 1e9;     // nobody is advised about less
  double unclosed_share = 0.1;  // of opens
  double storm_calls_mb = 10;   // metadata calls for each MB
  double unbalanced = 1.5;      // times the mean of all metadata targets
};

// Names and values, as the table `options` has them.
std::vector<std::pair<std::string_view, double>> option_values(const AnalysisOptions& options);

struct SqlFile {
  std::string_view name;  // "03_write_efficiency"
  std::string_view text;
};

// All that are shipped, by name.
std::span<const SqlFile> sql_files();

struct Statement {
  std::string table;  // empty: no table, but something that others need
  std::string caption;
  std::string sql;
};

std::vector<Statement> statements_of(std::string_view sql);

struct AnswerTable {
  std::string name;
  std::string caption;
  ResultTable table;
};

struct Answer {
  std::string sql;  // the name of its file
  std::vector<AnswerTable> tables;

  // REQUIRES: the file has such a table.
  const ResultTable& operator[](std::string_view table) const;
};

// Makes the table `options`.
[[nodiscard]] Result<void> make_options(Duck& duck, const AnalysisOptions& options);

// Makes the tables of a file that makes some. REQUIRES: there is such a file, and what it needs.
[[nodiscard]] Result<void> make_tables(Duck& duck, std::string_view sql_name);

// Makes what analyses need: `options`, the tables of 00_census.sql, but by a pass of ours (census.hpp), and those of
// 00_prepare.sql. REQUIRES: views `jobs`, `series` and `totals`.
[[nodiscard]] Result<void> prepare(Duck& duck, const AnalysisOptions& options);

// The answers of one file. REQUIRES: there is such a file; prepare().
[[nodiscard]] Result<Answer> ask(Duck& duck, std::string_view sql_name);

}  // namespace iez::jobs
