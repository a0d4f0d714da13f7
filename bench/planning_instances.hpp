// Problems for `iez bench plan`: random ones of every kind that planning/problem.hpp knows, and large ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "placement/targets.hpp"
#include "planning/problem.hpp"

namespace iez::bench {

struct PhasesInstance {
  placement::TargetTable table;
  std::vector<planning::File> files;
  std::vector<planning::Phase> phases;
  std::vector<double> speed;
  std::vector<double> load;

  // Refers to the instance.
  planning::Problem problem() const;
};

// 4 to 96 targets on 1 to 8 servers, 1 to 50 phases. Each phase has files of one size, of a few sizes, of sizes that differ by a
// factor of 2 or of 1024, or one that is far larger than the rest; 1 to 5 files for a target, of 1 stripe or of several. In parts
// of the instances targets differ in size, in use, or in speed, a few are nearly full, others write meanwhile, a server is slower
// than its targets together, and files of one or of several phases are read together.
[[nodiscard]] Result<PhasesInstance> random_phases(std::uint64_t seed);

// So many files of so many applications, each with sizes and a stripe count of its own, dealt to so many phases, on unevenly used
// targets of which one in a hundred is busy with the files of others.
struct LargePhases {
  std::size_t applications = 20;
  std::size_t phases = 50;
  std::size_t files = 1'000'000;
  std::size_t targets = 10'000;
};
[[nodiscard]] Result<PhasesInstance> large_phases(const LargePhases& size, std::uint64_t seed);

}  // namespace iez::bench
