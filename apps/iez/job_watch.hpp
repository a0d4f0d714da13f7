// Samples of job_stats for a command that shows them: once, over an interval, between two captures, or again and again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "lustre/job_rates.hpp"

namespace iez::cli {

struct JobWatchOptions {
  std::string file_system;           // empty: all
  std::vector<std::string> since;    // an earlier capture of the same roots
  std::optional<Duration> interval;  // between two samples; 0: one sample only; none: one second on a live node
  WatchOptions watch;
};

using Sources = std::vector<std::unique_ptr<lustre::ParamSource>>;

bool live(const Sources& sources);

// before: none for a single sample.
using ShowJobs = std::function<Result<void>(const lustre::JobSample* before, const lustre::JobSample& after,
                                            const input::ParseReport& report)>;

// Calls show for each picture, and pause between them, until that says that it is enough; ends with the first error.
using PauseJobs = std::function<Result<bool>(Duration)>;
[[nodiscard]] Result<void> watch_jobs(const JobWatchOptions& options, const Sources& sources, Clock& clock, const ShowJobs& show,
                                      const PauseJobs& pause);

}  // namespace iez::cli
