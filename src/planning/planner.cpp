#include "planning/planner.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "model/layout.hpp"
#include "planning/evening.hpp"
#include "planning/phase_solver.hpp"
#include "planning/placing_price.hpp"
#include "planning/read_together.hpp"
#include "planning/room_trade.hpp"
#include "planning/stripe_choice.hpp"

namespace iez::planning {

namespace {

constexpr std::uint64_t kEveningLooks = 5;  // for each look of the search in a phase

class Planner {
 public:
  Planner(const Problem& problem, const PlanOptions& options)
      : problem_(problem),
        files_(problem),
        load_(problem),
        used_(problem.table.targets.size()),
        available_(problem.table.targets.size()),
        solver_(problem, used_, available_, {.effort = options.effort}),
        together_(problem, files_, solver_, used_, available_, out_) {
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
    if (RoomTrade(problem_, files_, solver_, used_, available_).improve(out_)) together_.count_anew();
    together_.improve();
    return true;
  }
  Placement take() { return std::move(out_); }
  std::uint32_t short_of_room() const { return short_of_room_; }

 private:
  std::vector<std::uint32_t> largest_first() const {
    std::vector<std::uint64_t> bytes(problem_.phases.size());
    for (std::uint32_t p = 0; p < bytes.size(); ++p) {
      for (const std::uint32_t i : files_.of(p)) {
        if (!problem_.files[i].left_alone && home_of(problem_, problem_.files[i]) == p)
          bytes[p] = saturating_add(bytes[p], problem_.files[i].bytes.count);
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
    std::uint32_t later = kNoPhase;
    for (const std::uint32_t i : files_.of(phase)) {
      const File& file = problem_.files[i];
      const Placed& placed = out_.files[i];
      for (const std::uint32_t target : out_.of(placed)) load_.add(target, static_cast<double>(placed.object_bytes.count));
      if (placed.stripes != 0 || file.left_alone || home_of(problem_, file) != phase) continue;
      members.push_back(i);
      later = std::min(later, second_of(problem_, file));
    }
    if (members.empty()) return true;
    for (const std::uint32_t i : members) {
      if (solver_.members(problem_.files[i].pool).empty()) return fail(Errc::not_found, "no OST takes new objects");
    }
    solver_.refresh(later == kNoPhase ? std::span<const double>{} : together_.load_of(later));
    std::vector<std::uint32_t> counts = choose_stripe_counts(problem_, files_, members, load_, solver_);
    std::vector<CountSearch> searches;
    for (const std::uint32_t count : counts) searches.push_back({.begun_at = count});
    for (int attempt = 1;; ++attempt) {
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
      if (solution.short_of_room.empty()) {
        take(members, objects, solution);
        return true;
      }
      short_of_room_ = members[solution.short_of_room.front()];
      if (attempt == kMostAttempts || !adapt(members, solution.short_of_room, searches, counts)) return false;
    }
  }

  // The search for a count with which a file finds room: fewer, larger objects on the targets that have it; and where even one
  // does not fit, more and smaller ones, if nobody has given the count.
  struct CountSearch {
    std::uint32_t begun_at = 1;
    bool more = false;
  };

  // 0: there is none left to try.
  std::uint32_t next_count(const File& file, std::uint32_t count, CountSearch& search) const {
    if (!search.more && count > 1) return count / 2;
    if (file.stripes != 0) return 0;
    const std::uint32_t last = std::exchange(search.more, true) ? count : search.begun_at;
    const auto most =
        static_cast<std::uint32_t>(std::min<std::size_t>(solver_.members(file.pool).size(), model::kMaxStripeCount));
    return last < most ? std::min(most, last * 2) : 0;
  }

  // Other counts for the files that found no room, and for all like them. False: there is none left to try for one of them. All
  // of them at once, since each attempt is the whole phase again.
  bool adapt(std::span<const std::uint32_t> members, std::span<const std::size_t> without_room, std::span<CountSearch> searches,
             std::span<std::uint32_t> counts) {
    const auto kind_of = [&](std::size_t k) {
      const File& file = problem_.files[members[k]];
      return std::tuple(file.bytes, file.stripes, file.pool, counts[k]);
    };
    struct Next {
      std::uint32_t count = 0;
      CountSearch search;
    };
    std::map<decltype(kind_of(0)), Next> next_of;
    for (const std::size_t k : without_room) {
      const auto [found, fresh] = next_of.try_emplace(kind_of(k));
      if (!fresh) continue;
      Next& next = found->second;
      next.search = searches[k];
      next.count = next_count(problem_.files[members[k]], counts[k], next.search);
      if (next.count == 0) {
        short_of_room_ = members[k];
        return false;
      }
    }
    for (std::size_t k = 0; k < members.size(); ++k) {
      const auto found = next_of.find(kind_of(k));
      if (found == next_of.end()) continue;
      counts[k] = found->second.count;
      searches[k] = found->second.search;
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
      together_.add(members[k]);
    }
  }

  // To place a phase in which files find no room. A search of one file takes 22 at most; several take them at the same time, or
  // one after the other.
  static constexpr int kMostAttempts = 64;
  const Problem& problem_;
  PhaseFiles files_;
  PhaseLoad load_;
  std::vector<std::uint64_t> used_;
  std::vector<std::uint64_t> available_;
  PhaseSolver solver_;
  Placement out_;
  ReadTogether together_;
  std::uint32_t short_of_room_ = 0;
};

double of_phases(const Score& score, std::span<const std::uint32_t> phases) {
  double sum = 0;
  for (const std::uint32_t p : phases) sum += score.phases[p];
  return sum;
}

Verdict judge(const Plan& plan, const Problem& problem) {
  const double own = of_phases(plan.score, plan.by_default.looked_at);
  const double theirs = plan.by_default.seconds;
  const double price = placing_price(problem, plan.placement);
  if (own < theirs * (1 - kFaster - price)) return Verdict::faster;
  const bool all_seen = plan.by_default.looked_at.size() == problem.phases.size();
  if (own > theirs * (1 + 1e-9) || price > kNoPrice || !all_seen) return Verdict::as_good;
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
  even_out_space(problem, plan.placement, options.effort * kEveningLooks);
  plan.verdict = Verdict::faster;
  if (!options.compare) {
    plan.score = score(problem, plan.placement);
    return plan;
  }
  IEZ_TRY(plan.score, score_with_left(problem, plan.placement));
  IEZ_TRY(plan.by_default, score_default(problem));
  plan.verdict = judge(plan, problem);
  return plan;
}

std::string stripe_reason(const File& file, const Placed& placed, const StripeFacts& facts) {
  const std::string on = placed.stripes == facts.usable ? fmt::format("all {} usable OSTs", facts.usable)
                                                        : fmt::format("{} of {} usable OSTs", placed.stripes, facts.usable);
  if (file.stripes != 0) {
    if (placed.stripes < file.stripes) return fmt::format("{}; {} stripes were asked for", on, file.stripes);
    return fmt::format("{}: {} set for it", on,
                       placed.stripes == 1 ? "1 stripe is" : fmt::format("{} stripes are", file.stripes));
  }
  const bool alone = facts.phase_files <= 1;
  const std::uint64_t objects = file.bytes.count / kLeastObject.count;  // that are no smaller than that
  if (placed.stripes == 1) {
    if ((file.shared || alone) && objects < 2) {
      return fmt::format("{}: its {} would make more objects smaller than {}", on, to_binary_string(file.bytes),
                         to_binary_string(kLeastObject));
    }
    if (file.shared) {
      return fmt::format("{}: more would not make its phase of {} files {:.0f} % faster", on, facts.phase_files,
                         100 * (kAlike - 1));
    }
    if (alone) return fmt::format("{}: one process writes it", on);
    return fmt::format("{}: one process writes it, and {} files of its phase share them", on, facts.phase_files);
  }
  std::string why = file.shared ? "several processes use it at once"
                    : alone     ? "it is the only large file of its phase"
                                : fmt::format("it holds {} of the {} of its phase", to_binary_string(file.bytes),
                                              to_binary_string(facts.phase_bytes));
  if (file.shared && !alone) why += fmt::format(", one of {} files of its phase", facts.phase_files);
  why += fmt::format("; {} on each", to_binary_string(placed.object_bytes));
  if (placed.stripes < facts.usable) {
    why += placed.stripes >= objects ? fmt::format(", and smaller objects than {} are not made", to_binary_string(kLeastObject))
                                     : fmt::format(", and more would not make the phase {:.0f} % faster", 100 * (kAlike - 1));
  }
  return fmt::format("{}: {}", on, why);
}

std::string verdict_text(const Plan& plan) {
  switch (plan.verdict) {
    case Verdict::faster:
      return fmt::format("{}{:.0f}{}", kPromise, 100 / std::max(1e-9, plan.gain()), kOfDefault);
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

}  // namespace iez::planning
