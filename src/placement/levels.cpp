#include "placement/levels.hpp"

#include <algorithm>
#include <tuple>

namespace iez::placement {

namespace {

using Nature = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, bool, std::vector<std::uint32_t>>;

// pools: those it is a member of.
Nature nature_of(const Target& target, const std::vector<std::uint32_t>& pools) {
  return {target.used.count, target.capacity.count, target.available.count, target.reserved.count, target.second_choice(), pools};
}

// Usable targets, those of a server side by side, servers and targets by what they are.
std::vector<std::uint32_t> natural_order(const TargetTable& table) {
  struct Entry {
    Nature nature;
    std::uint32_t position;
    auto operator<=>(const Entry&) const = default;
  };
  struct Group {
    double share = 0;
    std::vector<Entry> entries;
  };
  std::vector<std::vector<std::uint32_t>> pools(table.targets.size());
  for (std::uint32_t pool = 1; pool < table.pools.size(); ++pool) {
    for (const std::uint32_t at : table.pools[pool].members) pools[at].push_back(pool);
  }
  std::vector<Group> groups(table.servers.size());
  for (std::uint32_t j = 0; j < table.targets.size(); ++j) {
    const Target& target = table.targets[j];
    if (target.exclusion != Exclusion::none) continue;
    groups[target.server].share = table.servers[target.server].share;
    groups[target.server].entries.push_back({nature_of(target, pools[j]), j});
  }
  for (Group& group : groups) std::ranges::sort(group.entries);
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    if (a.share != b.share) return a.share < b.share;
    const auto order =
        std::lexicographical_compare_three_way(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                                               [](const Entry& x, const Entry& y) { return x.nature <=> y.nature; });
    if (order != 0) return order < 0;
    return !b.entries.empty() && a.entries.front().position < b.entries.front().position;
  });
  std::vector<std::uint32_t> order;
  for (const Group& group : groups) {
    for (const Entry& entry : group.entries) order.push_back(entry.position);
  }
  return order;
}

}  // namespace

Levels::Levels(const TargetTable& table, std::span<const DemandClass> classes, const TrafficWeights& weights) {
  const std::vector<std::uint32_t> order = natural_order(table);
  double planned = 0;
  for (const DemandClass& group : classes) {
    planned += static_cast<double>(group.demand.object_bytes.count) * static_cast<double>(group.objects());
  }
  for (const Target& target : table.targets) planned += static_cast<double>(target.reserved.count);

  // Servers are numbered anew, in the order in which their targets stand.
  constexpr std::uint32_t kUnseen = ~std::uint32_t{0};
  std::vector<std::uint32_t> number(table.servers.size(), kUnseen);
  std::vector<double> share;
  std::vector<double> members;
  double shares = 0;
  for (const std::uint32_t position : order) {
    const std::uint32_t server = table.targets[position].server;
    if (number[server] == kUnseen) {
      number[server] = static_cast<std::uint32_t>(share.size());
      share.push_back(table.servers[server].share);
      members.push_back(0);
      shares += share.back();
    }
    ++members[number[server]];
  }
  weighs_traffic_ = planned > 0 && order.size() > 1 && (weights.target > 0 || (weights.server > 0 && share.size() > 1));
  servers_.resize(share.size());
  for (std::size_t o = 0; o < share.size() && weighs_traffic_ && share.size() > 1; ++o) {
    servers_[o].per_byte = weights.server * shares / (planned * share[o]);
  }
  std::vector<std::uint32_t> place(table.targets.size(), kUnseen);
  for (const std::uint32_t position : order) {
    const Target& target = table.targets[position];
    const std::uint32_t server = number[target.server];
    Level level{.capacity = static_cast<double>(target.capacity.count), .used = target.used.count};
    level.available = target.available.count;
    level.planned = target.reserved.count;
    if (weighs_traffic_) level.per_byte = weights.target * members[server] * shares / (planned * share[server]);
    level.server = server;
    level.position = position;
    servers_[server].planned += level.planned;
    place[position] = static_cast<std::uint32_t>(levels_.size());
    levels_.push_back(level);
  }
  pools_.resize(table.pools.size());
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    for (const std::uint32_t position : table.pools[pool].members) {
      if (place[position] == kUnseen) continue;
      const bool second = table.targets[position].second_choice();
      (second ? pools_[pool].second : pools_[pool].sound).push_back(place[position]);
    }
    std::ranges::sort(pools_[pool].second);
    std::ranges::sort(pools_[pool].sound);
  }
}

Levels Levels::space_only() const {
  Levels result = *this;
  for (Level& level : result.levels_) level.per_byte = 0;
  for (ServerLevel& server : result.servers_) server.per_byte = 0;
  result.weighs_traffic_ = false;
  return result;
}

double Levels::max_utilisation() const {
  double most = 0;
  for (const Level& level : levels_) most = std::max(most, level.utilisation());
  return most;
}

void Levels::add(std::uint32_t at, std::uint64_t bytes) {
  Level& level = levels_[at];
  level.used += bytes;
  level.available -= bytes;
  level.planned += bytes;
  servers_[level.server].planned += bytes;
}

void Levels::remove(std::uint32_t at, std::uint64_t bytes) {
  Level& level = levels_[at];
  level.used -= bytes;
  level.available += bytes;
  level.planned -= bytes;
  servers_[level.server].planned -= bytes;
}

}  // namespace iez::placement
