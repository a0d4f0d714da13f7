#include "congestion/fixed_policy.hpp"

#include <algorithm>

#include "congestion/rcc.hpp"

namespace iez::congestion {

FixedPolicy::FixedPolicy(unsigned credits)
    : credits_(std::max(credits, 1U)), clients_(RccParameters{}.stl), estimator_(RccParameters{}.window) {}

void FixedPolicy::arrive(Duration now, const Request& request) {
  clients_.arrive(request.client);
  estimator_.arrive(now);
}

unsigned FixedPolicy::finish(Duration now, const Finished& finished) {
  if (clients_.finish(now, finished.request.client)) estimator_.finish(now);
  return credits_;
}

void FixedPolicy::ping(Duration now, std::uint32_t client) { clients_.ping(now, client); }

ServerView FixedPolicy::view() const {
  return {.depth = estimator_.depth(),
          .active_clients = clients_.count(),
          .iops = estimator_.iops(),
          .credits = credits_,
          .bound = Duration::zero()};
}

}  // namespace iez::congestion
