#include "planning/phase_solver.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "planning/exchange_search.hpp"
#include "planning/phase_bound.hpp"

namespace iez::planning {

namespace {

constexpr double kNear = 1e-6;         // a phase is not searched that is so near to its bound
constexpr std::size_t kSharp = 512;    // targets
constexpr std::uint64_t kLooks = 300;  // for each object and target, at most: few of both have been tried by then

}  // namespace

PhaseSolver::PhaseSolver(const Problem& problem, const std::vector<std::uint64_t>& used,
                         const std::vector<std::uint64_t>& available, const Options& options)
    : problem_(problem),
      used_(used),
      available_(available),
      options_(options),
      rank_(problem.table.targets.size()),
      taken_in_(rank_.size()) {
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

void PhaseSolver::refresh(std::span<const double> later) {
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
  if (!later.empty()) std::ranges::stable_sort(entries, {}, [&](const Entry& entry) { return later[entry.target]; });
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
  // Whoever has no room for this object is not looked at again before one comes that fits: where room is short, that may be most.
  const auto less_room = [this](const Slot& a, const Slot& b) { return room_[a.target] < room_[b.target]; };
  while (!parked_.empty() && room_[parked_.front().target] >= item.room) {
    std::ranges::pop_heap(parked_, less_room);
    heap_.push_back(parked_.back());
    parked_.pop_back();
    std::ranges::push_heap(heap_, later);
  }
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
    if (room_[slot.target] < item.room) {
      parked_.push_back(slot);
      std::ranges::push_heap(parked_, less_room);
      continue;
    }
    aside_.push_back(slot);
    candidates_.push_back({(load_[slot.target] + item.bytes) / speed_[slot.target], slot.rank, slot.target});
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
  ++turn_;
  for (; wanted > 0; --wanted) {
    Candidate best{.after = std::numeric_limits<double>::infinity()};
    for (const std::uint32_t target : members) {
      if (room_[target] < item.room || taken_in_[target] == turn_) continue;
      const std::uint32_t server = problem_.table.targets[target].server;
      const double by_server = (server_load_[server] + item.bytes) / load.speed_of_server(server);
      const Candidate candidate{std::max((load_[target] + item.bytes) / speed_[target], by_server), rank_[target], target};
      if (candidate < best) best = candidate;
    }
    if (best.after == std::numeric_limits<double>::infinity()) return;
    taken.push_back(best.target);
    taken_in_[best.target] = turn_;
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

// Takes it out again. The heap keeps its order, in which these targets are later than they need be.
void PhaseSolver::leave(const Item& item, std::span<const std::uint32_t> targets) {
  for (const std::uint32_t target : targets) {
    load_[target] -= item.bytes;
    room_[target] += item.room;
    server_load_[problem_.table.targets[target].server] -= item.bytes;
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
  parked_.clear();
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
      // The others are placed as if it was not there: so all that find no room are known at once.
      solution.short_of_room.push_back(i);
      leave(item, std::span(taken).subspan(before));
      taken.resize(before);
    }
  }
  if (!solution.short_of_room.empty()) return solution;
  solution.first.resize(items.size() + 1);
  for (std::size_t i = 0; i < items.size(); ++i) solution.first[i + 1] = solution.first[i] + items[i].count;
  solution.targets.resize(taken.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::copy_n(taken.begin() + begin[i], items[i].count, solution.targets.begin() + solution.first[i]);
  }
  solution.time = time_of(load, items, solution);
  const bool mixed = std::ranges::any_of(items, [&](const Item& item) { return item.bytes != items.front().bytes; });
  if (search && (mixed || with_servers) && one_pool &&
      exchange(load, items, solution.first, solution.targets, available_, {}, {})) {
    solution.time = time_of(load, items, solution);
  }
  return solution;
}

void PhaseSolver::search(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> first,
                         std::vector<std::uint32_t>& placed, std::span<const std::uint32_t> second_of,
                         std::span<SecondPhase> seconds) {
  room_.assign(available_.begin(), available_.end());
  load_.resize(room_.size());
  for (std::uint32_t j = 0; j < load_.size(); ++j) load_[j] = load.of(j);
  server_load_.resize(problem_.table.servers.size());
  for (std::uint32_t k = 0; k < server_load_.size(); ++k) server_load_[k] = load.of_server(k);
  std::vector<std::uint64_t> room = available_;  // without them
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::uint32_t at = first[i]; at < first[i + 1]; ++at) {
      load_[placed[at]] += items[i].bytes;
      room[placed[at]] += items[i].room;
      server_load_[problem_.table.targets[placed[at]].server] += items[i].bytes;
    }
  }
  exchange(load, items, first, placed, room, second_of, seconds);
}

bool PhaseSolver::exchange(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> first,
                           std::vector<std::uint32_t>& placed, std::span<const std::uint64_t> room,
                           std::span<const std::uint32_t> second_of, std::span<SecondPhase> seconds) {
  const std::uint32_t pool = items.front().pool;
  const auto sound = std::span<const std::uint32_t>(members_[pool]).first(sound_[pool]);
  if (sound.empty()) return false;
  PhaseLoad whole = load;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::uint32_t at = first[i]; at < first[i + 1]; ++at) whole.add(placed[at], items[i].bytes);
  }
  const double time = whole.time(placed);
  PhaseBound bound(load, items, sound, room);
  if (bound.excludes(time * (1 - kNear))) return false;
  ExchangeSearch::Phase phase{.targets = sound,
                              .speed = speed_,
                              .load = load_,
                              .room = room_,
                              .items = items,
                              .second_of = second_of,
                              .seconds = seconds};
  if (!load.has_fast_servers()) {
    for (const placement::Target& target : problem_.table.targets) phase.server_of.push_back(target.server);
    for (std::uint32_t k = 0; k < server_load_.size(); ++k) phase.server_speed.push_back(load.speed_of_server(k));
    phase.server_load = server_load_;
  }
  ExchangeSearch search(std::move(phase));
  // Where there are many targets a sharp bound takes longer than what it saves.
  const std::uint64_t effort = std::min<std::uint64_t>(options_.effort, kLooks * placed.size() * sound.size());
  search.improve(first, placed, sound.size() <= kSharp ? bound.value(time) : 0, effort);
  return true;
}

double PhaseSolver::time_of(const PhaseLoad& load, std::span<const Item> items, const Solution& solution) const {
  PhaseLoad whole = load;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const std::uint32_t target : solution.of(i)) whole.add(target, items[i].bytes);
  }
  return whole.time(solution.targets);
}

}  // namespace iez::planning
