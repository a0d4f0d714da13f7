// The one planner: which targets the files of the next run go to, or that Lustre's own choice is as good.
//
// make_plan() solves the problem of problem.hpp phase by phase, those with the most bytes first (phase_solver.hpp). A file that
// belongs to two phases is placed with the one in which it is written, among equals where the other has least. Then room that all
// phases want goes to those that gain most by it (room_trade.hpp); and files that are read together are placed anew, phase by
// phase, each where the reading has least as long as its own phase does not take longer, or by a share only, whereupon objects of
// both change places as far as the sum of all phases gets smaller (read_together.hpp). Of all attempts the best counts. Stripe
// counts that are open are chosen first (stripe_choice.hpp). When the times of all phases are settled, targets and servers are
// filled more evenly as far as no phase gets slower (evening.hpp). What comes out is compared with Lustre's own placement,
// simulated from the same targets (lustre_default.hpp), and is a plan only if it is
//   faster     by at least kFaster, and what placing costs (placing_price.hpp) on top, or
//   more even  as fast, placing costs next to nothing, and its OSTCost or OSSCost is better by at least kMoreEven, neither worse.
// Else there is no plan, and the program runs as it would without iez.
//
// Quality. Exact where all objects of a phase are of one size, targets of one speed and nobody is short of room; otherwise see
// phase_solver.hpp. What no placement of a whole problem can do better than is in lower_bound.hpp.
//
// Complexity: O(P m log m + objects log m), plus the search of phases with mixed sizes, plus the draws of Lustre's default. A
// phase in which files find no room with the stripes that they have is solved up to 64 times with others, then there is none.
//
// Thread safety: pure functions. Deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "planning/evening.hpp"
#include "planning/lustre_default.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

inline constexpr double kFaster = 0.02;
inline constexpr double kNoPrice = 0.01;  // share of the time that evenness may cost

// Files that hold less are not worth a round trip: Lustre places them.
inline constexpr Bytes kLeastFile = Bytes::mib(1);

// How a verdict begins that promises a gain: "predicted to take 58 % of the default's time". Who knows what runs have shown puts
// it beside (runs/guard_history.hpp).
inline constexpr std::string_view kPromise = "predicted to take ";
inline constexpr std::string_view kOfDefault = " % of the default's time";

enum class Verdict : std::uint8_t {
  faster,     // the plan is
  more_even,  // and as fast
  as_good,    // Lustre's default is: no plan
  nothing,    // there is no file to plan
  no_room,    // a file fits on no set of targets
};
std::string_view to_string(Verdict verdict);

struct Plan {
  Verdict verdict = Verdict::nothing;
  Placement placement;  // whatever the verdict; with no_room no file has a layout
  Score score;          // of it, with the files that it leaves to Lustre
  DefaultScore by_default;
  placement::Balance before;        // of the targets
  std::uint32_t short_of_room = 0;  // with Verdict::no_room: the file, by position

  bool made() const { return verdict == Verdict::faster || verdict == Verdict::more_even; }
  // Time by default over time by plan, of the phases that were compared; 1 where there is nothing to compare.
  double gain() const;
};

struct PlanOptions {
  std::uint64_t effort = 200'000;  // of the search, for each phase
  bool compare = true;             // false: the plan counts as faster, whatever Lustre would do
};

// Fails with Errc::not_found if nothing takes objects.
[[nodiscard]] Result<Plan> make_plan(const Problem& problem, const PlanOptions& options = {});

// What decides on the stripes of a file, beside the file itself.
struct StripeFacts {
  std::size_t usable = 0;         // OSTs that take objects, in its pool
  std::uint64_t phase_files = 1;  // that are planned, and used in its phase, it among them
  Bytes phase_bytes;              // likewise
};

// For people, one sentence: on how many OSTs a file lies, and by which numbers. "1 of 15 usable OSTs: one process writes it, and
// 48 files of its phase share them".
std::string stripe_reason(const File& file, const Placed& placed, const StripeFacts& facts);

// One sentence: what was compared, and what came of it.
std::string verdict_text(const Plan& plan);

}  // namespace iez::planning
