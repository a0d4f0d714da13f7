// Runs the simulations of a reproduction, a few at a time.
//
// Thread safety: none; it starts and joins threads of its own. Results come in the order of the tasks, whatever the threads do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace iez::cli {

struct ReproTask {
  std::string name;                   // for the progress line
  std::function<Result<void>()> run;  // writes to what nobody else does
};

class ReproRunner {
 public:
  // The clock outlives it.
  explicit ReproRunner(const Clock& clock);

  // The error of the first task that failed, in their order.
  [[nodiscard]] Result<void> run(const std::vector<ReproTask>& tasks);

  [[nodiscard]] Result<std::vector<sim::RunResult>> simulate(const std::vector<sim::Scenario>& scenarios);

 private:
  const Clock& clock_;
  unsigned threads_;
};

}  // namespace iez::cli
