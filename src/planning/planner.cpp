#include "planning/planner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/layout.hpp"
#include "planning/evening.hpp"
#include "planning/exchange_search.hpp"
#include "planning/phase_solver.hpp"
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
    if (RoomTrade(problem_, files_, solver_, used_, available_).improve(out_)) count_later();
    if (!loads_.empty()) even_out_shared();
    return true;
  }
  Placement take() { return std::move(out_); }
  std::uint32_t short_of_room() const { return short_of_room_; }

 private:
  std::vector<std::uint32_t> largest_first() const {
    std::vector<std::uint64_t> bytes(problem_.phases.size());
    for (std::uint32_t p = 0; p < bytes.size(); ++p) {
      for (const std::uint32_t i : files_.of(p)) {
        if (!problem_.files[i].left_alone && home_of(problem_.files[i]) == p)
          bytes[p] = saturating_add(bytes[p], problem_.files[i].bytes.count);
      }
    }
    std::vector<std::uint32_t> order(bytes.size());
    std::iota(order.begin(), order.end(), 0U);
    // Of equal ones the first: those of a run then use targets in turn.
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t p) { return bytes[p]; });
    return order;
  }

  // A file is placed with the phase in which it is written; one that is only read, with that.
  std::uint32_t home_of(const File& file) const { return file.phase < problem_.phases.size() ? file.phase : file.read_phase; }
  std::uint32_t second_of(const File& file) const {
    const bool two = file.phase < problem_.phases.size() && file.read_phase < problem_.phases.size();
    return two && file.read_phase != file.phase ? file.read_phase : kNoPhase;
  }

  Result<bool> place_phase(std::uint32_t phase) {
    load_.begin(problem_.phases[phase]);
    std::vector<std::uint32_t> members;
    std::uint32_t later = kNoPhase;
    for (const std::uint32_t i : files_.of(phase)) {
      const File& file = problem_.files[i];
      const Placed& placed = out_.files[i];
      for (const std::uint32_t target : out_.of(placed)) load_.add(target, static_cast<double>(placed.object_bytes.count));
      if (placed.stripes != 0 || file.left_alone || home_of(file) != phase) continue;
      members.push_back(i);
      later = std::min(later, second_of(file));
    }
    if (members.empty()) return true;
    for (const std::uint32_t i : members) {
      if (solver_.members(problem_.files[i].pool).empty()) return fail(Errc::not_found, "no OST takes new objects");
    }
    solver_.refresh(later == kNoPhase ? std::span<const double>{} : std::span<const double>(load_of(later)));
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
      const std::uint32_t second = second_of(problem_.files[members[k]]);
      if (second == kNoPhase) continue;
      std::vector<double>& load = load_of(second);
      for (const std::uint32_t target : solution.of(k)) load[target] += static_cast<double>(placed.object_bytes.count);
    }
  }

  // The load of a phase in which files are used once more.
  std::vector<double>& load_of(std::uint32_t phase) {
    auto [found, fresh] = loads_.try_emplace(phase);
    if (fresh) {
      PhaseLoad load(problem_);
      load.begin(problem_.phases[phase]);
      found->second.resize(used_.size());
      for (std::uint32_t j = 0; j < used_.size(); ++j) found->second[j] = load.of(j);
    }
    return found->second;
  }

  // What loads_ has, once more.
  void count_later() {
    loads_.clear();
    for (std::size_t i = 0; i < problem_.files.size(); ++i) {
      const std::uint32_t second = second_of(problem_.files[i]);
      if (second == kNoPhase) continue;
      const Placed& placed = out_.files[i];
      std::vector<double>& load = load_of(second);
      for (const std::uint32_t target : out_.of(placed)) load[target] += static_cast<double>(placed.object_bytes.count);
    }
  }

  // Files were placed so that the phases in which they are written are fast. Now those in which they are read together: objects
  // change places as far as no other phase gets slower, or, in further attempts, not by more than a share; with the files of all
  // phases placed anew before that, and without. The best counts.
  void even_out_shared() {
    std::vector<std::uint32_t> written;
    for (const File& file : problem_.files) {
      if (second_of(file) != kNoPhase) written.push_back(file.phase);
    }
    std::ranges::sort(written);
    written.erase(std::ranges::unique(written).begin(), written.end());
    State best = state();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const State begin = best;
      for (const double share : kShares) {
        for (const bool anew : {true, false}) {
          if (work_ > kMostWork) break;
          restore(begin);
          for (std::size_t k = 0; anew && k < written.size(); ++k) refill(written[k], share);
          for (int round = 0; round < kRounds; ++round) {
            for (const auto& [phase, unused] : begin.loads) even_out(phase, round == 0 ? share : 0);
            for (const std::uint32_t phase : written) even_out(phase, 0);
          }
          State now = state();
          if (now.seconds < best.seconds) best = std::move(now);
        }
      }
      if (best.seconds > begin.seconds * kWorthAnother) break;
    }
    restore(best);
  }

  struct State {
    std::vector<std::uint32_t> targets;
    std::vector<std::uint64_t> used;
    std::vector<std::uint64_t> available;
    std::map<std::uint32_t, std::vector<double>> loads;
    double seconds = 0;
  };
  State state() const { return {out_.targets, used_, available_, loads_, score(problem_, out_).seconds}; }
  void restore(const State& state) {
    out_.targets = state.targets;
    used_ = state.used;
    available_ = state.available;
    loads_ = state.loads;
  }

  // Places the files of a phase anew, each where least is read together with it as long as the phase does not take longer than it
  // does, by a share. What is placed so badly that the phase takes longer, even_out() may mend.
  void refill(std::uint32_t phase, double share) {
    const double limit = second_phase(phase, share).limit;
    load_.begin(problem_.phases[phase]);
    std::vector<std::uint32_t> members;
    for (const std::uint32_t i : files_.of(phase)) {
      const Placed& at = out_.files[i];
      if (at.stripes == 0) continue;
      if (home_of(problem_.files[i]) != phase) {
        for (const std::uint32_t target : out_.of(at)) load_.add(target, static_cast<double>(at.object_bytes.count));
        continue;
      }
      members.push_back(i);
    }
    const std::uint64_t work = kCall + members.size() * used_.size() / kLooksPerWork;
    if (work_ + work > kMostWork) return;
    work_ += work;
    // The largest first, as ever.
    std::ranges::stable_sort(members, std::greater<>(), [&](std::uint32_t i) { return out_.files[i].object_bytes; });
    const std::vector<std::uint32_t> before = out_.targets;
    for (const std::uint32_t i : members) book(i, false);
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (find_targets(members[k], limit)) {
        book(members[k], true);
        continue;
      }
      // Where room is so short, all stay where they were.
      for (std::size_t done = 0; done < k; ++done) book(members[done], false);
      out_.targets = before;
      for (const std::uint32_t i : members) book(i, true);
      return;
    }
  }

  // Enters the objects of a file where it is placed, or takes them out; its phase is not looked at.
  void book(std::uint32_t i, bool in) {
    const File& file = problem_.files[i];
    const Placed& at = out_.files[i];
    const std::uint64_t room = objects_of(file, at.stripes).room.count;
    std::vector<double>* second = second_of(file) == kNoPhase ? nullptr : &load_of(file.read_phase);
    for (const std::uint32_t target : out_.of(at)) {
      // Unsigned numbers wrap, so that this subtracts as well.
      used_[target] += in ? at.object_bytes.count : -at.object_bytes.count;
      available_[target] += in ? -room : room;
      const auto bytes = static_cast<double>(at.object_bytes.count);
      if (second != nullptr) (*second)[target] += in ? bytes : -bytes;
    }
  }

  // Targets for a file of the phase in load_: those that have least of what is read together with it, of those on which the phase
  // stays within the limit; where there are none, those that the phase reaches first. False: there is no room.
  bool find_targets(std::uint32_t i, double limit) {
    const File& file = problem_.files[i];
    const Placed& at = out_.files[i];
    const auto bytes = static_cast<double>(at.object_bytes.count);
    const std::uint64_t room = objects_of(file, at.stripes).room.count;
    const std::vector<double>* later = second_of(file) == kNoPhase ? nullptr : &load_of(file.read_phase);
    struct Candidate {
      double over = 0;  // the limit
      double time = 0;  // of what is read together, or else of the phase
      std::uint32_t target = 0;
      auto operator<=>(const Candidate&) const = default;
    };
    std::vector<Candidate> candidates;
    for (const std::uint32_t j : solver_.sound_members(file.pool)) {
      if (available_[j] < room) continue;
      double time = (load_.of(j) + bytes) / load_.speed_of(j);
      if (!load_.has_fast_servers()) {
        const std::uint32_t server = load_.server_of(j);
        time = std::max(time, (load_.of_server(server) + bytes) / load_.speed_of_server(server));
      }
      candidates.push_back({std::max(0.0, time - limit), later == nullptr ? time : ((*later)[j] + bytes) / load_.speed_of(j), j});
    }
    if (candidates.size() < at.stripes) return false;
    const auto end = candidates.begin() + at.stripes;
    std::ranges::partial_sort(candidates, end);
    for (std::uint32_t k = 0; k < at.stripes; ++k) {
      out_.targets[at.first + k] = candidates[k].target;
      load_.add(candidates[k].target, bytes);
    }
    return true;
  }

  // The objects of one phase, while the others that they belong to get slower by that share at most.
  void even_out(std::uint32_t phase, double share) {
    work_ += kCall + files_.of(phase).size();
    std::vector<std::uint32_t> members;
    std::vector<Item> items;
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint32_t> placed;
    std::vector<std::uint32_t> others;  // phases
    std::vector<std::uint32_t> second;
    for (const std::uint32_t i : files_.of(phase)) {
      const File& file = problem_.files[i];
      const Placed& at = out_.files[i];
      if (at.stripes == 0) continue;
      if (file.pool != problem_.files[files_.of(phase).front()].pool) return;  // several pools are not searched
      members.push_back(i);
      items.push_back({.bytes = static_cast<double>(at.object_bytes.count),
                       .room = objects_of(file, at.stripes).room.count,
                       .count = at.stripes,
                       .pool = file.pool});
      placed.insert(placed.end(), out_.of(at).begin(), out_.of(at).end());
      first.push_back(static_cast<std::uint32_t>(placed.size()));
      const std::uint32_t other = second_of(file) == kNoPhase ? kNoPhase : file.phase == phase ? file.read_phase : file.phase;
      second.push_back(ExchangeSearch::kNoSecond);
      if (other == kNoPhase) continue;
      const auto known = std::ranges::find(others, other);
      second.back() = static_cast<std::uint32_t>(known - others.begin());
      if (known == others.end()) others.push_back(other);
    }
    if (members.empty()) return;
    std::vector<SecondPhase> seconds;
    for (const std::uint32_t other : others) seconds.push_back(second_phase(other, share));
    load_.begin(problem_.phases[phase]);
    const std::vector<std::uint32_t> before = placed;
    solver_.search(load_, items, first, placed, second, seconds);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const File& file = problem_.files[members[k]];
      Placed& at = out_.files[members[k]];
      for (std::uint32_t n = first[k]; n < first[k + 1]; ++n) {
        if (placed[n] == before[n]) continue;
        out_.targets[at.first + (n - first[k])] = placed[n];
        used_[before[n]] -= at.object_bytes.count;
        used_[placed[n]] += at.object_bytes.count;
        available_[before[n]] += items[k].room;
        available_[placed[n]] -= items[k].room;
        if (second_of(file) == kNoPhase) continue;
        std::vector<double>& load = load_of(file.read_phase);
        load[before[n]] -= items[k].bytes;
        load[placed[n]] += items[k].bytes;
      }
    }
  }

  // A phase as it is placed now.
  SecondPhase second_phase(std::uint32_t phase, double share) {
    load_.begin(problem_.phases[phase]);
    std::vector<std::uint32_t> touched;
    for (const std::uint32_t i : files_.of(phase)) {
      const Placed& at = out_.files[i];
      for (const std::uint32_t target : out_.of(at)) {
        load_.add(target, static_cast<double>(at.object_bytes.count));
        touched.push_back(target);
      }
    }
    SecondPhase out{.load = std::vector<double>(used_.size()), .limit = load_.time(touched) * (1 + share + 1e-9)};
    for (std::uint32_t j = 0; j < used_.size(); ++j) out.load[j] = load_.of(j);
    return out;
  }

  // To place a phase in which files find no room. A search of one file takes 22 at most; several take them at the same time, or
  // one after the other.
  static constexpr int kMostAttempts = 64;
  static constexpr int kRounds = 2;
  static constexpr int kAttempts = 4;
  // Of refill(), and of even_out(), after which no attempt begins: files, and for each call.
  static constexpr std::uint64_t kMostWork = 3'000'000;
  static constexpr std::uint64_t kCall = 1000;
  static constexpr std::uint64_t kLooksPerWork = 16;  // at targets
  static constexpr double kWorthAnother = 0.998;
  static constexpr std::array<double, 6> kShares{0, 0.01, 0.04, 0.12, 0.4, 4};

  const Problem& problem_;
  PhaseFiles files_;
  PhaseLoad load_;
  std::vector<std::uint64_t> used_;
  std::vector<std::uint64_t> available_;
  PhaseSolver solver_;
  Placement out_;
  std::map<std::uint32_t, std::vector<double>> loads_;  // of phases in which files are used once more: by target
  std::uint32_t short_of_room_ = 0;
  std::uint64_t work_ = 0;
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
  even_out_space(problem, plan.placement, options.effort * kEveningLooks);
  plan.verdict = Verdict::faster;
  if (!options.compare) {
    plan.score = score(problem, plan.placement);
    return plan;
  }
  IEZ_TRY(plan.score, score_with_left(problem, plan.placement));
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

}  // namespace iez::planning
