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
constexpr TrafficWeights kSpaceOnly{.target = 0, .server = 0};

struct Attempt {
  Levels levels;
  Spreads spreads;
  double reached = 0;
};

Attempt spread(const TargetTable& table, std::span<const DemandClass> classes, const TrafficWeights& weights) {
  Attempt result{.levels = Levels(table, classes, weights), .spreads = {}};
  result.spreads = spread_classes(classes, result.levels);
  return result;
}

Attempt squeeze(const TargetTable& table, std::span<const DemandClass> classes) {
  Attempt result{.levels = Levels(table, classes, kSpaceOnly), .spreads = {}};
  result.spreads = squeeze_classes(classes, result.levels);
  return result;
}

// Levelling may use up the room that a later class needs; what counts first is that all fit.
Attempt fit(const TargetTable& table, std::span<const DemandClass> classes, const TrafficWeights& weights) {
  Attempt first = spread(table, classes, weights);
  if (!first.spreads.shortage || classes.size() == 1) return first;
  if (first.levels.weighs_traffic()) {
    Attempt space_only = spread(table, classes, kSpaceOnly);
    if (!space_only.spreads.shortage) return space_only;
  }
  Attempt squeezed = squeeze(table, classes);
  return squeezed.spreads.shortage ? std::move(first) : std::move(squeezed);
}

void search(std::span<const DemandClass> classes, Attempt& attempt, const SearchOptions& options) {
  attempt.reached = attempt.levels.max_utilisation();
  if (classes.size() > 1 && attempt.reached > options.bound) {
    attempt.reached = local_search(classes, attempt.levels, attempt.spreads, options);
  }
}

}  // namespace

Result<Assignment> BalancedPolicy::assign(const TargetTable& table, std::span<const Demand> demands) {
  const std::vector<DemandClass> classes = make_classes(demands);
  Assignment assignment;
  Attempt best = fit(table, classes, options_.weights);
  if (best.spreads.shortage) {
    assignment.shortage = best.spreads.shortage;
    return assignment;
  }
  if (classes.size() > 1) {
    const double bound = lower_bound(table, classes, options_.bound_sizes).value();
    const SearchOptions options{.bound = bound, .effort = options_.search_effort};
    search(classes, best, options);
    // Traffic is heeded within the largest utilisation; where mixed sizes made it cost something, space alone may do better.
    if (best.levels.weighs_traffic() && best.reached > bound * kNear) {
      Attempt space_only = spread(table, classes, kSpaceOnly);
      if (!space_only.spreads.shortage) search(classes, space_only, options);
      if (!space_only.spreads.shortage && space_only.reached < best.reached * (1 - 1e-9)) best = std::move(space_only);
    }
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
