#include "runs/mode.hpp"

#include <string_view>

#include <fmt/format.h>

namespace iez::runs {

std::string misfit(const FitFacts& facts, const FitLimits& limits) {
  if (facts.files == 0) return "";
  const double share = static_cast<double>(facts.unpredicted) / static_cast<double>(facts.files);
  if (share > limits.unpredicted) {
    return fmt::format("{} of {} files were not predicted, more than {:.0f} %", facts.unpredicted, facts.files,
                       100 * limits.unpredicted);
  }
  if (facts.size_error && *facts.size_error > limits.size) {
    return fmt::format("sizes were off by {:.0f} % on average, more than {:.0f} %", 100 * *facts.size_error, 100 * limits.size);
  }
  return "";
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
  return {Mode::learn, question.no_plan.empty() ? "there is no plan yet" : question.no_plan};
}

}  // namespace iez::runs
