// Extent locks on one object: who may keep pages of which range.
//
// Problem: several clients keep pages of an object. Readers may share a range, a writer has it alone. A client asks for a range;
// who is in the way is asked to give back; then it is granted.
//
// Algorithm: requests wait in one queue. A request is granted when it conflicts with no lock of another owner, and with no
// request of another owner that waits before it: so nobody is overtaken by those it waits for, and no one starves as long as
// locks are given back. What is granted is grown to both sides as far as nobody holds or waits for something that conflicts, like
// Lustre's; on an object with more than kCrowd such locks by no more than kMostGrowth upwards and not downwards, since there it
// would be taken away at once. An owner is never in its own way.
//
// Complexity: O(locks + waiting) a call, times the requests that it grants.
//
// Limits: 2^64 - 1 is the end of everything; ranges are half-open.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "lab/wire.hpp"

namespace iez::lab {

class ExtentLocks {
 public:
  static constexpr std::size_t kCrowd = 32;
  static constexpr std::uint64_t kMostGrowth = std::uint64_t{32} << 20U;
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

  struct Lock {
    std::uint64_t owner = 0;
    LockMode mode = LockMode::read;
    std::uint64_t start = 0;
    std::uint64_t end = 0;

    friend bool operator==(const Lock&, const Lock&) = default;
  };
  struct Granted {
    std::uint64_t ticket = 0;
    Lock lock;
  };

  // ticket: the caller's name for the request. An empty range is granted as it is and not kept.
  void request(std::uint64_t ticket, const Lock& wanted);
  // A request that nobody waits for any more.
  void withdraw(std::uint64_t ticket);
  // Takes its range out of what the owner holds of its mode.
  void release(const Lock& given);
  // The owner is gone, with its locks and requests.
  void evict(std::uint64_t owner);

  // What was granted since the last call, in order.
  std::vector<Granted> take_granted();

  // Locks that somebody waits for to be given back, each once.
  [[nodiscard]] std::vector<Lock> in_the_way() const;

  [[nodiscard]] const std::vector<Lock>& held() const { return held_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] bool empty() const { return held_.empty() && waiting_.empty() && granted_.empty(); }

 private:
  struct Waiting {
    std::uint64_t ticket = 0;
    Lock wanted;
  };
  void grant_all();
  [[nodiscard]] Lock grown(const Lock& wanted, std::size_t self) const;  // self: its place in the queue
  void hold(const Lock& lock);

  std::vector<Lock> held_;
  std::deque<Waiting> waiting_;
  std::vector<Granted> granted_;
};

}  // namespace iez::lab
