// Whether a run is traced only, or placed as well, and when its plan did not fit.
//
// A plan does not fit if more than `unpredicted` of the files that a run created, of those that are large enough to be planned,
// were not predicted, or if the sizes of those that were are off by more than `size` on average. It is given up then: the next
// run is traced only, and the one after it is planned from the runs since. A run that failed or was killed tells nothing about a
// plan.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iez::runs {

struct FitLimits {
  double unpredicted = 0.5;  // share of the files
  double size = 0.25;        // mean relative error
};

// What a run showed of the prediction it ran with.
struct FitFacts {
  std::uint64_t files = 0;           // created, and large enough to be planned
  std::uint64_t unpredicted = 0;     // of them
  std::optional<double> size_error;  // mean |predicted - written| / written; none: nothing to compare
};

// Why the plan does not fit; empty: it does, or there is nothing to tell by.
std::string misfit(const FitFacts& facts, const FitLimits& limits);

enum class Mode : std::uint8_t { plain, learn, place };
std::string_view to_string(Mode mode);

struct ModeQuestion {
  bool enabled = true;
  bool traceable = true;  // there is a file system that takes layouts, or a folder was named
  bool library = true;    // libiez.so was found
  bool folder = true;     // for traces
  bool learn_only = false;
  bool has_plan = false;
  std::string no_plan;  // why there is none; empty: no run was traced yet
};

struct ModeAnswer {
  Mode mode = Mode::plain;
  std::string why;
};

ModeAnswer choose_mode(const ModeQuestion& question);

}  // namespace iez::runs
