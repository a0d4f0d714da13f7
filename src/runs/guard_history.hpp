// Are placed runs of an application faster than those by default? What its history says, and whether it is placed again.
//
// Runs are compared by the rate of their phases (planning/guard.hpp), and only runs of one shape: as many ranks, about as many
// files and bytes in write phases. Writes and reads are compared apart:
//
//   writes    of all these runs
//   reads     of those that read about as much as the newest placed one that read, for at least kTooShort. What a run reads, the
//             run before it wrote, so it counts only where that one was placed, too, or by default, too.
//   together  the sum of both, of the runs whose reads count: what a user waits for
//
// Together decides where it is clearly slower or faster; else writes do. So slow reads are no fault of the plan where there are
// none by default to compare with, fast ones hide no slower writes, and writes may be slower where reads gain more.
//
// When the placed ones are slower beyond noise, iez steps back: the next kRetry runs go by Lustre's default, and then one is
// placed again, since file systems change. Where iez knows that something changed, it is placed after kChanged runs: other OSTs
// are under suspicion (planning/target_speeds.hpp) than when the last placed run began, so that the plan is another one, or than
// when it had ended, so that what slowed it may be mended. That run counts by itself: those placed before the pause are
// forgotten. A run of another shape - more ranks, other files - has a history of its own, so placing begins anew there; after
// kAlone placed runs without one by default, the next goes by Lustre's default once, to have something to compare with. So it
// does where kAlone placed runs and more seem to be slower by kAbout, not yet beyond noise, and fewer by default say so: one run
// to compare with leaves much in doubt, and each further placed one may be slow, too.
//
// What counts: the newest kOfEach runs of each way, among the newest kLike of the shape, not older than kOldest before the newest
// run. So what was once fast or slow is forgotten, and is compared anew.
//
//   placed      at least kMost of the files that its plan had layouts for (a pattern: as many as it was predicted to be) were
//               created as planned, and at least as many as were created without being predicted. So a program of which some
//               files are never predicted is compared as it is placed. Which files these were is not stored, so files are
//               counted, not bytes. Where the rows of the plan are gone: of these rows, or, if there were patterns among them
//               or the plan itself is gone, of the files of its phases.
//   by default  none was placed, and kClearly of the bytes of its write phases went into files that it created: others keep the
//               OSTs they have, which may be those of a plan. Where its files are not kept any more, it counts if no placed run
//               is known before it.
//   neither     all others
//
// Thread safety: pure functions, but for what the facts ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planning/guard.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

namespace iez::runs {

inline constexpr std::size_t kRetry = 10;      // runs by default before a plan is tried again
inline constexpr std::size_t kChanged = 3;     // likewise, after something changed
inline constexpr std::size_t kAlone = 2;       // placed runs after which one goes by default, if none has or they seem slower
inline constexpr std::size_t kOfEach = 10;     // runs of each way, the newest
inline constexpr std::size_t kLike = 40;       // runs of one shape, the newest
inline constexpr std::size_t kLookedAt = 200;  // runs of all shapes, the newest: so many are to be given, if there are
inline constexpr std::int64_t kOldest = 30LL * 24 * 3600 * 1'000'000'000;
inline constexpr double kTooShort = 0.1;    // seconds of phases: what takes less is over before anything was to be waited for
inline constexpr double kSameShape = 1.25;  // at most so many times the files, or bytes, of another run
inline constexpr double kClearly = 0.9;
inline constexpr double kMost = 0.5;

struct RunShape {
  std::uint32_t ranks = 0;  // 0: not known, and like any
  std::uint64_t files = 0;  // of write phases: those large enough to be planned by themselves
  Bytes bytes;              // written to them; what was written over counts each time
};

RunShape shape_of(const store::Run& run);

// As the write phases of the next run will show it, whether its files are planned or not. `runs` and `files`: those of
// prediction.run, if it is among them, tell how often its files were written over.
RunShape shape_of(const store::Prediction& prediction, Bytes least_file, std::span<const store::Run> runs = {},
                  std::span<const store::FileRow> files = {});

bool alike(const RunShape& a, const RunShape& b);

// What the store tells of a run beside the run itself; nothing: it is not known.
struct RunFacts {
  std::optional<double> created;            // share of the bytes of its write phases in files that it created
  std::optional<std::uint64_t> plan_files;  // that the plan it ran with had layouts for
};
struct FactsOf {
  std::function<RunFacts(const store::Run& run)> run;
  // Whether other OSTs of the file systems that a run wrote to were under suspicion then than when it began, or when it had
  // ended.
  std::function<bool(const store::Run& run, std::int64_t then_ns)> changed;
};

// Reads what it is asked for. The store must outlive it.
FactsOf stored_facts(store::Store& store);

// What a run counts as.
enum class Way : std::uint8_t { by_default, placed, partly_placed, written_over, not_known, too_short, failed };
std::string_view to_string(Way way);

// Of the newest `most`.
std::vector<Way> ways_of(std::span<const store::Run> newest_first, std::size_t most, const FactsOf& facts_of = {});

struct GuardAnswer {
  planning::Comparison gain;  // what is judged: together, or writes
  planning::Comparison writes;
  planning::Comparison reads;
  planning::Comparison together;
  bool step_back = false;        // the next run of this shape is not placed
  std::size_t tries_in = 0;      // so many runs by default until a plan is tried again
  bool by_default_once = false;  // the next run of this shape is not placed, to have something to compare with
  std::size_t too_short = 0;     // runs of this shape, of both ways
};

// Newest first. Runs that failed, that are too short, or whose phases are not known, are left out.
GuardAnswer judge_history(std::span<const store::Run> newest_first, const RunShape& shape, const FactsOf& facts_of = {});

// Of each phase, by position: what `iez app show` prints. Reads of those runs whose reads are compared.
struct PhaseGain {
  planning::Comparison gain;
  std::uint32_t osts_by_default = 0;  // that its files lay on in the newest run; 0: not known
  std::uint32_t osts_placed = 0;
};
struct PhaseGains {
  std::vector<PhaseGain> writes;
  std::vector<PhaseGain> reads;
};
PhaseGains compare_phases(std::span<const store::Run> newest_first, const RunShape& shape, const FactsOf& facts_of = {});

// What planning promises of a plan, beside what runs have shown: "forecast 7 % of the default's time, measured 105 % over 4
// runs". A verdict that promises nothing is given as it is, with what was measured behind it; so is each where nothing was.
std::string told_promise(const std::string& verdict, const GuardAnswer& answer);

// Whether runs were repeated both ways, so that they show how far their rates scatter. Of one run it is assumed, which is good
// enough to step back by, and nothing to tell as a confidence.
bool has_range(const planning::Comparison& gain);

// "1.90x (1.52 to 2.37)", or without the range.
std::string ratio_text(const planning::Comparison& gain);

// "write 1.90x the default's rate (3 runs each)"; "write as fast as by default (...)"; "write not clear yet (0.62x; ...)"; reads
// behind it; and both together, where these decide otherwise than writes. Empty: nothing to compare yet.
std::string gain_text(const GuardAnswer& answer);

}  // namespace iez::runs
