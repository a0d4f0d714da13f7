#include "placement/online.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/result.hpp"

namespace iez::placement {

namespace {

constexpr std::size_t kMostCapacities = 64;

// The j-th target of each server before the (j + 1)-th of any.
std::vector<std::uint32_t> alternating(const TargetTable& table, std::span<const std::uint32_t> members) {
  std::vector<std::uint32_t> seen(table.servers.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranked;
  for (const std::uint32_t at : members) ranked.emplace_back(seen[table.targets[at].server]++, at);
  std::ranges::sort(ranked);
  std::vector<std::uint32_t> order;
  order.reserve(ranked.size());
  for (const auto& [rank, at] : ranked) order.push_back(at);
  return order;
}

}  // namespace

OnlineAllocator::OnlineAllocator(const TargetTable& table) {
  for (const Target& target : table.targets) {
    states_.push_back({.per_byte = 1 / std::max(1.0, static_cast<double>(target.capacity.count)),
                       .used = target.used.count,
                       .available = target.available.count,
                       .usable = target.exclusion == Exclusion::none});
  }
  std::vector<std::vector<Membership>> memberships(table.targets.size());
  pools_.resize(table.pools.size());
  for (std::uint32_t pool = 0; pool < table.pools.size(); ++pool) {
    for (const bool second : {false, true}) add_queues(table, pool, second, memberships);
  }
  for (const auto& own : memberships) {
    first_.push_back(static_cast<std::uint32_t>(memberships_.size()));
    memberships_.insert(memberships_.end(), own.begin(), own.end());
  }
  first_.push_back(static_cast<std::uint32_t>(memberships_.size()));
  for (const std::uint32_t target : alternating(table, table.pools[kAnyPool].members)) {
    if (!states_[target].usable) continue;
    enter(target);
    note_room(target);
  }
}

void OnlineAllocator::note_room(std::uint32_t target) {
  for (const Membership& membership : memberships(target)) {
    std::uint64_t& most = queues_[membership.queue].most_available;
    most = std::max(most, states_[target].available);
  }
}

void OnlineAllocator::add_queues(const TargetTable& table, std::uint32_t pool, bool second,
                                 std::vector<std::vector<Membership>>& memberships) {
  std::map<std::uint64_t, std::vector<std::uint32_t>> by_capacity;
  for (const std::uint32_t at : table.pools[pool].members) {
    const Target& target = table.targets[at];
    // Targets that take nothing now may do so later.
    if (target.second_choice() == second && target.capacity.count > 0) by_capacity[target.capacity.count].push_back(at);
  }
  if (by_capacity.size() > kMostCapacities) {
    std::map<std::uint64_t, std::vector<std::uint32_t>> coarse;
    for (const auto& [capacity, members] : by_capacity) {
      const auto step = static_cast<std::uint64_t>(std::log(static_cast<double>(capacity)) / std::log(1.01));
      auto& group = coarse[step];
      group.insert(group.end(), members.begin(), members.end());
    }
    by_capacity = std::move(coarse);
  }
  for (auto& [capacity, members] : by_capacity) {
    const auto queue = static_cast<std::uint32_t>(queues_.size());
    for (std::uint32_t member = 0; member < members.size(); ++member) memberships[members[member]].push_back({queue, member});
    (second ? pools_[pool].second : pools_[pool].sound).push_back(queue);
    const auto count = static_cast<std::uint32_t>(members.size());
    queues_.push_back({std::move(members), BucketQueue(count)});
  }
}

void OnlineAllocator::leave(std::uint32_t target) {
  for (const Membership& membership : memberships(target)) {
    queues_[membership.queue].order.remove(membership.member);
  }
}

void OnlineAllocator::enter(std::uint32_t target) {
  const std::uint32_t bucket = BucketQueue::bucket_of(states_[target].utilisation(0));
  for (const Membership& membership : memberships(target)) {
    queues_[membership.queue].order.push(membership.member, bucket);
  }
}

// The first of the queue that has room, and its bucket; others before it are put aside.
OnlineAllocator::Candidate OnlineAllocator::first_with_room(Queue& queue, std::uint64_t bytes) {
  if (queue.most_available < bytes) return {};
  while (true) {
    const std::uint32_t bucket = queue.order.first_bucket();
    if (bucket == BucketQueue::kNone) break;
    const std::uint32_t target = queue.members[queue.order.first_of(bucket)];
    if (states_[target].available >= bytes) return {target, bucket};
    leave(target);
    aside_.push_back(target);
  }
  // Nobody has room: the next file of this size need not look.
  queue.most_available = 0;
  for (const std::uint32_t target : queue.members) {
    if (states_[target].usable) queue.most_available = std::max(queue.most_available, states_[target].available);
  }
  return {};
}

std::uint32_t OnlineAllocator::take_best(std::span<const std::uint32_t> queues, std::uint64_t bytes) {
  if (queues.size() == 1) {
    Queue& queue = queues_[queues.front()];
    const Candidate only = first_with_room(queue, bytes);
    if (only.target == BucketQueue::kNone) return only.target;
    // Most targets are in no other queue, and this one has it in front.
    if (memberships(only.target).size() == 1) {
      queue.order.pop_first_of(only.bucket);
    } else {
      leave(only.target);
    }
    return only.target;
  }
  std::uint32_t best = BucketQueue::kNone;
  double best_after = std::numeric_limits<double>::infinity();
  for (const std::uint32_t id : queues) {
    const std::uint32_t target = first_with_room(queues_[id], bytes).target;
    if (target == BucketQueue::kNone || states_[target].utilisation(bytes) >= best_after) continue;
    best = target;
    best_after = states_[target].utilisation(bytes);
  }
  if (best != BucketQueue::kNone) leave(best);
  return best;
}

std::uint32_t OnlineAllocator::take_best(const PoolQueues& pool, std::uint64_t bytes) {
  const std::uint32_t sound = take_best(pool.sound, bytes);
  return sound != BucketQueue::kNone ? sound : take_best(pool.second, bytes);
}

std::optional<Shortage> OnlineAllocator::place(const Demand& demand, std::vector<std::uint32_t>& targets) {
  targets.clear();
  aside_.clear();
  const std::uint64_t bytes = demand.object_bytes.count;
  const PoolQueues& pool = pools_[demand.pool];
  std::size_t entered = 0;  // targets that are back in their queues
  for (std::uint32_t turn = 0; turn < demand.per_target && targets.size() < demand.count; ++turn) {
    while (targets.size() < demand.count) {
      const std::uint32_t target = take_best(pool, bytes);
      if (target == BucketQueue::kNone) break;
      states_[target].used += bytes;
      states_[target].available -= bytes;
      targets.push_back(target);
    }
    for (; entered < targets.size(); ++entered) enter(targets[entered]);
  }
  for (const std::uint32_t target : aside_) enter(target);
  if (targets.size() == demand.count) return std::nullopt;
  const auto placed = static_cast<std::uint32_t>(targets.size());
  for (const std::uint32_t target : targets) release(target, demand.object_bytes);
  targets.clear();
  return Shortage{0, placed};
}

void OnlineAllocator::release(std::uint32_t target, Bytes bytes) {
  State& state = states_[target];
  const std::uint64_t count = std::min(state.used, bytes.count);
  if (state.usable) leave(target);
  state.used -= count;
  state.available += count;
  if (state.usable) enter(target);
  note_room(target);
}

void OnlineAllocator::set_state(std::uint32_t target, Bytes used, Bytes available, bool usable) {
  State& state = states_[target];
  if (state.usable) leave(target);
  state.used = used.count;
  state.available = available.count;
  state.usable = usable;
  if (usable) enter(target);
  note_room(target);
}

}  // namespace iez::placement
