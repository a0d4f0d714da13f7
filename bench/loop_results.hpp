// What runs of a case come to: times, their ratio, and what iez said of its runs.
//
// Thread safety: pure functions. Times are seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// Of one program: the seconds of each phase, from what it printed: lines of JSON with "phases", each with "total_s". Other lines
// are left out. Fails if there is no phase.
[[nodiscard]] Result<std::vector<double>> phase_seconds(std::string_view output);

// Of programs that ran at once: in each phase, which all begin together, the slowest counts.
double seconds_together(std::span<const std::vector<double>> programs);

// What `iez run --json` says of a run on standard error, among what the program says there.
struct RunSaid {
  std::string mode;          // "place", "learn", "plain"
  std::uint64_t placed = 0;  // files
  std::uint64_t files = 0;   // that could have been: those that the run created, without small ones
  std::string why;           // of the mode: why it places, or does not
};
// Nothing: it said nothing.
std::optional<RunSaid> run_said(std::string_view talk);

// In a few words: "placed 12 of 15"; of a run that was not to be placed, why.
std::string in_words(const RunSaid& said);
std::string words_of(std::string_view talk);  // the same of a run that may have said nothing

// The same words once, with how often they were said, most often first: "placed 15 of 15 (4), learnt (1)".
std::string summed_up(std::span<const std::string> said);

// REQUIRES: seconds is not empty.
Spread spread_of(std::span<const double> seconds);

// How far the ratio of both medians may be from the true one: a standard error, relative, from the scatter of the logarithms.
// REQUIRES: two runs of each, and no time of 0.
double error_of_ratio(std::span<const double> by_default, std::span<const double> placed);

// Whether more runs would tell no more that matters: the ratio is known within kPrecise, or it is clearly above or clearly below
// the target. Which of the two it is does not matter, so that runs end no sooner with a good ratio than with a bad one.
inline constexpr double kPrecise = 0.01;
inline constexpr double kClear = 2.5;  // errors
bool is_settled(std::span<const double> by_default, std::span<const double> placed, double target);
// The same of ratios of pairs of runs, each of which is positive, and their median. REQUIRES: two pairs.
bool is_settled(std::span<const double> ratios, double target);

// After how many placed runs iez is as fast as the default again: the run from which on kRunsBack runs (or all that are left,
// but at least one) have a median of at least `share` of the default's rate. Nothing: never within the runs that there are.
inline constexpr std::size_t kRunsBack = 3;
std::optional<std::size_t> runs_until_back(std::span<const double> by_default, std::span<const double> placed, double share);

}  // namespace iez::bench
