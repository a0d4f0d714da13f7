#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "contention/equations.hpp"
#include "repro_scenarios.hpp"
#include "repro_sections.hpp"
#include "repro_sharing.hpp"

namespace iez::cli {

namespace {

constexpr double kTolerance = 0.20;
constexpr std::uint32_t kOsts = 480;

struct PublishedTable {
  std::string what;
  std::uint32_t osts = 0;
  std::uint32_t stripes = 0;
  std::vector<double> in_use;
  std::vector<double> load;
};

const std::vector<PublishedTable>& tables() {
  static const std::vector<PublishedTable> kTables{
      {"480 OSTs, 160 stripes",
       480,
       160,
       {160.00, 266.67, 337.78, 385.19, 416.79, 437.86, 451.91, 461.27, 467.51, 471.68},
       {1.00, 1.20, 1.42, 1.66, 1.92, 2.19, 2.48, 2.78, 3.08, 3.39}},
      {"480 OSTs, 64 stripes", 480, 64, {64.00, 119.47, 167.54, 209.20, 245.31, 276.60, 303.72, 327.22, 347.59, 365.25}, {}},
      {"160 OSTs, 128 stripes (Stampede)",
       160,
       128,
       {128.00, 153.60, 158.72, 159.74, 159.95, 159.99, 160.00, 160.00, 160.00, 160.00},
       {1.00, 1.67, 2.42, 3.21, 4.00, 4.80, 5.60, 6.40, 7.20, 8.00}},
  };
  return kTables;
}

struct DriverPoint {
  std::uint32_t processes = 0;
  double driver = 0;  // MB/s
  double plfs = 0;
  double plfs_low = 0;  // published 95 % interval
  double plfs_high = 0;
};

constexpr std::array<DriverPoint, 9> kPoints{{{16, 403.75, 752.96, 398.41, 1107.51},
                                              {32, 404.71, 727.33, 558.95, 895.70},
                                              {64, 857.35, 1776.70, 648.90, 2904.50},
                                              {128, 1987.51, 3814.62, 1375.19, 6254.05},
                                              {256, 4354.98, 7126.88, 4159.66, 10094.10},
                                              {512, 8985.14, 10723.42, 9947.06, 11499.77},
                                              {1024, 13859.58, 8575.13, 8474.06, 8676.21},
                                              {2048, 16200.16, 5696.41, 5604.86, 5787.97},
                                              {4096, 16917.11, 3069.05, 3052.82, 3085.28}}};

// One row for a table: its last value, and whether all agree to the digits printed (or to one of the last, where the source
// rounded on its way).
ReproRow table_row(std::string what, const std::vector<double>& published, const std::vector<double>& ours) {
  double worst = 0;
  std::size_t agree = 0;
  for (std::size_t i = 0; i < published.size(); ++i) {
    const double off = std::abs(ours[i] - published[i]);
    worst = std::max(worst, off);
    if (off <= 0.0051) ++agree;
  }
  return {.what = std::move(what),
          .paper = published.back(),
          .ours = ours.back(),
          .decimals = 2,
          .target = "all digits printed",
          .holds = agree == published.size(),
          .kind = ReproKind::computed,
          .note = fmt::format("{} of {} values agree, the last is shown; the largest difference is {:.4f}.", agree,
                              published.size(), worst)};
}

Result<void> add_equations(ReproSection& section) {
  for (const PublishedTable& table : tables()) {
    std::vector<double> in_use;
    std::vector<double> load;
    for (std::uint64_t jobs = 1; jobs <= table.in_use.size(); ++jobs) {
      IEZ_TRY(const auto usage, contention::expected_usage(table.osts, table.stripes, jobs));
      in_use.push_back(usage.in_use);
      load.push_back(usage.load);
    }
    section.rows.push_back(table_row("D_inuse of 1 to 10 jobs, " + table.what, table.in_use, in_use));
    if (!table.load.empty()) section.rows.push_back(table_row("D_load of 1 to 10 jobs, " + table.what, table.load, load));
  }
  IEZ_TRY(const auto last, contention::expected_usage(kOsts, 64, 10));
  section.rows.push_back(table_row("D_load of 10 jobs, 480 OSTs, 64 stripes", {1.75}, {last.load}));
  struct Ranks {
    std::uint64_t count = 0;
    double load = 0;
    int digits = 0;  // printed after the point
  };
  for (const Ranks& ranks : {Ranks{512, 2.4, 1}, Ranks{688, 3, 0}, Ranks{2048, 8.53, 2}, Ranks{4096, 17.07, 2}}) {
    IEZ_TRY(const auto usage, contention::log_structured_usage(kOsts, ranks.count));
    const double half = 0.51 * std::pow(10, -ranks.digits);
    section.rows.push_back({.what = fmt::format("D_load of PLFS with {} ranks", ranks.count),
                            .paper = ranks.load,
                            .ours = usage.load,
                            .decimals = 2,
                            .target = "all digits printed",
                            .holds = std::abs(usage.load - ranks.load) <= half,
                            .kind = ReproKind::computed});
  }
  return {};
}

struct Batch {
  std::vector<sim::Scenario> scenarios;
  std::vector<std::size_t> ends;  // of each group of seeds

  template <typename Make>
  void add(std::uint64_t seeds, const Make& make) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) scenarios.push_back(make(seed));
    ends.push_back(scenarios.size());
  }
};

std::span<const sim::RunResult> group(const Batch& batch, const std::vector<sim::RunResult>& runs, std::size_t number) {
  const std::size_t first = number == 0 ? 0 : batch.ends[number - 1];
  return std::span(runs).subspan(first, batch.ends[number] - first);
}

double mean_rate(std::span<const sim::RunResult> runs) {
  double sum = 0;
  for (const sim::RunResult& run : runs) sum += run.bandwidth.value / kMb;
  return sum / static_cast<double>(runs.size());
}

double mean_of_jobs(std::span<const sim::RunResult> runs) {
  double sum = 0;
  for (const sim::RunResult& run : runs) {
    for (const sim::JobResult& job : run.jobs) sum += job.bandwidth.value / kMb / static_cast<double>(run.jobs.size());
  }
  return sum / static_cast<double>(runs.size());
}

// With the work of each rank that grows with the number of ranks; see the text of the section.
double with_rank_pairs(double rate, std::uint32_t processes) {
  const double bytes = static_cast<double>(Bytes::mib(400).count) * processes / kMb;
  const double pairs = static_cast<double>(processes) * processes;
  return bytes / (bytes / rate + pairs * kRankPairUs * 1e-6);
}

std::string plfs_note(const DriverPoint& point, double ours) {
  if (std::abs(ours - point.plfs) <= kTolerance * point.plfs) return "";
  const bool inside = ours >= point.plfs_low && ours <= point.plfs_high;
  return fmt::format("The published 95 % interval is {:.0f} to {:.0f}: ours is {} it.", point.plfs_low, point.plfs_high,
                     inside ? "inside" : "outside");
}

SvgChart driver_chart(const std::vector<double>& driver, const std::vector<double>& plfs) {
  SvgChart chart{
      .title = "One job through the Lustre driver and through PLFS",
      .subtitle = "MB/s by number of processes.",
      .axis = "MB/s",
      .series = {{.name = "driver, published"}, {.name = "driver, ours"}, {.name = "PLFS, published"}, {.name = "PLFS, ours"}},
      .decimals = 0};
  for (std::size_t i = 0; i < driver.size(); ++i) {
    chart.categories.push_back(fmt::to_string(kPoints[i].processes));
    chart.series[0].bars.emplace_back(SvgBar{.value = kPoints[i].driver});
    chart.series[1].bars.emplace_back(SvgBar{.value = driver[i]});
    chart.series[2].bars.emplace_back(SvgBar{.value = kPoints[i].plfs});
    chart.series[3].bars.emplace_back(SvgBar{.value = plfs[i]});
  }
  return chart;
}

Result<void> add_drivers(ReproSection& section, ReproRunner& runner, bool quick) {
  const std::size_t points = quick ? 5 : kPoints.size();
  const std::uint64_t seeds = quick ? 1 : 5;
  Batch batch;
  for (std::size_t i = 0; i < points; ++i) {
    const std::uint32_t processes = kPoints[i].processes;
    batch.add(seeds, [&](std::uint64_t seed) { return lscratchc_driver(processes, 160, Bytes::mib(128), seed); });
    batch.add(seeds, [&](std::uint64_t seed) { return lscratchc_plfs(processes, seed); });
  }
  IEZ_TRY(const auto runs, runner.simulate(batch.scenarios));
  std::vector<double> driver;
  std::vector<double> plain;  // positioning alone
  std::vector<double> plfs;
  for (std::size_t i = 0; i < points; ++i) {
    driver.push_back(mean_rate(group(batch, runs, 2 * i)));
    plain.push_back(mean_rate(group(batch, runs, 2 * i + 1)));
    plfs.push_back(with_rank_pairs(plain.back(), kPoints[i].processes));
  }
  for (std::size_t i = 0; i < points; ++i) {
    const bool fitted = kPoints[i].processes == 16 || kPoints[i].processes == 512;
    section.rows.push_back(row_within(fmt::format("Lustre driver, {} processes", kPoints[i].processes), "MB/s", kPoints[i].driver,
                                      driver[i], kTolerance, fitted ? ReproKind::fitted : ReproKind::predicted));
  }
  for (std::size_t i = 0; i < points; ++i) {
    const bool fitted = kPoints[i].processes == 64 || kPoints[i].processes == 4096;
    section.rows.push_back(row_within(fmt::format("PLFS, {} processes", kPoints[i].processes), "MB/s", kPoints[i].plfs, plfs[i],
                                      kTolerance, fitted ? ReproKind::fitted : ReproKind::predicted,
                                      plfs_note(kPoints[i], plfs[i])));
  }
  section.charts.push_back(driver_chart(driver, plfs));
  if (quick) return {};
  section.rows.push_back(row_within(
      "PLFS, 4096 processes, from positioning alone", "MB/s", kPoints.back().plfs, plain.back(), kTolerance, ReproKind::predicted,
      "A positioning before every RPC is not enough: 3069 MB/s over 480 OSTs is 164 ms for each MiB, some twenty "
      "positionings; something else grows with the number of ranks."));
  ReproRow crossing{
      .what = "First measured size at which the driver beats PLFS", .unit = "processes", .paper = 1024, .decimals = 0};
  for (std::size_t i = 0; i < points && !crossing.ours; ++i) {
    if (driver[i] > plfs[i] && kPoints[i].processes >= 64) crossing.ours = kPoints[i].processes;
  }
  crossing.target = "the same";
  crossing.holds = crossing.ours == crossing.paper;
  crossing.note = "From 64 processes on: below, the published intervals overlap.";
  section.rows.push_back(std::move(crossing));
  return {};
}

Result<void> add_four_jobs(ReproSection& section, ReproRunner& runner) {
  constexpr std::uint64_t kSeeds = 5;  // the published figures are means of five runs
  Batch batch;
  for (const FourJobs& published : four_jobs())
    batch.add(kSeeds, [&](std::uint64_t seed) { return lscratchc_four_jobs(published.stripes, seed); });
  IEZ_TRY(const auto runs, runner.simulate(batch.scenarios));
  SvgChart chart{.title = "Four jobs at once: MB/s of each, by stripes",
                 .subtitle = "Means of five runs, published and simulated.",
                 .axis = "MB/s",
                 .series = {{.name = "published"}, {.name = "ours"}},
                 .decimals = 0};
  for (std::size_t i = 0; i < four_jobs().size(); ++i) {
    const FourJobs& published = four_jobs()[i];
    const double ours = mean_of_jobs(group(batch, runs, i));
    const bool close = std::abs(ours - published.rate) <= kTolerance * published.rate;
    section.rows.push_back(
        row_within(fmt::format("Four jobs of {} stripes: MB/s of each", published.stripes), "MB/s", published.rate, ours,
                   kTolerance, ReproKind::predicted,
                   close ? ""
                         : "All published totals stay below 18.2 GB/s, one job's or four's: a limit between the cluster and "
                           "the servers that the model has not."));
    chart.categories.push_back(fmt::to_string(published.stripes));
    chart.series[0].bars.emplace_back(SvgBar{.value = published.rate});
    chart.series[1].bars.emplace_back(SvgBar{.value = ours});
  }
  section.charts.push_back(std::move(chart));
  return {};
}

// One job of 1,024 processes, by stripe count and stripe size.
Result<void> add_sweep(ReproSection& section, ReproRunner& runner) {
  struct Point {
    std::string what;
    std::uint32_t stripes = 0;
    std::uint64_t mib = 0;
    double paper = 0;
    std::string note;
  };
  const std::string locks =
      "Many writers take turns on each object, and each turn moves its extent locks; the model knows a lock's price, but not "
      "that a turn must wait for the one before.";
  const std::vector<Point> points{{"2 stripes of 1 MB", 2, 1, 313, locks},
                                  {"2 stripes of 128 MB", 2, 128, 395, locks},
                                  {"160 stripes of 1 MB", 160, 1, 4075, locks},
                                  {"160 stripes of 128 MB", 160, 128, 15609, ""}};
  std::vector<sim::Scenario> scenarios;
  scenarios.reserve(points.size());
  for (const Point& point : points) scenarios.push_back(lscratchc_driver(1024, point.stripes, Bytes::mib(point.mib), 1));
  IEZ_TRY(const auto runs, runner.simulate(scenarios));
  for (std::size_t i = 0; i < points.size(); ++i) {
    section.rows.push_back(row_within("1024 processes, " + points[i].what, "MB/s", points[i].paper, runs[i].bandwidth.value / kMb,
                                      kTolerance, ReproKind::predicted, points[i].note));
  }
  return {};
}

std::vector<ReproConstant> constants() {
  return {
      {"one collective writer", "476 MB/s",
       "fitted: the geometric mean of what the driver's rows of 16 and of 512 processes ask for"},
      {"one process through PLFS", "27.8 MB/s", "fitted: PLFS with 64 processes"},
      {"each pair of ranks in PLFS", "29.2 us", "fitted: PLFS with 4096 processes"},
      {"writers at work", "processes / 32", "from the published pattern: a call spans 4 MB x processes, a stripe is 128 MB"},
      {"network interface of a server", "937.5 MB/s", "published: 32 servers, about 30 GB/s in theory"},
      {"one OST", "500 MB/s in sequence",
       "assumed: 8 data disks; from 400 MB/s on it changes little, as servers and writers decide"},
      {"positioning", "8 ms", "assumed: half a turn at 10,000 rpm, and a seek"},
      {"nodes", "16 processes each, 4 GB/s", "published"},
      {"placement", "random", "published"},
  };
}

}  // namespace

Result<ReproSection> repro_contention(ReproRunner& runner, bool quick) {
  ReproSection section{
      .id = "contention",
      .title = "Contention: stripes and shared OSTs (lscratchc)",
      .text =
          "The equations of the study are computed; who shares OSTs is compared with random placement; rates are simulated. Four "
          "rows "
          "were used to fit three constants. Two findings. First, the driver's rates follow from the access pattern: one "
          "collective call "
          "takes 1 MB from each rank out of blocks of 4 MB, so it spans 4 MB x processes, and with stripes of 128 MB only "
          "processes / 32 "
          "writers have anything to do. Second, the decline of PLFS cannot be had from positioning: what its runs take longer "
          "than the "
          "simulation grows about with the square of the number of ranks (5, 27, 111, 490 s for 512, 1024, 2048, 4096), so each "
          "rank "
          "does work "
          "for every other, or waits for it. One constant for a pair of ranks, added to the simulated time, gives all rows; the "
          "source does "
          "not say what the work is. Each MiB costing one more positioning for every other file on its OST would fit as well.",
      .constants = constants()};
  IEZ_CHECK(add_equations(section));
  IEZ_CHECK(add_sharing(section, runner, quick));
  if (!quick) IEZ_CHECK(add_four_jobs(section, runner));
  if (!quick) IEZ_CHECK(add_sweep(section, runner));
  IEZ_CHECK(add_drivers(section, runner, quick));
  return section;
}

}  // namespace iez::cli
