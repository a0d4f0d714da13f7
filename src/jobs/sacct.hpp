// Jobs as Slurm's accounting tells them: the output of sacct.
//
//     sacct --parsable2 --allusers
//     --format=JobIDRaw,Cluster,UID,Start,End,NNodes,AllocTRES,ReqMem,NCPUS,TRESUsageInTot,TRESUsageOutTot
//     JobIDRaw|Cluster|UID|Start|End|NNodes|AllocTRES|ReqMem|NCPUS|TRESUsageInTot|TRESUsageOutTot
//     4711|quartz|1000|2026-11-16T12:00:00|2026-11-16T12:10:00|2|billing=8,cpu=8,mem=64G,node=2|64G|8||
//     4711.batch|quartz||2026-11-16T12:00:00|2026-11-16T12:10:00|1|...|||4|cpu=00:01:00,fs/disk=1310987,mem=12K|fs/disk=4096
//
// Columns are known by their names, in any order; of JobIDRaw and JobID the first that is there, likewise of UID and User, of
// NNodes and AllocNodes. Needed are an id, Start and End. Bytes read and written are those of all steps, of any file system, as
// the kernel counted them (fs/disk of TRESUsageInTot and TRESUsageOutTot): sacct knows no calls. No node has told what Lustre's
// client counted, so all of them are silent.
//
// Jobs that have not started or not ended are passed over, and counted apart. A row that a newline in a name or a comment broke
// is put together again; one with a delimiter too many cannot be, and is skipped.
//
// Thread safety: pure functions. Memory: one job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "jobs/import_time.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

struct SacctOptions {
  std::string cluster;              // of jobs that do not tell
  std::string delimiter = "|";      // one or more bytes
  std::vector<std::string> fields;  // names of the columns, where no line tells them (--noheader)
  TimeZone zone;                    // of Start and End: that of the host sacct ran on, unless SLURM_TIME_FORMAT=%s was set
};

struct SacctSummary {
  std::uint64_t jobs = 0;
  std::uint64_t steps = 0;
  std::uint64_t unfinished = 0;  // not started, or not ended
};

using JobRowVisitor = std::function<Result<void>(const JobRow&)>;

// Fails for a header without the columns that are needed, and where the stream or the visitor does.
[[nodiscard]] Result<SacctSummary> parse_sacct(input::ByteStream& stream, std::string_view origin, const SacctOptions& options,
                                               input::ParseReport& report, const JobRowVisitor& visit);

// "199G", "32000M", "0.50G", "4096": bytes, suffixes being powers of 1024. `bare` is what a number without one counts in.
std::optional<std::uint64_t> parse_slurm_size(std::string_view text, std::uint64_t bare = 1);

// The value of "mem" in "billing=24,cpu=8,mem=199G,node=1"; empty: it is not there.
std::string_view tres_value(std::string_view list, std::string_view name);

}  // namespace iez::jobs
