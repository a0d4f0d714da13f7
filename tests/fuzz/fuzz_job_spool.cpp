// Spool files from anywhere: what is read survives being written and read again; no byte is counted twice or forgotten.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "jobs/spool.hpp"

namespace {

using namespace iez::jobs;

struct Everything {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  std::vector<NodeReport> reports;
  std::vector<CollectedMark> marks;

  SpoolVisitor visitor() {
    const auto into = [](auto& to) {
      return [&to](auto rows) {
        to.insert(to.end(), rows.begin(), rows.end());
        return iez::Result<void>{};
      };
    };
    return {.jobs = into(jobs), .series = into(series), .reports = into(reports), .marks = into(marks)};
  }

  std::string frames() const {
    return to_frames(std::span<const JobRow>(jobs)) + to_frames(std::span<const SeriesRow>(series)) +
           to_frames(std::span<const NodeReport>(reports)) + to_frames(std::span<const CollectedMark>(marks));
  }

  bool operator==(const Everything&) const = default;
};

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
