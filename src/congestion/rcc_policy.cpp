#include "congestion/rcc_policy.hpp"

namespace iez::congestion {

RccPolicy::RccPolicy(const RccParameters& parameters)
    : parameters_(parameters), clients_(parameters.stl), estimator_(parameters.window), credits_(parameters.rcc_min) {
  IEZ_ASSERT(check(parameters).has_value());
}

void RccPolicy::arrive(Duration now, const Request& request) {
  clients_.arrive(request.client);
  estimator_.arrive(now);
}

unsigned RccPolicy::finish(Duration now, const Finished& finished) {
  if (clients_.finish(now, finished.request.client)) estimator_.finish(now);
  const RccState state{.depth = estimator_.depth(), .active_clients = clients_.count(), .iops = estimator_.iops()};
  credits_ = calc_rcc(parameters_, state, now - finished.arrived, finished.wanted);
  return credits_;
}

void RccPolicy::ping(Duration now, std::uint32_t client) { clients_.ping(now, client); }

ServerView RccPolicy::view() const {
  return {.depth = estimator_.depth(),
          .active_clients = clients_.count(),
          .iops = estimator_.iops(),
          .credits = credits_,
          .bound = parameters_.l_max};
}

}  // namespace iez::congestion
