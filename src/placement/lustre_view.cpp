#include "placement/lustre_view.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace iez::placement {

bool LustreView::refresh(const TargetTable& table) {
  const bool same = std::ranges::equal(targets_, table.targets,
                                       [](const Seen& a, const Target& b) { return a.ost == b.ost && a.server == b.server; });
  if (!same) {
    targets_.assign(table.targets.size(), {});
    available_.assign(table.targets.size(), {});
    active_.assign(table.targets.size(), 0);
    degraded_.assign(table.targets.size(), 0);
    active_count_ = 0;
    changed_ = true;
  }
  for (std::size_t position = 0; position < table.targets.size(); ++position) {
    const Target& now = table.targets[position];
    Seen& seen = targets_[position];
    changed_ = changed_ || available_[position] != now.available;
    seen.ost = now.ost;
    seen.server = now.server;
    seen.capacity = now.capacity;
    available_[position] = now.available;
    degraded_[position] = now.degraded ? 1 : 0;
    seen.excluded = now.exclusion != Exclusion::none;
    judge(position);
  }
  return same;
}

void LustreView::write(std::span<const std::uint32_t> targets, Bytes object_bytes) {
  if (!bytes_visible_) return;
  for (const std::uint32_t target : targets) {
    Bytes& available = available_[target];
    const Bytes written = std::min(available, object_bytes);
    if (written == Bytes{}) continue;
    available = available - written;
    changed_ = true;
    judge(target);
  }
}

bool LustreView::take_changed() { return std::exchange(changed_, false); }

void LustreView::judge(std::size_t target) {
  Seen& seen = targets_[target];
  if (bytes_visible_) {
    const std::uint64_t free_mib = available_[target].count >> 20U;
    const std::uint64_t low = std::max<std::uint64_t>(seen.capacity.count >> 30U, 1);
    const std::uint64_t high = 2 * low + 1;
    if (free_mib < low) seen.full = true;
    if (free_mib > high) seen.full = false;
  }
  const std::uint8_t active = !seen.excluded && !seen.full ? 1 : 0;
  if (active == active_[target]) return;
  active_[target] = active;
  active_count_ = active != 0 ? active_count_ + 1 : active_count_ - 1;
  changed_ = true;
}

LustreWant lustre_want(const LustreView& view, const Demand& demand, bool count_is_default) {
  std::uint32_t count = demand.count;
  if (demand.per_target == 1 && count > view.active_count()) {
    count = std::max(static_cast<std::uint32_t>(view.active_count()), 1U);
    count_is_default = true;
  }
  const std::uint32_t minimum = count_is_default ? count - count / 4 : count;
  return {.count = count, .minimum = minimum, .per_target = demand.per_target, .pool = demand.pool};
}

std::unexpected<Error> no_active_target(const TargetTable& table, std::size_t demand, std::uint32_t pool) {
  const TargetPool& of = table.pools[pool];
  return fail(Errc::not_found,
              fmt::format("demand {}: none of the {} targets of {} takes new objects; free space or exclude fewer", demand,
                          of.members.size(), of.name.empty() ? "the file system" : fmt::format("pool '{}'", of.name)));
}

}  // namespace iez::placement
