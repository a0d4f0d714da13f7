// Traces as CSV, one line a file: the form in which a trace is kept, compared and given to other programs.
//
//     file_name,write_bytes,stripe_count,mpi_rank,communicator_size,read_bytes,write_calls,...
//     /scratch/run/ckpt.0,803405824,8,0,32,0,97,...
//
// RFC 4180 quoting; lines end with LF or CRLF; a byte order mark is passed over. The first line names the columns, in any order.
// Needed are the five that the paper's parser writes: file_name, write_bytes, stripe_count, mpi_rank, communicator_size. The rest
// may be left out: renamed_to, read_bytes, write_calls, read_calls, sequential_writes, sequential_reads, largest_write,
// largest_read, end_offset, creates, opens, stripe_size, ranks, first_ns, last_ns, first_write_ns, last_write_ns, first_read_ns,
// last_read_ns, opened_ns, removed_ns, own_layout (1 if the program chose the stripes). A field may be empty where its value is
// not known, but for file_name and write_bytes. An mpi_rank of -1 is the same as an empty one. Sizes are bytes, times are
// nanoseconds since 1970; all are whole numbers without a sign or a unit.
//
// Names are 1 to kMaxPath bytes, of any value but zero; they need not be UTF-8. The same name may stand in several lines.
//
// A bad line is an error that names the file, the line and the column, what was found and what is expected: a trace with lines
// left out would teach wrong sizes.
//
// Thread safety: pure functions; a CsvWriter belongs to one thread. Memory: one row (reader), one buffer (writer).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/traced_file.hpp"

namespace iez::trace {

// Called once a line; the row is reused for the next.
using FileVisitor = std::function<void(const TracedFile&)>;

// The number of rows. file_name is for messages only. Rows before a bad one have been visited.
[[nodiscard]] Result<std::uint64_t> read_trace_csv(std::string_view text, std::string_view file_name, const FileVisitor& visit);

[[nodiscard]] Result<std::vector<TracedFile>> parse_trace_csv(std::string_view text, std::string_view file_name);

// The inverse, all columns. REQUIRES for a row that can be read again: a name as above, times from 1970 on, last_ns not before
// first_ns.
void append_csv_header(std::string& out);
void append_csv_row(std::string& out, const TracedFile& file);
std::string to_csv(std::span<const TracedFile> files);

// Where the text goes; an error ends the writing.
using TextSink = std::function<Result<void>(std::string_view)>;

// Rows to a sink, in pieces of about 64 KiB. Nothing is complete before finish().
class CsvWriter {
 public:
  explicit CsvWriter(TextSink sink);

  [[nodiscard]] Result<void> add(const TracedFile& file);
  [[nodiscard]] Result<void> finish();

 private:
  TextSink sink_;
  std::string buffer_;
};

}  // namespace iez::trace
