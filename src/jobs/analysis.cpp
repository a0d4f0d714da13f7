#include "jobs/analysis.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jobs/census.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kTableMark = "-- table ";

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

const SqlFile& file_named(std::string_view name) {
  const auto found = std::ranges::find(sql_files(), name, &SqlFile::name);
  IEZ_ASSERT(found != sql_files().end());
  return *found;
}

}  // namespace

std::vector<std::pair<std::string_view, double>> option_values(const AnalysisOptions& options) {
  return {{"longest_hours", options.longest_hours},   {"short_hours", options.short_hours},
          {"few_nodes", options.few_nodes},           {"node_memory", options.node_memory},
          {"similar_runs", options.similar_runs},     {"busy_hour", options.busy_hour},
          {"small_call", options.small_call},         {"least_bytes", options.least_bytes},
          {"unclosed_share", options.unclosed_share}, {"storm_calls_mb", options.storm_calls_mb},
          {"unbalanced", options.unbalanced}};
}

std::vector<Statement> statements_of(std::string_view sql) {
  std::vector<Statement> statements;
  Statement current;
  while (!sql.empty()) {
    const std::string_view line = next_line(sql);
    if (line.starts_with(kTableMark)) {
      const std::string_view named = line.substr(kTableMark.size());
      const std::size_t colon = std::min(named.find(": "), named.size());
      current.table = named.substr(0, colon);
      current.caption = named.substr(std::min(colon + 2, named.size()));
      continue;
    }
    if (line.starts_with("--") || (line.empty() && current.sql.empty())) continue;
    current.sql += line;
    current.sql += '\n';
    if (!line.ends_with(';')) continue;
    statements.push_back(std::move(current));
    current = {};
  }
  return statements;
}

const ResultTable& Answer::operator[](std::string_view table) const {
  const auto found = std::ranges::find(tables, table, &AnswerTable::name);
  IEZ_ASSERT(found != tables.end());
  return found->table;
}

Result<void> make_options(Duck& duck, const AnalysisOptions& options) {
  std::string columns;
  for (const auto& [name, value] : option_values(options)) {
    // 0 stands for what is not known.
    const bool unknown = name == "node_memory" && value <= 0;
    columns +=
        fmt::format("{}CAST({} AS DOUBLE) AS {}", columns.empty() ? "" : ", ", unknown ? "NULL" : fmt::format("{}", value), name);
  }
  return duck.run(fmt::format("CREATE TEMP TABLE options AS SELECT {}", columns));
}

Result<void> make_tables(Duck& duck, std::string_view sql_name) {
  for (const Statement& statement : statements_of(file_named(sql_name).text)) {
    if (const auto done = duck.run(statement.sql); !done) return with_context(done.error(), fmt::format("{}.sql", sql_name));
  }
  return {};
}

Result<void> prepare(Duck& duck, const AnalysisOptions& options) {
  IEZ_CHECK(make_options(duck, options));
  IEZ_CHECK(make_census(duck, options));
  return make_tables(duck, "00_prepare");
}

Result<Answer> ask(Duck& duck, std::string_view sql_name) {
  Answer answer{.sql = std::string(sql_name)};
  for (const Statement& statement : statements_of(file_named(sql_name).text)) {
    auto table = duck.query(statement.sql);
    if (!table) return with_context(table.error(), fmt::format("{}.sql, table {}", sql_name, statement.table));
    answer.tables.push_back({.name = statement.table, .caption = statement.caption, .table = *std::move(table)});
  }
  return answer;
}

}  // namespace iez::jobs
