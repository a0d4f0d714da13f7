// brw_stats and rpc_stats from anywhere: bounds hold, buckets ascend, and a front of the text yields a front of the tables.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "lustre/histograms.hpp"

namespace {

using iez::Result;
using iez::input::ParseReport;
using iez::lustre::Direction;
using iez::lustre::Histogram;
using iez::lustre::Histograms;

Result<Histograms> parse(std::string_view text, ParseReport& report) {
  const auto stream = iez::input::memory_stream(text);
  return iez::lustre::parse_histograms(*stream, "fuzz", report);
}

void check(const Histogram& histogram) {
  IEZ_ASSERT(!histogram.name.empty() && histogram.name.size() <= Histogram::kMaxName);
  IEZ_ASSERT(histogram.buckets.size() <= Histogram::kMaxBuckets);
  IEZ_ASSERT(std::ranges::adjacent_find(histogram.buckets, std::ranges::greater_equal{}, &Histogram::Bucket::bound) ==
             histogram.buckets.end());
  for (const Direction direction : {Direction::read, Direction::write}) {
    const auto mean = weighted_mean(histogram, direction);
    IEZ_ASSERT(mean.has_value() == (total(histogram, direction) > 0));
    if (!mean) continue;
    // Rounding of sums of large numbers is the only excess there may be.
    IEZ_ASSERT(*mean >= static_cast<double>(histogram.buckets.front().bound) * (1 - 1e-9));
    IEZ_ASSERT(*mean <= static_cast<double>(histogram.buckets.back().bound) * (1 + 1e-9));
  }
}

void check(const Histograms& parsed, const ParseReport& report) {
  IEZ_ASSERT(parsed.sections.size() <= Histograms::kMaxSections);
  IEZ_ASSERT(parsed.gauges.size() <= Histograms::kMaxGauges);
  IEZ_ASSERT(report.problems.size() <= ParseReport::kKept);
  std::size_t rows =
      parsed.gauges.size() + (parsed.snapshot_time ? 1 : 0) + (parsed.start_time ? 1 : 0) + (parsed.elapsed ? 1 : 0);
  for (const Histogram& histogram : parsed.sections) {
    check(histogram);
    IEZ_ASSERT(parsed.find(histogram.name, histogram.columns) != nullptr);
    rows += histogram.buckets.size();
  }
  IEZ_ASSERT(rows == report.rows);
}

bool is_front(const Histogram& front, const Histogram& whole) {
  return front.name == whole.name && front.columns == whole.columns && front.buckets.size() <= whole.buckets.size() &&
         std::ranges::equal(front.buckets, std::span(whole.buckets).first(front.buckets.size()));
}

void check_front(const Histograms& front, const Histograms& whole) {
  IEZ_ASSERT(front.gauges.size() <= whole.gauges.size() && front.sections.size() <= whole.sections.size());
  IEZ_ASSERT(std::ranges::equal(front.gauges, std::span(whole.gauges).first(front.gauges.size())));
  IEZ_ASSERT(!front.snapshot_time || front.snapshot_time == whole.snapshot_time);
  for (std::size_t i = 0; i < front.sections.size(); ++i) IEZ_ASSERT(is_front(front.sections[i], whole.sections[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ParseReport report;
  const auto whole = parse(text, report);
  if (!whole) return 0;
  check(*whole, report);
  // The break is wherever the input says, so that the fuzzer can search for a bad one.
  const std::size_t length = size == 0 ? 0 : size - 1 - data[size - 1] % size;
  ParseReport front_report;
  // A row may be whole without its last digits, so that a front can hold it where the text goes on with something else.
  const std::string_view lines = text.substr(0, text.substr(0, length).rfind('\n') + 1);
  if (const auto front = parse(lines, front_report)) check_front(*front, *whole);
  return 0;
}
