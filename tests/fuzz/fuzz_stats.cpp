// `stats` files: every row delivered has a name and a unit in brackets, and no row is delivered that a cut line could have
// shortened.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lustre/stats.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto stream = iez::input::memory_stream({reinterpret_cast<const char*>(data), size});
  iez::input::ParseReport report;
  std::uint64_t rows = 0;
  const auto times = iez::lustre::parse_stats(*stream, "fuzz", report, [&](const iez::lustre::CounterRow& row) {
    ++rows;
    if (row.name.empty()) std::abort();
    if (row.sum_of_squares && !row.sum) std::abort();
  });
  if (!times || rows != report.rows) std::abort();
  if (report.problems.size() > iez::input::ParseReport::kKept || report.problems.size() > report.skipped) std::abort();
  return 0;
}
