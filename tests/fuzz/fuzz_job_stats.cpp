// `job_stats`: bounded entries, whatever the bytes; and the same jobs when the stream delivers one byte at a time.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lustre/job_stats.hpp"
#include "trickle.hpp"

namespace {

struct Seen {
  std::vector<std::string> ids;
  iez::model::JobCounters sum;
};

Seen parse(iez::input::ByteStream& stream) {
  Seen seen;
  iez::input::ParseReport report;
  const auto summary = iez::lustre::parse_job_stats(stream, "fuzz", report, [&](const iez::lustre::JobEntry& entry) {
    if (entry.id.size() > 1024 || entry.rows.size() > 1024) std::abort();
    seen.ids.push_back(entry.id);
    seen.sum += iez::lustre::counters(entry);
  });
  if (!summary || summary->jobs != seen.ids.size()) std::abort();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = iez::input::memory_stream(bytes);
  iez::fuzz::Trickle trickle(bytes);
  const Seen first = parse(*whole);
  const Seen second = parse(trickle);
  if (first.ids != second.ids || !(first.sum == second.sum)) std::abort();
  return 0;
}
