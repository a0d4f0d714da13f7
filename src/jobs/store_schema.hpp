// Columns of the store's tables, in the order of their files, and rows as cells of them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "jobs/duck.hpp"
#include "jobs/job_store.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

std::span<const DuckColumn> columns_of(Table table);
std::string_view key_of(Table table);   // "cluster, job, started"
std::string_view time_of(Table table);  // "started"
std::string_view sort_of(Table table);  // what compresses and is searched best

std::string column_names(Table table);  // "cluster, job, ..."
std::string column_types(Table table);  // "cluster VARCHAR, job VARCHAR, ..."

// Sums over the columns of a row, which files keep behind them: each analysis asks for them, and adding them up again in each
// costs more than reading them does. 2^63-1 stands for what is larger. Empty, or beginning with a comma.
std::string sum_names(Table table);    // ", seconds, ..."
std::string sum_types(Table table);    // ", seconds BIGINT, ..."
std::string sums_of_row(Table table);  // ", date_diff(...) AS seconds, ..."
std::string sums_differ(Table table);  // a condition: a file's sums are not those of its row

// How COPY writes a table.
std::string_view parquet_options(Table table);

// Why the store cannot keep a row; empty: it can.
std::string why_not(const JobRow& row);
std::string why_not(const SeriesRow& row);

inline std::int64_t time_of(const JobRow& row) { return row.started; }
inline std::int64_t time_of(const SeriesRow& row) { return row.time; }

// Of the key, and of the whole row: equal rows have equal ones, on every machine.
std::uint64_t key_digest(const JobRow& row);
std::uint64_t key_digest(const SeriesRow& row);
std::uint64_t row_digest(const JobRow& row);
std::uint64_t row_digest(const SeriesRow& row);

// The cells of a row. REQUIRES: why_not() is empty, texts are storable.
void put_row(DuckAppender& to, const JobRow& row);
void put_row(DuckAppender& to, const SeriesRow& row);

// Months are counted from 1970: "2018-06" is 581.
std::int64_t month_of(std::int64_t seconds);
std::string month_name(std::int64_t month);
std::optional<std::int64_t> parse_month(std::string_view name);
std::int64_t month_start(std::int64_t month);  // seconds since 1970

}  // namespace iez::jobs
