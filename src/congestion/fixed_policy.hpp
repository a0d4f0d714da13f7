// The same number of credits for every client, for ever: Lustre's max_rpcs_in_flight.
//
// It measures D, C and IOPS as RccPolicy does, so that its traces can be drawn beside those of the other laws.
//
// Thread safety: none; a policy belongs to one server.
#pragma once

#include "base/units.hpp"
#include "congestion/active_clients.hpp"
#include "congestion/credit_policy.hpp"
#include "congestion/iops_estimator.hpp"

namespace iez::congestion {

class FixedPolicy final : public CreditPolicy {
 public:
  explicit FixedPolicy(unsigned credits);  // 0 counts as 1

  [[nodiscard]] unsigned first_credits() const override { return credits_; }
  void arrive(Duration now, const Request& request) override;
  [[nodiscard]] unsigned finish(Duration now, const Finished& finished) override;
  void ping(Duration now, std::uint32_t client) override;
  void expect(std::uint32_t client) const override { clients_.expect(client); }
  [[nodiscard]] ServerView view() const override;

 private:
  unsigned credits_;
  ActiveClients clients_;
  IopsEstimator estimator_;
};

}  // namespace iez::congestion
