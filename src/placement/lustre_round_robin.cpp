#include "placement/lustre_round_robin.hpp"

#include "placement/lustre_order.hpp"

namespace iez::placement {

namespace {

constexpr std::uint64_t kReseedFiles = 2000;
constexpr std::uint64_t kReseedRounds = 30;
constexpr int kAttempts = 3;
constexpr int kLastAttempt = kAttempts - 1;

}  // namespace

void LustreRings::begin(const TargetTable& table) {
  held_.assign(table.targets.size(), 0);
  of_pool_.clear();
  for (const TargetPool& pool : table.pools) {
    Ring& ring = rings_[pool.name];
    ring.order.clear();
    of_pool_.push_back(&ring);
  }
}

void LustreRings::advance(Ring& ring, std::uint32_t count, Rng& rng) {
  const std::uint64_t slots = ring.order.size();
  --ring.credit;
  if (ring.credit <= 0) {
    ring.start = rng.below(slots);
    ring.credit = static_cast<std::int64_t>((kReseedFiles / slots + kReseedRounds) * slots);
  } else if (ring.start >= slots) {
    ring.start -= slots;
    // With one slot left over, each round begins one slot further on by itself.
    if (count > 1 && slots % count != 1) ++ring.offset;
  }
}

std::size_t LustreRings::place(const TargetTable& table, const LustreView& view, const LustreWant& want, Rng& rng,
                               std::vector<std::uint32_t>& targets) {
  Ring& ring = *of_pool_[want.pool];
  if (ring.order.empty()) ring.order = lustre_order(table, want.pool);
  if (ring.order.empty()) return 0;
  advance(ring, want.count, rng);

  const std::uint64_t slots = ring.order.size();
  const std::uint64_t steps = want.per_target > 1 ? slots * ((want.count - 1) / slots + 1) : slots;
  const std::size_t first = targets.size();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::uint64_t at = 0;
    for (std::uint64_t step = 0; step < steps && targets.size() - first < want.count; ++step) {
      at = attempt < kLastAttempt || step == 0 ? ++ring.start + ring.offset : at + 1;
      const std::uint32_t target = ring.order[at % slots];
      if (!view.active(target) || held_[target] == want.per_target) continue;
      if (attempt < kLastAttempt && view.degraded(target)) continue;
      ++held_[target];
      targets.push_back(target);
    }
    if (targets.size() - first >= want.minimum) break;
  }
  for (std::size_t i = first; i < targets.size(); ++i) held_[targets[i]] = 0;
  return targets.size() - first;
}

LustreRoundRobin::LustreRoundRobin(const LustreRoundRobinOptions& options)
    : options_(options), rng_(options.seed), view_(options.bytes_visible) {}

Result<Assignment> LustreRoundRobin::assign(const TargetTable& table, std::span<const Demand> demands) {
  view_.refresh(table);
  rings_.begin(table);
  Assignment result;
  result.offsets.push_back(0);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    IEZ_ASSERT(demand.count > 0 && demand.per_target > 0 && demand.pool < table.pools.size());
    const LustreWant want = lustre_want(view_, demand, options_.count_is_default);
    const std::size_t found = rings_.place(table, view_, want, rng_, result.targets);
    if (found == 0) return no_active_target(table, i, demand.pool);
    view_.write(std::span(result.targets).last(found), demand.object_bytes);
    result.offsets.push_back(result.targets.size());
  }
  return result;
}

}  // namespace iez::placement
