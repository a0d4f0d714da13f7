#include "placement/lustre_qos.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace iez::placement {

namespace {

__extension__ using Wide = unsigned __int128;

// Keeps the sum of weights of 2^17 targets within 64 bits.
constexpr std::uint64_t kMaxFree = std::uint64_t{1} << 54U;

std::uint64_t free_units(const LustreView& view, std::uint32_t target) {
  return std::min(view.available(target).count, kMaxFree) >> 8U;
}

std::uint64_t per_object(std::uint64_t wide, std::uint64_t free, std::uint64_t others) { return ((wide * free) >> 9U) / others; }

std::optional<std::string> complaint(const LustreQosOptions& options) {
  if (options.qos_threshold_rr > 100) {
    return fmt::format("qos_threshold_rr is {} %: expected 0 to 100", options.qos_threshold_rr);
  }
  if (options.qos_prio_free > 100) return fmt::format("qos_prio_free is {} %: expected 0 to 100", options.qos_prio_free);
  if (options.qos_maxage < std::chrono::seconds{1} || options.qos_maxage > std::chrono::hours{24}) {
    return fmt::format("qos_maxage is {} s: expected 1 s to 86400 s", options.qos_maxage.count());
  }
  if (options.between_creates < Duration{0}) {
    return fmt::format("between_creates is {} ns: expected 0 or more", options.between_creates.count());
  }
  return std::nullopt;
}

}  // namespace

void LustrePenalties::Loads::restart(std::size_t count) {
  unit.assign(count, 0);
  penalty.assign(count, 0);
  used.assign(count, 0);
}

void LustrePenalties::Loads::charge(std::size_t which, std::uint64_t others, std::int64_t now) {
  penalty[which] = (penalty[which] >> 1U) + unit[which] * others;
  used[which] = now;
}

void LustrePenalties::Loads::age(std::size_t which, std::int64_t now, std::int64_t maxage, bool reset) {
  const std::int64_t idle = (now - used[which]) / 8;
  if (reset || idle > 32 * maxage) {
    penalty[which] = 0;
  } else if (idle > maxage) {
    penalty[which] >>= static_cast<std::uint64_t>(idle / maxage);
  }
}

LustrePenalties::LustrePenalties(const LustreQosOptions& options)
    : threshold_(std::uint64_t{options.qos_threshold_rr} * 256 / 100),
      wide_(256 - std::uint64_t{options.qos_prio_free} * 256 / 100),
      maxage_(options.qos_maxage.count()) {}

void LustrePenalties::restart(const TargetTable& table) {
  dirty_ = true;
  reset_ = true;
  balanced_ = false;
  active_servers_ = 0;
  pools_.clear();
  targets_.restart(table.targets.size());
  servers_.restart(table.servers.size());
  server_of_.clear();
  targets_on_.assign(table.servers.size(), 0);
  for (const Target& target : table.targets) {
    server_of_.push_back(target.server);
    ++targets_on_[target.server];
  }
}

bool LustrePenalties::prepare(const TargetTable& table, const LustreView& view, std::uint32_t pool, std::int64_t now) {
  if (threshold_ == 256) return false;
  if (pool == kAnyPool) {
    if (view.active_count() < 2) return false;
    if (dirty_) recompute(view, now);
    return !balanced_;
  }
  const TargetPool& members = table.pools[pool];
  Verdict& verdict = pools_[members.name];
  if (verdict.balanced && now < verdict.until) return false;
  if (members.members.size() < 2) return false;
  verdict.balanced = recompute_pool(view, members.members, now);
  verdict.until = now + maxage_;
  return !verdict.balanced;
}

void LustrePenalties::recompute(const LustreView& view, std::int64_t now) {
  std::vector<Wide> free_on(targets_on_.size());
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  const std::uint64_t others = view.active_count() - 1;
  for (std::uint32_t target = 0; target < server_of_.size(); ++target) {
    const std::uint64_t free = view.active(target) ? free_units(view, target) : 0;
    if (free == 0) continue;
    least = std::min(least, free);
    most = std::max(most, free);
    free_on[server_of_[target]] += free;
    targets_.unit[target] = per_object(wide_, free, others);
    targets_.age(target, now, maxage_, reset_);
  }

  active_servers_ = static_cast<std::uint64_t>(std::ranges::count_if(free_on, [](Wide free) { return free > 0; }));
  if (active_servers_ == 1) {
    // One server cannot be avoided: let its targets weigh double instead.
    for (std::uint32_t target = 0; target < server_of_.size(); ++target) {
      if (view.active(target) && free_units(view, target) > 0) targets_.unit[target] *= 2;
    }
  }
  const std::uint64_t other_servers = active_servers_ > 1 ? active_servers_ - 1 : 1;
  for (std::size_t k = 0; k < targets_on_.size(); ++k) {
    if (targets_on_[k] == 0) continue;
    servers_.unit[k] = static_cast<std::uint64_t>((((wide_ * free_on[k]) >> 8U) / (Wide{targets_on_[k]} * other_servers)) >> 1U);
    servers_.age(k, now, maxage_, reset_);
  }

  balanced_ = balanced(least, most);
  reset_ = balanced_;
  dirty_ = false;
}

bool LustrePenalties::recompute_pool(const LustreView& view, std::span<const std::uint32_t> members, std::int64_t now) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (const std::uint32_t target : members) {
    const std::uint64_t free = view.active(target) ? free_units(view, target) : 0;
    if (free == 0) continue;
    least = std::min(least, free);
    most = std::max(most, free);
    targets_.unit[target] = per_object(wide_, free, members.size() - 1);
    targets_.age(target, now, maxage_, false);
  }
  return balanced(least, most);
}

void LustrePenalties::charge(const LustreView& view, std::uint32_t target, std::int64_t now) {
  targets_.charge(target, view.active_count(), now);
  servers_.charge(server_of_[target], active_servers_, now);
  for (std::size_t k = 0; k < targets_on_.size(); ++k) servers_.relax(k);
  for (std::uint32_t each = 0; each < server_of_.size(); ++each) {
    if (view.active(each)) targets_.relax(each);
  }
}

std::uint64_t LustrePenalties::weight(const LustreView& view, std::uint32_t target) const {
  const std::uint64_t free = free_units(view, target);
  const std::uint64_t penalty = targets_.penalty[target] + servers_.penalty[server_of_[target]];
  return free < penalty ? 0 : free - penalty;
}

LustreQos::LustreQos(const LustreQosOptions& options)
    : options_(options), rng_(options.seed), view_(options.bytes_visible), penalties_(options) {}

std::size_t LustreQos::draw(const TargetTable& table, const LustreWant& want, std::int64_t now,
                            std::vector<std::uint32_t>& targets) {
  if (!penalties_.prepare(table, view_, want.pool, now)) return 0;
  candidates_.clear();
  for (const std::uint32_t target : table.pools[want.pool].members) {
    if (view_.active(target) && !view_.degraded(target)) candidates_.push_back(target);
  }
  if (candidates_.size() < want.minimum) return 0;

  const std::size_t count = std::min<std::size_t>(want.count, candidates_.size());
  for (std::size_t i = 0; i < count; ++i) {
    sums_.resize(candidates_.size());
    std::uint64_t total = 0;
    for (std::size_t j = 0; j < candidates_.size(); ++j) sums_[j] = total += penalties_.weight(view_, candidates_[j]);
    const std::uint64_t lot = total > 0 ? rng_.below(total) : 0;
    // "At least", as in Lustre: a lot of 0 takes the first candidate, though it have no weight.
    const auto chosen = candidates_.begin() + (std::ranges::lower_bound(sums_, lot) - sums_.begin());
    targets.push_back(*chosen);
    penalties_.charge(view_, *chosen, now);
    candidates_.erase(chosen);
  }
  return count;
}

Result<Assignment> LustreQos::assign(const TargetTable& table, std::span<const Demand> demands) {
  if (const auto wrong = complaint(options_)) return fail(Errc::invalid_argument, *wrong);
  if (!view_.refresh(table)) penalties_.restart(table);
  rings_.begin(table);
  Assignment result;
  result.offsets.push_back(0);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    IEZ_ASSERT(demand.count > 0 && demand.per_target > 0 && demand.pool < table.pools.size());
    if (view_.take_changed()) penalties_.mark_dirty();
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(clock_).count();
    const LustreWant want = lustre_want(view_, demand, options_.count_is_default);
    std::size_t found = draw(table, want, now, result.targets);
    if (found == 0) found = rings_.place(table, view_, want, rng_, result.targets);
    if (found == 0) return no_active_target(table, i, demand.pool);
    view_.write(std::span(result.targets).last(found), demand.object_bytes);
    result.offsets.push_back(result.targets.size());
    advance(options_.between_creates);
  }
  return result;
}

}  // namespace iez::placement
