// Lustre's round robin: what a file system gives to files that name no targets, while its free space is even.
//
// Problem. Give each file the next targets of a ring (lustre_order.hpp), and let the place where files begin drift.
//
// State of each pool: start, a counter; offset; credit, all 0 at first. N: members of the pool, active or not. For each file of c
// objects:
//   1. credit -= 1. If it is not above 0: start = uniform in [0, N), credit = (2000 / N + 30) * N.
//      Else, if start >= N: start -= N, and if c > 1 and N mod c is not 1, offset += 1.
//   2. At most N * ((c - 1) / N + 1) times (N times if not overstriped), until c objects are found: start += 1, and look at slot
//      (start + offset) mod N. It gives an object unless its target is inactive, degraded, or has as many objects of this file as
//      it may.
//   3. If fewer than the minimum were found: step 2 once more. If still fewer: step 2 with degraded targets allowed, going on
//      from one step of start by a counter of its own.
// The minimum is c, or c - c / 4 where c is a default. What was found is the answer, if it is anything.
//
// Complexity: O(N) a call for each pool named, O(c) a file, plus the slots it skips: O(N + c) at most.
//
// Limits. Follows lod_ost_alloc_rr() of lustre-release c881f8ebcb, with these exceptions. Each target always has objects created
// ahead, so the second attempt finds something new only when overstriping. Targets that other components of the same file use are
// not avoided: a demand does not tell which those are. Lustre does not bound the objects of one file on a target;
// Demand::per_target does here.
//
// Thread safety: none; one policy for each thread. Deterministic: same seed and calls, same answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "placement/lustre_view.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

// The rings of all pools. Counters belong to a pool's name and outlive the table.
class LustreRings {
 public:
  // Before the first place() with a table. Its pools' orders are made anew when first needed; they depend on membership only.
  void begin(const TargetTable& table);

  // Appends the file's targets; 0 if there are none. REQUIRES: the table of begin().
  std::size_t place(const TargetTable& table, const LustreView& view, const LustreWant& want, Rng& rng,
                    std::vector<std::uint32_t>& targets);

 private:
  struct Ring {
    std::vector<std::uint32_t> order;  // empty: to be made
    std::uint64_t start = 0;
    std::uint64_t offset = 0;
    std::int64_t credit = 0;
  };

  static void advance(Ring& ring, std::uint32_t count, Rng& rng);

  std::map<std::string, Ring> rings_;
  std::vector<Ring*> of_pool_;       // into rings_, by the table's pools
  std::vector<std::uint32_t> held_;  // objects of the file at hand, by target; 0 between files
};

struct LustreRoundRobinOptions {
  std::uint64_t seed = 0;
  bool count_is_default = false;  // counts come from a default layout: a quarter less will do
  bool bytes_visible = false;     // a file's bytes are seen before the next is placed (lustre_view.hpp)
};

class LustreRoundRobin final : public Policy {
 public:
  explicit LustreRoundRobin(const LustreRoundRobinOptions& options);

  std::string_view name() const override { return "lustre-rr"; }

  // May exceed free space. Fails (not_found) for a demand whose pool has no active target left.
  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;

 private:
  LustreRoundRobinOptions options_;
  Rng rng_;
  LustreView view_;
  LustreRings rings_;
};

}  // namespace iez::placement
