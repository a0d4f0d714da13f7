#include "trace/host_clocks.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace iez::trace {

namespace {

// The lower one of two in the middle.
std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A start that no clock shows, so far from others that their difference is no number.
bool is_date(std::int64_t time) { return time > 0 && time < std::int64_t{1} << 62U; }

}  // namespace

void HostClocks::add(const SegmentInfo& info) {
  if (info.kind != SegmentKind::process || info.rank < 0 || info.communicator < 2 || !is_date(info.start_ns)) return;
  Starts& starts = launches_[{info.job, info.communicator}];
  const auto [known, added] = starts.try_emplace({info.host, info.rank}, info.start_ns);
  if (!added) known->second = std::min(known->second, info.start_ns);
}

std::map<std::string, std::int64_t> HostClocks::ahead() const {
  const Starts* largest = nullptr;
  for (const auto& [launch, starts] : launches_) {
    std::set<std::int32_t> ranks;
    for (const auto& [process, start] : starts) ranks.insert(process.second);
    if (ranks.size() == starts.size() && (largest == nullptr || starts.size() > largest->size())) largest = &starts;
  }
  std::map<std::string, std::int64_t> out;
  if (largest == nullptr) return out;
  std::map<std::string, std::vector<std::int64_t>> by_host;
  for (const auto& [process, start] : *largest) by_host[process.first].push_back(start);
  std::vector<std::int64_t> hosts;
  for (auto& [host, starts] : by_host) hosts.push_back(median(starts));
  const std::int64_t together = median(hosts);
  auto start = hosts.begin();
  for (const auto& [host, starts] : by_host) {
    const std::int64_t difference = *start++ - together;
    if (difference > kLaunchSpread || difference < -kLaunchSpread) out.emplace(host, difference);
  }
  return out;
}

}  // namespace iez::trace
