#include "planning/phase_solver.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "planning/exchange_search.hpp"

namespace iez::planning {

PhaseSolver::PhaseSolver(const Problem& problem, const std::vector<std::uint64_t>& used,
                         const std::vector<std::uint64_t>& available, const Options& options)
    : problem_(problem), used_(used), available_(available), options_(options), rank_(problem.table.targets.size()) {
  for (std::uint32_t pool = 0; pool < problem.table.pools.size(); ++pool) {
    placement::Usable usable = placement::usable(problem.table, pool);
    sound_.push_back(usable.sound.size());
    usable.sound.insert(usable.sound.end(), usable.second.begin(), usable.second.end());
    members_.push_back(std::move(usable.sound));
  }
  speed_ = problem.speed.empty() ? std::vector<double>(problem.table.targets.size(), 1.0) : problem.speed;
  const auto [slowest, fastest] = std::ranges::minmax_element(speed_);
  alike_ = speed_.empty() || *slowest == *fastest;
  fastest_ = speed_.empty() ? 1 : *fastest;
}

void PhaseSolver::refresh() {
  // Within each server by utilisation; then the first of every server, the second of every server, and so on, where servers that
  // are less full come first.
  struct Entry {
    std::uint32_t turn = 0;  // of its server
    double utilisation = 0;
    std::uint32_t target = 0;
  };
  const std::vector<placement::Target>& targets = problem_.table.targets;
  std::vector<Entry> entries(targets.size());
  for (std::uint32_t j = 0; j < targets.size(); ++j) {
    const double capacity = std::max(1.0, static_cast<double>(targets[j].capacity.count));
    entries[j] = {0, static_cast<double>(used_[j]) / capacity, j};
  }
  std::ranges::sort(
      entries, {}, [&](const Entry& entry) { return std::tuple(targets[entry.target].server, entry.utilisation, entry.target); });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const bool same = targets[entries[i].target].server == targets[entries[i - 1].target].server;
    entries[i].turn = same ? entries[i - 1].turn + 1 : 0;
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tuple(entry.turn, entry.utilisation, entry.target); });
  for (std::uint32_t i = 0; i < entries.size(); ++i) rank_[entries[i].target] = i;
}

namespace {

// The largest objects first, and of these the files that have the least choice.
std::vector<std::uint32_t> order_of(std::span<const Item> items) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (items[a].bytes != items[b].bytes) return items[a].bytes > items[b].bytes;
    if (items[a].count != items[b].count) return items[a].count > items[b].count;
    return a < b;
  });
  return order;
}

}  // namespace

// Puts the item on `wanted` targets of the heap; fewer where room is short.
void PhaseSolver::take_from_heap(const Item& item, std::uint32_t wanted, std::vector<std::uint32_t>& taken) {
  const auto later = std::greater<Slot>();
  const auto pop = [&] {
    std::ranges::pop_heap(heap_, later);
    const Slot slot = heap_.back();
    heap_.pop_back();
    return slot;
  };
  aside_.clear();
  candidates_.clear();
  const auto enough = [&] {
    if (candidates_.size() < wanted) return false;
    if (alike_ || heap_.empty()) return true;
    // A target that is slower now may be the faster one with this object on it.
    std::ranges::nth_element(candidates_, candidates_.begin() + (wanted - 1));
    return heap_.front().time + item.bytes / fastest_ >= candidates_[wanted - 1].after;
  };
  while (!heap_.empty() && !enough()) {
    const Slot slot = pop();
    aside_.push_back(slot);
    if (room_[slot.target] >= item.room) {
      candidates_.push_back({(load_[slot.target] + item.bytes) / speed_[slot.target], slot.rank, slot.target});
    }
  }
  std::ranges::sort(candidates_);
  candidates_.resize(std::min<std::size_t>(candidates_.size(), wanted));
  const std::size_t before = taken.size();
  for (const Candidate& candidate : candidates_) taken.push_back(candidate.target);
  enter(item, std::span(taken).subspan(before));
  for (Slot& slot : aside_) {
    slot.time = load_[slot.target] / speed_[slot.target];
    heap_.push_back(slot);
    std::ranges::push_heap(heap_, later);
  }
}

// Likewise from a list, for what the heap does not hold.
void PhaseSolver::take_from(std::span<const std::uint32_t> members, const Item& item, std::uint32_t wanted,
                            std::vector<std::uint32_t>& taken) {
  const std::size_t before = taken.size();
  candidates_.clear();
  for (const std::uint32_t target : members) {
    if (room_[target] < item.room) continue;
    candidates_.push_back({(load_[target] + item.bytes) / speed_[target], rank_[target], target});
  }
  std::ranges::sort(candidates_);
  candidates_.resize(std::min<std::size_t>(candidates_.size(), wanted));
  for (const Candidate& candidate : candidates_) taken.push_back(candidate.target);
  enter(item, std::span(taken).subspan(before));
}

// Likewise, one object after the other: what slows a target down may be its server, whose load changes with each.
void PhaseSolver::take_with_servers(const PhaseLoad& load, std::span<const std::uint32_t> members, const Item& item,
                                    std::uint32_t wanted, std::vector<std::uint32_t>& taken) {
  const std::size_t before = taken.size();
  for (; wanted > 0; --wanted) {
    Candidate best{.after = std::numeric_limits<double>::infinity()};
    for (const std::uint32_t target : members) {
      if (room_[target] < item.room ||
          std::ranges::find(taken.begin() + static_cast<std::ptrdiff_t>(before), taken.end(), target) != taken.end())
        continue;
      const std::uint32_t server = problem_.table.targets[target].server;
      const double by_server = (server_load_[server] + item.bytes) / load.speed_of_server(server);
      const Candidate candidate{std::max((load_[target] + item.bytes) / speed_[target], by_server), rank_[target], target};
      if (candidate < best) best = candidate;
    }
    if (best.after == std::numeric_limits<double>::infinity()) return;
    taken.push_back(best.target);
    enter(item, std::span(taken).last(1));
  }
}

void PhaseSolver::enter(const Item& item, std::span<const std::uint32_t> targets) {
  for (const std::uint32_t target : targets) {
    load_[target] += item.bytes;
    room_[target] -= item.room;
    server_load_[problem_.table.targets[target].server] += item.bytes;
  }
}

Solution PhaseSolver::solve(const PhaseLoad& load, std::span<const Item> items, bool search) {
  Solution solution;
  const std::size_t count = problem_.table.targets.size();
  load_.resize(count);
  for (std::uint32_t j = 0; j < count; ++j) load_[j] = load.of(j);
  room_.assign(available_.begin(), available_.end());
  server_load_.resize(problem_.table.servers.size());
  for (std::uint32_t k = 0; k < server_load_.size(); ++k) server_load_[k] = load.of_server(k);
  const std::vector<std::uint32_t> order = order_of(items);
  const std::uint32_t pool = items.empty() ? placement::kAnyPool : items[order.front()].pool;
  const bool with_servers = !load.has_fast_servers();
  const bool one_pool = std::ranges::all_of(items, [pool](const Item& item) { return item.pool == pool; });
  heap_.clear();
  if (one_pool && !with_servers && !items.empty()) {
    for (const std::uint32_t target : std::span(members_[pool]).first(sound_[pool])) {
      heap_.push_back({load_[target] / speed_[target], rank_[target], target});
    }
    std::ranges::make_heap(heap_, std::greater<Slot>());
  }
  std::vector<std::uint32_t> begin(items.size());
  std::vector<std::uint32_t> taken;
  taken.reserve(items.size());
  for (const std::uint32_t i : order) {
    const Item& item = items[i];
    const auto before = static_cast<std::uint32_t>(taken.size());
    begin[i] = before;
    const auto sound = std::span<const std::uint32_t>(members_[item.pool]).first(sound_[item.pool]);
    const auto second = std::span<const std::uint32_t>(members_[item.pool]).subspan(sound_[item.pool]);
    if (with_servers) {
      take_with_servers(load, sound, item, item.count, taken);
    } else if (one_pool) {
      take_from_heap(item, item.count, taken);
    } else {
      take_from(sound, item, item.count, taken);
    }
    const std::size_t missing = item.count - (taken.size() - before);
    if (missing > 0) take_from(second, item, static_cast<std::uint32_t>(missing), taken);
    if (taken.size() - before < item.count) {
      solution.short_of_room = i;
      return solution;
    }
  }
  solution.first.resize(items.size() + 1);
  for (std::size_t i = 0; i < items.size(); ++i) solution.first[i + 1] = solution.first[i] + items[i].count;
  solution.targets.resize(taken.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::copy_n(taken.begin() + begin[i], items[i].count, solution.targets.begin() + solution.first[i]);
  }
  solution.time = time_of(load, items, solution);
  const bool mixed = std::ranges::any_of(items, [&](const Item& item) { return item.bytes != items.front().bytes; });
  if (search && mixed && one_pool && !with_servers) {
    const auto sound = std::span<const std::uint32_t>(members_[pool]).first(sound_[pool]);
    const double bound = lower_bound(load, items, sound);
    if (solution.time > bound * (1 + 1e-6)) {
      ExchangeSearch exchange({.targets = sound, .speed = speed_, .load = load_, .room = room_, .items = items});
      exchange.improve(solution.first, solution.targets, bound, options_.effort);
      solution.time = time_of(load, items, solution);
    }
  }
  return solution;
}

double PhaseSolver::time_of(const PhaseLoad& load, std::span<const Item> items, const Solution& solution) const {
  PhaseLoad whole = load;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const std::uint32_t target : solution.of(i)) whole.add(target, items[i].bytes);
  }
  return whole.time(solution.targets);
}

double lower_bound(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> targets) {
  double objects = 0;
  double bytes = 0;
  double largest = 0;
  for (const Item& item : items) {
    objects += item.count;
    bytes += item.count * item.bytes;
    largest = std::max(largest, item.bytes);
  }
  if (targets.empty() || objects == 0) return 0;
  // The level to which the bytes fill up the targets, like water.
  std::vector<std::pair<double, double>> filled;  // time that the target has already, and its speed
  double fastest = 0;
  for (const std::uint32_t target : targets) {
    filled.emplace_back(load.time_of(target), load.speed_of(target));
    fastest = std::max(fastest, load.speed_of(target));
  }
  std::ranges::sort(filled);
  double level = 0;
  double speed = 0;
  double held = 0;  // bytes below the level
  for (std::size_t k = 0; k < filled.size(); ++k) {
    speed += filled[k].second;
    held += filled[k].first * filled[k].second;
    level = (bytes + held) / speed;
    if (k + 1 == filled.size() || level <= filled[k + 1].first) break;
  }
  double bound = std::max(level, filled.front().first + largest / fastest);
  // Of r m + 1 objects on m targets, r + 1 meet; at best the smallest of them.
  std::vector<std::pair<double, std::uint64_t>> sizes;
  for (const Item& item : items) sizes.emplace_back(item.bytes, item.count);
  std::ranges::sort(sizes, std::greater<>());
  const std::size_t m = targets.size();
  std::vector<double> sorted;
  constexpr std::size_t kLooked = 1'000'000;
  for (const auto& [size, count] : sizes) {
    if (sorted.size() + count > kLooked) break;
    sorted.insert(sorted.end(), count, size);
  }
  for (std::size_t r = 1; r * m < sorted.size(); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i <= r; ++i) sum += sorted[r * m - i];
    bound = std::max(bound, filled.front().first + sum / fastest);
  }
  return bound;
}

}  // namespace iez::planning
