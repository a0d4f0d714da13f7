#include "runs/client_counters.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "input/parse_report.hpp"
#include "lustre/param_source.hpp"
#include "lustre/stats.hpp"

namespace iez::runs {

std::optional<Bytes> client_written(const std::vector<std::string>& roots, std::string_view file_system) {
  std::optional<Bytes> all;
  input::ParseReport report;
  const std::string prefix = fmt::format("{}-", file_system);
  for (const std::string& root : roots.empty() ? std::vector<std::string>{"/"} : roots) {
    const auto source = lustre::open_source(root);
    if (!source) continue;
    const auto instances = (*source)->find(lustre::Param::llite_stats);
    if (!instances) continue;
    for (const lustre::Instance& instance : *instances) {
      if (!instance.device.starts_with(prefix)) continue;
      const auto stream = (*source)->open(instance);
      if (!stream) return std::nullopt;
      std::uint64_t written = 0;
      const auto read = lustre::parse_stats(**stream, instance.origin, report, [&written](const lustre::CounterRow& row) {
        if (row.name == "write_bytes") written = row.sum.value_or(0);
      });
      if (!read) return std::nullopt;
      all = Bytes{(all ? all->count : 0) + written};
    }
  }
  return all;
}

std::string unseen_text(Bytes client, Bytes traced, Duration lasted) {
  constexpr double kShare = 0.1;
  constexpr double kLate = 2;  // seconds: both readings may be of a second ago
  constexpr double kLittle = 4.0 * (1U << 20U);
  if (client <= traced) return "";
  const auto all = static_cast<double>(client.count);
  const double unseen = all - static_cast<double>(traced.count);
  const double seconds = std::max(static_cast<double>(lasted.count()) / 1e9, 1e-3);
  if (unseen <= std::max({kLittle, kShare * all, kLate * all / seconds})) return "";
  return fmt::format(
      "this node wrote {} meanwhile, of which {} ({:.0f} %) are in the trace: the rest is of other programs, or of parts of this "
      "one "
      "that iez does not see (iez inject PROGRAM tells)",
      to_string(client), to_string(traced), 100 * (1 - unseen / all));
}

}  // namespace iez::runs
