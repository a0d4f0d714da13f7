#include "placement/spread.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
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

// Levels so many objects of the class over the members at once; how many found no room.
std::uint64_t level_many(const DemandClass& group, std::uint64_t objects, std::span<const std::uint32_t> members, Levels& levels,
                         Spread& spread) {
  const std::uint64_t bytes = group.demand.object_bytes.count;
  std::vector<flow::FillTarget> targets = utilisation_targets(levels, members, bytes, group.most_per_target());
  flow::Fill fill = flow::water_fill(targets, {}, objects);
  const std::uint64_t unplaced = fill.unplaced;
  if (unplaced == 0 && levels.weighs_traffic() && bytes > 0) {
    double limit = fill.level;
    for (const std::uint32_t at : members) limit = std::max(limit, levels[at].utilisation());
    const auto size = static_cast<double>(bytes);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Level& level = levels[members[i]];
      const double below = std::max(0.0, limit * kSlack * level.capacity - static_cast<double>(level.used)) / size;
      flow::FillTarget& target = targets[i];
      const auto most = static_cast<std::uint64_t>(std::min(below, static_cast<double>(objects)));
      target.capacity = std::max(fill.units[i], std::min(target.capacity, most));
      target.a = level.cost();
      target.b = size * (1 / level.capacity + level.per_byte);
      target.server = level.server;
    }
    std::vector<flow::FillServer> servers(levels.servers());
    for (std::uint32_t o = 0; o < servers.size(); ++o) {
      servers[o] = {levels.server(o).cost(), size * levels.server(o).per_byte};
    }
    fill = flow::water_fill(targets, servers, objects);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (fill.units[i] == 0) continue;
    spread.add(members[i], static_cast<std::uint32_t>(fill.units[i]));
    levels.add(members[i], bytes * fill.units[i]);
  }
  return unplaced;
}

// Keeps an ordered index for each set of targets that a class of few objects asks for.
class OneByOne {
 public:
  explicit OneByOne(Levels& levels) : levels_(levels), taken_(levels.size()) {}

  // Many levels changed.
  void forget() {
    for (auto& [key, index] : indices_) index.fresh = false;
  }

  // Takes so many objects of the class one by one; how many found no room.
  std::uint64_t place(const DemandClass& group, std::uint64_t objects, std::span<const std::uint32_t> members, bool second,
                      Spread& spread) {
    CheapestIndex& index = index_of(group.demand.pool, members, second);
    const std::uint64_t bytes = group.demand.object_bytes.count;
    order_.clear();
    for (; objects > 0; --objects) {
      const auto best = index.cheapest(bytes, [&](std::uint32_t at) { return levels_[at].available >= bytes; });
      if (!best) break;
      levels_.add(*best, bytes);
      index.update(*best);
      if (taken_[*best]++ == 0) order_.push_back(*best);
      // It would stay the cheapest, and be looked at in vain, as long as the object is small against the gap to the next.
      if (taken_[*best] == group.most_per_target()) index.hide(*best);
    }
    for (const std::uint32_t at : order_) {
      if (taken_[at] == group.most_per_target()) index.show(at);
      spread.add(at, taken_[at]);
      taken_[at] = 0;
      for (auto& [key, other] : indices_) {
        if (other.cheapest.get() != &index && other.fresh) other.cheapest->update(at);
      }
    }
    return objects;
  }

 private:
  struct Index {
    std::unique_ptr<CheapestIndex> cheapest;
    bool fresh = false;
  };

  CheapestIndex& index_of(std::uint32_t pool, std::span<const std::uint32_t> members, bool second) {
    Index& own = indices_[std::uint64_t{pool} * 2 + (second ? 1 : 0)];
    if (!own.cheapest) {
      own.cheapest = std::make_unique<CheapestIndex>(levels_, members);
    } else if (!own.fresh) {
      own.cheapest->rebuild();
    }
    own.fresh = true;
    return *own.cheapest;
  }

  Levels& levels_;
  std::unordered_map<std::uint64_t, Index> indices_;  // per pool, of its sound targets and of the others
  std::vector<std::uint32_t> taken_;                  // objects of the present class; all 0 between classes
  std::vector<std::uint32_t> order_;
};

Shortage shortage_of(const DemandClass& group, std::uint64_t unplaced) {
  // In objects of one file: what the class as a whole could place, shared out.
  return {group.members.front(), static_cast<std::uint32_t>((group.objects() - unplaced) / group.files())};
}

}  // namespace

std::uint32_t Spread::operator[](std::uint32_t at) const {
  if (!dense_.empty()) return dense_[at];
  const auto entry = std::ranges::lower_bound(few_, at, {}, &TargetCount::target);
  return entry != few_.end() && entry->target == at ? entry->objects : 0;
}

void Spread::add(std::uint32_t at, std::uint32_t objects) {
  if (!dense_.empty()) {
    dense_[at] += objects;
    return;
  }
  const auto entry = std::ranges::lower_bound(few_, at, {}, &TargetCount::target);
  if (entry != few_.end() && entry->target == at) {
    entry->objects += objects;
  } else {
    few_.insert(entry, {at, objects});
  }
}

void Spread::remove_one(std::uint32_t at) {
  if (!dense_.empty()) {
    --dense_[at];
    return;
  }
  const auto entry = std::ranges::lower_bound(few_, at, {}, &TargetCount::target);
  IEZ_ASSERT(entry != few_.end() && entry->target == at);
  if (--entry->objects == 0) few_.erase(entry);
}

void Spread::make_dense(std::size_t targets) {
  if (!dense_.empty()) return;
  dense_.assign(targets, 0);
  for (const TargetCount& entry : few_) dense_[entry.target] = entry.objects;
  few_.clear();
}

std::vector<TargetCount> Spread::counts() const {
  std::vector<TargetCount> result = few_;
  result.reserve(few_.size() + dense_.size());
  for (std::uint32_t at = 0; at < dense_.size(); ++at) {
    if (dense_[at] > 0) result.push_back({at, dense_[at]});
  }
  return result;
}

Spreads spread_classes(std::span<const DemandClass> classes, Levels& levels) {
  Spreads result;
  result.classes.resize(classes.size());
  result.second_choice.resize(classes.size());
  OneByOne one_by_one(levels);
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const DemandClass& group = classes[k];
    const PoolLevels& pool = levels.pool(group.demand.pool);
    std::uint64_t left = group.objects();
    for (const bool second : {false, true}) {
      const std::vector<std::uint32_t>& members = second ? pool.second : pool.sound;
      if (left == 0 || members.empty()) continue;
      result.second_choice[k] = second;
      if (classes.size() == 1 || static_cast<double>(left) > kFewPerTarget * static_cast<double>(members.size())) {
        result.classes[k].make_dense(levels.size());
        left = level_many(group, left, members, levels, result.classes[k]);
        one_by_one.forget();
      } else {
        left = one_by_one.place(group, left, members, second, result.classes[k]);
      }
    }
    if (left > 0) {
      result.shortage = shortage_of(group, left);
      return result;
    }
  }
  return result;
}

Spreads squeeze_classes(std::span<const DemandClass> classes, Levels& levels) {
  Spreads result;
  result.classes.resize(classes.size());
  result.second_choice.resize(classes.size());
  std::vector<std::uint32_t> order(classes.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto choice_of = [&](std::uint32_t k) {
    const PoolLevels& pool = levels.pool(classes[k].demand.pool);
    return std::pair(pool.sound.size() + pool.second.size(), k);
  };
  std::ranges::sort(order, {}, choice_of);
  std::vector<std::tuple<bool, std::uint64_t, std::uint32_t>> members;
  for (const std::uint32_t k : order) {
    const DemandClass& group = classes[k];
    const PoolLevels& pool = levels.pool(group.demand.pool);
    const std::uint64_t bytes = group.demand.object_bytes.count;
    members.clear();
    for (const std::uint32_t at : pool.sound) members.emplace_back(false, levels[at].available, at);
    for (const std::uint32_t at : pool.second) members.emplace_back(true, levels[at].available, at);
    std::ranges::sort(members);
    std::uint64_t left = group.objects();
    for (const auto& [second, available, at] : members) {
      const std::uint64_t objects = std::min(left, room_for(levels[at], bytes, group.most_per_target()));
      if (objects == 0) continue;
      result.classes[k].add(at, static_cast<std::uint32_t>(objects));
      levels.add(at, objects * bytes);
      left -= objects;
      if (second) result.second_choice[k] = true;
    }
    if (left > 0) {
      result.shortage = shortage_of(group, left);
      return result;
    }
  }
  return result;
}

}  // namespace iez::placement
