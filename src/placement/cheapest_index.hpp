// The target on which one more object costs least, in O(log M): for classes of few objects.
//
// The cost is that of levels.hpp after the object was added. Targets are ordered within their server, servers by their cheapest
// target and their own cost, both as they are now. What an object adds depends on its size where targets differ in capacity, so
// the search goes on past the first candidates while a later one, by the least that the object can add, might still be cheaper.
//
// Thread safety: none. Refers to the levels it was made from.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "placement/levels.hpp"

namespace iez::placement {

class CheapestIndex {
 public:
  CheapestIndex(const Levels& levels, std::span<const std::uint32_t> members);

  // The levels changed at many places.
  void rebuild();

  // The level of the target, and of its server, changed. A target that is no member, or hidden, is ignored but for its server.
  void update(std::uint32_t at);

  // Leaves the target out until show(). REQUIRES: a member, shown or hidden respectively.
  void hide(std::uint32_t at);
  void show(std::uint32_t at);

  // Among the targets that `accepts` admits; nothing if there is none. The first of equals.
  template <typename Accepts>
  std::optional<std::uint32_t> cheapest(std::uint64_t bytes, Accepts accepts) const {
    std::optional<std::uint32_t> best;
    double best_cost = std::numeric_limits<double>::infinity();
    const auto size = static_cast<double>(bytes);
    for (const auto& [server_cost, server] : servers_) {
      if (server_cost + size * least_per_byte_ >= best_cost) break;
      const ServerLevel& own = levels_.server(server);
      for (const auto& [cost, at] : targets_[server]) {
        if (cost + own.cost() + size * least_per_byte_ >= best_cost) break;
        if (!accepts(at)) continue;
        const Level& level = levels_[at];
        const double full = cost + own.cost() + size * (1 / level.capacity + level.per_byte + own.per_byte);
        if (full >= best_cost) continue;
        best = at;
        best_cost = full;
      }
    }
    return best;
  }

 private:
  using Ordered = std::set<std::pair<double, std::uint32_t>>;

  void enter_server(std::uint32_t server);
  void leave_server(std::uint32_t server);

  const Levels& levels_;
  std::vector<std::uint32_t> members_;
  std::vector<Ordered> targets_;     // per server: its members by cost
  Ordered servers_;                  // by the cost of their cheapest member and their own
  std::vector<double> target_cost_;  // as entered; per place in the levels, NaN for no member and for hidden ones
  std::vector<double> server_cost_;  // as entered; NaN while it has no member to offer
  double least_per_byte_;
};

}  // namespace iez::placement
