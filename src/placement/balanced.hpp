// The default policy: targets, then servers, as evenly used as they can be.
//
// Problem. Choose distinct targets for the objects of all files so that the largest utilisation afterwards is smallest; among
// such placements, prefer those in which space, traffic per target and traffic per server are even (levels.hpp).
//
// Why not min-cost flow with a cost per target, as is often proposed: linear costs fill the cheapest targets to the brim. Costs
// must rise with every object placed. With one object size that is a convex flow, which flow::water_fill solves exactly; with
// mixed sizes the problem is NP-hard.
//
// Algorithm. Files alike form classes (classes.hpp). Classes are placed by object size, descending (spread.hpp); then objects
// move off the fullest target (local_search.hpp); then they are dealt to files (deal.hpp).
//
// Quality. Exact for one class, with unequal capacities and any existing use; exact for equal sizes and capacities with any
// counts. Otherwise the largest utilisation is at most one object above the mean before the search; see bounds.hpp for what
// cannot be beaten, and docs/benchmarks.md for how near it comes.
//
// Complexity. O(K M log M + objects) for K classes of many objects, O(log M) an object for small classes, plus a bounded search.
//
// Thread safety: as Policy.
#pragma once

#include "placement/bounds.hpp"
#include "placement/levels.hpp"
#include "placement/policy.hpp"

namespace iez::placement {

struct BalancedOptions {
  TrafficWeights weights;
  std::uint64_t search_effort = 2'000'000;  // candidates the local search may look at
  std::size_t bound_sizes = kBoundSizes;    // of the bound that ends the search; 0: a coarse one at once, and a longer search
  double near = 1e-4;                       // a placement above the bound by at most this share is not tried once more
};

class BalancedPolicy final : public Policy {
 public:
  explicit BalancedPolicy(const BalancedOptions& options = {}) : options_(options) {}

  std::string_view name() const override { return "balanced"; }

  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;

 private:
  BalancedOptions options_;
};

}  // namespace iez::placement
