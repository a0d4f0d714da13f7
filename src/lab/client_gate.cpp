#include "lab/client_gate.hpp"

#include <algorithm>
#include <iterator>

#include "base/result.hpp"
#include "lab/extent_set.hpp"

namespace iez::lab {

void ClientGate::write(std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint32_t job, Duration now) {
  while (start < end) {
    // One that waits, starts at or before us and has room or has us already.
    auto before = by_place_.upper_bound({object, start});
    if (before != by_place_.begin() && std::prev(before)->first.first == object) {
      Rpc& rpc = writes_.at(std::prev(before)->second);
      const std::uint64_t most = std::max(rpc.end, rpc.start + rpc_size_);
      if (rpc.end >= start && most > start) {
        const std::uint64_t reached = std::max(rpc.end, std::min(end, most));
        brought_ += reached - rpc.end;
        rpc.end = reached;
        dirty_[object][rpc.id].end = reached;
        start = std::min(end, reached);
        continue;
      }
    }
    const Rpc rpc{.id = next_id_++,
                  .is_write = true,
                  .object = object,
                  .start = start,
                  .end = std::min(end, start + rpc_size_),
                  .job = job,
                  .since = now};
    brought_ += rpc.end - rpc.start;
    writes_.emplace(rpc.id, rpc);
    by_place_.emplace(std::pair(object, start), rpc.id);
    dirty_[object].emplace(rpc.id, Range{.start = rpc.start, .end = rpc.end});
    start = rpc.end;
  }
}

std::size_t ClientGate::read(std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint64_t tag, std::uint32_t job,
                             Duration now) {
  std::size_t count = 0;
  for (; start < end; start = std::min(end, start + rpc_size_), ++count) {
    reads_.push_back({.id = next_id_++,
                      .is_write = false,
                      .object = object,
                      .start = start,
                      .end = std::min(end, start + rpc_size_),
                      .tag = tag,
                      .job = job,
                      .since = now});
  }
  return count;
}

void ClientGate::discard(std::uint64_t object) {
  auto next = by_place_.lower_bound({object, 0});
  while (next != by_place_.end() && next->first.first == object) {
    const auto rpc = writes_.find(next->second);
    finished_ += rpc->second.end - rpc->second.start;
    clean(object, rpc->first);
    writes_.erase(rpc);
    next = by_place_.erase(next);
  }
}

void ClientGate::clean(std::uint64_t object, std::uint64_t id) {
  const auto found = dirty_.find(object);
  IEZ_ASSERT(found != dirty_.end());
  found->second.erase(id);
  if (found->second.empty()) dirty_.erase(found);
}

std::optional<ClientGate::Rpc> ClientGate::send() {
  if (waiting() == 0 || in_flight_ >= std::max(limit_, 1U)) return std::nullopt;
  ++in_flight_;
  const bool is_read = writes_.empty() || (read_is_next_ && !reads_.empty());
  read_is_next_ = !is_read;
  if (is_read) {
    const Rpc rpc = reads_.front();
    reads_.pop_front();
    return rpc;
  }
  const Rpc rpc = writes_.begin()->second;
  writes_.erase(writes_.begin());
  by_place_.erase({rpc.object, rpc.start});
  return rpc;
}

void ClientGate::finish(const Rpc& rpc) {
  IEZ_ASSERT(in_flight_ > 0);
  --in_flight_;
  if (!rpc.is_write) return;
  finished_ += rpc.end - rpc.start;
  clean(rpc.object, rpc.id);
}

bool ClientGate::holds(std::uint64_t object, std::uint64_t start, std::uint64_t end) const {
  const auto found = dirty_.find(object);
  if (found == dirty_.end()) return false;
  ExtentSet dirty;
  for (const auto& [id, range] : found->second) dirty.add(std::max(start, range.start), std::min(end, range.end));
  return dirty.covered(start, end) == end - start;
}

bool ClientGate::is_clean(std::uint64_t object, std::uint64_t mark) const {
  const auto found = dirty_.find(object);
  return found == dirty_.end() || found->second.begin()->first >= mark;
}

}  // namespace iez::lab
