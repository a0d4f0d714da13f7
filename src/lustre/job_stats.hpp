// `job_stats` of OSTs and MDTs: what each job did, as YAML that only Lustre writes.
//
//     job_stats:
//     - job_id:          "SLURM_JOB10:0:node7"
//       snapshot_time:   1723114647.887515895 secs.nsecs
//       write_bytes:     { samples: 861, unit: bytes, min: 24576, max: 16777216, sum: 11025514496, hist: { 32K: 1, 1M: 860 } }
//       punch:           { samples: 85, unit: usecs, min: 96, max: 354, sum: 16840, sumsq: 3813568 }
//
// A busy server lists 25,000 jobs; a dump of hundreds of megabytes is read with the memory of one entry. Not a YAML parser: it
// knows this one shape, in all its versions (no sumsq and no hist in 2.10, bare seconds as times, quoted and escaped ids), and is
// some hundred times faster than one (bench: lustre-parse).
//
// A malformed row is skipped and counted, its job keeps the others; a malformed id skips the job, since its rows belong to
// nobody; rows of operations iez does not know are counted apart. A job whose entry stops in the middle of the file is delivered
// with the rows that are whole.
//
// Counters restart when an entry was idle for 600 s, when an administrator clears it, and when the target restarts: see
// job_rates.hpp.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "lustre/stats.hpp"
#include "model/job.hpp"

namespace iez::lustre {

struct OperationRow {
  model::Operation operation{};
  std::uint64_t samples = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t sum = 0;             // bytes for read_bytes and write_bytes, microseconds for others; 0 where Lustre shows none
  std::uint64_t sum_of_squares = 0;  // wraps at 2^64 in the kernel
};

// Calls by size: [i] counts those of at most 2^i bytes and more than 2^(i-1).
using SizeHistogram = std::array<std::uint64_t, 64>;

struct JobEntry {
  std::string id;  // unescaped; may hold any bytes
  StatsTimes times;
  std::vector<OperationRow> rows;
  bool has_sizes = false;  // from 2.14 on
  SizeHistogram read_sizes{};
  SizeHistogram write_sizes{};
};

// What stands behind "- job_id:", unquoted and unescaped; false: it cannot be read.
bool decode_job_id(std::string_view value, std::string& id);

model::JobCounters counters(const JobEntry& entry);

struct JobStatsSummary {
  std::uint64_t jobs = 0;          // delivered
  std::uint64_t unknown_rows = 0;  // of operations not in model::Operation
  std::uint64_t bytes = 0;         // read
};

// Called once per job; the entry is reused for the next.
using JobVisitor = std::function<void(const JobEntry&)>;

[[nodiscard]] Result<JobStatsSummary> parse_job_stats(input::ByteStream& stream, std::string_view origin,
                                                      input::ParseReport& report, const JobVisitor& visit);

}  // namespace iez::lustre
