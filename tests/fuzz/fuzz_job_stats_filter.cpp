// job_stats from anywhere, shortened: what is kept of each job is what the parser finds in the whole text, in the same order; and
// nothing comes of a job that is not wanted.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "lustre/job_stats.hpp"
#include "lustre/job_stats_filter.hpp"

namespace {

using namespace iez::lustre;

constexpr std::array<std::string_view, 2> kRows{"read_bytes", "write_bytes"};

using Found = std::vector<std::pair<std::string, std::uint64_t>>;  // ids, and bytes that were written

Found parse(iez::input::ByteStream& stream) {
  Found found;
  iez::input::ParseReport report;
  const auto parsed = parse_job_stats(stream, "fuzz", report, [&found](const JobEntry& entry) {
    found.emplace_back(entry.id, counters(entry).write_bytes.count);
  });
  IEZ_ASSERT(parsed.has_value());
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Carriage returns and lines without end are cut in another place.
  const bool plain = text.find('\r') == std::string_view::npos && size < JobStatsFilter::kMaxLine;
  const auto whole = iez::input::memory_stream(text);
  const auto again = iez::input::memory_stream(text);
  JobStatsFilter all(*again, kRows, 1, [](std::string_view, std::uint64_t) { return true; });
  const Found kept = parse(all);
  const Found found = parse(*whole);
  // A job may have more rows than the parser takes, if none is left out.
  if (plain && size < 2000) IEZ_ASSERT(kept == found);
  const auto third = iez::input::memory_stream(text);
  JobStatsFilter none(*third, kRows, 1, [](std::string_view, std::uint64_t) { return false; });
  IEZ_ASSERT(parse(none).empty());
  return 0;
}
