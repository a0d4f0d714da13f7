#include "placement/balanced.hpp"

#include <algorithm>

#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/deal.hpp"
#include "placement/local_search.hpp"
#include "placement/spread.hpp"

namespace iez::placement {

namespace {

// A placement this near to the bound is not searched again.
constexpr double kNear = 1 + 1e-4;
constexpr std::size_t kBoundSizes = 32;

struct Attempt {
  Levels levels;
  Spreads spreads;
  double reached = 0;
};

Attempt attempt(const TargetTable& table, std::span<const DemandClass> classes, const TrafficWeights& weights,
                const SearchOptions& search) {
  Attempt result{.levels = Levels(table, classes, weights), .spreads = {}};
  result.spreads = spread_classes(classes, result.levels);
  if (result.spreads.shortage) return result;
  result.reached = result.levels.max_utilisation();
  if (classes.size() > 1 && result.reached > search.bound) {
    result.reached = local_search(classes, result.levels, result.spreads, search);
  }
  return result;
}

}  // namespace

Result<Assignment> BalancedPolicy::assign(const TargetTable& table, std::span<const Demand> demands) {
  const std::vector<DemandClass> classes = make_classes(demands);
  Assignment assignment;
  SearchOptions search{.effort = options_.search_effort};
  if (classes.size() > 1) {
    search.bound = lower_bound(table, classes, kBoundSizes).value();
    assignment.lower_bound = search.bound;
  }
  Attempt best = attempt(table, classes, options_.weights, search);
  // Traffic is heeded within the largest utilisation; where mixed sizes made it cost something, space alone may do better.
  if (!best.spreads.shortage && classes.size() > 1 && best.levels.weighs_traffic() && best.reached > search.bound * kNear) {
    Attempt space_only = attempt(table, classes, {.target = 0, .server = 0}, search);
    if (!space_only.spreads.shortage && space_only.reached < best.reached * (1 - 1e-9)) best = std::move(space_only);
  }
  if (best.spreads.shortage) {
    assignment.shortage = best.spreads.shortage;
    return assignment;
  }
  assignment.offsets.resize(demands.size() + 1);
  for (std::size_t i = 0; i < demands.size(); ++i) assignment.offsets[i + 1] = assignment.offsets[i] + demands[i].count;
  assignment.targets.resize(assignment.offsets.back());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    std::vector<TargetCount> counts = best.spreads.classes[k].counts();
    for (TargetCount& entry : counts) entry.target = best.levels[entry.target].position;
    deal(classes[k], counts, assignment);
  }
  return assignment;
}

}  // namespace iez::placement
