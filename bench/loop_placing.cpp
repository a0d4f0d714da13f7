#include "loop_placing.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "loop_case_runs.hpp"
#include "loop_cases.hpp"
#include "loop_results.hpp"

namespace iez::bench {

namespace {

constexpr double kNeverSlower = 0.97;
constexpr double kStepsGain = 1.25;
constexpr double kSharedGain = 3;
constexpr double kGuardRuns = 3;
constexpr double kNoise = 0.9;  // of the default's rate: it is back

constexpr std::uint64_t kUnit = 8192;  // KiB: a second of an OST
constexpr std::uint64_t kQuickUnit = 1024;
constexpr unsigned kGuardRounds = 8;
// Two targets on different servers: with two files, both are the least full, so that a plan that believes them takes them.
constexpr bool is_liar(unsigned ost) { return ost == 6 || ost == 14; }
bool met_no_liar(std::span<const unsigned> osts) { return std::ranges::none_of(osts, is_liar); }
bool met_a_liar(std::span<const unsigned> osts) { return std::ranges::any_of(osts, is_liar); }

Result<std::vector<const LoopCase*>> chosen_cases(const Settings& settings) {
  std::vector<const LoopCase*> chosen;
  std::vector<std::string_view> names;
  for (const LoopCase& known : loop_cases()) {
    names.push_back(known.name);
    if (settings.cases.empty() && (!settings.quick || known.quick)) chosen.push_back(&known);
  }
  for (const std::string& name : settings.cases) {
    const auto found = std::ranges::find(loop_cases(), name, &LoopCase::name);
    if (found == loop_cases().end()) {
      return fail(Errc::invalid_argument, fmt::format("no case '{}'; there are: {}", name, fmt::join(names, ", ")));
    }
    chosen.push_back(&*found);
  }
  return chosen;
}

Result<ComparedCase> compared(const CaseRuns& runs, const LoopCase& about, const CaseRounds& rounds) {
  ComparedCase compared{.name = std::string(about.name), .about = std::string(about.about)};
  compared.skipped = runs.obstacle(about);
  if (!compared.skipped.empty()) return compared;
  IEZ_TRY(const CaseTimes times, runs.run(about, rounds));
  compared.by_default = spread_of(times.by_default);
  compared.placed = spread_of(times.placed);
  compared.said = summed_up(times.said);
  return compared;
}

std::string told(const ComparedCase& one) {
  if (!one.skipped.empty()) return fmt::format("{}: skipped: {}", one.name, one.skipped);
  return fmt::format("{}: {:.2f}x, {:.2f} s ({:.2f}..{:.2f}) by default, {:.2f} s ({:.2f}..{:.2f}) with iez: {}", one.name,
                     ratio_of(one), one.by_default.median, one.by_default.least, one.by_default.most, one.placed.median,
                     one.placed.least, one.placed.most, one.said);
}

// Of the case of this name, if it was measured.
Figure gain_of(const std::vector<ComparedCase>& cases, std::string name, std::string_view of, double target) {
  Figure figure{.name = std::move(name), .value = std::nullopt, .unit = "x the default", .target = target, .note = {}};
  const auto found = std::ranges::find(cases, of, &ComparedCase::name);
  if (found == cases.end()) {
    figure.note = fmt::format("case {} was not among those that ran", of);
  } else {
    if (found->skipped.empty()) figure.value = ratio_of(*found);
    figure.note = told(*found);
  }
  return figure;
}

}  // namespace

Result<std::vector<Figure>> measure_cases(const Settings& settings) {
  IEZ_TRY(const auto chosen, chosen_cases(settings));
  if (settings.preload_library.empty()) {
    return std::vector<Figure>{
        {.name = "loop.never_slower", .unit = "x the default", .target = kNeverSlower, .note = "libiez.so was not found"}};
  }
  IEZ_TRY(const CaseRuns runs, CaseRuns::make(settings, settings.quick ? kQuickUnit : kUnit));
  const CaseRounds rounds = settings.quick ? CaseRounds{.least = 1, .most = 1} : CaseRounds{};
  Figure worst{.name = "loop.never_slower", .value = std::nullopt, .unit = "x the default", .target = kNeverSlower, .note = {}};
  for (const LoopCase* const about : chosen) {
    settings.progress(fmt::format("{}: {}", about->name, about->about));
    IEZ_TRY(const ComparedCase& one, compared(runs, *about, rounds));
    settings.progress(told(one));
    if (one.skipped.empty() && ratio_of(one) < worst.value.value_or(std::numeric_limits<double>::infinity())) {
      worst.value = ratio_of(one);
      worst.note = told(one);
    }
    worst.cases.push_back(one);
  }
  const auto measured = std::ranges::count_if(worst.cases, [](const ComparedCase& one) { return one.skipped.empty(); });
  worst.note = fmt::format("the least of {} cases; {}", measured, worst.note);
  std::vector<Figure> figures;
  const std::vector<ComparedCase> cases = worst.cases;
  figures.push_back(std::move(worst));
  figures.push_back(gain_of(cases, "loop.steps_gain", kStepsCase, kStepsGain));
  figures.push_back(gain_of(cases, "loop.shared_gain", kSharedCase, kSharedGain));
  return figures;
}

Result<Figure> measure_guard(const Settings& settings) {
  Figure figure{.name = "loop.guard_runs",
                .value = std::nullopt,
                .unit = "runs",
                .higher_is_better = false,
                .target = kGuardRuns,
                .note = "libiez.so was not found"};
  if (settings.preload_library.empty()) return figure;
  LoopCase about{
      .name = {},
      .about = "2 files; the two emptiest OSTs are ten times slower than the others",
      .turn =
          [](const LoopPlace& at, unsigned) {
            return LoopTurn{{{.application = "app",
                              .words = {at.iez, "workload", "ior", "-F", "-w", "-e", "-k", "-n", "2", "-b",
                                        fmt::format("{}K", at.unit / 2), "-t", "256K", "-o", at.folders[0] + "/ck", "--json"}}}};
          },
      .fullness = [](unsigned ost) { return is_liar(ost) ? 0.0 : 0.1; },
      .speed = [](unsigned ost) { return is_liar(ost) ? kLoopSpeed / 10 : kLoopSpeed; }};
  IEZ_TRY(const CaseRuns runs, CaseRuns::make(settings, settings.quick ? kQuickUnit : kUnit));
  settings.progress(std::string(about.about));
  figure.value = 0;
  figure.note = std::string(about.about);
  const unsigned guard_rounds = settings.quick ? 3 : kGuardRounds;
  struct Begin {
    std::string_view name;
    std::string_view told;
    bool (*met)(std::span<const unsigned> osts);
  };
  for (const Begin& begin :
       {Begin{"liar", "learnt on others", met_no_liar}, Begin{"liar-met", "learnt on one of them", met_a_liar}}) {
    about.name = begin.name;
    about.begins = begin.met;
    IEZ_TRY(const CaseTimes times, runs.run(about, {.least = guard_rounds, .most = guard_rounds}));
    const auto back = runs_until_back(times.by_default, times.placed, kNoise);
    figure.value = std::max(*figure.value, static_cast<double>(back.value_or(times.placed.size())));
    const std::string told =
        fmt::format("{}: by default {:.2f} s; with iez, run by run: {:.2f} s{}; iez: {}", begin.told,
                    spread_of(times.by_default).median, fmt::join(times.placed, ", "),
                    back ? fmt::format("; back after {}", *back) : "; not back in these runs", summed_up(times.said));
    settings.progress(told);
    figure.note += "; " + told;
  }
  return figure;
}

}  // namespace iez::bench
