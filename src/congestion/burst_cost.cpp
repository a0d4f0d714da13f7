#include "congestion/burst_cost.hpp"

#include <algorithm>
#include <chrono>

namespace iez::congestion {

void BurstCost::Mean::forget() {
  weight *= 1 - 1 / kMemory;
  sum *= 1 - 1 / kMemory;
}

void BurstCost::Mean::add(double value_seen) {
  sum += weight >= kEnough ? std::min(value_seen, kOutlier * value()) : value_seen;
  weight += 1;
}

void BurstCost::finish(Duration now, std::uint32_t client, bool busy) {
  if (started_ && busy && now > last_) {
    same_.forget();
    change_.forget();
    (client == last_client_ ? same_ : change_).add(std::chrono::duration<double>(now - last_).count());
    if (same_.weight >= kEnough && change_.weight >= kEnough) ratio_ = std::max(change_.value() / same_.value() - 1, 0.0);
  }
  started_ = true;
  last_ = now;
  last_client_ = client;
}

std::optional<double> BurstCost::knee(double loss) const {
  if (!ratio_) return std::nullopt;
  return std::max(*ratio_ * (1 - loss) / loss, 1.0);
}

std::optional<BurstCost::Cost> BurstCost::cost() const {
  const double weight = same_.weight + change_.weight;
  if (weight < 1) return std::nullopt;
  const double ratio = ratio_.value_or(0);
  const double a = (same_.sum + change_.sum) / weight / (1 + ratio * change_.weight / weight);
  return Cost{.a = a, .b = ratio * a};
}

}  // namespace iez::congestion
