// Whether a run is traced only, or placed as well, and when a plan is given up: a small machine of two phases.
//
//               run, and a plan came of it
//     learning -----------------------------> placing
//              <-----------------------------
//        the plan did not fit, or was taken back
//
// A plan does not fit if more than `unplanned` of the files that a run wrote were not in it, or if the sizes of those that were
// are off by more than `size` on average. The next run is then traced only, and foretold from the runs since.
// A run that failed or was killed tells nothing about a plan: the phase stays.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace iez::runs {

enum class Phase : std::uint8_t { learning, placing };

struct FitLimits {
  double unplanned = 0.5;  // share of the files
  double size = 0.25;      // mean relative error
};

// What a run that was placed showed of its plan.
struct FitFacts {
  std::uint64_t files = 0;           // written or created
  std::uint64_t unplanned = 0;       // of them, not in the plan by name
  std::optional<double> size_error;  // mean |foretold - written| / written; none: nothing to compare
};

// Why the plan does not fit; empty: it does, or there is nothing to tell by.
std::string misfit(const FitFacts& facts, const FitLimits& limits);

struct RunEvent {
  bool ended_well = true;  // exit status 0
  bool placed = false;     // by a plan
  FitFacts facts;          // of a placed run
  bool plan_made = false;  // there is one for the next run
};

struct Verdict {
  Phase next = Phase::learning;
  bool give_up = false;  // the plan there is
  std::string why;       // of giving up
};

// What the plan there is comes to, before a new one is made: a plan that is given up is not followed by another one.
Verdict judge(Phase phase, const RunEvent& event, const FitLimits& limits);

// ---- Before the run ----

enum class Mode : std::uint8_t { plain, learn, place };
std::string_view to_string(Mode mode);

struct ModeQuestion {
  bool enabled = true;
  bool traceable = true;  // there is a file system that takes layouts, or a folder was named
  bool library = true;    // libiez.so was found
  bool folder = true;     // for traces
  bool learn_only = false;
  bool has_plan = false;
};

struct ModeAnswer {
  Mode mode = Mode::plain;
  std::string why;
};

ModeAnswer choose_mode(const ModeQuestion& question);

}  // namespace iez::runs
