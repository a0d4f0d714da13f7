#include "planning/placing_price.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iez::planning {

double placing_price(const Problem& problem, const Placement& placement) {
  std::vector<std::uint64_t> planned(problem.phases.size());
  for (std::size_t i = 0; i < problem.files.size(); ++i) {
    if (placement.files[i].stripes > 0) ++planned[problem.files[i].phase];
  }
  double seconds = 0;
  double longer = 0;
  for (std::size_t p = 0; p < planned.size(); ++p) {
    if (planned[p] == 0 || !(problem.phases[p].seconds > 0)) continue;
    seconds += problem.phases[p].seconds;
    longer += kTrip + static_cast<double>(planned[p]) * kEach;
  }
  return seconds > 0 ? longer / seconds : 0;
}

}  // namespace iez::planning
