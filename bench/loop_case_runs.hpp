// Runs cases on a lab: by default and placed, in turn.
//
// By default is the program without iez; placed is the same under `iez run`, after the runs from which it learns. What counts is
// the time that the program itself measures, from the start of its writing to the end of its closing: what `iez run` does before
// and after the program is another figure (loop.run_ms). Which of the two goes first changes from round to round. Before each run
// the files of its way are removed, and the OSTs are as empty again as they were, as the servers and the mount see it. Each case
// has a store of its own, so that no plan of another one waits.
//
// Thread safety: none. Times are seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bench.hpp"
#include "loop_cases.hpp"
#include "running_lab.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

struct CaseTimes {
  std::vector<double> by_default;  // in the order of rounds
  std::vector<double> placed;
  std::vector<std::string> said;  // by iez, of each placed run and application
};

struct CaseRounds {
  unsigned least = 5;
  // Further ones follow, two by two so that both ways go first as often, until is_settled() (loop_results.hpp).
  unsigned most = 25;
};

class CaseRuns {
 public:
  // Starts the lab. Every OST moves 8 MB/s; unit: KiB (loop_cases.hpp).
  [[nodiscard]] static Result<CaseRuns> make(const Settings& settings, std::uint64_t unit);

  // Why the case cannot be run here; empty: it can.
  [[nodiscard]] std::string obstacle(const LoopCase& about) const;

  [[nodiscard]] Result<CaseTimes> run(const LoopCase& about, const CaseRounds& rounds) const;

 private:
  CaseRuns(const Settings& settings, std::uint64_t unit, TemporaryFolder folder, RunningLab lab, std::string python)
      : settings_(settings), unit_(unit), folder_(std::move(folder)), lab_(std::move(lab)), python_(std::move(python)) {}

  const Settings& settings_;
  std::uint64_t unit_;
  TemporaryFolder folder_;
  RunningLab lab_;  // goes before its folder does
  std::string python_;
};

// A program under `iez run` that plans here, with a store of its own.
std::vector<std::string> under_iez_run(const Settings& settings, const std::string& application, const std::string& state,
                                       const std::string& params, std::vector<std::string> program, bool learn_only = false);

// The script of programs/loop_program.py, written to a file in the folder; its path.
[[nodiscard]] Result<std::string> write_loop_program(const std::string& folder);

}  // namespace iez::bench
