// Output of sacct from anywhere: a row that is delivered has an id and ends after it started; lines are counted once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "jobs/sacct.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace iez::jobs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  SacctOptions options{.cluster = "c"};
  if (size % 2 == 1) options.fields = {"JobID", "Start", "End", "ReqMem", "NNodes", "AllocTRES", "TRESUsageInTot"};
  const auto stream = iez::input::memory_stream(text);
  iez::input::ParseReport report;
  std::uint64_t rows = 0;
  const auto summary = parse_sacct(*stream, "fuzz", options, report, [&rows](const JobRow& row) {
    ++rows;
    IEZ_ASSERT(!row.id.empty() && row.started <= row.ended && row.silent_nodes == row.nodes);
    return iez::Result<void>{};
  });
  if (!summary) {
    IEZ_ASSERT(summary.error().message.starts_with("fuzz:"));
    return 0;
  }
  IEZ_ASSERT(summary->jobs == rows && report.rows == rows);
  IEZ_ASSERT(report.problems.size() <= iez::input::ParseReport::kKept);
  return 0;
}
