#include "jobs/synth.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "jobs/synth_draws.hpp"
#include "jobs/synth_series.hpp"

namespace iez::jobs {

namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kHour = 3600;
constexpr double kIoShare = 0.53;              // of jobs that read or write
constexpr double kWriterShare = 0.53 * 0.914;  // 10,443 of 11,425 of those write
constexpr std::uint64_t kBusyEvery = 6;  // of this many heavy writers, by bytes, the first starts at 5 and the second at 11 h

struct Shape {
  std::uint64_t jobs;
  std::uint64_t users;
  std::int64_t first;  // seconds since 1970
  std::int64_t days;
  double node_memory;
  double inefficient;  // share of heavy writers
  std::uint64_t inefficient_users;
  std::uint64_t efficient_users;
  Quantiles seconds;
  Quantiles nodes;
  Quantiles written;     // bytes of a job that writes
  Quantiles light_call;  // bytes of a call, of a job that writes no more than the mean
  Quantiles small_call;  // of a heavy writer below the mean of bytes a call
  Quantiles large_call;  // of one above it
};

const Shape kCab{.jobs = 2854478,
                 .users = 994,
                 .first = 1427846400,  // 2015-04-01
                 .days = 1096,
                 .node_memory = 32e9,
                 .inefficient = 0.646,
                 .inefficient_users = 232,  // published: 138, and nothing of 94 of 294
                 .efficient_users = 62,
                 .seconds = {{0, 1}, {0.5, 10.8}, {0.9, 3700}, {1, 86040}},
                 .nodes = {{0, 2}, {0.5, 8}, {0.9, 28}, {0.98, 100}, {1, 758}},
                 .written = {{0, 81e3}, {0.5, 50e6}, {0.9, 10e9}, {0.99, 200e9}, {0.9999, 4.4e12}, {1, 474e12}},
                 .light_call = {{0, 1}, {0.02, 500}, {0.5, 4e3}, {0.9, 75e3}, {1, 4.2e6}},
                 .small_call = {{0, 1e3}, {1, 110e3}},
                 .large_call = {{0, 160e3}, {0.999, 4e6}, {1, 820e6}}};

const Shape kQuartz{.jobs = 1401897,
                    .users = 584,
                    .first = 1491004800,  // 2017-04-01
                    .days = 365,
                    .node_memory = 128e9,
                    .inefficient = 0.69,
                    .inefficient_users = 111,
                    .efficient_users = 57,
                    .seconds = {{0, 1}, {0.5, 108}, {0.9, 3800}, {1, 86040}},
                    .nodes = {{0, 1}, {0.5, 8}, {0.9, 20}, {0.98, 100}, {1, 1197}},
                    .written = {{0, 40}, {0.5, 50e6}, {0.9, 10e9}, {0.99, 250e9}, {0.9999, 5.6e12}, {1, 597e12}},
                    .light_call = {{0, 1}, {0.02, 500}, {0.5, 4e3}, {0.9, 110e3}, {1, 14e6}},
                    .small_call = {{0, 1e3}, {1, 190e3}},
                    .large_call = {{0, 270e3}, {0.999, 6e6}, {1, 1.6e9}}};

// Each draw has a name, so that one more does not change the others.
enum Draw : std::uint64_t { io, duration, nodes, light, heavy, user, read, readers, start, noise };

std::uint64_t rounded(double value) { return static_cast<std::uint64_t>(std::llround(std::max(0.0, value))); }

// Multiplies by something around 1: log-normal, of mean 1.
double around_one(double sigma, std::uint64_t seed, std::uint64_t job, std::uint64_t which) {
  // A sum of twelve uniforms is normal enough, and the same everywhere.
  double sum = -6;
  for (std::uint64_t i = 0; i < 12; ++i) sum += unit(seed + i, job, which);
  return std::exp(sigma * sum - sigma * sigma / 2);
}

class JobDraws {
 public:
  JobDraws(const Shape& shape, std::uint64_t jobs, std::uint64_t seed)
      : shape_(shape),
        jobs_(jobs),
        io_jobs_(std::max<std::uint64_t>(1, rounded(kIoShare * static_cast<double>(jobs)))),
        writers_(std::clamp<std::uint64_t>(rounded(kWriterShare * static_cast<double>(jobs)), 1, io_jobs_)),
        users_(std::min(shape.users, jobs)),
        seed_(seed),
        io_(jobs, mixed(seed, io)),
        duration_(jobs, mixed(seed, duration)),
        nodes_(jobs, mixed(seed, nodes)),
        reads_(io_jobs_, mixed(seed, read)),
        first_heavy_(first_above_mean()),
        light_(std::max<std::uint64_t>(1, first_heavy_), mixed(seed, light)),
        heavy_(std::max<std::uint64_t>(1, writers_ - first_heavy_), mixed(seed, heavy)) {}

  JobRow row(std::uint64_t job, SynthTruth& truth) const {
    JobRow made;
    made.nodes = static_cast<std::uint32_t>(rounded(shape_.nodes.of_rank(nodes_(job), jobs_)));
    made.memory = rounded(made.nodes * shape_.node_memory);
    const std::uint64_t rank = io_(job);  // the writers first, by bytes; then those that only read
    const bool writes = rank < writers_;
    const bool is_heavy = writes && rank >= first_heavy_;
    std::uint64_t owner = 0;
    if (writes) {
      made.data.write_bytes = std::max<std::uint64_t>(1, rounded(shape_.written.of_rank(rank, writers_)));
      const bool small = is_heavy && small_calls(rank);
      owner = is_heavy ? heavy_user(job, small) : light_user(job, rank);
      const double wanted = call_size(rank);
      made.data.write_calls = std::max<std::uint64_t>(1, rounded(static_cast<double>(made.data.write_bytes) / wanted));
      truth.heavy_inefficient += is_heavy && small ? 1 : 0;
      truth.heavy_efficient += is_heavy && !small ? 1 : 0;
      ++truth.writers;
    } else {
      owner = any_user(job);
    }
    if (rank < io_jobs_) {
      add_reads(made, rank, owner, !writes);
      add_metadata(made, job, owner);
      ++truth.io_jobs;
    }
    add_times(made, job, is_heavy ? std::optional(writers_ - 1 - rank) : std::nullopt);
    made.user = fmt::format("{}", 10000 + owner);
    return made;
  }

 private:
  // The first rank of writers that is above the mean of bytes written by jobs that do I/O.
  std::uint64_t first_above_mean() const {
    double sum = 0;
    for (std::uint64_t rank = 0; rank < writers_; ++rank) sum += shape_.written.of_rank(rank, writers_);
    const double mean = sum / static_cast<double>(io_jobs_);
    std::uint64_t low = 0;
    std::uint64_t high = writers_;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (shape_.written.of_rank(middle, writers_) > mean) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  std::uint64_t heavy_count() const { return writers_ - first_heavy_; }
  std::uint64_t small_count() const { return rounded(shape_.inefficient * static_cast<double>(heavy_count())); }
  bool small_calls(std::uint64_t rank) const { return heavy_(rank - first_heavy_) < small_count(); }

  double call_size(std::uint64_t rank) const {
    if (rank < first_heavy_) return shape_.light_call.of_rank(light_(rank), first_heavy_);
    const std::uint64_t of_heavy = heavy_(rank - first_heavy_);
    if (of_heavy < small_count()) return shape_.small_call.of_rank(of_heavy, small_count());
    return shape_.large_call.of_rank(of_heavy - small_count(), heavy_count() - small_count());
  }

  // Few users have most of the jobs.
  std::uint64_t any_user(std::uint64_t job) const {
    const double u = unit(seed_, job, user);
    return std::min(users_ - 1, static_cast<std::uint64_t>(static_cast<double>(users_) * u * u));
  }

  // Heavy users have habits: most write in small calls, some in large ones. They are the first of all users.
  std::uint64_t heavy_user(std::uint64_t job, bool small) const {
    const std::uint64_t first = small ? 0 : shape_.inefficient_users;
    const std::uint64_t count = small ? shape_.inefficient_users : shape_.efficient_users;
    return (first + static_cast<std::uint64_t>(static_cast<double>(count) * unit(seed_, job, user))) % users_;
  }

  // Whose habit is large calls has it in small jobs, too.
  std::uint64_t light_user(std::uint64_t job, std::uint64_t rank) const {
    constexpr double kLargeCalls = 0.93;
    if (static_cast<double>(light_(rank)) > kLargeCalls * static_cast<double>(first_heavy_)) return heavy_user(job, false);
    const std::uint64_t owner = any_user(job);
    const bool efficient = owner >= shape_.inefficient_users && owner < shape_.inefficient_users + shape_.efficient_users;
    return efficient ? owner - shape_.efficient_users : owner;
  }

  void add_reads(JobRow& row, std::uint64_t rank, std::uint64_t owner, bool only) const {
    // Every user has a share of writing of his own, from none to all, evenly spread.
    constexpr double kAlmost = 0.04;
    constexpr double kLarge = 1e9;
    constexpr double kMoreOrLess = 0.25;
    const double share = unit(seed_, owner, readers);
    const auto written = static_cast<double>(row.data.write_bytes);
    if (!only && share > 1 - kAlmost) return;
    const double bytes = only ? shape_.written.of_rank(reads_(rank), io_jobs_) * (1 - share) * 0.1
                              : written * (1 - share) / std::max(share, written > kLarge ? kMoreOrLess : kAlmost);
    row.data.read_bytes = std::max<std::uint64_t>(1, rounded(bytes));
    row.data.read_calls =
        std::max<std::uint64_t>(1, row.data.read_bytes / (std::uint64_t{1} << (12 + mixed(owner, readers) % 9)));
  }

  // Files grow with bytes: R = 0.93 for mkdir and mknod, less for what else is done.
  void add_metadata(JobRow& row, std::uint64_t job, std::uint64_t owner) const {
    constexpr double kTight = 0.38;
    constexpr double kLoose = 0.9;
    const double written = static_cast<double>(row.data.write_bytes);
    const double made = written / kBytesAFile * around_one(kTight, seed_, job, noise);
    row.metadata.mknod = rounded(made);
    row.metadata.mkdir = rounded(written / kBytesAFolder * around_one(kTight, seed_, job, noise + 1));
    row.metadata.create = row.metadata.mknod;
    row.metadata.open = rounded(made * 3 * around_one(kLoose, seed_, job, noise + 2)) + 1 + mixed(seed_, job, noise + 3) % 20;
    // One user in six forgets to close.
    const double unclosed = owner % 6 == 0 ? 0.4 * unit(seed_, job, noise + 4) : 0;
    row.metadata.close = rounded(static_cast<double>(row.metadata.open) * (1 - unclosed));
    row.metadata.unlink = rounded(made * 0.3 * around_one(kLoose, seed_, job, noise + 5));
    row.metadata.rename = rounded(made * 0.05 * around_one(kLoose, seed_, job, noise + 6));
    row.metadata.rmdir = row.metadata.mkdir / 4;
    constexpr std::uint64_t kMessage = 1000000;
    row.network = NetworkCounts{.received_bytes = row.data.read_bytes + row.data.read_bytes / 100,
                                .sent_bytes = row.data.write_bytes + row.data.write_bytes / 100,
                                .received = row.data.read_bytes / kMessage + row.metadata.open,
                                .sent = row.data.write_bytes / kMessage + row.metadata.open};
  }

  // from_top: how many write more; of heavy writers.
  void add_times(JobRow& row, std::uint64_t job, std::optional<std::uint64_t> from_top) const {
    const auto day = static_cast<std::int64_t>(job * static_cast<std::uint64_t>(shape_.days) / jobs_);
    auto second = static_cast<std::int64_t>(unit(seed_, job, start) * static_cast<double>(kDay));
    if (from_top && *from_top % kBusyEvery < 2) second = (*from_top % kBusyEvery == 0 ? 5 : 11) * kHour + second % kHour;
    row.started = shape_.first + day * kDay + second;
    row.ended = row.started + static_cast<std::int64_t>(rounded(shape_.seconds.of_rank(duration_(job), jobs_)));
  }

  const Shape& shape_;
  std::uint64_t jobs_;
  std::uint64_t io_jobs_;
  std::uint64_t writers_;
  std::uint64_t users_;
  std::uint64_t seed_;
  Shuffle io_;
  Shuffle duration_;
  Shuffle nodes_;
  Shuffle reads_;
  std::uint64_t first_heavy_;
  Shuffle light_;
  Shuffle heavy_;
};

void count(const JobRow& row, SynthTruth& truth) {
  ++truth.jobs;
  truth.read_bytes += row.data.read_bytes;
  truth.write_bytes += row.data.write_bytes;
  truth.opens += row.metadata.open;
  truth.closes += row.metadata.close;
}

}  // namespace

std::string_view to_string(Like like) { return like == Like::cab ? "cab" : "quartz"; }

std::uint64_t published_jobs(Like like, bool series) {
  if (series) return kPublishedSeriesJobs;
  return like == Like::cab ? kCab.jobs : kQuartz.jobs;
}

Result<SynthTruth> synthesise(const SynthOptions& options, const RowVisitor& sink) {
  if (options.series && options.like == Like::cab) {
    return fail(Errc::invalid_argument, "cab with --series: time series were published of quartz alone");
  }
  const std::uint64_t jobs = options.jobs == 0 ? published_jobs(options.like, options.series) : options.jobs;
  if (options.series) return synthesise_series(jobs, options.seed, sink);
  const Shape& shape = options.like == Like::cab ? kCab : kQuartz;
  const JobDraws draws(shape, jobs, options.seed);
  const std::string cluster = fmt::format("{}{}", kSyntheticPrefix, to_string(options.like));
  SynthTruth truth;
  std::vector<JobRow> day;
  std::uint64_t given = 0;
  const auto give = [&]() -> Result<void> {
    std::ranges::sort(day, {}, [](const JobRow& row) { return std::tie(row.started, row.user, row.ended, row.nodes); });
    for (JobRow& row : day) {
      row.cluster = cluster;
      row.id = fmt::format("{}", 1000000 + given);
      ++given;
      count(row, truth);
      IEZ_CHECK(sink.job(std::move(row)));
    }
    day.clear();
    return {};
  };
  std::int64_t today = 0;
  for (std::uint64_t job = 0; job < jobs; ++job) {
    JobRow row = draws.row(job, truth);
    if (row.started / kDay != today) IEZ_CHECK(give());
    today = row.started / kDay;
    day.push_back(std::move(row));
  }
  IEZ_CHECK(give());
  return truth;
}

}  // namespace iez::jobs
