#include "jobs/node_report.hpp"

#include <algorithm>

namespace iez::jobs {

namespace {

StartTime compare(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  if (!before || !after) return StartTime::unknown;
  return *before == *after ? StartTime::same : StartTime::moved;
}

void add_mount(const MountReading& before, const MountReading& after, NodeReport& report) {
  IoCounts change{};
  const Course course =
      difference(to_counts(before.counters), to_counts(after.counters), compare(before.started, after.started), change);
  if (course == Course::restarted) ++report.restarted;
  add(report.io, from_counts(change));
}

const MountReading* find(const NodeReading& reading, const std::string& device) {
  const auto found = std::ranges::find(reading.mounts, device, &MountReading::device);
  return found == reading.mounts.end() ? nullptr : &*found;
}

}  // namespace

NodeReport difference(const JobOnNode& job, const NodeReading& before, const NodeReading& after) {
  // A clock that was set back makes no job end before it started.
  NodeReport report{.job = job, .started = before.time, .ended = std::max(before.time, after.time)};
  report.memory = after.memory ? after.memory : before.memory;
  for (const MountReading& mount : after.mounts) {
    const MountReading* const earlier = find(before, mount.device);
    if (earlier == nullptr) {
      add(report.io, mount.counters);
    } else {
      add_mount(*earlier, mount, report);
    }
  }
  for (const MountReading& mount : before.mounts) {
    if (find(after, mount.device) == nullptr) ++report.lost_mounts;
  }
  if (before.network && after.network) {
    NetworkArray change{};
    difference(to_counts(*before.network), to_counts(*after.network), StartTime::unknown, change);
    report.network = from_counts(change);
  }
  return report;
}

}  // namespace iez::jobs
