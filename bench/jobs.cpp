#include "jobs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "jobs/analysis.hpp"
#include "jobs/census.hpp"
#include "jobs/job_store.hpp"
#include "jobs/rows_csv.hpp"
#include "jobs/synth.hpp"
#include "jobs_data.hpp"
#include "jobs_sampler.hpp"
#include "measure.hpp"
#include "peer.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr std::size_t kBatch = 500000;
constexpr std::uint64_t kSampledJobs = 25000;
constexpr std::uint64_t kTargets = 16;
constexpr int kSamples = 6;  // intervals that are ingested, one batch each

// What agents give in one interval: every job on every target; of two targets, metadata.
std::vector<jobs::SeriesRow> sample_of(std::int64_t time, std::uint64_t count, Rng& rng) {
  std::vector<jobs::SeriesRow> rows;
  rows.reserve(count * kTargets);
  for (std::uint64_t target = 0; target < kTargets; ++target) {
    const bool mdt = target < 2;
    const std::string name = mdt ? fmt::format("scratch-MDT{:04x}", target) : fmt::format("scratch-OST{:04x}", target);
    for (std::uint64_t job = 0; job < count; ++job) {
      jobs::SeriesRow row{.cluster = "site",
                          .target = name,
                          .id = fmt::format("{}", 4000000 + job),
                          .user = fmt::format("{}", 1000 + job % 500),
                          .time = time};
      if (mdt) {
        row.metadata = {.open = rng.below(200), .close = rng.below(200), .create = rng.below(20), .unlink = rng.below(5)};
      } else {
        const std::uint64_t calls = rng.below(3000);
        row.data = {.read_bytes = rng.chance(0.3) ? rng.below(1U << 30U) : 0,
                    .write_bytes = calls * (rng.below(256) << 12U),
                    .write_calls = calls};
        row.data.read_calls = row.data.read_bytes >> 20U;
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

struct Ingested {
  double rows_a_second = 0;
  double bytes_per_row = 0;
  std::uint64_t rows = 0;
  double seconds = 0;
};

Result<Ingested> ingest_samples(const std::string& path, bool quick) {
  IEZ_TRY(jobs::JobStore store, jobs::JobStore::open({.path = path}));
  Rng rng(11);
  Ingested ingested;
  for (int i = 0; i < (quick ? 2 : kSamples); ++i) {
    const auto rows = sample_of(1528329600 + 60 * i, quick ? kSampledJobs / 50 : kSampledJobs, rng);
    const auto start = Clock::now();
    IEZ_TRY(const jobs::Added added, store.add(std::span<const jobs::SeriesRow>(rows)));
    ingested.seconds += seconds_since(start);
    ingested.rows += added.added;
  }
  IEZ_TRY(const jobs::CheckReport report, jobs::check_store(path));
  if (!report.problems.empty() || report.series_rows != ingested.rows)
    return fail(Errc::io, "the store is not what was put into it");
  ingested.rows_a_second = static_cast<double>(ingested.rows) / ingested.seconds;
  ingested.bytes_per_row = static_cast<double>(report.series_bytes) / static_cast<double>(report.series_rows);
  return ingested;
}

// The same rows into the store, and as CSV for a peer that reads no Parquet.
class Filler {
 public:
  Filler(jobs::JobStore& store, std::FILE* jobs_csv, std::FILE* series_csv)
      : store_(store), jobs_csv_(jobs_csv), series_csv_(series_csv) {}

  Result<void> add(const jobs::SynthOptions& options) {
    const jobs::RowVisitor sink{.job = [this](jobs::JobRow&& row) { return take(jobs_, jobs_csv_, std::move(row)); },
                                .series = [this](jobs::SeriesRow&& row) { return take(series_, series_csv_, std::move(row)); }};
    IEZ_TRY(const jobs::SynthTruth truth, jobs::synthesise(options, sink));
    count_ += truth.jobs;
    rows_ += truth.series_rows;
    IEZ_CHECK(flush(jobs_));
    return flush(series_);
  }

  Result<void> finish() {
    for (std::FILE* const file : {jobs_csv_, series_csv_}) {
      if (std::fflush(file) != 0 || std::ferror(file) != 0) return fail_errno(errno, "rows for pandas");
    }
    return {};
  }

  std::uint64_t jobs() const { return count_; }
  std::uint64_t rows() const { return rows_; }

 private:
  template <typename Row>
  Result<void> take(std::vector<Row>& rows, std::FILE* csv, std::type_identity_t<Row>&& row) {
    text_.clear();
    jobs::append_csv(text_, row);
    if (std::fwrite(text_.data(), 1, text_.size(), csv) != text_.size()) return fail_errno(errno, "rows for pandas");
    rows.push_back(std::move(row));
    return rows.size() < kBatch ? Result<void>{} : flush(rows);
  }

  template <typename Row>
  Result<void> flush(std::vector<Row>& rows) {
    if (rows.empty()) return {};
    IEZ_TRY(const jobs::Added added, store_.add(std::span<const Row>(rows)));
    rows.clear();
    return {};
  }

  jobs::JobStore& store_;
  std::FILE* jobs_csv_;
  std::FILE* series_csv_;
  std::vector<jobs::JobRow> jobs_;
  std::vector<jobs::SeriesRow> series_;
  std::string text_;
  std::uint64_t count_ = 0;
  std::uint64_t rows_ = 0;
};

struct Data {
  std::string store;
  std::string jobs_csv;
  std::string series_csv;
  std::uint64_t jobs = 0;
  std::uint64_t rows = 0;
};

Result<Data> make_data(const std::string& folder, bool quick) {
  Data data{.store = folder + "/store", .jobs_csv = folder + "/jobs.csv", .series_csv = folder + "/series.csv"};
  IEZ_TRY(jobs::JobStore store, jobs::JobStore::open({.path = data.store}));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> jobs_csv(std::fopen(data.jobs_csv.c_str(), "w"), std::fclose);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> series_csv(std::fopen(data.series_csv.c_str(), "w"), std::fclose);
  if (!jobs_csv || !series_csv) return fail_errno(errno, folder);
  std::fputs(jobs::csv_heading(jobs::Table::jobs).c_str(), jobs_csv.get());
  std::fputs(jobs::csv_heading(jobs::Table::series).c_str(), series_csv.get());
  Filler filler(store, jobs_csv.get(), series_csv.get());
  const std::uint64_t count = quick ? 20000 : 0;
  IEZ_CHECK(filler.add({.like = jobs::Like::cab, .jobs = count}));
  IEZ_CHECK(filler.add({.like = jobs::Like::quartz, .jobs = count}));
  IEZ_CHECK(filler.add({.like = jobs::Like::quartz, .jobs = quick ? 500U : 0U, .series = true}));
  IEZ_CHECK(filler.finish());
  data.jobs = filler.jobs();
  data.rows = filler.rows();
  return data;
}

struct Reported {
  int rounds = 0;
  double seconds = 0;
  nlohmann::json answers;  // some, by the names that the script for pandas has for them
};

// The sum of a column over the rows of a table in which another one has this value; all rows, where that is empty.
double sum_of(const nlohmann::json& tables, std::string_view table, std::string_view column, std::string_view where,
              std::string_view is) {
  const auto place = [](const nlohmann::json& columns, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find_if(columns, [&](const nlohmann::json& one) { return one == name; }) -
                                    columns.begin());
  };
  double sum = 0;
  for (const auto& one : tables) {
    if (one["name"] != table) continue;
    for (const auto& row : one["rows"]) {
      if (where.empty() || row[place(one["columns"], where)] == is) sum += row[place(one["columns"], column)].get<double>();
    }
  }
  return sum;
}

nlohmann::json answers_of(const nlohmann::json& report) {
  const auto tables = [&](std::size_t analysis) -> const nlohmann::json& { return report["analyses"][analysis - 1]["tables"]; };
  return {{"jobs", sum_of(report["summary"], "summary", "jobs", "", "")},
          {"inefficient", sum_of(tables(3), "classes", "inefficient", "what", "jobs")},
          {"writers_io_share", sum_of(tables(7), "statistics", "mean_share", "jobs_that", "write")},
          {"above_half", sum_of(tables(8), "largest", "above_50_percent", "", "")},
          {"jobs_of_half", sum_of(tables(10), "load", "jobs_of_half", "", "")}};
}

// The command as a user starts it, with the page that it writes.
Result<Reported> time_report(const Settings& settings, const Data& data, const std::string& folder) {
  Reported reported{.rounds = settings.quick ? 1 : 3};
  for (int round = 0; round < reported.rounds; ++round) {
    const auto start = Clock::now();
    IEZ_TRY(const std::string text,
            output_of({settings.program, "jobs", "report", "--store", data.store, "--out", folder + "/report.html", "--json"}));
    const double seconds = seconds_since(start);
    reported.seconds = round == 0 ? seconds : std::min(reported.seconds, seconds);
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) return fail(Errc::parse, "the report is no JSON");
    reported.answers = answers_of(json);
  }
  return reported;
}

Figure pandas_figure(const Data& data, const Reported& ours, const std::string& folder) {
  Figure figure{.name = "jobs.vs_pandas", .unit = "x", .target = 10};
  const auto python = python_with("pandas", "python3-pandas");
  if (!python) {
    figure.note = python.error().message;
    return figure;
  }
  const std::string script = folder + "/pandas_jobs.py";
  if (const auto written = write_text(script, pandas_jobs_script()); !written) {
    figure.note = written.error().message;
    return figure;
  }
  // The best of as many runs as ours.
  nlohmann::json json;
  double read = 0;
  double analyse = 0;
  for (int round = 0; round < ours.rounds; ++round) {
    const auto answer = output_of({*python, script, data.jobs_csv, data.series_csv}, std::chrono::seconds(1800));
    if (!answer) {
      figure.note = answer.error().message;
      return figure;
    }
    json = nlohmann::json::parse(*answer, nullptr, false);
    if (json.is_discarded()) {
      figure.note = "pandas gave no JSON";
      return figure;
    }
    const double read_now = json["read_s"].get<double>();
    const double analyse_now = json["analyse_s"].get<double>();
    if (round > 0 && read_now + analyse_now >= read + analyse) continue;
    read = read_now;
    analyse = analyse_now;
  }
  for (const auto& [name, value] : ours.answers.items()) {
    constexpr double kDigits = 1e-9;
    const double theirs = json["answers"].value(name, -1.0);
    if (std::abs(value.get<double>() - theirs) <= kDigits * std::abs(theirs)) continue;
    figure.note = fmt::format("the answers differ, and nothing is compared: {} is {} here and {} in pandas", name,
                              value.get<double>(), theirs);
    return figure;
  }
  figure.value = (read + analyse) / ours.seconds;
  figure.note = fmt::format(
      "from files to answers: pandas reads CSV ({:.1f} s; Debian's reads no Parquet) and analyses in {:.1f} s, iez reads "
      "Parquet, analyses "
      "and writes the page in {:.2f} s; pandas without reading is {:.1f} times ours with it; same answers",
      read, analyse, ours.seconds, analyse / ours.seconds);
  return figure;
}

// The tables of all jobs, by our pass and by the SQL that defines them; the best of some rounds, each with a DuckDB of its own.
Result<Figure> census_figure(const Data& data, int rounds) {
  double ours = 0;
  double theirs = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const bool by_sql : {false, true}) {
      IEZ_TRY(jobs::JobReader reader, jobs::JobReader::open({.path = data.store}));
      const jobs::AnalysisOptions options;
      IEZ_CHECK(jobs::make_options(reader.duck(), options));
      const auto start = Clock::now();
      IEZ_CHECK(by_sql ? jobs::make_tables(reader.duck(), "00_census") : jobs::make_census(reader.duck(), options));
      const double seconds = seconds_since(start);
      double& best = by_sql ? theirs : ours;
      best = round == 0 ? seconds : std::min(best, seconds);
    }
  }
  return Figure{.name = "jobs.census_vs_sql",
                .value = theirs / ours,
                .unit = "x",
                .target = 1.5,
                .note = fmt::format("the tables of 00_census.sql: one pass of ours in {:.2f} s, SQL in {:.2f} s", ours, theirs)};
}

}  // namespace

Result<std::vector<Figure>> run_jobs(const Settings& settings) {
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  settings.progress("ingesting samples of 25,000 jobs on 16 targets");
  IEZ_TRY(const Ingested ingested, ingest_samples(folder.path() + "/samples", settings.quick));
  settings.progress("making synthetic jobs");
  IEZ_TRY(const Data data, make_data(folder.path(), settings.quick));
  settings.progress("reporting");
  IEZ_TRY(const Reported reported, time_report(settings, data, folder.path()));
  settings.progress("the same in pandas");
  std::vector<Figure> figures;
  figures.push_back({.name = "jobs.report_s",
                     .value = reported.seconds,
                     .unit = "s",
                     .higher_is_better = false,
                     .target = 10,
                     .note = fmt::format("`iez jobs report --out`: ten analyses of {} jobs and {} rows of series; best of {}",
                                         data.jobs, data.rows, reported.rounds)});
  figures.push_back(pandas_figure(data, reported, folder.path()));
  settings.progress("counting jobs by SQL");
  IEZ_TRY(Figure census, census_figure(data, reported.rounds));
  figures.push_back(std::move(census));
  figures.push_back({.name = "jobs.ingest_rows_s",
                     .value = ingested.rows_a_second,
                     .unit = "1/s",
                     .target = 500000,
                     .note = fmt::format("{} rows of series from memory to the disk (fsync), an interval a batch: {:.2f} s",
                                         ingested.rows, ingested.seconds)});
  figures.push_back({.name = "jobs.bytes_per_row",
                     .value = ingested.bytes_per_row,
                     .unit = "B",
                     .higher_is_better = false,
                     .target = 24,
                     .note = "of these rows: random counters, which compress worse than real ones"});
  settings.progress("sampling job_stats");
  IEZ_TRY(std::vector<Figure> sampling, measure_job_sampler(settings));
  for (Figure& figure : sampling) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace iez::bench
