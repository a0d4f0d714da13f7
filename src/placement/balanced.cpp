#include "placement/balanced.hpp"

#include <algorithm>

#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/deal.hpp"
#include "placement/local_search.hpp"
#include "placement/spread.hpp"

namespace iez::placement {

namespace {

struct Attempt {
  Levels levels;
  Spreads spreads;
  double reached = 0;
};

// From levels without any of the classes.
Attempt spread(Levels levels, std::span<const DemandClass> classes) {
  Attempt result{.levels = std::move(levels), .spreads = {}};
  result.spreads = spread_classes(classes, result.levels);
  return result;
}

Attempt squeeze(Levels levels, std::span<const DemandClass> classes) {
  Attempt result{.levels = std::move(levels), .spreads = {}};
  result.spreads = squeeze_classes(classes, result.levels);
  return result;
}

// Levelling may use up the room that a later class needs; what counts first is that all fit.
Attempt fit(const Levels& start, std::span<const DemandClass> classes) {
  Attempt first = spread(start, classes);
  if (!first.spreads.shortage || classes.size() == 1) return first;
  if (start.weighs_traffic()) {
    Attempt space_only = spread(start.space_only(), classes);
    if (!space_only.spreads.shortage) return space_only;
  }
  Attempt squeezed = squeeze(start.space_only(), classes);
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
  const Levels start(table, classes, options_.weights);
  Attempt best = fit(start, classes);
  if (best.spreads.shortage) {
    assignment.shortage = best.spreads.shortage;
    return assignment;
  }
  if (classes.size() > 1) {
    const double bound = lower_bound(table, classes, options_.bound_sizes).value();
    const SearchOptions options{.bound = bound, .effort = options_.search_effort};
    search(classes, best, options);
    // Traffic is heeded within the largest utilisation; where mixed sizes made it cost something, space alone may do better.
    if (best.levels.weighs_traffic() && best.reached > bound * (1 + options_.near)) {
      Attempt space_only = spread(start.space_only(), classes);
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
