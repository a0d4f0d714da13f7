#include "jobs/import_series.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "jobs/counter_difference.hpp"
#include "lustre/params.hpp"

namespace iez::jobs {

namespace {

constexpr std::int64_t kDropped = 600;  // seconds without use
constexpr std::size_t kBatch = 10'000;  // rows

constexpr std::array<std::string_view, kIoCounters> kNames{"read_bytes", "write_bytes", "read_calls", "write_calls",
                                                           "open",       "close",       "create",     "mkdir",
                                                           "mknod",      "rename",      "rmdir",      "unlink"};
constexpr std::uint8_t kCreate = 6;

// The last time before this one; nothing: there is none.
std::optional<std::int64_t> before(std::span<const std::int64_t> times, std::int64_t time) {
  const auto at = std::ranges::lower_bound(times, time);
  if (at == times.begin()) return std::nullopt;
  return *std::prev(at);
}

}  // namespace

std::optional<std::uint8_t> counter_named(std::string_view name, std::string_view target) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  const auto counter = static_cast<std::uint8_t>(found - kNames.begin());
  if (counter == kCreate) {
    const auto device = lustre::parse_device(target);
    if (device && device->kind == lustre::DeviceKind::ost) return std::nullopt;
  }
  return counter;
}

std::uint32_t ImportSeries::target_of(std::string_view name) {
  const auto [found, is_new] = target_index_.try_emplace(std::string(name), static_cast<std::uint32_t>(targets_.size()));
  if (is_new) targets_.emplace_back(name);
  return found->second;
}

std::uint32_t ImportSeries::pair_of(std::string_view target, std::string_view job) {
  // A name has a length, so that no two pairs look alike.
  key_ = fmt::format("{}:{}{}", target.size(), target, job);
  const auto found = pair_index_.find(key_);
  if (found != pair_index_.end()) return found->second;
  const auto pair = static_cast<std::uint32_t>(pairs_.size());
  pair_index_.emplace(key_, pair);
  pairs_.push_back({.target = target_of(target), .job = std::string(job)});
  return pair;
}

Result<void> ImportSeries::add(std::string_view target, std::string_view job, std::int64_t time, std::uint8_t counter,
                               std::uint64_t value) {
  IEZ_ASSERT(counter < kIoCounters);
  constexpr std::int64_t kFarthest = std::int64_t{1} << 50U;
  if (time < 0 || time > kFarthest) return {};
  if (points_.size() >= options_.max_points) {
    return fail(Errc::limit,
                fmt::format("more than {} points at once; import a shorter time, one after another", options_.max_points));
  }
  const auto order = static_cast<std::uint32_t>(points_.size());
  points_.push_back({.pair = pair_of(target, job), .order = order, .time = time, .value = value, .counter = counter});
  return {};
}

// When each target was read, ascending.
std::vector<std::vector<std::int64_t>> ImportSeries::times_of_targets() const {
  std::vector<std::vector<std::int64_t>> times(targets_.size());
  for (const Point& point : points_) {
    auto& of_target = times[pairs_[point.pair].target];
    if (of_target.empty() || of_target.back() != point.time) of_target.push_back(point.time);
  }
  for (auto& of_target : times) {
    std::ranges::sort(of_target);
    of_target.erase(std::unique(of_target.begin(), of_target.end()), of_target.end());
  }
  return times;
}

Result<ImportSummary> ImportSeries::finish(RowSink& sink) {
  ImportSummary summary{.points = points_.size(), .pairs = pairs_.size()};
  const auto times = times_of_targets();
  std::ranges::sort(points_, [](const Point& a, const Point& b) {
    return std::tie(a.pair, a.time, a.counter, a.order) < std::tie(b.pair, b.time, b.counter, b.order);
  });
  std::vector<SeriesRow> rows;
  rows.reserve(std::min(points_.size(), kBatch));
  for (std::size_t i = 0; i < points_.size();) {
    const Pair& pair = pairs_[points_[i].pair];
    const std::uint32_t number = points_[i].pair;
    IoCounts now{};
    IoCounts earlier{};
    std::optional<std::int64_t> last;
    while (i < points_.size() && points_[i].pair == number) {
      const std::int64_t time = points_[i].time;
      for (std::size_t first = i; i < points_.size() && points_[i].pair == number && points_[i].time == time; ++i) {
        if (i > first && points_[i].counter == points_[i - 1].counter) ++summary.repeated;
        now[points_[i].counter] = points_[i].value;
      }
      const auto target_before = before(times[pair.target], time);
      const bool dropped = last && time - *last >= kDropped && target_before && *target_before > *last;
      const std::optional<std::int64_t> since = last && !dropped ? last : target_before;
      if (!last || dropped) earlier = IoCounts{};
      last = time;
      if (!since) {
        earlier = now;
        continue;
      }
      IoCounts change{};
      if (difference(earlier, now, StartTime::unknown, change) == Course::restarted || dropped) ++summary.restarted;
      earlier = now;
      const IoCounters io = from_counts(change);
      if (!any(io)) continue;
      rows.push_back({.cluster = options_.cluster,
                      .target = targets_[pair.target],
                      .id = pair.job,
                      .time = time,
                      .seconds = static_cast<std::uint32_t>(std::min<std::int64_t>(time - *since, 0xFFFFFFFF)),
                      .metadata = io.metadata,
                      .data = io.data});
      if (rows.size() < kBatch) continue;
      summary.rows += rows.size();
      IEZ_CHECK(sink.put(std::span<const SeriesRow>(rows)));
      rows.clear();
    }
  }
  summary.rows += rows.size();
  if (!rows.empty()) IEZ_CHECK(sink.put(std::span<const SeriesRow>(rows)));
  points_.clear();
  pairs_.clear();
  pair_index_.clear();
  targets_.clear();
  target_index_.clear();
  return summary;
}

}  // namespace iez::jobs
