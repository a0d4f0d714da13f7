#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "config/settings.hpp"
#include "input/byte_stream.hpp"
#include "jobs/row_text.hpp"
#include "jobs/rows_csv.hpp"
#include "jobs/spool.hpp"
#include "jobs_command.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kBatch = 500000;  // rows that are kept in memory before they are written

// Rows of a stream into a store, in batches.
class Ingest {
 public:
  Ingest(jobs::JobStore& store, Progress& progress) : store_(store), progress_(progress) {}

  jobs::RowVisitor sink() {
    return {.job = [this](jobs::JobRow&& row) { return take(jobs_, std::move(row)); },
            .series = [this](jobs::SeriesRow&& row) { return take(series_, std::move(row)); }};
  }

  Result<void> finish() {
    IEZ_CHECK(flush(jobs_));
    return flush(series_);
  }

  const jobs::Added& added() const { return added_; }

 private:
  template <typename Row>
  Result<void> take(std::vector<Row>& rows, Row&& row) {
    if (rows.capacity() == 0) rows.reserve(kBatch);
    rows.push_back(std::move(row));
    return rows.size() < kBatch ? Result<void>{} : flush(rows);
  }

  template <typename Row>
  Result<void> flush(std::vector<Row>& rows) {
    if (rows.empty()) return {};
    progress_.tell(fmt::format("writing {} rows, after {}", rows.size(), added_.given));
    IEZ_TRY(const jobs::Added added, store_.add(std::span<const Row>(rows)));
    added_.merge(added);
    rows.clear();
    return {};
  }

  jobs::JobStore& store_;
  Progress& progress_;
  std::vector<jobs::JobRow> jobs_;
  std::vector<jobs::SeriesRow> series_;
  jobs::Added added_;
};

Result<std::unique_ptr<input::ByteStream>> open_input(const std::string& path, Progress& progress) {
  const bool standard = path == kStandardStream;
  input::UniqueFd fd(standard ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  return watched_file(std::move(fd), standard ? "stdin" : path, progress);
}

// A folder of spool files, or one of them.
bool is_spool(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(jobs::kSpoolSuffix) || (path != kStandardStream && std::filesystem::is_directory(path, ignored));
}

// Rows that were spooled. Reports of nodes are no rows before `iez jobs collect` has summed them.
Result<void> ingest_spool(const std::string& path, Ingest& ingest, Progress& progress, Context& context) {
  const jobs::RowVisitor rows = ingest.sink();
  const auto each = [](const auto& take) {
    return [&take](const auto& some) -> Result<void> {
      for (auto row : some) IEZ_CHECK(take(std::move(row)));
      return {};
    };
  };
  IEZ_TRY(const std::vector<std::string> files, jobs::spool_files(path));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& file = files[i];
    progress.tell(fmt::format("{}, {} of {}", file, i + 1, counted(files.size(), "file")));
    IEZ_TRY(const jobs::SpoolSummary found,
            jobs::read_spool_file(file, {.jobs = each(rows.job), .series = each(rows.series), .reports = {}, .marks = {}}));
    if (found.damaged_bytes > 0) {
      context.log.warning(fmt::format("{}: {} damaged bytes passed over", file, found.damaged_bytes));
    }
  }
  return {};
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  // 2018-06-07, and maybe T12:30 or T12:30:15
  const auto part = [&](std::size_t from, std::size_t size) -> std::optional<std::uint64_t> {
    return from + size <= text.size() ? text::parse_u64(text.substr(from, size)) : std::nullopt;
  };
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return std::nullopt;
  const auto year = part(0, 4);
  const auto month = part(5, 2);
  const auto day = part(8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *year < 1970) return std::nullopt;
  std::int64_t seconds = std::chrono::sys_seconds(std::chrono::sys_days(date)).time_since_epoch().count();
  if (text.size() == 10) return seconds;
  const auto hour = part(11, 2);
  const auto minute = part(14, 2);
  const auto second = text.size() == 19 ? part(17, 2) : std::optional<std::uint64_t>(0);
  const bool marks = (text[10] == 'T' || text[10] == ' ') && text[13] == ':' && (text.size() == 16 || text[16] == ':');
  if (!marks || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  seconds += static_cast<std::int64_t>(*hour * 3600 + *minute * 60 + *second);
  return seconds;
}

}  // namespace

Result<std::string> jobs_store_path(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* const named = std::getenv("IEZ_JOBS_STORE"); named != nullptr && *named != '\0') return std::string(named);
  if (::geteuid() == 0) return std::string("/var/lib/iez/jobs");
  IEZ_TRY(const std::string state, config::state_folder(config::default_sources()));
  return state + "/jobs";
}

Result<std::int64_t> parse_time(std::string_view name, std::string_view text) {
  if (const auto seconds = text::parse_u64(text); seconds && *seconds < 253402300800ULL)
    return static_cast<std::int64_t>(*seconds);
  if (const auto date = parse_date(text)) return *date;
  return fail(Errc::invalid_argument,
              fmt::format("{}: '{}' is no time; expected 2018-06-07, 2018-06-07T12:30 (UTC) or seconds since 1970", name,
                          text::printable(text)));
}

Result<jobs::JobReader::Options> reader_options(const JobsStoreOptions& common, const JobsRangeOptions& range) {
  jobs::JobReader::Options options{.range = {}, .cluster = jobs::storable(range.cluster), .time_zone = range.time_zone};
  IEZ_TRY(options.path, jobs_store_path(common.store));
  if (!range.from.empty()) {
    IEZ_TRY(options.range.from, parse_time("--from", range.from));
  }
  if (!range.to.empty()) {
    IEZ_TRY(options.range.to, parse_time("--to", range.to));
  }
  if (options.range.from && options.range.to && *options.range.to <= *options.range.from) {
    return fail(Errc::invalid_argument, "--to is not after --from: nothing is between");
  }
  return options;
}

std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(time - day).count();
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), minutes / 60, minutes % 60);
}

Result<void> run_jobs_ingest(const JobsIngestOptions& options, Context& context) {
  IEZ_TRY(const std::string path, jobs_store_path(options.common.store));
  IEZ_TRY(jobs::JobStore store, jobs::JobStore::open({.path = path, .anonymous = options.anonymous}));
  Progress progress(context.clock);
  Ingest ingest(store, progress);
  input::ParseReport problems;
  const std::vector<std::string> files =
      options.files.empty() ? std::vector<std::string>{std::string(kStandardStream)} : options.files;
  for (const std::string& file : files) {
    if (is_spool(file)) {
      IEZ_CHECK(ingest_spool(file, ingest, progress, context));
      continue;
    }
    IEZ_TRY(const auto stream, open_input(file, progress));
    IEZ_TRY(const input::ParseReport report, jobs::read_rows(*stream, file == kStandardStream ? "stdin" : file, ingest.sink()));
    problems.merge(report);
  }
  IEZ_CHECK(ingest.finish());
  progress.wipe();
  const jobs::Added& added = ingest.added();
  problems.merge(added.rejected);
  report_problems(problems, context);
  const std::uint64_t skipped = problems.skipped;
  if (options.common.json) {
    return print(to_line({{"store", path},
                          {"given", added.given},
                          {"added", added.added},
                          {"amended", added.amended},
                          {"known", added.known},
                          {"skipped", skipped}}));
  }
  const std::string amended = added.amended > 0 ? fmt::format("{} amended, ", added.amended) : std::string{};
  return print(fmt::format("{} rows: {} added, {}{} known already, {} not usable; in {}\n", added.given + skipped, added.added,
                           amended, added.known, skipped, path));
}

Result<void> run_jobs_synth(const JobsSynthOptions& options, Context& context) {
  const jobs::SynthOptions& synth = options.synth;
  const std::uint64_t count = synth.jobs == 0 ? jobs::published_jobs(synth.like, synth.series) : synth.jobs;
  const bool to_terminal = options.output == kStandardStream && context.terminal.interactive;
  // Whoever did not say how many cannot mean to read them.
  if (synth.jobs == 0 && to_terminal) {
    return fail(
        Errc::invalid_argument,
        fmt::format("{} jobs would run over the terminal; give a file (--output jobs.csv), hand them on (| iez jobs ingest), "
                    "or ask for a few (--jobs 10)",
                    count));
  }
  IEZ_TRY(TextOutput output, TextOutput::create(options.output));
  std::string text = fmt::format("# synthetic: {} jobs like {}, seed {}{}; nobody measured this\n", count,
                                 jobs::to_string(synth.like), synth.seed, synth.series ? ", with time series" : "");
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  // Series of a job come before it: the job is their sum. Two tables, of which the smaller waits.
  std::string jobs_text;
  text += jobs::csv_heading(synth.series ? jobs::Table::series : jobs::Table::jobs);
  Progress progress(context.clock, to_terminal ? Progress::Rows::to_terminal : Progress::Rows::elsewhere);
  std::uint64_t made = 0;
  const auto flush = [&](std::size_t at_least) -> Result<void> {
    if (text.size() < at_least) return {};
    progress.tell(fmt::format("{} of {} jobs", made, count));
    IEZ_CHECK(output.write(text));
    text.clear();
    return {};
  };
  const jobs::RowVisitor sink{.job = [&](jobs::JobRow&& row) -> Result<void> {
                                ++made;
                                jobs::append_csv(synth.series ? jobs_text : text, row);
                                return flush(kPiece);
                              },
                              .series = [&](jobs::SeriesRow&& row) -> Result<void> {
                                jobs::append_csv(text, row);
                                return flush(kPiece);
                              }};
  IEZ_TRY(const jobs::SynthTruth truth, jobs::synthesise(synth, sink));
  if (synth.series) text += jobs::csv_heading(jobs::Table::jobs) + jobs_text;
  text += fmt::format("# sums: {} jobs, {} with I/O, {} that write, {} bytes read, {} bytes written, {} rows of series\n",
                      truth.jobs, truth.io_jobs, truth.writers, truth.read_bytes, truth.write_bytes, truth.series_rows);
  IEZ_CHECK(flush(0));
  return output.finish();
}

Result<void> run_jobs_check(const JobsStoreOptions& options, Context& context) {
  IEZ_TRY(const std::string path, jobs_store_path(options.store));
  IEZ_TRY(const jobs::CheckReport report, jobs::check_store(path));
  const double per_row =
      report.series_rows > 0 ? static_cast<double>(report.series_bytes) / static_cast<double>(report.series_rows) : 0;
  if (options.json) {
    IEZ_CHECK(print(to_line({{"store", path},
                             {"files", report.files},
                             {"bytes", report.bytes},
                             {"job_rows", report.job_rows},
                             {"series_rows", report.series_rows},
                             {"bytes_per_series_row", per_row},
                             {"problems", report.problems}})));
  } else {
    std::string out = fmt::format("{}: {} in {}, {} rows of jobs, {} rows of series", path, to_string(Bytes{report.bytes}),
                                  counted(report.files, "file"), report.job_rows, report.series_rows);
    if (report.series_rows > 0) out += fmt::format(" ({:.1f} bytes each)", per_row);
    IEZ_CHECK(print(out + '\n'));
  }
  for (const std::string& problem : report.problems) context.log.error(problem);
  if (!report.problems.empty())
    return fail(Errc::parse, fmt::format("{}: {} found", path, counted(report.problems.size(), "problem")));
  return {};
}

Result<void> run_jobs_compact(const JobsStoreOptions& options, Context&) {
  IEZ_TRY(const std::string path, jobs_store_path(options.store));
  IEZ_TRY(jobs::JobStore store, jobs::JobStore::open({.path = path}));
  IEZ_TRY(const std::uint64_t less, store.compact());
  if (options.json) return print(to_line({{"store", path}, {"files_less", less}}));
  return print(fmt::format("{}: {} files less\n", path, less));
}

Result<void> run_jobs_retain(const JobsRetainOptions& options, Context& context) {
  IEZ_TRY(const std::string path, jobs_store_path(options.common.store));
  if (options.months == 0) return fail(Errc::invalid_argument, "--months 0 would remove everything: expected 1 or more");
  const auto now = std::chrono::floor<std::chrono::days>(context.clock.wall());
  const std::chrono::year_month_day today(now);
  const auto first =
      (std::chrono::year_month(today.year(), today.month()) - std::chrono::months(static_cast<int>(options.months))) / 1;
  IEZ_TRY(jobs::JobStore store, jobs::JobStore::open({.path = path}));
  IEZ_TRY(const auto removed,
          store.remove_before(std::chrono::sys_seconds(std::chrono::sys_days(first)).time_since_epoch().count()));
  if (options.common.json) return print(to_line({{"store", path}, {"removed", removed}}));
  std::string out = fmt::format("{}: {} removed\n", path, counted(removed.size(), "month"));
  for (const std::string& month : removed) out += month + '\n';
  return print(out);
}

Result<void> run_jobs_sql(const JobsSqlOptions& options, Context& context) {
  Table table({{.title = "NAME"}, {.title = "WHAT"}});
  std::vector<std::string_view> names;
  for (const jobs::SqlFile& file : jobs::sql_files()) {
    if (file.name == options.name) return print(file.text);
    names.push_back(file.name);
    table.add({{std::string(file.name)}, {std::string(file.text.substr(3, file.text.find('\n') - 3))}});
  }
  if (options.name.empty()) return print(table.render(context.terminal, true));
  const auto near = text::nearest(options.name, names);
  return fail(Errc::invalid_argument,
              fmt::format("no SQL is named '{}'{}; `iez jobs sql` lists all", text::printable(options.name),
                          near ? fmt::format("; did you mean {}?", *near) : ""));
}

}  // namespace iez::cli
