#include "lustre/job_rates.hpp"

#include <algorithm>
#include <utility>

namespace iez::lustre {

namespace {

std::uint64_t pair_key(std::uint32_t job, std::uint32_t target) { return std::uint64_t{job} << 32U | target; }

constexpr std::uint32_t kNone = 0xFFFFFFFF;

std::optional<Duration> lifetime(const StatsTimes& times) {
  if (times.elapsed) return times.elapsed;
  if (times.start && times.snapshot && *times.snapshot >= *times.start) return *times.snapshot - *times.start;
  return std::nullopt;
}

bool any_fell(const JobTraffic& before, const JobTraffic& after) {
  return after.read < before.read || after.written < before.written || after.read_calls < before.read_calls ||
         after.write_calls < before.write_calls || after.operations < before.operations;
}

// For each target of after: its index in before, or kNone.
std::vector<std::uint32_t> matching_targets(const JobSample& before, const JobSample& after) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::uint32_t i = 0; i < before.targets().size(); ++i) known.emplace(before.targets()[i].name, i);
  std::vector<std::uint32_t> matches;
  matches.reserve(after.targets().size());
  for (const JobTarget& target : after.targets()) {
    const auto found = known.find(target.name);
    matches.push_back(found == known.end() ? kNone : found->second);
  }
  return matches;
}

// Between the two samples of one target; 0, and counted, where there is none to divide by.
Duration interval(const JobTarget& before, const JobTarget& after, JobChanges& result) {
  if (!before.whole || !after.whole) {
    ++result.partial;
    return Duration::zero();
  }
  if (!before.sampled || !after.sampled) {
    ++result.untimed;
    return Duration::zero();
  }
  const Duration between = *after.sampled - *before.sampled;
  if (between < Duration::zero()) ++result.backward_clocks;
  return std::max(between, Duration::zero());
}

}  // namespace

JobTraffic& JobTraffic::operator+=(const JobTraffic& other) {
  read += other.read;
  written += other.written;
  read_calls = saturating_add(read_calls, other.read_calls);
  write_calls = saturating_add(write_calls, other.write_calls);
  operations = saturating_add(operations, other.operations);
  return *this;
}

JobTraffic traffic(const model::JobCounters& counters) {
  return {.read = counters.read_bytes,
          .written = counters.write_bytes,
          .read_calls = counters[model::Operation::read_bytes],
          .write_calls = counters[model::Operation::write_bytes],
          .operations = model::operations(counters)};
}

TrafficChange change(const JobTraffic& before, const JobTraffic& after, bool start_moved) {
  if (start_moved || any_fell(before, after)) return {.change = after, .restarted = true};
  return {.change = {.read = after.read - before.read,
                     .written = after.written - before.written,
                     .read_calls = after.read_calls - before.read_calls,
                     .write_calls = after.write_calls - before.write_calls,
                     .operations = after.operations - before.operations}};
}

std::uint32_t JobSample::add_target(JobTarget target) {
  targets_.push_back(std::move(target));
  return static_cast<std::uint32_t>(targets_.size() - 1);
}

void JobSample::add(std::uint32_t target, const JobEntry& entry) {
  auto found = index_.find(entry.id);
  if (found == index_.end()) {
    if (ids_.size() >= options_.max_jobs) {
      ++dropped_;
      targets_[target].whole = false;
      return;
    }
    found = index_.emplace(entry.id, static_cast<std::uint32_t>(ids_.size())).first;
    ids_.push_back(entry.id);
    totals_.emplace_back();
    last_pair_.push_back(kNone);
  }
  const std::uint32_t job = found->second;
  const model::JobCounters sum = counters(entry);
  totals_[job] += sum;
  if (last_pair_[job] != kNone && pairs_[last_pair_[job]].target == target) {
    pairs_[last_pair_[job]].traffic += traffic(sum);
    return;
  }
  last_pair_[job] = static_cast<std::uint32_t>(pairs_.size());
  pairs_.push_back(
      {.job = job, .target = target, .traffic = traffic(sum), .start = entry.times.start, .lifetime = lifetime(entry.times)});
}

std::optional<std::uint32_t> JobSample::find(std::string_view id) const {
  const auto found = index_.find(id);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

JobChanges changes(const JobSample& before, const JobSample& after) {
  std::unordered_map<std::uint64_t, const JobSample::Pair*> earlier;
  earlier.reserve(before.pairs().size());
  for (const JobSample::Pair& pair : before.pairs()) earlier.emplace(pair_key(pair.job, pair.target), &pair);

  const std::vector<std::uint32_t> matches = matching_targets(before, after);
  std::vector<Duration> intervals(after.targets().size(), Duration::zero());
  JobChanges result;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] != kNone) intervals[i] = interval(before.targets()[matches[i]], after.targets()[i], result);
  }

  std::size_t matched = 0;
  result.pairs.reserve(after.pairs().size());
  for (const JobSample::Pair& pair : after.pairs()) {
    PairRate& rate = result.pairs.emplace_back();
    const std::uint32_t target = matches[pair.target];
    if (target == kNone) continue;  // a target not seen before: no time to divide by
    rate.interval = intervals[pair.target];
    const bool rated = rate.interval > Duration::zero();
    const auto job = before.find(after.ids()[pair.job]);
    const auto known = job ? earlier.find(pair_key(*job, target)) : earlier.end();
    if (known == earlier.end()) {
      if (rated) rate.change = pair.traffic;
      continue;
    }
    ++matched;
    if (!rated) continue;
    const JobSample::Pair& old = *known->second;
    const TrafficChange difference = change(old.traffic, pair.traffic, old.start && pair.start && *old.start != *pair.start);
    rate.change = difference.change;
    rate.restarted = difference.restarted;
    if (difference.restarted) ++result.restarted;
  }
  result.ended = before.pairs().size() > matched ? before.pairs().size() - matched : 0;
  return result;
}

}  // namespace iez::lustre
