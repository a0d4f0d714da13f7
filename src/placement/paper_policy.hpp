// The allocation of the published placement system, as it is written there, for comparison.
//
// Network: source -> request (capacity: its stripe count) -> target (capacity 1, cost: the load of its server) -> sink (capacity:
// available / stripe size, cost: used / capacity of the target). A minimum-cost maximum flow chooses the targets.
//
// "paper" solves one network for the whole batch. Costs are linear, so that the cheapest targets fill up before others get
// anything: it does not balance. "paper-sequential" solves one for each request and updates the use in between, which balances
// space as far as the load term lets it: a tenth of server load weighs as much as a tenth of a target's capacity.
//
// Where requests differ in stripe size, "available / stripe size" has no meaning for the batch; the largest object counts.
//
// Complexity: paper: requests x targets arcs, see flow/min_cost_flow.hpp; refused above kMostArcs. paper-sequential: O(M) a
// request.
//
// Thread safety: as Policy.
#pragma once

#include <cstddef>

#include "placement/policy.hpp"

namespace iez::placement {

class PaperFlowPolicy final : public Policy {
 public:
  static constexpr std::size_t kMostArcs = 20'000'000;

  std::string_view name() const override { return "paper"; }
  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;
};

class PaperSequentialPolicy final : public Policy {
 public:
  std::string_view name() const override { return "paper-sequential"; }
  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;
};

}  // namespace iez::placement
