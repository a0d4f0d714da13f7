#include "placement/lustre_order.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/result.hpp"

namespace iez::placement {

namespace {

// Slots of a ring, and for each a slot at or after it that may be free: itself, if it is.
class Ring {
 public:
  explicit Ring(std::size_t slots) : next_(slots) { std::iota(next_.begin(), next_.end(), std::size_t{0}); }

  // The first free slot from `wanted` on. REQUIRES: there is one.
  std::size_t take(std::size_t wanted) {
    std::size_t slot = wanted;
    while (next_[slot] != slot) {
      next_[slot] = next_[next_[slot]];
      slot = next_[slot];
    }
    // The last slot to be taken points around the ring to a taken one: nobody asks after it.
    next_[slot] = (slot + 1) % next_.size();
    return slot;
  }

 private:
  std::vector<std::size_t> next_;
};

struct ServerMembers {
  std::size_t targets = 0;             // in the pool or not
  std::size_t last = 0;                // position of its last target
  std::vector<std::uint32_t> in_pool;  // positions
};

}  // namespace

std::vector<std::uint32_t> lustre_order(const TargetTable& table, std::uint32_t pool) {
  IEZ_ASSERT(pool < table.pools.size());
  std::vector<ServerMembers> servers(table.servers.size());
  for (std::size_t position = 0; position < table.targets.size(); ++position) {
    ServerMembers& server = servers[table.targets[position].server];
    ++server.targets;
    server.last = position;
  }
  const std::vector<std::uint32_t>& members = table.pools[pool].members;
  for (const std::uint32_t member : members) servers[table.targets[member].server].in_pool.push_back(member);
  std::ranges::sort(servers, [](const ServerMembers& a, const ServerMembers& b) {
    return a.targets != b.targets ? a.targets > b.targets : a.last < b.last;
  });

  std::vector<std::uint32_t> order(members.size());
  Ring ring(members.size());
  for (const ServerMembers& server : servers) {
    for (std::size_t j = 0; j < server.in_pool.size(); ++j) {
      order[ring.take(j * members.size() / server.targets)] = server.in_pool[j];
    }
  }
  return order;
}

}  // namespace iez::placement
