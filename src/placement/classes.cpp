#include "placement/classes.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace iez::placement {

namespace {

struct DemandHash {
  std::size_t operator()(const Demand& demand) const {
    std::uint64_t hash = demand.object_bytes.count * 0x9E3779B97F4A7C15ULL;
    hash ^= (std::uint64_t{demand.count} << 32U | demand.per_target) * 0xC2B2AE3D27D4EB4FULL;
    hash ^= hash >> 29U;
    return static_cast<std::size_t>(hash * 0x165667B19E3779F9ULL + demand.pool);
  }
};

auto hardness(const DemandClass& group) {
  const Demand& demand = group.demand;
  return std::tuple(~demand.object_bytes.count, ~demand.count, demand.per_target, demand.pool);
}

}  // namespace

std::vector<DemandClass> make_classes(std::span<const Demand> demands) {
  std::vector<DemandClass> classes;
  std::unordered_map<Demand, std::uint32_t, DemandHash> known;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < demands.size(); ++i) {
    // Files of one kind mostly come one after the other.
    if (classes.empty() || classes[last].demand != demands[i]) {
      const auto [found, is_new] = known.try_emplace(demands[i], static_cast<std::uint32_t>(classes.size()));
      if (is_new) classes.push_back({.demand = demands[i]});
      last = found->second;
    }
    classes[last].members.push_back(i);
  }
  std::ranges::sort(classes, {}, hardness);
  return classes;
}

}  // namespace iez::placement
