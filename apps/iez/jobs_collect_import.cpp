#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <span>

#include <fmt/format.h>

#include "api/coordinator_client.hpp"
#include "base/text.hpp"
#include "jobs/import_series.hpp"
#include "jobs/influx.hpp"
#include "jobs/lmt.hpp"
#include "jobs/prometheus.hpp"
#include "jobs/prometheus_query.hpp"
#include "jobs/sacct.hpp"
#include "jobs/spool.hpp"
#include "jobs_collect.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kBatch = 1000;  // rows that are put at once

struct Source {
  std::unique_ptr<input::ByteStream> stream;
  std::int64_t changed = 0;  // seconds since 1970
};

Result<Source> open_file(const std::string& path, Progress& progress) {
  input::UniqueFd fd(path == kStandardStream ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (S_ISDIR(status.st_mode)) return fail_errno(EISDIR, path);
  const std::int64_t changed = status.st_mtim.tv_sec;
  return Source{.stream = watched_file(std::move(fd), path == kStandardStream ? "stdin" : path, progress), .changed = changed};
}

class Import {
 public:
  Import(const JobsImportOptions& options, jobs::TimeZone zone, Context& context)
      : options_(options),
        zone_(zone),
        context_(context),
        progress_(context.clock),
        sink_({.folder = options.out, .host = "import-" + host_name()}, context.clock),
        series_({.cluster = options.cluster}) {}

  Result<void> run() {
    if (options_.url) return from_url();
    if (options_.files.empty()) return fail(Errc::invalid_argument, "what to import? expected a FILE, or --url");
    for (const std::string& path : options_.files) IEZ_CHECK(from_file(path));
    return finish();
  }

 private:
  Result<std::int64_t> time_of(const std::optional<std::string>& given, std::string_view option, std::int64_t otherwise) const {
    if (!given) return otherwise;
    const auto time = jobs::parse_time(*given, zone_);
    if (time) return *time;
    return fail(Errc::invalid_argument, fmt::format("{} '{}': expected a time such as 2026-11-16T12:00:00, or seconds since 1970",
                                                    option, text::printable(*given)));
  }

  std::int64_t now() const { return std::chrono::floor<std::chrono::seconds>(context_.clock.wall()).time_since_epoch().count(); }

  Result<void> from_url() {
    if (!options_.files.empty()) return fail(Errc::invalid_argument, "either files or --url");
    if (options_.format == ImportFormat::lmt) {
      IEZ_TRY(points_,
              jobs::query_lmt(
                  {.url = *options_.url, .zone = zone_, .from = options_.from.value_or(""), .to = options_.to.value_or("")},
                  series_));
      return finish();
    }
    if (options_.format != ImportFormat::prometheus) {
      return fail(Errc::invalid_argument, "--url is for prometheus and lmt; the others are read from files");
    }
    if (!options_.from) return fail(Errc::invalid_argument, "--from TIME: where shall it begin?");
    jobs::PrometheusQuery query{.url = *options_.url, .ca_file = options_.ca_file};
    if (!options_.token_file.empty()) {
      IEZ_TRY(query.token, api::read_token(options_.token_file));
    }
    IEZ_TRY(query.from, time_of(options_.from, "--from", 0));
    IEZ_TRY(query.to, time_of(options_.to, "--to", now()));
    query.step = std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::seconds>(options_.step).count());
    IEZ_TRY(points_, jobs::query_prometheus(query, series_));
    return finish();
  }

  Result<void> from_file(const std::string& path) {
    IEZ_TRY(Source source, open_file(path, progress_));
    jobs::PointSummary points;
    switch (*options_.format) {
      case ImportFormat::sacct:
        return from_sacct(path, *source.stream);
      case ImportFormat::influx: {
        IEZ_TRY(points, jobs::parse_influx_lines(*source.stream, path, report_, series_));
        break;
      }
      case ImportFormat::csv: {
        IEZ_TRY(const std::string text, read_text_file(path));
        IEZ_TRY(points, jobs::parse_points_csv(text, path, zone_, report_, series_));
        break;
      }
      case ImportFormat::prometheus: {
        IEZ_TRY(const std::int64_t at, time_of(options_.at, "--at", source.changed));
        IEZ_TRY(points, jobs::parse_scrape(*source.stream, path, at, report_, series_));
        break;
      }
      case ImportFormat::lmt:
        return fail(Errc::invalid_argument, "LMT is imported from its database: --url mysql://USER@HOST/DATABASE");
    }
    points_.used += points.used;
    points_.others += points.others;
    return {};
  }

  Result<void> from_sacct(const std::string& path, input::ByteStream& stream) {
    jobs::SacctOptions sacct{.cluster = options_.cluster, .delimiter = options_.delimiter, .zone = zone_};
    std::string_view names = options_.fields;
    while (!names.empty()) {
      const std::size_t comma = names.find(',');
      sacct.fields.emplace_back(text::trim(names.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      names.remove_prefix(comma + 1);
    }
    std::vector<jobs::JobRow> rows;
    rows.reserve(kBatch);
    const auto put = [this, &rows]() -> Result<void> {
      if (rows.empty()) return {};
      jobs_ += rows.size();
      auto done = sink_.put(std::span<const jobs::JobRow>(rows));
      rows.clear();
      return done;
    };
    IEZ_TRY(const jobs::SacctSummary summary,
            jobs::parse_sacct(stream, path, sacct, report_, [&rows, &put](const jobs::JobRow& row) {
              rows.push_back(row);
              return rows.size() < kBatch ? Result<void>{} : put();
            }));
    unfinished_ += summary.unfinished;
    return put();
  }

  Result<void> finish() {
    IEZ_TRY(const jobs::ImportSummary summary, series_.finish(sink_));
    progress_.wipe();
    report_problems(report_, context_);
    if (jobs_ + summary.rows == 0) context_.log.warning("nothing of a job was found");
    if (!options_.json) {
      return print(fmt::format("{} jobs, {} rows of {} jobs on targets; {} other points, {} unfinished jobs passed over\n", jobs_,
                               summary.rows, summary.pairs, points_.others, unfinished_));
    }
    ordered_json json{{"jobs", jobs_},
                      {"series_rows", summary.rows},
                      {"pairs", summary.pairs},
                      {"points", summary.points},
                      {"repeated_points", summary.repeated},
                      {"restarted", summary.restarted},
                      {"other_points", points_.others},
                      {"unfinished_jobs", unfinished_},
                      {"spool", sink_.path()}};
    add_problems(json, report_);
    return print(to_line(json));
  }

  const JobsImportOptions& options_;
  jobs::TimeZone zone_;
  Context& context_;
  Progress progress_;
  jobs::SpoolWriter sink_;
  jobs::ImportSeries series_;
  input::ParseReport report_;
  jobs::PointSummary points_;
  std::uint64_t jobs_ = 0;
  std::uint64_t unfinished_ = 0;
};

}  // namespace

Result<void> run_jobs_import(const JobsImportOptions& options, Context& context) {
  IEZ_TRY(const jobs::TimeZone zone, jobs::parse_zone(options.zone));
  return Import(options, zone, context).run();
}

}  // namespace iez::cli
