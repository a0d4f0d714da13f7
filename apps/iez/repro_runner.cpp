#include "repro_runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "progress.hpp"
#include "sim/simulation.hpp"

namespace iez::cli {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

ReproRunner::ReproRunner(const Clock& clock) : clock_(clock), threads_(std::max(std::thread::hardware_concurrency(), 1U)) {}

Result<void> ReproRunner::run(const std::vector<ReproTask>& tasks) {
  std::vector<Result<void>> results(tasks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) results[i] = tasks[i].run();
  };
  std::vector<std::future<void>> workers;
  const std::size_t count = std::min<std::size_t>(threads_, tasks.size());
  workers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) workers.push_back(std::async(std::launch::async, work));
  {
    Progress progress(clock_);
    for (std::future<void>& worker : workers) {
      while (worker.wait_for(kBetweenLooks) != std::future_status::ready) {
        const std::size_t at = std::min(next.load(), tasks.size());
        if (at > 0) progress.tell(fmt::format("{} of {}: {}", at, tasks.size(), tasks[at - 1].name));
      }
    }
  }
  for (std::future<void>& worker : workers) worker.get();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return with_context(std::move(results[i]).error(), tasks[i].name);
  }
  return {};
}

Result<std::vector<sim::RunResult>> ReproRunner::simulate(const std::vector<sim::Scenario>& scenarios) {
  std::vector<sim::RunResult> results(scenarios.size());
  std::vector<ReproTask> tasks;
  tasks.reserve(scenarios.size());
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    tasks.push_back({scenarios[i].name, [&scenarios, &results, i]() -> Result<void> {
                       IEZ_TRY(results[i], sim::simulate(scenarios[i]));
                       return {};
                     }});
  }
  IEZ_CHECK(run(tasks));
  return results;
}

}  // namespace iez::cli
