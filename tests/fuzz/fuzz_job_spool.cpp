// Spool files from anywhere: what is read survives being written and read again; no byte is counted twice or forgotten.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "input/byte_stream.hpp"
#include "jobs/spool_test_support.hpp"

namespace {

using namespace iez::jobs;

SpoolSummary read_all(std::string_view bytes, Everything& into) {
  const auto stream = iez::input::memory_stream(bytes);
  const auto summary = read_spool(*stream, into.visitor());
  IEZ_ASSERT(summary.has_value());
  IEZ_ASSERT(summary->damaged_bytes + summary->torn_bytes <= bytes.size());
  return *summary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Everything first;
  read_all(bytes, first);
  Everything again;
  const SpoolSummary summary = read_all(first.frames(), again);
  IEZ_ASSERT(first == again && summary.damaged_bytes + summary.torn_bytes == 0);
  // The payload of a frame without its checksum: what the checksum keeps from fuzzers.
  if (const auto payload = parse_payload(bytes)) {
    Everything rows{.jobs = payload->jobs, .series = payload->series, .reports = payload->reports, .marks = payload->marks};
    Everything copy;
    read_all(rows.frames(), copy);
    IEZ_ASSERT(rows == copy);
  }
  return 0;
}
