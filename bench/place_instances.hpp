// The inputs of the placement benchmark: machines and the files to be placed on them. Each follows from its arguments alone.
//
// Thread safety: pure functions. Units: bytes; shares are 0 to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::bench {

struct Instance {
  placement::TargetTable table;
  std::vector<placement::Demand> demands;

  std::uint64_t objects() const;
};

// A small machine and some applications, drawn:
//   targets       8 to 64, on servers of 4 to 10 (the last may have fewer)
//   capacities    equal (40 %), or of 2 to 4 kinds within a factor of 4
//   use           none (30 %), or of every target around a common one, the spread being up to 30 %, all within 0 to 60 %
//   files         50 to 400, or more as said below, of 2 to 12 applications, in mixed order
//   applications  count 1 to 4 (half of them) or 1 to all targets; objects of 1 MiB to 1 GiB, log-uniform; in half of the
//                 instances each file has a size of its own instead
//   capacity      such that the files are 5 to 35 % of the capacity of as many targets as there are, each like the smallest:
//                 all fits, whatever the counts
//
// Files are added until there are 16 objects a target, and 16 times the bytes of the largest object. With a handful it is the
// bound that is far off, not the placement: on cases small enough to solve exactly by integer programming, the placement was
// optimal while the bound was 10 % below it. A ratio to the bound would then measure the bound.
[[nodiscard]] Result<Instance> random_instance(std::uint64_t seed);

inline constexpr std::uint64_t kObjectsPerTarget = 16;

// Equal targets, ten a server, each used 0 to 40 % at random. Files of one class, count 8, objects of 1 GiB, which fill a further
// quarter, so that the fullest target is one that got objects. Servers have a CPU and memory load up to 30 %: the literal network
// makes it a cost.
[[nodiscard]] Result<Instance> one_class(std::size_t files, std::size_t targets);

// The same machine; `applications` of `files` each, with counts 1 to 2000 (or to the number of targets) and objects of 1 MiB to
// 1 GiB, log-uniform, which fill a further quarter.
[[nodiscard]] Result<Instance> many_applications(std::size_t applications, std::size_t files, std::size_t targets);

// A case with a known optimum.
struct KnownCase {
  std::string name;
  Instance instance;
  double optimum = 0;  // the best that is known
  double bound = 0;    // no placement is below
  bool proven = false;
};

// From the form of tests/golden/placement/alloc_cases.json.
[[nodiscard]] Result<std::vector<KnownCase>> parse_known_cases(std::string_view json);

// One line a target, "target CAPACITY USED AVAILABLE LOAD", LOAD being that of its server; one line a file, "file OBJECT_BYTES
// COUNT". What the programs of compare/ read.
std::string to_text(const Instance& instance);

}  // namespace iez::bench
