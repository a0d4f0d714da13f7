// The congestion control of the source: credits from a fixed latency bound.
//
// Every reply carries RCC = L_max IOPS / C, one less when the latency is above L_max, and what the client asks for while the
// queue is short. rcc.hpp has the formula and the parameters, active_clients.hpp C, iops_estimator.hpp D and IOPS.
//
// Stability: with C and IOPS constant RCC alternates between two neighbours, so the latency stays within
// dL = C / IOPS of L_max (timeout.hpp).
//
// Limits: C falls only by STL + ping after clients stop, so until then the rest get too few credits; when clients come, the
// queue is too long for one latency. Jobs with many clients get more than jobs with few. Where L_max IOPS < C rcc_min, the bound
// cannot be held.
//
// Out of order and unknown: replies may finish in any order; a finish of a client that has nothing pending gets an answer within
// the bounds, and changes neither D nor C.
//
// Thread safety: none; a policy belongs to one server.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "congestion/active_clients.hpp"
#include "congestion/credit_policy.hpp"
#include "congestion/iops_estimator.hpp"
#include "congestion/rcc.hpp"

namespace iez::congestion {

class RccPolicy final : public CreditPolicy {
 public:
  explicit RccPolicy(const RccParameters& parameters);  // REQUIRES: check() has passed

  [[nodiscard]] unsigned first_credits() const override { return parameters_.rcc_min; }
  void arrive(Duration now, const Request& request) override;
  [[nodiscard]] unsigned finish(Duration now, const Finished& finished) override;
  void ping(Duration now, std::uint32_t client) override;
  void expect(std::uint32_t client) const override { clients_.expect(client); }
  [[nodiscard]] ServerView view() const override;

  [[nodiscard]] const RccParameters& parameters() const { return parameters_; }

 private:
  RccParameters parameters_;
  ActiveClients clients_;
  IopsEstimator estimator_;
  unsigned credits_;
};

}  // namespace iez::congestion
