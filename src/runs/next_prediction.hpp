// From the runs that are stored to the prediction of the next one, and how well the last prediction was.
//
// Files are known by the names they have in the end; `created_as` is what the program will create them by, where past runs
// renamed files by a rule (forecast/rename_rule.hpp). Where a name has a part that nobody can know, or where the temporary name
// has one, all files of the template become one row with a pattern.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "forecast/next_run.hpp"
#include "forecast/rename_rule.hpp"
#include "runs/mode.hpp"
#include "store/records.hpp"

namespace iez::runs {

inline constexpr std::size_t kMaxMisses = 10'000;

struct PastRun {
  store::Run run;
  std::vector<store::FileRow> files;
};

// Whether a run teaches sizes and names: it ended well and wrote something.
bool teaches(const store::Run& run);

// Whether a run wrote the large files of another one under other numbers: those of another step, as after some that were skipped,
// or of another job. The names have the same parts in the same combinations, and all files together about the same bytes, by the
// limit for sizes.
bool only_numbers_differ(std::span<const store::FileRow> before, std::span<const store::FileRow> now, Bytes least_file,
                         const FitLimits& limits);

// Of two runs by position: whether that is so of the newer one. Empty: never.
using GoesOn = std::function<bool(std::size_t newer, std::size_t older)>;

// Which of the runs, newest first, the next one is predicted from: the last `history` that teach, not beyond one whose plan did
// not fit (the program has changed there; that run shows the new ways), unless only its numbers did not. If none ended well, the
// newest that wrote anything. Positions, oldest first.
std::vector<std::size_t> runs_to_learn_from(std::span<const store::Run> newest_first, std::size_t history,
                                            const FitLimits& limits, const GoesOn& goes_on = {});

struct PredictOptions {
  std::uint32_t ranks = 0;  // of the next run; 0: as the last
  double reserve = 0.9;
  std::int64_t now_ns = 0;
};

// Oldest first. Fails if no run wrote a file. application, run and time are set; key and id are not.
[[nodiscard]] Result<store::Prediction> predict(std::span<const PastRun> runs, const PredictOptions& options);

// Which files that a run wrote, of those large enough to be planned or planned together with larger ones, were predicted.
struct PredictionUse {
  std::uint64_t created = 0;
  std::vector<std::uint32_t> rows;  // of them: which of the files they are
  std::uint64_t predicted = 0;      // of them
  std::uint64_t existing = 0;       // were there before, and were written over in place
  std::vector<store::Miss> misses;  // created and not predicted, at most kMaxMisses
};
PredictionUse use_of(const store::Prediction& prediction, std::span<const store::FileRow> files, Bytes least_file);

// How well a run was foretold by this prediction. Of files: those that use_of() looks at. One that is small by prediction, and
// was to be left to Lustre, counts if it came large. Rows that are patterns are left out.
forecast::Score score(const store::Prediction& prediction, std::span<const store::FileRow> files, Bytes least_file);

// The text of a template as docs/formats/plan.md has it; empty if a plan cannot say it. names: one for each field.
std::string pattern_text(const forecast::NameTemplate& name_template, std::span<const std::string> names);
std::vector<std::string> field_names(const forecast::NameTemplate& name_template);

}  // namespace iez::runs
