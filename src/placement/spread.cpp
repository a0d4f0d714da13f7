#include "placement/spread.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/result.hpp"
#include "flow/water_fill.hpp"
#include "placement/cheapest_index.hpp"

namespace iez::placement {

namespace {

// Below so many objects per target of the pool, one at a time is quicker than levelling all targets.
constexpr double kFewPerTarget = 0.5;

// A utilisation limit is kept to within rounding.
constexpr double kSlack = 1 + 1e-12;

std::uint64_t room_for(const Level& level, std::uint64_t bytes, std::uint64_t most) {
  return bytes == 0 ? most : std::min(most, level.available / bytes);
}

std::vector<flow::FillTarget> utilisation_targets(const Levels& levels, std::span<const std::uint32_t> members,
                                                  std::uint64_t bytes, std::uint64_t most) {
  std::vector<flow::FillTarget> targets;
  targets.reserve(members.size());
  for (const std::uint32_t at : members) {
    const Level& level = levels[at];
    // The x-th object there brings the target to used + x bytes.
    const double step = std::max(static_cast<double>(bytes), 1e-6) / level.capacity;
    targets.push_back({level.utilisation() + step / 2, step, room_for(level, bytes, most), 0});
  }
  return targets;
}

// Levels all objects of the class over the members at once; how many found no room.
std::uint64_t level_many(const DemandClass& group, std::span<const std::uint32_t> members, Levels& levels, Spread& spread) {
  const std::uint64_t bytes = group.demand.object_bytes.count;
  std::vector<flow::FillTarget> targets = utilisation_targets(levels, members, bytes, group.most_per_target());
  flow::Fill fill = flow::water_fill(targets, {}, group.objects());
  if (fill.unplaced > 0) return fill.unplaced;
  if (levels.weighs_traffic() && bytes > 0) {
    double limit = fill.level;
    for (const std::uint32_t at : members) limit = std::max(limit, levels[at].utilisation());
    const auto size = static_cast<double>(bytes);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Level& level = levels[members[i]];
      const double below = std::max(0.0, limit * kSlack * level.capacity - static_cast<double>(level.used)) / size;
      flow::FillTarget& target = targets[i];
      target.capacity = std::max(fill.units[i], std::min(target.capacity, static_cast<std::uint64_t>(below)));
      target.a = level.cost();
      target.b = size * (1 / level.capacity + level.per_byte);
      target.server = level.server;
    }
    std::vector<flow::FillServer> servers(levels.servers());
    for (std::uint32_t o = 0; o < servers.size(); ++o) {
      servers[o] = {levels.server(o).cost(), size * levels.server(o).per_byte};
    }
    fill = flow::water_fill(targets, servers, group.objects());
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (fill.units[i] == 0) continue;
    spread.add(members[i], static_cast<std::uint32_t>(fill.units[i]));
    levels.add(members[i], bytes * fill.units[i]);
  }
  return 0;
}

// Takes the class's objects one by one from the index; how many found no room.
std::uint64_t place_few(const DemandClass& group, CheapestIndex& index, Levels& levels, Spread& spread,
                        std::vector<TargetCount>& taken) {
  const std::uint64_t bytes = group.demand.object_bytes.count;
  std::uint64_t left = group.objects();
  for (; left > 0; --left) {
    const auto best = index.cheapest(
        bytes, [&](std::uint32_t at) { return levels[at].available >= bytes && spread[at] < group.most_per_target(); });
    if (!best) break;
    spread.add(*best, 1);
    levels.add(*best, bytes);
    index.update(*best);
    taken.push_back({*best, 1});
  }
  return left;
}

}  // namespace

std::uint32_t Spread::operator[](std::uint32_t at) const {
  if (!dense_.empty()) return dense_[at];
  for (const TargetCount& entry : few_) {
    if (entry.target == at) return entry.objects;
  }
  return 0;
}

void Spread::add(std::uint32_t at, std::uint32_t objects) {
  if (!dense_.empty()) {
    dense_[at] += objects;
    return;
  }
  for (TargetCount& entry : few_) {
    if (entry.target != at) continue;
    entry.objects += objects;
    return;
  }
  few_.push_back({at, objects});
}

void Spread::remove_one(std::uint32_t at) {
  if (!dense_.empty()) {
    --dense_[at];
    return;
  }
  const auto entry = std::ranges::find(few_, at, &TargetCount::target);
  IEZ_ASSERT(entry != few_.end());
  if (--entry->objects > 0) return;
  *entry = few_.back();
  few_.pop_back();
}

void Spread::make_dense(std::size_t targets) {
  dense_.assign(targets, 0);
  for (const TargetCount& entry : few_) dense_[entry.target] = entry.objects;
  few_.clear();
}

std::vector<TargetCount> Spread::counts() const {
  std::vector<TargetCount> result = few_;
  for (std::uint32_t at = 0; at < dense_.size(); ++at) {
    if (dense_[at] > 0) result.push_back({at, dense_[at]});
  }
  std::ranges::sort(result, {}, &TargetCount::target);
  return result;
}

Spreads spread_classes(std::span<const DemandClass> classes, Levels& levels) {
  Spreads result;
  result.classes.resize(classes.size());
  result.degraded_too.resize(classes.size());
  // Made when first needed, per pool and with the degraded targets or without; stale after a class was levelled.
  struct Index {
    std::unique_ptr<CheapestIndex> cheapest;
    bool fresh = false;
  };
  std::unordered_map<std::uint64_t, Index> indices;
  std::vector<TargetCount> taken;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const DemandClass& group = classes[k];
    const PoolLevels& pool = levels.pool(group.demand.pool);
    std::uint64_t unplaced = 0;
    for (const bool degraded_too : {false, true}) {
      const std::vector<std::uint32_t>& members = degraded_too ? pool.all : pool.sound;
      unplaced = group.objects();
      if (members.empty() || (degraded_too && pool.all.size() == pool.sound.size())) continue;
      if (static_cast<double>(group.objects()) > kFewPerTarget * static_cast<double>(members.size())) {
        result.classes[k].make_dense(levels.size());
        unplaced = level_many(group, members, levels, result.classes[k]);
        for (auto& [key, index] : indices) index.fresh = false;
      } else {
        Index& own = indices[std::uint64_t{group.demand.pool} * 2 + (degraded_too ? 1 : 0)];
        if (!own.cheapest) own.cheapest = std::make_unique<CheapestIndex>(levels, members);
        if (!own.fresh) own.cheapest->rebuild();
        own.fresh = true;
        taken.clear();
        unplaced = place_few(group, *own.cheapest, levels, result.classes[k], taken);
        if (unplaced > 0) {
          for (const TargetCount& entry : taken) {
            levels.remove(entry.target, group.demand.object_bytes.count);
            result.classes[k].remove_one(entry.target);
          }
          own.cheapest->rebuild();
        }
        for (auto& [key, index] : indices) {
          if (&index == &own || !index.fresh) continue;
          for (const TargetCount& entry : taken) index.cheapest->update(entry.target);
        }
      }
      result.degraded_too[k] = degraded_too;
      if (unplaced == 0) break;
    }
    if (unplaced > 0) {
      // Told in objects of the first file: what the class as a whole could place, shared out.
      const std::uint64_t placed = group.objects() - unplaced;
      result.shortage = Shortage{group.members.front(), static_cast<std::uint32_t>(placed / group.files())};
      return result;
    }
  }
  return result;
}

}  // namespace iez::placement
