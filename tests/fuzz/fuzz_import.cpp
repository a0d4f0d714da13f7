// `import` from anywhere: bounds hold, texts are plain, and the state agrees with its text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "lustre/import.hpp"

namespace {

using iez::Duration;
using iez::input::ParseReport;
using iez::lustre::Import;
using iez::lustre::ImportState;

void check_text(const std::string& text) {
  IEZ_ASSERT(text.size() <= Import::kMaxText);
  IEZ_ASSERT(std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; }));
}

void check_time(const std::optional<Duration>& time) { IEZ_ASSERT(!time || *time >= Duration::zero()); }

void check_averages(const std::optional<Import::Averages>& averages) {
  if (!averages) return;
  IEZ_ASSERT(*averages != Import::Averages{});
  check_time(averages->time_per_rpc);
  IEZ_ASSERT(!averages->rate || averages->rate->value >= 0);
}

void check(const Import& import) {
  for (const std::string* text :
       {&import.name, &import.target, &import.state_text, &import.target_version, &import.current_connection}) {
    check_text(*text);
  }
  IEZ_ASSERT(import.failover_nids.size() <= Import::kMaxNids);
  for (const std::string& nid : import.failover_nids) {
    IEZ_ASSERT(!nid.empty());
    check_text(nid);
  }
  IEZ_ASSERT(import.state == ImportState::unknown || to_string(import.state) == import.state_text);
  check_time(import.idle);
  check_time(import.avg_waittime);
  check_time(import.service_estimate);
  check_time(import.network_estimate);
  check_averages(import.read);
  check_averages(import.write);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto stream = iez::input::memory_stream(text);
  ParseReport report;
  const auto parsed = iez::lustre::parse_import(*stream, "fuzz", report);
  IEZ_ASSERT(report.problems.size() <= ParseReport::kKept);
  if (!parsed) return 0;
  check(*parsed);
  if (report.rows == 0) IEZ_ASSERT(*parsed == Import{});
  return 0;
}
