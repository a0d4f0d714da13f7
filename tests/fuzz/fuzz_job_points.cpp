// Points of other collectors from anywhere, read in every form: rows that come out are of a job on a target and tell of
// something.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "jobs/counter_difference.hpp"
#include "jobs/influx.hpp"
#include "jobs/prometheus.hpp"

namespace {

using namespace iez::jobs;

class Checking final : public RowSink {
 public:
  iez::Result<void> put(std::span<const JobRow>) override { return {}; }
  iez::Result<void> put(std::span<const SeriesRow> rows) override {
    for (const SeriesRow& row : rows) {
      IEZ_ASSERT(!row.target.empty() && row.time >= 0 && row.seconds > 0);
      IEZ_ASSERT(any({.data = row.data, .metadata = row.metadata}));
    }
    return {};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  iez::input::ParseReport report;
  Checking sink;
  ImportSeries lines({});
  const auto stream = iez::input::memory_stream(text);
  IEZ_ASSERT(parse_influx_lines(*stream, "fuzz", report, lines).has_value());
  IEZ_ASSERT(lines.finish(sink).has_value());
  ImportSeries scrapes({});
  const auto again = iez::input::memory_stream(text);
  IEZ_ASSERT(parse_scrape(*again, "fuzz", 5, report, scrapes).has_value());
  IEZ_ASSERT(scrapes.finish(sink).has_value());
  ImportSeries others({});
  if (const auto csv = parse_points_csv(text, "fuzz", {}, report, others); !csv) {
    IEZ_ASSERT(csv.error().message.starts_with("fuzz"));
  }
  if (const auto answer = parse_query_range(text, "fuzz", others); !answer) {
    IEZ_ASSERT(answer.error().message.starts_with("fuzz"));
  }
  IEZ_ASSERT(others.finish(sink).has_value());
  return 0;
}
