#include "placement/cheapest_index.hpp"

#include <algorithm>
#include <cmath>

namespace iez::placement {

CheapestIndex::CheapestIndex(const Levels& levels, std::span<const std::uint32_t> members)
    : levels_(levels), members_(members.begin(), members.end()), least_per_byte_(std::numeric_limits<double>::infinity()) {
  for (const std::uint32_t at : members_) {
    const Level& level = levels_[at];
    least_per_byte_ = std::min(least_per_byte_, 1 / level.capacity + level.per_byte + levels_.server(level.server).per_byte);
  }
  // The sums in cheapest() may round the other way.
  least_per_byte_ *= 1 - 1e-12;
  rebuild();
}

void CheapestIndex::rebuild() {
  targets_.assign(levels_.servers(), {});
  servers_.clear();
  target_cost_.assign(levels_.size(), std::numeric_limits<double>::quiet_NaN());
  server_cost_.assign(levels_.servers(), std::numeric_limits<double>::quiet_NaN());
  for (const std::uint32_t at : members_) {
    target_cost_[at] = levels_[at].cost();
    targets_[levels_[at].server].emplace(target_cost_[at], at);
  }
  for (std::uint32_t server = 0; server < targets_.size(); ++server) enter_server(server);
}

void CheapestIndex::enter_server(std::uint32_t server) {
  if (targets_[server].empty()) return;
  server_cost_[server] = targets_[server].begin()->first + levels_.server(server).cost();
  servers_.emplace(server_cost_[server], server);
}

void CheapestIndex::leave_server(std::uint32_t server) {
  if (std::isnan(server_cost_[server])) return;
  servers_.erase({server_cost_[server], server});
  server_cost_[server] = std::numeric_limits<double>::quiet_NaN();
}

void CheapestIndex::update(std::uint32_t at) {
  const std::uint32_t server = levels_[at].server;
  leave_server(server);
  if (!std::isnan(target_cost_[at])) {
    auto node = targets_[server].extract({target_cost_[at], at});
    target_cost_[at] = levels_[at].cost();
    node.value() = {target_cost_[at], at};
    targets_[server].insert(std::move(node));
  }
  enter_server(server);
}

void CheapestIndex::hide(std::uint32_t at) {
  const std::uint32_t server = levels_[at].server;
  leave_server(server);
  targets_[server].erase({target_cost_[at], at});
  target_cost_[at] = std::numeric_limits<double>::quiet_NaN();
  enter_server(server);
}

void CheapestIndex::show(std::uint32_t at) {
  const std::uint32_t server = levels_[at].server;
  leave_server(server);
  target_cost_[at] = levels_[at].cost();
  targets_[server].emplace(target_cost_[at], at);
  enter_server(server);
}

}  // namespace iez::placement
