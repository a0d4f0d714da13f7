#include "lab/lock_table.hpp"

#include <algorithm>

namespace iez::lab {
namespace {

LockRequest message(const std::pair<std::uint32_t, std::uint64_t>& key, const ExtentLocks::Lock& lock) {
  return {.name = {.ost = key.first, .object = key.second}, .mode = lock.mode, .start = lock.start, .end = lock.end};
}

}  // namespace

void LockTable::request(std::uint64_t client, std::uint64_t number, const LockRequest& wanted, Duration now) {
  const Key key{wanted.name.ost, wanted.name.object};
  Object& object = objects_[key];
  const std::uint64_t ticket = next_ticket_++;
  tickets_.emplace(ticket, std::pair(client, number));
  object.locks.request(ticket, {.owner = client, .mode = wanted.mode, .start = wanted.start, .end = wanted.end});
  settle(key, object, now);
  if (object.locks.empty()) objects_.erase(key);
}

void LockTable::release(std::uint64_t client, const LockRequest& given, Duration now) {
  const Key key{given.name.ost, given.name.object};
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  found->second.locks.release({.owner = client, .mode = given.mode, .start = given.start, .end = given.end});
  settle(key, found->second, now);
  if (found->second.locks.empty()) objects_.erase(found);
}

void LockTable::evict(std::uint64_t client, Duration now) {
  std::erase_if(tickets_, [client](const auto& ticket) { return ticket.second.first == client; });
  for (auto next = objects_.begin(); next != objects_.end();) {
    next->second.locks.evict(client);
    settle(next->first, next->second, now);
    next = next->second.locks.empty() ? objects_.erase(next) : std::next(next);
  }
}

void LockTable::settle(const Key& key, Object& object, Duration now) {
  for (const ExtentLocks::Granted& granted : object.locks.take_granted()) {
    const auto ticket = tickets_.find(granted.ticket);
    if (ticket == tickets_.end()) continue;
    grants_.push_back({.client = ticket->second.first, .number = ticket->second.second, .lock = message(key, granted.lock)});
    tickets_.erase(ticket);
  }
  std::vector<Asked> asked;
  for (const ExtentLocks::Lock& lock : object.locks.in_the_way()) {
    const auto before = std::ranges::find(object.asked, lock, &Asked::lock);
    if (before != object.asked.end()) {
      asked.push_back(*before);
      continue;
    }
    asked.push_back({.lock = lock, .since = now, .last = now});
    revokes_.push_back({.client = lock.owner, .lock = message(key, lock)});
  }
  object.asked = std::move(asked);
}

void LockTable::remind(Duration now) {
  for (auto& [key, object] : objects_) {
    for (Asked& asked : object.asked) {
      if (now - asked.last < kAgain) continue;
      asked.last = now;
      revokes_.push_back({.client = asked.lock.owner, .lock = message(key, asked.lock)});
    }
  }
}

std::vector<LockTable::Overdue> LockTable::overdue() const {
  std::map<std::uint64_t, Duration> since;
  for (const auto& [key, object] : objects_) {
    for (const Asked& asked : object.asked) {
      const auto [found, is_new] = since.try_emplace(asked.lock.owner, asked.since);
      if (!is_new) found->second = std::min(found->second, asked.since);
    }
  }
  std::vector<Overdue> result;
  result.reserve(since.size());
  for (const auto& [client, first] : since) result.push_back({.client = client, .since = first});
  return result;
}

std::size_t LockTable::locks() const {
  std::size_t sum = 0;
  for (const auto& [key, object] : objects_) sum += object.locks.held().size();
  return sum;
}

}  // namespace iez::lab
