#include "placement/random_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "placement/lustre_view.hpp"

namespace iez::placement {

namespace {

// Appends up to `count` of the choices, each at most `rounds` times, and none once more before all others have been. The choices
// are left in another order, which does the next draw no harm.
std::size_t draw(std::vector<std::uint32_t>& choices, std::size_t count, std::uint32_t rounds, Rng& rng,
                 std::vector<std::uint32_t>& drawn) {
  std::size_t left = count;
  for (std::uint32_t round = 0; round < rounds && left > 0 && !choices.empty(); ++round) {
    const std::size_t now = std::min(left, choices.size());
    for (std::size_t i = 0; i < now; ++i) {
      std::swap(choices[i], choices[i + rng.below(choices.size() - i)]);
      drawn.push_back(choices[i]);
    }
    left -= now;
  }
  return count - left;
}

}  // namespace

Result<Assignment> RandomPolicy::assign(const TargetTable& table, std::span<const Demand> demands) {
  std::vector<std::optional<Usable>> pools(table.pools.size());
  Assignment result;
  result.offsets.push_back(0);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    IEZ_ASSERT(demand.count > 0 && demand.per_target > 0 && demand.pool < table.pools.size());
    std::optional<Usable>& members = pools[demand.pool];
    if (!members) members = usable(table, demand.pool);
    const std::size_t sound = draw(members->sound, demand.count, demand.per_target, rng_, result.targets);
    const std::size_t others = draw(members->second, demand.count - sound, demand.per_target, rng_, result.targets);
    if (sound + others == 0) return no_active_target(table, i, demand.pool);
    result.offsets.push_back(result.targets.size());
  }
  return result;
}

}  // namespace iez::placement
