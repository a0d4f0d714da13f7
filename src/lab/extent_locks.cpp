#include "lab/extent_locks.hpp"

#include <algorithm>
#include <utility>

namespace iez::lab {
namespace {

bool excludes(const ExtentLocks::Lock& a, const ExtentLocks::Lock& b) {
  return a.owner != b.owner && (a.mode == LockMode::write || b.mode == LockMode::write);
}

bool conflicts(const ExtentLocks::Lock& a, const ExtentLocks::Lock& b) {
  return excludes(a, b) && a.start < b.end && b.start < a.end;
}

}  // namespace

void ExtentLocks::request(std::uint64_t ticket, const Lock& wanted) {
  if (wanted.start >= wanted.end) {
    granted_.push_back({.ticket = ticket, .lock = wanted});
    return;
  }
  waiting_.push_back({.ticket = ticket, .wanted = wanted});
  grant_all();
}

void ExtentLocks::withdraw(std::uint64_t ticket) {
  std::erase_if(waiting_, [ticket](const Waiting& waiting) { return waiting.ticket == ticket; });
  grant_all();
}

void ExtentLocks::release(const Lock& given) {
  if (given.start >= given.end) return;
  std::vector<Lock> kept;
  kept.reserve(held_.size() + 1);
  for (const Lock& lock : held_) {
    if (lock.owner != given.owner || lock.mode != given.mode || lock.end <= given.start || given.end <= lock.start) {
      kept.push_back(lock);
      continue;
    }
    Lock piece = lock;
    if (lock.start < given.start) {
      piece.end = given.start;
      kept.push_back(piece);
    }
    if (given.end < lock.end) {
      piece.start = given.end;
      piece.end = lock.end;
      kept.push_back(piece);
    }
  }
  held_ = std::move(kept);
  grant_all();
}

void ExtentLocks::evict(std::uint64_t owner) {
  std::erase_if(held_, [owner](const Lock& lock) { return lock.owner == owner; });
  std::erase_if(waiting_, [owner](const Waiting& waiting) { return waiting.wanted.owner == owner; });
  std::erase_if(granted_, [owner](const Granted& granted) { return granted.lock.owner == owner; });
  grant_all();
}

std::vector<ExtentLocks::Granted> ExtentLocks::take_granted() { return std::exchange(granted_, {}); }

std::vector<ExtentLocks::Lock> ExtentLocks::in_the_way() const {
  std::vector<Lock> found;
  for (const Lock& lock : held_) {
    if (std::ranges::any_of(waiting_, [&lock](const Waiting& waiting) { return conflicts(lock, waiting.wanted); })) {
      found.push_back(lock);
    }
  }
  return found;
}

void ExtentLocks::grant_all() {
  for (std::size_t i = 0; i < waiting_.size();) {
    const Lock& wanted = waiting_[i].wanted;
    const bool is_held = std::ranges::any_of(held_, [&wanted](const Lock& lock) { return conflicts(lock, wanted); });
    const auto before = waiting_.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_behind =
        std::any_of(waiting_.begin(), before, [&wanted](const Waiting& other) { return conflicts(other.wanted, wanted); });
    if (is_held || is_behind) {
      ++i;
      continue;
    }
    const Lock lock = grown(wanted, i);
    granted_.push_back({.ticket = waiting_[i].ticket, .lock = lock});
    waiting_.erase(before);
    hold(lock);
  }
}

// Beyond what was wanted nobody may be in the way, neither who holds nor who waits: growing into what another is about to get
// would only take it away from it again.
ExtentLocks::Lock ExtentLocks::grown(const Lock& wanted, std::size_t self) const {
  std::uint64_t low = 0;
  std::uint64_t high = kEverything;
  std::size_t rivals = 0;
  const auto give_way = [&](const Lock& other) {
    if (!excludes(other, wanted)) return;
    ++rivals;
    if (other.end <= wanted.start) {
      low = std::max(low, other.end);
    } else if (other.start >= wanted.end) {
      high = std::min(high, other.start);
    } else {  // waits behind us for the same bytes
      low = wanted.start;
      high = wanted.end;
    }
  };
  for (const Lock& lock : held_) give_way(lock);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (i != self) give_way(waiting_[i].wanted);
  }
  Lock lock = wanted;
  if (rivals > kCrowd) {
    if (high > wanted.end) lock.end = std::min(high, wanted.end + std::min(kMostGrowth, kEverything - wanted.end));
    return lock;
  }
  lock.start = std::min(low, wanted.start);
  lock.end = std::max(high, wanted.end);
  return lock;
}

void ExtentLocks::hold(const Lock& lock) {
  // What the owner has within it already, of the same or a weaker mode, says nothing more.
  std::erase_if(held_, [&lock](const Lock& other) {
    return other.owner == lock.owner && lock.start <= other.start && other.end <= lock.end &&
           (other.mode == lock.mode || lock.mode == LockMode::write);
  });
  held_.push_back(lock);
}

}  // namespace iez::lab
