// Recorder's text, as that of two ranks: rows that can be written and read again, whatever the bytes, with sums that do not
// depend on the order of the ranks.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "trace/recorder_text.hpp"
#include "trace/trace_csv.hpp"

namespace {

using iez::trace::RecorderTrace;

RecorderTrace collect(std::string_view first, std::string_view second, std::int32_t rank) {
  iez::trace::RecorderCollector collector({.start_ns = 1'700'000'000'000'000'000});
  iez::input::ParseReport report;
  for (const std::string_view text : {first, second}) {
    const auto stream = iez::input::memory_stream(text);
    const auto added = collector.add(*stream, rank, "fuzz", report);
    IEZ_ASSERT(added || added.error().message.starts_with("fuzz:"));
    rank = 1 - rank;
  }
  return collector.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t half = bytes.find('\n', size / 2);
  const std::string_view first = bytes.substr(0, half);
  const std::string_view second = half == std::string_view::npos ? std::string_view{} : bytes.substr(half);
  const RecorderTrace trace = collect(first, second, 0);
  for (const iez::trace::TracedFile& file : trace.files) {
    IEZ_ASSERT(file.name.starts_with('/') && file.ranks <= 2 && file.communicator <= 2);
    IEZ_ASSERT(file.sequential_writes <= file.write_calls && file.sequential_reads <= file.read_calls);
    IEZ_ASSERT(file.largest_write <= file.written && file.largest_read <= file.read);
  }
  const RecorderTrace swapped = collect(second, first, 1);
  IEZ_ASSERT(trace.files == swapped.files && trace.calls == swapped.calls);
  const auto again = iez::trace::parse_trace_csv(iez::trace::to_csv(trace.files), "written");
  IEZ_ASSERT(again.has_value() && *again == trace.files);
  return 0;
}
