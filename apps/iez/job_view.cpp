#include "job_view.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/text.hpp"

namespace iez::cli {

namespace {

// A job that ran for some microseconds has no rate worth the name.
constexpr Duration kShortestLife = std::chrono::seconds(1);

// What a rate is made of: what was done, and in which time. Targets work side by side, so their amounts add and the longest time
// counts.
struct Work {
  lustre::JobTraffic done;
  Duration time{0};

  void add(const Work& other) {
    done += other.done;
    time = std::max(time, other.time);
  }
  std::optional<Rates> rates(Duration shortest) const {
    if (time < shortest) return std::nullopt;
    return Rates{.read = rate_of(done.read, time),
                 .write = rate_of(done.written, time),
                 .operations = static_cast<double>(done.operations) * 1e9 / static_cast<double>(time.count())};
  }
};

struct Building {
  struct Part {
    lustre::JobTraffic traffic;
    Work work;
  };
  JobRow row;
  Work work;
  std::map<std::string, Part> parts;

  // pair: nothing where the time is not known; then the amount does not count for the rate either.
  void add(const lustre::JobTraffic& traffic, const std::optional<Work>& pair, const std::string* part) {
    row.traffic += traffic;
    if (pair) work.add(*pair);
    ++row.targets;
    if (part == nullptr) return;
    Part& own = parts[*part];
    own.traffic += traffic;
    if (pair) own.work.add(*pair);
  }

  JobRow finish(Duration shortest) {
    row.rates = work.rates(shortest);
    for (const auto& [name, part] : parts) {
      row.parts.push_back({.name = name, .traffic = part.traffic, .rates = part.work.rates(shortest)});
    }
    return std::move(row);
  }
};

RateBasis basis_of(const lustre::JobSample* before, const std::vector<JobRow>& rows) {
  if (before != nullptr) return RateBasis::interval;
  const bool any = std::any_of(rows.begin(), rows.end(), [](const JobRow& row) { return row.rates.has_value(); });
  return any ? RateBasis::lifetime : RateBasis::none;
}

double sort_value(const JobRow& row, TopSort key) {
  const Rates rates = row.rates.value_or(Rates{});
  switch (key) {
    case TopSort::bytes:
      return static_cast<double>((row.traffic.read + row.traffic.written).count);
    case TopSort::rate:
      return rates.read.value + rates.write.value;
    case TopSort::read:
      return static_cast<double>(row.traffic.read.count);
    case TopSort::write:
      return static_cast<double>(row.traffic.written.count);
    case TopSort::operations:
      return static_cast<double>(row.traffic.operations);
    case TopSort::size:
      return bytes_per_call(row.traffic);
    case TopSort::job:
      return 0;
  }
  return 0;
}

}  // namespace

std::string_view to_string(RateBasis basis) {
  switch (basis) {
    case RateBasis::none:
      return "none";
    case RateBasis::lifetime:
      return "lifetime";
    case RateBasis::interval:
      return "interval";
  }
  return "";
}

double bytes_per_call(const lustre::JobTraffic& traffic) {
  const std::uint64_t calls = traffic.read_calls + traffic.write_calls;
  return calls == 0 ? 0.0 : static_cast<double>((traffic.read + traffic.written).count) / static_cast<double>(calls);
}

bool JobFilter::matches(const model::JobIdentity& identity) const {
  if (uid && identity.uid != uid) return false;
  if (pattern.empty() || text::glob_match(pattern, identity.id)) return true;
  return identity.job && text::glob_match(pattern, *identity.job);
}

JobPicture make_picture(const lustre::JobSample* before, const lustre::JobSample& after, const lustre::JobIdFormat& format,
                        const JobFilter& filter, TopPer per) {
  JobPicture picture{.jobs = after.ids().size()};
  if (before != nullptr) picture.changes = lustre::changes(*before, after);

  std::vector<std::optional<Building>> building(after.ids().size());
  for (std::uint32_t job = 0; job < building.size(); ++job) {
    model::JobIdentity identity = format.identify(after.ids()[job]);
    if (filter.uid && !identity.uid) ++picture.unknown_users;
    if (!filter.matches(identity)) continue;
    building[job].emplace(Building{.row = {.identity = std::move(identity), .totals = after.totals(job)}});
  }

  for (std::size_t i = 0; i < after.pairs().size(); ++i) {
    const lustre::JobSample::Pair& pair = after.pairs()[i];
    std::optional<Building>& job = building[pair.job];
    if (!job) continue;
    std::optional<Work> work;
    if (before != nullptr) {
      const lustre::PairRate& rate = picture.changes.pairs[i];
      job->row.restarted |= rate.restarted;
      if (rate.interval > Duration::zero()) {
        work = {.done = rate.change, .time = rate.interval};
        picture.interval = std::max(picture.interval.value_or(rate.interval), rate.interval);
      }
    } else if (pair.lifetime) {
      work = {.done = pair.traffic, .time = *pair.lifetime};
    }
    const lustre::JobTarget& target = after.targets()[pair.target];
    const std::string* const part = per == TopPer::job ? nullptr : (per == TopPer::ost ? &target.name : &target.server);
    job->add(pair.traffic, work, part);
  }
  const Duration shortest = before != nullptr ? Duration{1} : kShortestLife;
  for (auto& entry : building) {
    if (entry) picture.rows.push_back(entry->finish(shortest));
  }
  picture.basis = basis_of(before, picture.rows);
  return picture;
}

void sort_rows(std::vector<JobRow>& rows, TopSort key, bool reverse) {
  // Largest first, ties and names by id, so that the same counters give the same picture.
  std::sort(rows.begin(), rows.end(), [&](const JobRow& a, const JobRow& b) {
    const double left = sort_value(a, key);
    const double right = sort_value(b, key);
    if (left != right) return left > right;
    return a.identity.id < b.identity.id;
  });
  if (reverse) std::reverse(rows.begin(), rows.end());
}

}  // namespace iez::cli
