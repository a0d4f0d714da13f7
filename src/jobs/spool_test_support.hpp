// All that a spool holds, in memory: for tests and the fuzz target.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "jobs/spool.hpp"

namespace iez::jobs {

struct Everything {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  std::vector<NodeReport> reports;
  std::vector<CollectedMark> marks;

  SpoolVisitor visitor() {
    const auto into = [](auto& to) {
      return [&to](auto rows) {
        to.insert(to.end(), rows.begin(), rows.end());
        return Result<void>{};
      };
    };
    return {.jobs = into(jobs), .series = into(series), .reports = into(reports), .marks = into(marks)};
  }

  std::string frames() const {
    return to_frames(std::span<const JobRow>(jobs)) + to_frames(std::span<const SeriesRow>(series)) +
           to_frames(std::span<const NodeReport>(reports)) + to_frames(std::span<const CollectedMark>(marks));
  }

  bool operator==(const Everything&) const = default;
};

}  // namespace iez::jobs
