#include "runs/ost_cost.hpp"

#include <algorithm>
#include <span>

namespace iez::runs {

namespace {

void add(OstLoads& loads, double bytes, std::span<const OstIndex> osts) {
  for (const OstIndex ost : osts) loads[ost] += bytes / static_cast<double>(osts.size());
}

}  // namespace

std::optional<double> ost_cost(const OstLoads& loads, std::size_t osts) {
  double all = 0;
  double fullest = 0;
  for (const auto& [ost, load] : loads) {
    all += load;
    fullest = std::max(fullest, load);
  }
  if (all <= 0 || loads.size() > osts) return std::nullopt;
  return std::max(1.0, fullest * static_cast<double>(osts) / all);  // even, but for rounding
}

std::optional<double> ost_cost(const Gathered& gathered, std::size_t osts) {
  OstLoads loads;
  for (const GatheredWrite& write : gathered.writes) {
    if (write.osts.empty()) return std::nullopt;
    add(loads, static_cast<double>(gathered.files[write.row].written.count), write.osts);
  }
  return ost_cost(loads, osts);
}

std::optional<double> ost_cost(const store::Allocation& allocation, Bytes least_file, std::size_t osts) {
  OstLoads loads;
  for (const store::AllocationRow& row : allocation.rows) {
    if (row.layouts.empty() || row.bytes < least_file) continue;
    const double bytes = static_cast<double>(row.bytes.count) * static_cast<double>(row.files);
    for (const store::StripeLayout& layout : row.layouts) {
      add(loads, bytes / static_cast<double>(row.layouts.size()), layout.osts);
    }
  }
  return ost_cost(loads, osts);
}

}  // namespace iez::runs
