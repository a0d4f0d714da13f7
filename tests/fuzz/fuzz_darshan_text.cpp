// Darshan logs as text: rows that can be written and read again, whatever the bytes; and the same ones when the stream delivers
// one byte at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/darshan_text.hpp"
#include "trace/trace_csv.hpp"
#include "trickle.hpp"

namespace {

using iez::trace::DarshanTrace;

std::optional<DarshanTrace> parse(iez::input::ByteStream& stream, bool anonymous) {
  iez::input::ParseReport report;
  auto trace = iez::trace::read_darshan_text(stream, "fuzz", report, {.anonymous_names = anonymous});
  IEZ_ASSERT(report.problems.size() <= iez::input::ParseReport::kKept);
  if (!trace) return std::nullopt;
  IEZ_ASSERT(trace->run.start_ns >= 0 && trace->run.end_ns >= 0);
  return *std::move(trace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool anonymous : {false, true}) {
    const auto whole = iez::input::memory_stream(bytes);
    iez::fuzz::Trickle trickle(bytes);
    const auto first = parse(*whole, anonymous);
    const auto second = parse(trickle, anonymous);
    IEZ_ASSERT(first.has_value() == second.has_value());
    if (!first) continue;
    IEZ_ASSERT(first->run == second->run && first->files == second->files && first->records == second->records);
    IEZ_ASSERT(first->files.size() + first->idle_files + first->anonymous_files <= first->records);
    const auto again = iez::trace::parse_trace_csv(iez::trace::to_csv(first->files), "written");
    IEZ_ASSERT(again.has_value() && *again == first->files);
  }
  return 0;
}
