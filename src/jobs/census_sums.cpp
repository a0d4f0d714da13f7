#include "jobs/census_sums.hpp"

#include <algorithm>
#include <cmath>

namespace iez::jobs {

namespace {

constexpr std::int64_t kDaysOfWeek = 7;
constexpr std::int64_t kFirstDay = 3;  // 1970 began on a Thursday; Monday is 0

std::size_t weekday_of(std::int64_t day) {
  return static_cast<std::size_t>(((day + kFirstDay) % kDaysOfWeek + kDaysOfWeek) % kDaysOfWeek);
}

// Counters of operations are small as a rule.
constexpr std::size_t kKnownLogarithms = 2048;

const std::array<double, kKnownLogarithms>& known_logarithms() {
  static const auto kLogarithms = [] {
    std::array<double, kKnownLogarithms> logarithms{};
    for (std::size_t i = 1; i < kKnownLogarithms; ++i) logarithms[i] = std::log(static_cast<double>(i));
    return logarithms;
  }();
  return kLogarithms;
}

template <typename T>
void add_all(T& to, const T& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

void UserSums::add(const CountedJob& job) {
  const auto wide = [](std::int64_t counter) { return static_cast<std::uint64_t>(counter); };
  const auto bytes = static_cast<double>(job.bytes);
  const auto ran = static_cast<double>(job.seconds);
  ++jobs;
  seconds += ran;
  Hour& hour = hours[job.local_hour];
  ++hour.jobs;
  hour.bytes += bytes;
  hour.seconds += ran;
  if (job.silent_nodes > 0) ++incomplete_jobs;
  if (job.metadata_calls > 0) {
    opens += wide(job.opens);
    closes += wide(job.closes);
    metadata_calls += wide(job.metadata_calls);
    if (job.opens > job.closes) {
      ++unclosed_jobs;
      unclosed += wide(job.opens - job.closes);
    }
  }
  write_calls += wide(job.write_calls);
  if (job.bytes <= 0) return;
  ++io_jobs;
  weekdays[weekday_of(job.local_day)] += bytes;
  read_bytes += wide(job.read_bytes);
  write_bytes += wide(job.write_bytes);
  io_write_calls += wide(job.write_calls);
  largest_job_bytes = std::max(largest_job_bytes, job.write_bytes);
  if (job.write_bytes > 0 && (smallest_job_bytes == 0 || job.write_bytes < smallest_job_bytes))
    smallest_job_bytes = job.write_bytes;
  if (job.write_calls <= 0) return;
  const double a_call = static_cast<double>(job.write_bytes) / static_cast<double>(job.write_calls);
  ++call_jobs;
  call_bytes += a_call;
  largest_call = std::max(largest_call, a_call);
}

void UserSums::join(const UserSums& other) {
  jobs += other.jobs;
  seconds += other.seconds;
  incomplete_jobs += other.incomplete_jobs;
  io_jobs += other.io_jobs;
  unclosed_jobs += other.unclosed_jobs;
  call_jobs += other.call_jobs;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  write_calls += other.write_calls;
  io_write_calls += other.io_write_calls;
  opens += other.opens;
  closes += other.closes;
  unclosed += other.unclosed;
  metadata_calls += other.metadata_calls;
  largest_job_bytes = std::max(largest_job_bytes, other.largest_job_bytes);
  if (smallest_job_bytes == 0 || (other.smallest_job_bytes > 0 && other.smallest_job_bytes < smallest_job_bytes)) {
    smallest_job_bytes = other.smallest_job_bytes;
  }
  call_bytes += other.call_bytes;
  largest_call = std::max(largest_call, other.largest_call);
  for (std::size_t i = 0; i < kHours; ++i) {
    hours[i].jobs += other.hours[i].jobs;
    hours[i].bytes += other.hours[i].bytes;
    hours[i].seconds += other.hours[i].seconds;
  }
  add_all(weekdays, other.weekdays);
}

void DaySums::join(const DaySums& other) {
  jobs += other.jobs;
  first_started = std::min(first_started, other.first_started);
  last_started = std::max(last_started, other.last_started);
  // Of jobs of the same length the one that moved the most: in whatever order they come.
  if (other.longest > longest || (other.longest == longest && other.longest_bytes > longest_bytes)) {
    longest = other.longest;
    longest_bytes = other.longest_bytes;
  }
}

void ClusterSums::add_writer(const CountedJob& job) {
  const auto bytes = static_cast<double>(job.write_bytes);
  ++writers;
  if (job.write_calls > 0) {
    const double a_call = bytes / static_cast<double>(job.write_calls);
    const auto size = static_cast<std::size_t>(std::floor(std::log2(std::max(a_call, 1.0))));
    ++call_jobs[size];
    call_bytes[size] += static_cast<std::uint64_t>(job.write_bytes);
  }
  if (job.metadata_calls > 0) {
    const auto x = static_cast<std::int64_t>(std::floor(std::log10(bytes) * 3));
    const auto y = static_cast<std::int64_t>(std::floor(std::log10(static_cast<double>(job.metadata_calls)) * 2));
    cells.add(x * kCellRow + y);
  }
}

void ClusterSums::join(const ClusterSums& other) {
  durations.join(other.durations);
  nodes.join(other.nodes);
  add_all(call_jobs, other.call_jobs);
  add_all(call_bytes, other.call_bytes);
  cells.join(other.cells);
  writers += other.writers;
  for (std::size_t i = 0; i < kOperations; ++i) {
    moments[i].join(other.moments[i]);
    log_moments[i].join(other.log_moments[i]);
  }
  add_all(calls, other.calls);
}

void WriterMoments::add(std::int64_t write_bytes, const std::array<std::int64_t, kOperations>& operations) {
  const auto bytes = static_cast<double>(write_bytes);
  const double log_of_bytes = std::log(bytes);
  const auto& logarithms = known_logarithms();
  bytes_.push_back(bytes);
  for (std::size_t i = 0; i < kOperations; ++i) {
    const std::int64_t value = operations[i];
    values_[i].push_back(static_cast<double>(value));
    if (value <= 0) continue;
    const auto known = static_cast<std::size_t>(value);
    logs_[i].push_back(known < kKnownLogarithms ? logarithms[known] : std::log(static_cast<double>(value)));
    logs_of_bytes_[i].push_back(log_of_bytes);
  }
}

void WriterMoments::flush(ClusterSums& into) {
  for (std::size_t i = 0; i < kOperations; ++i) {
    for (const double value : values_[i]) into.calls[i] += value;
    into.moments[i].add(values_[i], bytes_);
    into.log_moments[i].add(logs_[i], logs_of_bytes_[i]);
    values_[i].clear();
    logs_[i].clear();
    logs_of_bytes_[i].clear();
  }
  bytes_.clear();
}

}  // namespace iez::jobs
