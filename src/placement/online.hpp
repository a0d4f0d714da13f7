// One file at a time, in well under a microsecond: for files that nobody predicted.
//
// Each object goes to the target that is least used with it, among those the file does not have yet. Bytes are reserved at once,
// so the next file sees them; whoever knows better later says so by release() or set_state(). Equally used targets take turns,
// servers alternating, so that a burst of small files spreads over all of them.
//
// For files of one size this is as good as planning them together (balanced.hpp), but for the width of a bucket
// (bucket_queue.hpp). For mixed sizes each file keeps the gap between the fullest and the emptiest target at most the larger of
// what it was and the size of its objects.
//
// Targets are held in one queue per pool and capacity; with more than 64 capacities in a pool those within 1 % of each other
// share one, and are then compared by utilisation before placement. Cost: O(count x capacities), independent of the number of
// targets.
//
// Thread safety: none. Units: bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/bucket_queue.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

class OnlineAllocator {
 public:
  explicit OnlineAllocator(const TargetTable& table);

  // Fills targets (positions in the table, stripe order) and reserves the bytes there. On a shortage nothing is reserved and
  // targets is empty. REQUIRES: demand.pool is one of the table's.
  std::optional<Shortage> place(const Demand& demand, std::vector<std::uint32_t>& targets);

  // So many bytes less on the target: a file was removed, or turned out smaller.
  void release(std::uint32_t target, Bytes bytes);

  // What telemetry says of the target now, outstanding reservations included.
  void set_state(std::uint32_t target, Bytes used, Bytes available, bool usable);

  Bytes used(std::uint32_t target) const { return {states_[target].used}; }
  Bytes available(std::uint32_t target) const { return {states_[target].available}; }

 private:
  struct State {
    double per_byte = 0;  // 1 / capacity
    std::uint64_t used = 0;
    std::uint64_t available = 0;
    bool usable = false;

    double utilisation(std::uint64_t more) const { return static_cast<double>(used + more) * per_byte; }
  };
  struct Queue {
    std::vector<std::uint32_t> members;  // targets
    BucketQueue order;
    std::uint64_t most_available = 0;  // no member has more; may be too much
  };
  struct PoolQueues {
    std::vector<std::uint32_t> sound;   // queues
    std::vector<std::uint32_t> second;  // asked when the sound ones are exhausted
  };
  struct Candidate {
    std::uint32_t target = BucketQueue::kNone;
    std::uint32_t bucket = BucketQueue::kNone;
  };
  struct Membership {
    std::uint32_t queue = 0;
    std::uint32_t member = 0;
  };

  void add_queues(const TargetTable& table, std::uint32_t pool, bool second, std::vector<std::vector<Membership>>& memberships);
  std::span<const Membership> memberships(std::uint32_t target) const {
    return std::span(memberships_).subspan(first_[target], first_[target + 1] - first_[target]);
  }
  Candidate first_with_room(Queue& queue, std::uint64_t bytes);
  std::uint32_t take_best(const PoolQueues& pool, std::uint64_t bytes);
  std::uint32_t take_best(std::span<const std::uint32_t> queues, std::uint64_t bytes);
  void leave(std::uint32_t target);
  void enter(std::uint32_t target);
  void note_room(std::uint32_t target);  // what is available there grew

  std::vector<State> states_;
  std::vector<Queue> queues_;
  std::vector<PoolQueues> pools_;
  std::vector<Membership> memberships_;  // of all targets, one after the other
  std::vector<std::uint32_t> first_;     // per target, and one more: where its memberships begin
  std::vector<std::uint32_t> aside_;     // targets without room for the present file
};

}  // namespace iez::placement
