// Which phases get the room of nearly full targets.
//
// Problem. A phase that is placed first takes the room of nearly full targets whether it gains much by it or not; those that come
// later have none, and to some of them it would have meant an object less on their slowest target.
//
// Algorithm. Room on scarce targets - those that could not hold what they would be given if room were no matter - gets a price,
// in time per byte.
//   1. Each phase is solved several times by itself (phase_solver.hpp), with scarce targets that look later and later, and then
//      what is there without need goes elsewhere: this gives times, and the room that each of them takes.
//   2. At a price each phase wants what costs least, time and room together. The price is sought at which the room suffices.
//   3. At prices about that one all phases are placed anew, those with the most bytes first, each as it is wanted. What room is
//      left then goes to phases that gain by it, those that are longest above their best time first.
// The best placement is kept, if it is better than the one given.
//
// Limits. Choices of a phase differ in how late scarce targets look, all of them alike: nobody asks which of these a phase should
// leave alone. `iez bench plan` measures what this comes to; what cannot be beaten is in room_bound.hpp, which asks the same of
// bounds.
//
// Complexity: at most 7 solutions of each phase by itself and 3 at each of 4 prices; none where no target is scarce. Not tried
// where files times targets are more than kMostWork.
//
// Thread safety: none. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planning/phase_solver.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

class RoomTrade {
 public:
  // used, available: what the solver looks at; kept up to date.
  RoomTrade(const Problem& problem, const PhaseFiles& files, PhaseSolver& solver, std::vector<std::uint64_t>& used,
            std::vector<std::uint64_t>& available);

  // REQUIRES: every file has its stripes. True: the placement is another one, with a smaller sum of times.
  bool improve(Placement& placement);

 private:
  // A way to place a phase by itself.
  struct Choice {
    double delay = 0;  // of scarce targets, in time
    double time = 0;
    double room = 0;  // on scarce targets
  };
  struct Phase {
    std::uint32_t number = 0;
    double bytes = 0;
    std::vector<std::uint32_t> files;  // that are placed with it
    std::vector<Item> items;
    std::vector<Choice> choices;
  };

  void find_scarce(const Placement& placement);
  void enter(const Phase& phase, const Placement& placement, bool in);
  // Places the phase, which has no objects now. False: there is no room, and nothing is changed.
  bool place(const Phase& phase, double delay, Placement& placement);
  // Objects leave scarce targets as far as the phase takes no longer.
  void release(const Phase& phase, PhaseLoad& load, double time, Solution& solution) const;
  double time_of(const Phase& phase, const Placement& placement) const;
  double room_of(const Phase& phase, const Placement& placement) const;
  void find_choices(Phase& phase, Placement& placement);
  const Choice& wanted(const Phase& phase, double price) const;
  double balancing_price() const;
  // False: a phase found no room, and nothing holds any more.
  bool place_all(double price, Placement& placement);
  void use_what_is_left(Placement& placement);

  const Problem& problem_;
  PhaseSolver& solver_;
  std::vector<std::uint64_t>& used_;
  std::vector<std::uint64_t>& available_;
  std::vector<bool> scarce_;          // by target
  std::vector<std::uint32_t> ample_;  // the other targets that take objects
  double room_ = 0;                   // of scarce targets
  std::vector<Phase> phases_;
};

}  // namespace iez::planning
