// /proc/stat, /proc/meminfo and /proc/loadavg from anywhere: shares stay within 0 to 1.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "lustre/host_load.hpp"

namespace {

using iez::input::ParseReport;
using iez::lustre::CpuLoad;

bool is_share(double value) { return value >= 0 && value <= 1; }
bool is_average(double value) { return std::isfinite(value) && value >= 0; }

iez::Result<CpuLoad> parse_cpu(std::string_view text) {
  const auto stream = iez::input::memory_stream(text);
  ParseReport report;
  return iez::lustre::parse_cpu(*stream, "fuzz", report);
}

void check_cpu(std::string_view text) {
  const auto load = parse_cpu(text);
  if (!load) return;
  IEZ_ASSERT(load->times.busy <= load->times.total);
  IEZ_ASSERT(is_share(busy_share(load->times)));
  // Another sample: what the rest of the text says from its second line on.
  const auto other = parse_cpu(text.substr(text.find('\n') + 1));
  if (!other) return;
  IEZ_ASSERT(is_share(busy_share(load->times, other->times)));
  IEZ_ASSERT(is_share(busy_share(other->times, load->times)));
}

void check_memory(std::string_view text) {
  const auto stream = iez::input::memory_stream(text);
  ParseReport report;
  const auto memory = iez::lustre::parse_memory(*stream, "fuzz", report);
  if (!memory) return;
  IEZ_ASSERT(is_share(used_share(*memory)));
  IEZ_ASSERT(report.rows >= 2);
}

void check_averages(std::string_view text) {
  const auto stream = iez::input::memory_stream(text);
  ParseReport report;
  const auto load = iez::lustre::parse_load_average(*stream, "fuzz", report);
  if (!load) return;
  IEZ_ASSERT(is_average(load->one) && is_average(load->five) && is_average(load->fifteen));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cpu(text);
  check_memory(text);
  check_averages(text);
  return 0;
}
