#include "planning.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "measure.hpp"
#include "planning/lower_bound.hpp"
#include "planning/planner.hpp"
#include "planning/stripe_choice.hpp"
#include "planning_instances.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kSeed = 20261118;  // of the large instances
constexpr double kKibPerGib = 1 << 20U;

struct Scale {
  std::uint64_t random_instances = 2000;
  LargePhases large;
};

constexpr Scale kQuick{.random_instances = 60, .large = {.applications = 20, .phases = 10, .files = 20'000, .targets = 1000}};

// The sum of the phases' times over the sum of their bounds. A placement that breaks the rules must not win: it is an error.
Result<double> ratio_of(const PhasesInstance& instance) {
  const planning::Problem problem = instance.problem();
  IEZ_TRY(const planning::Plan plan, planning::make_plan(problem, {.compare = false}));
  if (plan.verdict == planning::Verdict::no_room) return fail(Errc::io, "no room was found where there is enough");
  std::vector<std::size_t> last(problem.table.targets.size());  // the latest file, counted from 1, that has an object there
  std::vector<std::uint64_t> needed(problem.table.targets.size());
  for (std::size_t i = 0; i < problem.files.size(); ++i) {
    const planning::Placed& placed = plan.placement.files[i];
    if (placed.stripes == 0) return fail(Errc::io, fmt::format("file {} got no targets", i));
    for (const std::uint32_t target : plan.placement.of(placed)) {
      if (std::exchange(last[target], i + 1) == i + 1) return fail(Errc::io, fmt::format("file {} has a target twice", i));
      needed[target] += planning::objects_of(problem.files[i], placed.stripes).room.count;
      if (needed[target] > problem.table.targets[target].available.count) {
        return fail(Errc::io, fmt::format("target {} gets more than it can hold", target));
      }
    }
  }
  return plan.score.seconds / planning::lower_bound(problem, plan.placement);
}

Result<void> add_random(const Settings& settings, const Scale& scale, std::vector<Figure>& figures) {
  std::vector<double> ratios;
  for (std::uint64_t seed = 1; seed <= scale.random_instances; ++seed) {
    if (seed % 100 == 0) settings.progress(fmt::format("random problem {} of {}", seed, scale.random_instances));
    IEZ_TRY(const PhasesInstance instance, random_phases(seed));
    const auto ratio = ratio_of(instance);
    if (!ratio) return with_context(ratio.error(), fmt::format("random problem {}", seed));
    ratios.push_back(*ratio);
  }
  const auto worst = std::ranges::max_element(ratios);
  figures.push_back(
      {.name = "plan.vs_bound_mean",
       .value = std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size()),
       .unit = "x",
       .higher_is_better = false,
       .target = 1.02,
       .note =
           fmt::format("sum of the phases' times over the sum of their lower bounds, {} random problems of 1 to "
                       "50 phases, seeds 1 to {}; {} of them above 1.02",
                       ratios.size(), ratios.size(), std::ranges::count_if(ratios, [](double ratio) { return ratio > 1.02; }))});
  figures.push_back({.name = "plan.vs_bound_worst",
                     .value = *worst,
                     .unit = "x",
                     .higher_is_better = false,
                     .target = 1.1,
                     .note = fmt::format("seed {}; {} above 1.05", worst - ratios.begin() + 1,
                                         std::ranges::count_if(ratios, [](double ratio) { return ratio > 1.05; }))});
  return {};
}

Result<void> add_large(const Settings& settings, const Scale& scale, std::vector<Figure>& figures) {
  const LargePhases& size = scale.large;
  settings.progress(fmt::format("planning {} files in {} phases on {} OSTs", size.files, size.phases, size.targets));
  // In a process of its own, with the files that it plans.
  IEZ_TRY(const std::uint64_t kib, peak_growth_kib([&] {
            const auto instance = large_phases(size, kSeed);
            return instance && planning::make_plan(instance->problem());
          }));
  IEZ_TRY(const PhasesInstance instance, large_phases(size, kSeed));
  const planning::Problem problem = instance.problem();
  const double cpu = cpu_seconds();
  const auto start = Clock::now();
  IEZ_TRY(const planning::Plan plan, planning::make_plan(problem));
  const double seconds = seconds_since(start);
  const double used = cpu_seconds() - cpu;
  const double ratio = plan.score.seconds / planning::lower_bound(problem, plan.placement);

  settings.progress(fmt::format("planning its {} applications one after the other", size.applications));
  const LargePhases one{
      .applications = 1, .phases = size.phases, .files = size.files / size.applications, .targets = size.targets};
  double apart = 0;
  for (std::size_t k = 0; k < size.applications; ++k) {
    IEZ_TRY(const PhasesInstance application, large_phases(one, kSeed + k));
    const double before = cpu_seconds();
    IEZ_TRY([[maybe_unused]] const planning::Plan single, planning::make_plan(application.problem()));
    apart += cpu_seconds() - before;
  }
  figures.push_back(
      {.name = "plan.phase_s",
       .value = seconds,
       .unit = "s",
       .higher_is_better = false,
       .target = 5,
       .note = fmt::format("files of {} applications in {} phases, {} files, {} unevenly used OSTs, with the comparison with "
                           "Lustre's default ({} of the phases drawn); one thread, {:.2f} s of CPU, {:.5f} of the bound; each "
                           "application planned by itself, {} times {} phases: {:.2f} s of CPU",
                           size.applications, size.phases, size.files, size.targets, plan.by_default.looked_at.size(), used,
                           ratio, size.applications, size.phases, apart)});
  figures.push_back({.name = "plan.phase_gib",
                     .value = static_cast<double>(kib) / kKibPerGib,
                     .unit = "GiB",
                     .higher_is_better = false,
                     .target = 2,
                     .note = "growth of the peak memory of a process that makes the same problem and plans it"});
  return {};
}

}  // namespace

Result<std::vector<Figure>> run_planning(const Settings& settings) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  std::vector<Figure> figures;
  IEZ_CHECK(add_large(settings, scale, figures));  // first: memory that was freed would hide some of its peak
  settings.progress(fmt::format("planning {} random problems", scale.random_instances));
  IEZ_CHECK(add_random(settings, scale, figures));
  return figures;
}

}  // namespace iez::bench
