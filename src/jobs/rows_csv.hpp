// Rows as text: what `iez jobs synth` writes and `iez jobs ingest` reads. Tables of CSV (RFC 4180), one after another; a heading
// starts each, so that `cat a.csv b.csv` is a stream, too. Lines that begin with '#' are comments.
//
//   cluster,job,uid,started,ended,nodes,memory,opens,...,silent_nodes     rows of jobs
//   cluster,target,job,uid,sampled,seconds,opens,...,write_calls          rows of series
//
// Times are seconds since 1970. Empty: not known. Columns may stand in any order; those that may be 0 may be left out.
// Docs: docs/formats/jobs.md.
//
// Thread safety: none. Memory: one record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "jobs/job_store.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

// The line of column names, with its line end.
std::string csv_heading(Table table);
void append_csv(std::string& out, const JobRow& row);
void append_csv(std::string& out, const SeriesRow& row);

// Takes rows as they come; false ends the reading.
struct RowVisitor {
  std::function<Result<void>(JobRow&&)> job;
  std::function<Result<void>(SeriesRow&&)> series;
};

// Reads a stream of tables to its end. Records that make no row are skipped and counted; a record longer than a MiB, or text
// before any heading, is an error. `origin` names the stream in problems.
[[nodiscard]] Result<input::ParseReport> read_rows(input::ByteStream& stream, std::string_view origin, const RowVisitor& sink);

}  // namespace iez::jobs
