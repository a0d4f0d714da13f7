#include "runs/phase.hpp"

#include <string_view>

#include <fmt/format.h>

namespace iez::runs {

std::string misfit(const FitFacts& facts, const FitLimits& limits) {
  if (facts.files == 0) return "";
  const double share = static_cast<double>(facts.unplanned) / static_cast<double>(facts.files);
  if (share > limits.unplanned) {
    return fmt::format("{} of {} files were not in the plan, more than {:.0f} %", facts.unplanned, facts.files,
                       100 * limits.unplanned);
  }
  if (facts.size_error && *facts.size_error > limits.size) {
    return fmt::format("sizes were off by {:.0f} % on average, more than {:.0f} %", 100 * *facts.size_error, 100 * limits.size);
  }
  return "";
}

Verdict judge(Phase phase, const RunEvent& event, const FitLimits& limits) {
  if (phase == Phase::placing && event.placed && event.ended_well) {
    if (std::string why = misfit(event.facts, limits); !why.empty()) {
      return {.next = Phase::learning, .give_up = true, .why = std::move(why)};
    }
  }
  if (event.plan_made) return {.next = Phase::placing, .give_up = false, .why = {}};
  return {.next = phase, .give_up = false, .why = {}};
}

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "plain";
    case Mode::learn:
      return "learn";
    case Mode::place:
      return "place";
  }
  return "";
}

ModeAnswer choose_mode(const ModeQuestion& question) {
  if (!question.enabled) return {Mode::plain, "iez is switched off"};
  if (!question.library) return {Mode::plain, "libiez.so was not found"};
  if (!question.traceable) return {Mode::plain, "no Lustre file system is mounted here; --under names other folders"};
  if (!question.folder) return {Mode::plain, "there is no folder for traces"};
  if (question.learn_only) return {Mode::learn, "asked to learn"};
  if (question.has_plan) return {Mode::place, "there is a plan"};
  return {Mode::learn, "there is no plan yet"};
}

}  // namespace iez::runs
