#include "planning/planner.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "planning/phase_solver.hpp"
#include "planning/stripe_choice.hpp"

namespace iez::planning {

namespace {

class Planner {
 public:
  Planner(const Problem& problem, const PlanOptions& options)
      : problem_(problem),
        files_(problem),
        load_(problem),
        used_(problem.table.targets.size()),
        available_(problem.table.targets.size()),
        solver_(problem, used_, available_, {.effort = options.effort}) {
    for (std::size_t j = 0; j < used_.size(); ++j) {
      used_[j] = problem.table.targets[j].used.count;
      available_[j] = problem.table.targets[j].available.count;
    }
    out_.files.resize(problem.files.size());
  }

  // False: a file finds no room, see short_of_room().
  Result<bool> place() {
    for (const std::uint32_t phase : largest_first()) {
      IEZ_TRY(const bool placed, place_phase(phase));
      if (!placed) return false;
    }
    return true;
  }
  Placement take() { return std::move(out_); }
  std::uint32_t short_of_room() const { return short_of_room_; }

 private:
  std::vector<std::uint32_t> largest_first() const {
    std::vector<std::uint64_t> bytes(problem_.phases.size());
    for (std::uint32_t p = 0; p < bytes.size(); ++p) {
      for (const std::uint32_t i : files_.of(p)) {
        if (!problem_.files[i].left_alone) bytes[p] = saturating_add(bytes[p], problem_.files[i].bytes.count);
      }
    }
    std::vector<std::uint32_t> order(bytes.size());
    std::iota(order.begin(), order.end(), 0U);
    // Of equal ones the first: those of a run then use targets in turn.
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t p) { return bytes[p]; });
    return order;
  }

  Result<bool> place_phase(std::uint32_t phase) {
    load_.begin(problem_.phases[phase]);
    std::vector<std::uint32_t> members;
    for (const std::uint32_t i : files_.of(phase)) {
      const Placed& placed = out_.files[i];
      for (const std::uint32_t target : out_.of(placed)) load_.add(target, static_cast<double>(placed.object_bytes.count));
      if (placed.stripes == 0 && !problem_.files[i].left_alone) members.push_back(i);
    }
    if (members.empty()) return true;
    for (const std::uint32_t i : members) {
      if (solver_.members(problem_.files[i].pool).empty()) return fail(Errc::not_found, "no OST takes new objects");
    }
    solver_.refresh();
    std::vector<std::uint32_t> counts = choose_stripe_counts(problem_, members, load_, solver_);
    for (;;) {
      std::vector<Objects> objects;
      std::vector<Item> items;
      for (std::size_t k = 0; k < members.size(); ++k) {
        const File& file = problem_.files[members[k]];
        objects.push_back(objects_of(file, counts[k]));
        items.push_back({.bytes = static_cast<double>(objects.back().bytes.count),
                         .room = objects.back().room.count,
                         .count = objects.back().stripes,
                         .pool = file.pool});
      }
      const Solution solution = solver_.solve(load_, items, true);
      if (!solution.short_of_room) {
        take(members, objects, solution);
        return true;
      }
      // Fewer, larger objects on the targets that have room; and where even one does not fit, more and smaller ones.
      if (!adapt(members, *solution.short_of_room, counts)) return false;
    }
  }

  // Another count for the file that found no room, and all like it. False: there is none left to try.
  bool adapt(std::span<const std::uint32_t> members, std::size_t which, std::vector<std::uint32_t>& counts) {
    const std::uint32_t count = counts[which];
    const Bytes bytes = problem_.files[members[which]].bytes;
    tries_.resize(problem_.files.size());
    const std::uint32_t tries = ++tries_[members[which]];
    const auto most = static_cast<std::uint32_t>(solver_.members(problem_.files[members[which]].pool).size());
    const std::uint32_t given = problem_.files[members[which]].stripes;
    // First fewer; then, for a count that is open, more.
    std::uint32_t next = count > 1 && tries < kFewer ? count / 2 : 0;
    if (next == 0 && given == 0 && tries < kTries) next = std::min(most, std::max(2U, count * 2));
    if (next == 0 || next == count) {
      short_of_room_ = members[which];
      return false;
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (counts[k] == count && problem_.files[members[k]].bytes == bytes) counts[k] = next;
    }
    return true;
  }

  void take(std::span<const std::uint32_t> members, std::span<const Objects> objects, const Solution& solution) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      Placed& placed = out_.files[members[k]];
      placed.stripes = objects[k].stripes;
      placed.stripe_size = objects[k].stripe_size;
      placed.object_bytes = objects[k].bytes;
      placed.first = out_.targets.size();
      for (const std::uint32_t target : solution.of(k)) {
        out_.targets.push_back(target);
        used_[target] += objects[k].bytes.count;
        available_[target] -= std::min(available_[target], objects[k].room.count);
      }
    }
  }

  static constexpr std::uint32_t kFewer = 12;
  static constexpr std::uint32_t kTries = 24;

  const Problem& problem_;
  PhaseFiles files_;
  PhaseLoad load_;
  std::vector<std::uint64_t> used_;
  std::vector<std::uint64_t> available_;
  PhaseSolver solver_;
  Placement out_;
  std::vector<std::uint32_t> tries_;
  std::uint32_t short_of_room_ = 0;
};

double of_phases(const Score& score, std::span<const std::uint32_t> phases) {
  double sum = 0;
  for (const std::uint32_t p : phases) sum += score.phases[p];
  return sum;
}

Verdict judge(const Plan& plan, std::size_t phases) {
  const double own = of_phases(plan.score, plan.by_default.looked_at);
  const double theirs = plan.by_default.seconds;
  if (own < theirs * (1 - kFaster)) return Verdict::faster;
  if (own > theirs * (1 + 1e-9) || plan.by_default.looked_at.size() < phases) return Verdict::as_good;
  const double ost = plan.score.balance.ost_cost - plan.by_default.ost_cost;
  const double oss = plan.score.balance.oss_cost - plan.by_default.oss_cost;
  const bool better = ost < -kMoreEven || oss < -kMoreEven;
  const bool worse = ost > kMoreEven || oss > kMoreEven;
  return better && !worse ? Verdict::more_even : Verdict::as_good;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::more_even:
      return "more even";
    case Verdict::as_good:
      return "default is as good";
    case Verdict::nothing:
      return "nothing to place";
    case Verdict::no_room:
      return "not enough room";
  }
  return "";
}

double Plan::gain() const {
  const double own = of_phases(score, by_default.looked_at);
  return own > 0 && by_default.seconds > 0 ? by_default.seconds / own : 1;
}

Result<Plan> make_plan(const Problem& problem, const PlanOptions& options) {
  Plan plan;
  plan.before = placement::balance(problem.table, {});
  plan.by_default.phases.resize(problem.phases.size());
  const bool any = std::ranges::any_of(problem.files, [](const File& file) { return !file.left_alone; });
  if (!any) {
    plan.placement.files.resize(problem.files.size());
    plan.score = score(problem, plan.placement);
    return plan;
  }
  Planner planner(problem, options);
  IEZ_TRY(const bool placed, planner.place());
  if (!placed) {
    plan.verdict = Verdict::no_room;
    plan.short_of_room = planner.short_of_room();
    plan.placement.files.resize(problem.files.size());
    plan.score = score(problem, plan.placement);
    return plan;
  }
  plan.placement = planner.take();
  plan.score = score(problem, plan.placement);
  plan.verdict = Verdict::faster;
  if (!options.compare) return plan;
  IEZ_TRY(plan.by_default, score_default(problem));
  plan.verdict = judge(plan, problem.phases.size());
  return plan;
}

std::string stripe_reason(const File& file, const Placed& placed, std::size_t usable) {
  const std::string on = placed.stripes == usable ? fmt::format("all {} usable OSTs", usable)
                                                  : fmt::format("{} of {} usable OSTs", placed.stripes, usable);
  if (file.stripes != 0) {
    if (placed.stripes < file.stripes) return fmt::format("{}; {} stripes were asked for", on, file.stripes);
    return on;
  }
  if (placed.stripes == 1) return fmt::format("{}: one process writes it", on);
  return fmt::format("{}: {}", on, file.shared ? "several processes use it at once" : "it is by far the largest of its phase");
}

std::string verdict_text(const Plan& plan) {
  switch (plan.verdict) {
    case Verdict::faster:
      return fmt::format("predicted to take {:.0f} % of the default's time", 100 / std::max(1e-9, plan.gain()));
    case Verdict::more_even:
      return fmt::format("as fast as the default and more even: OSTCost {:.3f} instead of {:.3f}", plan.score.balance.ost_cost,
                         plan.by_default.ost_cost);
    case Verdict::as_good:
      return "Lustre's default is as good";
    case Verdict::nothing:
      return "no file is large enough to be placed";
    case Verdict::no_room:
      return "there is not enough room for the files on any set of OSTs";
  }
  return "";
}

double lower_bound(const Problem& problem, const Placement& placement) {
  const PhaseFiles files(problem);
  PhaseLoad load(problem);
  double sum = 0;
  for (std::uint32_t p = 0; p < problem.phases.size(); ++p) {
    load.begin(problem.phases[p]);
    std::vector<Item> items;
    for (const std::uint32_t i : files.of(p)) {
      const Placed& placed = placement.files[i];
      if (placed.stripes == 0) continue;
      items.push_back({.bytes = static_cast<double>(placed.object_bytes.count),
                       .room = 0,
                       .count = placed.stripes,
                       .pool = problem.files[i].pool});
    }
    std::vector<std::uint32_t> targets;
    for (std::uint32_t j = 0; j < problem.table.targets.size(); ++j) {
      if (problem.table.targets[j].exclusion == placement::Exclusion::none) targets.push_back(j);
    }
    sum += lower_bound(load, items, targets);
  }
  return sum;
}

}  // namespace iez::planning
