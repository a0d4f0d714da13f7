#include "jobs/synth_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "jobs/synth_draws.hpp"

namespace iez::jobs {

namespace {

constexpr std::int64_t kFirst = 1528329600;  // 2018-06-07
constexpr std::int64_t kDays = 34;
constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kMinutesOfDay = 1440;
constexpr std::uint64_t kUsers = 300;
constexpr std::uint64_t kOsts = 48;
constexpr std::uint64_t kMdts = 14;
constexpr double kNodeMemory = 128e9;
constexpr std::uint64_t kRunsOfApplication = 16;

// What kind of I/O a job does, with how many of the published jobs do it. Sizes are those of a burst: a run of writing minutes.
struct Kind {
  std::uint64_t jobs;
  bool reads;
  bool writes;
  bool of_memory;  // sizes are shares of the job's memory, not bytes
  double smallest;
  double largest;
};

constexpr std::array kKinds{Kind{5370, false, false, false, 0, 0},        // opens and closes files, and moves no data
                            Kind{982, true, false, false, 0, 0},          // reads only
                            Kind{8340, true, true, false, 2.5e3, 0.8e6},  // 73 % of those that do I/O: bursts of 1 kB to 1 MB
                            Kind{1481, true, true, false, 1.5e6, 0.8e9},  // 1 MB to 1 GB
                            Kind{312, true, true, true, 0.055, 0.14},    Kind{140, true, true, true, 0.16, 0.48},
                            Kind{170, true, true, true, 0.55, 0.95}};

const Quantiles kMinutes{{0, 1}, {0.5, 3}, {0.9, 64}, {1, 1434}};
const Quantiles kNodes{{0, 1}, {0.5, 8}, {0.9, 20}, {0.98, 100}, {1, 1197}};

enum Draw : std::uint64_t { kind_rank, when, user, node, length, burst, share, stripe, first_ost, mdt, size, calls, files, hour };

std::uint64_t pick(double u, std::uint64_t count) {
  return std::min(count - 1, static_cast<std::uint64_t>(u * static_cast<double>(count)));
}

// What all runs of an application have in common.
struct Application {
  std::uint64_t user = 0;
  std::uint32_t nodes = 0;
  std::int64_t minutes = 0;
  double io_share = 0;
  std::int64_t burst = 0;  // writing minutes at a stretch
  double size = 0;         // bytes of a burst
  std::uint64_t stripes = 0;
  double call = 0;       // bytes of a call
  bool forgets = false;  // to close
};

Application application(const Kind& kind, std::uint64_t key) {
  Application made;
  const double u = unit(key, user);
  made.user = pick(u * u, kUsers);
  // Those that write most of their memory are small: the whole machine does not write that much.
  made.nodes = kind.of_memory ? static_cast<std::uint32_t>(1 + pick(unit(key, node), 8))
                              : static_cast<std::uint32_t>(std::llround(kNodes.at(unit(key, node))));
  made.minutes = std::llround(kMinutes.at(unit(key, length)));
  // Gives means of 78.8 % for all that do I/O and 80.4 % for writers, with what short jobs are rounded up to.
  made.io_share = kind.writes ? std::min(1.0, 0.325 + 0.84 * unit(key, share)) : 0.05 + 0.73 * unit(key, share);
  made.burst = 4 + static_cast<std::int64_t>(pick(unit(key, burst), 5));
  if (kind.writes) {
    made.size = kind.smallest * std::pow(kind.largest / kind.smallest, unit(key, size));
    if (kind.of_memory) made.size *= made.nodes * kNodeMemory;
  }
  made.stripes = std::uint64_t{1} << pick(unit(key, stripe) * (kind.of_memory ? 1.0 : 0.5), 4);
  made.call = 512 * std::pow(2000.0, unit(key, calls));
  made.forgets = made.user % 6 == 0;
  return made;
}

struct Minute {
  double read = 0;
  double written = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
  std::uint64_t files = 0;  // made
  std::uint64_t folders = 0;
};

struct Run {
  const Kind* kind = nullptr;
  Application application;
  std::uint64_t number = 0;
  std::int64_t started = 0;
  std::vector<Minute> minutes;
};

// Runs that start when many do take longer over their I/O.
double slowness(std::int64_t started, std::uint64_t key) {
  const std::int64_t of_day = started / 3600 % 24;
  if (of_day == 5 || of_day == 11) return 1;
  return 0.62 + 0.2 * unit(key, hour);
}

void lay_out(Run& run, std::uint64_t key) {
  const Application& what = run.application;
  const double slow = slowness(run.started, key);
  const std::int64_t all = std::max<std::int64_t>(1, std::llround(static_cast<double>(what.minutes) * slow));
  const bool data = run.kind->reads || run.kind->writes;
  const std::int64_t busy = std::clamp<std::int64_t>(std::llround(static_cast<double>(all) * what.io_share), 1, all);
  run.minutes.resize(static_cast<std::size_t>(all));
  std::int64_t stretch = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    // Busy minutes are spread as evenly as they can be.
    if ((i + 1) * busy / all == i * busy / all) {
      stretch = 0;
      continue;
    }
    Minute& minute = run.minutes[static_cast<std::size_t>(i)];
    minute.opens = 1 + mixed(key, files, static_cast<std::uint64_t>(i)) % 8;
    minute.closes = what.forgets ? minute.opens / 2 : minute.opens;
    if (!data) continue;
    const bool writes = run.kind->writes && stretch < what.burst;
    stretch = writes ? stretch + 1 : 0;
    if (writes) {
      minute.written = 1;  // a part of its burst, until the bursts are known
    } else {
      minute.read = std::max(1.0, what.size / 4 + 4096);
    }
  }
}

// Bursts get their size, spread over their minutes.
void fill_bursts(Run& run, std::uint64_t key) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < run.minutes.size();) {
    std::size_t end = i;
    while (end < run.minutes.size() && run.minutes[end].written > 0) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    ++number;
    const double bytes = run.application.size * (0.97 + 0.06 * unit(key, burst, number));
    const std::size_t first = i;
    for (; i < end; ++i) {
      Minute& minute = run.minutes[i];
      minute.written = std::floor(bytes / static_cast<double>(end - first));
      minute.files = 1 + static_cast<std::uint64_t>(minute.written / kBytesAFile);
      minute.folders = static_cast<std::uint64_t>(minute.written / kBytesAFolder + unit(key, files, i));
      minute.opens += minute.files;
      minute.closes += minute.files;
    }
  }
}

class Emitter {
 public:
  Emitter(const RowVisitor& sink, SynthTruth& truth) : sink_(sink), truth_(truth) {}

  Result<void> give(const Run& run, std::uint64_t key) {
    JobRow job{.cluster = std::string(kCluster),
               .id = fmt::format("{}", 5000000 + run.number),
               .user = fmt::format("{}", 20000 + run.application.user),
               .started = run.started,
               .ended = run.started + static_cast<std::int64_t>(run.minutes.size()) * kMinute,
               .nodes = run.application.nodes};
    job.memory = static_cast<std::uint64_t>(job.nodes * kNodeMemory);
    // The first MDTs do most of the work.
    const double skew = unit(key, mdt);
    const std::string mdt_name = fmt::format("scratch-MDT{:04x}", pick(std::pow(skew, 2.2), kMdts));
    const std::uint64_t first = mixed(key, first_ost) % kOsts;
    for (std::size_t i = 0; i < run.minutes.size(); ++i) {
      const std::int64_t time = run.started + (static_cast<std::int64_t>(i) + 1) * kMinute;
      IEZ_CHECK(metadata(run.minutes[i], time, mdt_name, job));
      IEZ_CHECK(data(run, run.minutes[i], time, first, job));
    }
    ++truth_.jobs;
    truth_.io_jobs += job.data.read_bytes + job.data.write_bytes > 0 ? 1 : 0;
    truth_.writers += job.data.write_bytes > 0 ? 1 : 0;
    truth_.read_bytes += job.data.read_bytes;
    truth_.write_bytes += job.data.write_bytes;
    truth_.opens += job.metadata.open;
    truth_.closes += job.metadata.close;
    return sink_.job(std::move(job));
  }

 private:
  static constexpr std::string_view kCluster = "synthetic-quartz";

  static SeriesRow row_of(const JobRow& job, std::string target, std::int64_t time) {
    return {.cluster = job.cluster, .target = std::move(target), .id = job.id, .user = job.user, .time = time};
  }

  Result<void> metadata(const Minute& minute, std::int64_t time, const std::string& target, JobRow& job) {
    if (minute.opens == 0) return {};
    SeriesRow row = row_of(job, target, time);
    row.metadata.open = minute.opens;
    row.metadata.close = minute.closes;
    row.metadata.create = minute.files;
    row.metadata.mknod = minute.files;
    row.metadata.mkdir = minute.folders;
    job.metadata.open += minute.opens;
    job.metadata.close += minute.closes;
    job.metadata.create += minute.files;
    job.metadata.mknod += minute.files;
    job.metadata.mkdir += minute.folders;
    ++truth_.series_rows;
    return sink_.series(std::move(row));
  }

  // Spread evenly over the targets of the job; a few bytes go to one.
  Result<void> data(const Run& run, const Minute& minute, std::int64_t time, std::uint64_t first, JobRow& job) {
    const double bytes = minute.read + minute.written;
    if (bytes <= 0) return {};
    constexpr double kLeast = 65536;
    const std::uint64_t targets = bytes < kLeast ? 1 : run.application.stripes;
    for (std::uint64_t i = 0; i < targets; ++i) {
      SeriesRow row = row_of(job, fmt::format("scratch-OST{:04x}", (first + i) % kOsts), time);
      const auto part = [&](double all) {
        const auto whole = static_cast<std::uint64_t>(all);
        return whole / targets + (i < whole % targets ? 1 : 0);
      };
      row.data.read_bytes = part(minute.read);
      row.data.write_bytes = part(minute.written);
      row.data.read_calls = calls_of(row.data.read_bytes, run.application.call);
      row.data.write_calls = calls_of(row.data.write_bytes, run.application.call);
      job.data.read_bytes += row.data.read_bytes;
      job.data.write_bytes += row.data.write_bytes;
      job.data.read_calls += row.data.read_calls;
      job.data.write_calls += row.data.write_calls;
      ++truth_.series_rows;
      IEZ_CHECK(sink_.series(std::move(row)));
    }
    return {};
  }

  static std::uint64_t calls_of(std::uint64_t bytes, double call) {
    if (bytes == 0) return 0;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) / call)));
  }

  const RowVisitor& sink_;
  SynthTruth& truth_;
};

// How many of `jobs` are of a kind or of one before it.
std::uint64_t up_to(std::size_t kind, std::uint64_t jobs) {
  std::uint64_t published = 0;
  for (std::size_t i = 0; i <= kind; ++i) published += kKinds[i].jobs;
  return published * jobs / kPublishedSeriesJobs;
}

std::int64_t start_of(std::uint64_t job, std::uint64_t jobs, bool heavy, std::uint64_t key) {
  const auto minute = static_cast<std::int64_t>(static_cast<double>(job) / static_cast<double>(jobs) * kDays * kMinutesOfDay);
  std::int64_t of_day = minute % kMinutesOfDay;
  if (unit(key, when) < (heavy ? 0.5 : 0.1)) of_day = std::int64_t{mixed(key, when, 1) % 2 == 0 ? 5 : 11} * 60 + of_day % 60;
  return kFirst + (minute / kMinutesOfDay * kMinutesOfDay + of_day) * kMinute;
}

}  // namespace

Result<SynthTruth> synthesise_series(std::uint64_t jobs, std::uint64_t seed, const RowVisitor& sink) {
  SynthTruth truth;
  Emitter emitter(sink, truth);
  const Shuffle ranks(jobs, mixed(seed, kind_rank));
  std::vector<Run> day;
  std::uint64_t given = 0;
  const auto give = [&]() -> Result<void> {
    std::ranges::sort(day, {}, [](const Run& run) { return std::tie(run.started, run.number); });
    for (Run& run : day) {
      const std::uint64_t key = mixed(seed, run.number, 1);
      run.number = given;
      ++given;
      lay_out(run, key);
      fill_bursts(run, key);
      IEZ_CHECK(emitter.give(run, key));
    }
    day.clear();
    return {};
  };
  std::int64_t today = 0;
  for (std::uint64_t job = 0; job < jobs; ++job) {
    const std::uint64_t rank = ranks(job);
    std::size_t kind = 0;
    while (rank >= up_to(kind, jobs)) ++kind;
    const std::uint64_t first = kind == 0 ? 0 : up_to(kind - 1, jobs);
    Run run{.kind = &kKinds[kind],
            .application = application(kKinds[kind], mixed(seed, kind + 100, (rank - first) / kRunsOfApplication)),
            .number = job,
            .started = start_of(job, jobs, kKinds[kind].of_memory, mixed(seed, job, 2))};
    if (run.started / 86400 != today) IEZ_CHECK(give());
    today = run.started / 86400;
    day.push_back(std::move(run));
  }
  IEZ_CHECK(give());
  return truth;
}

}  // namespace iez::jobs
