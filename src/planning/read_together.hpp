// Files that are written in one phase and read together with others in a second one.
//
// While phases are placed, the loads of those in which files are read again are kept here, so that among equals a file goes where
// least is read with it. When all are placed, improve() makes the sum of all phases smaller: the files of a phase are placed
// anew, each where the reading has least as long as its own phase takes no longer, or by a share only; and objects of both change
// places (exchange_search.hpp). Of all attempts the best counts.
//
// Thread safety: none. Deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planning/exchange_search.hpp"
#include "planning/phase_solver.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

class ReadTogether {
 public:
  // used, available: what the solver looks at; kept up to date, as is the placement. All belong to the caller.
  ReadTogether(const Problem& problem, const PhaseFiles& files, PhaseSolver& solver, std::vector<std::uint64_t>& used,
               std::vector<std::uint64_t>& available, Placement& placement);

  // The load of a phase in which files are used once more, by target.
  std::vector<double>& load_of(std::uint32_t phase);
  // Counts a file that has been placed; all files, if they have been placed anew.
  void add(std::uint32_t file);
  void count_anew();

  // REQUIRES: every file has its stripes.
  void improve();

 private:
  struct State {
    std::vector<std::uint32_t> targets;
    std::vector<std::uint64_t> used;
    std::vector<std::uint64_t> available;
    std::map<std::uint32_t, std::vector<double>> loads;
    double seconds = 0;
  };
  State state() const;
  void restore(const State& state);
  void refill(std::uint32_t phase, double share);
  void book(std::uint32_t i, bool in);
  bool find_targets(std::uint32_t i, double limit);
  void even_out(std::uint32_t phase, double share);
  SecondPhase second_phase(std::uint32_t phase, double share);

  const Problem& problem_;
  const PhaseFiles& files_;
  PhaseSolver& solver_;
  std::vector<std::uint64_t>& used_;
  std::vector<std::uint64_t>& available_;
  Placement& out_;
  PhaseLoad load_;
  std::map<std::uint32_t, std::vector<double>> loads_;  // of phases in which files are used once more: by target
  std::uint64_t work_ = 0;
};

}  // namespace iez::planning
