// Which targets are slower than the others, from how long files on them took: what fills Problem::speed.
//
// Files say when their first byte was written and when their last one was on the disk. Whether they waited for the disk, or for
// their own program, they do not say. So a target is believed to be slow only where like is compared with like, by a large
// margin, and not for ever.
//
// One run, observe(). In each phase by itself, of files with one object each:
//
//   stretch   of the files of a target, in the order in which they end, the first ones that together make its rate largest:
//             B_j bytes in T_j seconds. It moved at least these, so a target that served one file fast is not slow.
//   peers     targets with at least kAsMuch B_j bytes that are not under suspicion themselves
//   slow      v_j = median over peers of T_k / T_j max(1, B_j / B_k) is below kNormal, and T_j is at least kLeastSeconds: peers
//             had as much to do, and took a small part of the time; two programs that share a target make half of it. (That a
//             target with less to do was done sooner does not make the others slow, and times below kShort are those of memory
//             and count as kShort.)
//   normal    B_j / T_j is at least kNormal of the median of the peers' rates, and both took kShort or more
//   else      the phase says nothing of the target. Of one that is under suspicion, and gets less, rates are compared for both.
//
// A target that a striped file has an object on says nothing either: such a file waits for the slowest of its targets, and nobody
// can tell which. Nor does a phase in which more than kUnknown of the bytes went nobody knows where. Of several phases the best
// counts.
//
// Many runs, judge(), oldest first, of all applications on one file system:
//
//   - A target is slow once two runs have seen it so and none since has seen it normal; one is enough where v_j <= kExtreme.
//     Its speed is the geometric mean of what was thought before and what the newest run saw.
//   - One run in which it keeps up with the others clears it.
//   - A file that is always slow slows every target that it lies on. Where the files at one place of an application were slow on
//     kHabit different targets and fast on none, they say nothing of targets.
//   - A target that is avoided is not seen any more. After kFirstRuns runs and kFirstWait it is tried: it counts as fast as the
//     others until a run sees it again. Found slow then, it waits twice as long, in runs and in time, up to kMostRuns and
//     kMostWait. One target is tried at a time, the one that was not seen for longest: two slow ones would be each other's only
//     peers.
//   - What nobody has seen for kForgotten is forgotten.
//
// speeds_of() gives nothing - all alike - unless some targets are slow, and nothing where they are half of all or more: then it
// is not targets that are slow.
//
// What it costs to be wrong: other programs on a target make it look slow while they run. It is then avoided for four runs and
// five minutes, which takes the place of at most one target in m. The guard (guard.hpp) still compares what comes of it.
//
// Complexity: O(n log n). Thread safety: pure functions. Deterministic. Units: nanoseconds since anything, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "planning/phases.hpp"

namespace iez::planning {

inline constexpr double kNormal = 0.4;           // of the others' speed
inline constexpr double kExtreme = 0.25;         // one run is enough
inline constexpr double kAsMuch = 0.9;           // of the bytes of a target: its peers have
inline constexpr double kUnknown = 0.25;         // of the bytes of a phase
inline constexpr double kLeastSeconds = 0.25;    // below, nothing is slow
inline constexpr double kShort = 0.05;           // seconds in which nobody waited for a disk
inline constexpr double kSlowest = 0.02;         // speeds below count as this
inline constexpr Bytes kLeastBytes{2ULL << 20};  // that a target has to have been given
inline constexpr std::size_t kHabit = 3;
inline constexpr std::uint64_t kFirstRuns = 4;
inline constexpr std::uint64_t kMostRuns = 64;
inline constexpr std::int64_t kFirstWait = 300'000'000'000;      // 5 minutes
inline constexpr std::int64_t kMostWait = 86'400'000'000'000;    // a day
inline constexpr std::int64_t kForgotten = 604'800'000'000'000;  // a week

// A file that a run wrote.
struct WrittenFile {
  FileTime time;
  std::uint32_t phase = 0;
  std::uint32_t place = 0;     // among the files of its phase, by name: the same in every run
  std::vector<OstIndex> osts;  // of its objects; empty: not known
  bool only_calls = true;      // false: it was used for other things meanwhile, so that its times say nothing
};

// What a run saw of a target.
struct SeenTarget {
  OstIndex ost;
  double speed = 1;         // of the others'; at most 1
  std::uint32_t place = 0;  // of the file that says so

  friend bool operator==(const SeenTarget&, const SeenTarget&) = default;
};

// By OST. `suspects`: targets under suspicion before the run.
std::vector<SeenTarget> observe(std::span<const WrittenFile> files, std::span<const OstIndex> suspects);

// A run that ended well and wrote to the file system, whatever it saw.
struct SeenRun {
  std::int64_t ended_ns = 0;
  std::int64_t application = 0;
  std::vector<SeenTarget> targets;
};

struct SlowTarget {
  OstIndex ost;
  double speed = 1;
  bool tried = false;      // again: the next run may use it like any other
  std::uint32_t seen = 0;  // runs that saw it slow, since it was last normal

  friend bool operator==(const SlowTarget&, const SlowTarget&) = default;
};

// By OST: those under suspicion. In any order of runs; of equal times, in the order given.
std::vector<SlowTarget> judge(std::span<const SeenRun> runs, std::int64_t now_ns);

// "OST 4 works at about 0.25 of the others' speed, as 2 runs in a row saw it: it gets less", or "it is tried again".
std::string suspicion_text(const SlowTarget& slow);

// As Problem::speed, of targets in this order; empty: all alike.
std::vector<double> speeds_of(std::span<const SlowTarget> slow, std::span<const OstIndex> targets);

// "OST 4 works at about 0.25 of the others' speed and gets less"; empty: all alike, or none of the targets is slow.
std::string slow_text(std::span<const SlowTarget> slow, std::span<const OstIndex> targets);

}  // namespace iez::planning
