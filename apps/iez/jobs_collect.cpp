#include "jobs_collect.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "jobs/spool_collect.hpp"
#include "jobs_collect_facts.hpp"
#include "jobs_collect_view.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

Result<std::vector<std::string>> files_of(const std::vector<std::string>& spools) {
  std::vector<std::string> files;
  for (const std::string& spool : spools.empty() ? std::vector<std::string>{kJobsSpool} : spools) {
    IEZ_TRY(const auto found, jobs::spool_files(spool));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Keeps what is shown, and hands on to the spool, if there is one.
class ShowingSink final : public jobs::RowSink {
 public:
  explicit ShowingSink(jobs::RowSink* next) : next_(next) {}

  Result<void> put(std::span<const jobs::JobRow> rows) override {
    if (next_ != nullptr) IEZ_CHECK(next_->put(rows));
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return {};
  }
  Result<void> put(std::span<const jobs::SeriesRow> rows) override {
    return next_ == nullptr ? Result<void>{} : next_->put(rows);
  }

  std::span<const jobs::JobRow> rows() const { return rows_; }

 private:
  jobs::RowSink* next_;
  std::vector<jobs::JobRow> rows_;
};

ordered_json summary_json(const jobs::CollectSummary& summary) {
  return {{"files", summary.files},
          {"reports", summary.reports},
          {"duplicates", summary.duplicates},
          {"summed", summary.jobs},
          {"amended", summary.amended},
          {"known", summary.known},
          {"waiting", summary.waiting},
          {"silent", summary.silent_nodes},
          {"shared", summary.shared},
          {"incomplete", summary.incomplete},
          {"damaged_bytes", summary.spool.damaged_bytes},
          {"torn_bytes", summary.spool.torn_bytes}};
}

void tell(const jobs::CollectSummary& summary, Context& context) {
  const auto say = [&context](std::uint64_t count, std::string_view what) {
    if (count > 0) context.log.warning(fmt::format("{} {}", count, what));
  };
  say(summary.waiting, "jobs wait for reports of more nodes");
  say(summary.shared, "jobs were not alone on a node: their sums have the work of others in them");
  say(summary.incomplete, "jobs lost counters while they ran: their sums are too low");
}

}  // namespace

Result<void> run_jobs_collect(const JobsCollectOptions& options, Context& context) {
  IEZ_TRY(const auto files, files_of(options.spools));
  input::ParseReport problems;
  std::vector<jobs::JobRow> facts;
  if (!options.sacct.empty()) {
    IEZ_TRY(facts, read_sacct_facts(options.sacct, options.zone, problems));
  }
  jobs::SpoolWriter out({.folder = options.out, .host = host_name()}, context.clock);
  ShowingSink sink(options.out.empty() ? nullptr : &out);
  const auto wait = std::chrono::duration_cast<std::chrono::seconds>(options.wait).count();
  const auto now = std::chrono::floor<std::chrono::seconds>(context.clock.wall()).time_since_epoch().count();
  Progress progress(context.clock);
  const auto told = [&](std::size_t read) { progress.tell(fmt::format("{} of {} read", read, counted(files.size(), "file"))); };
  IEZ_TRY(const jobs::CollectSummary summary,
          jobs::collect(files,
                        {.now = now, .patience = wait, .rows = false, .again = options.again, .facts = facts, .progress = told},
                        sink, problems));
  progress.wipe();
  report_problems(problems, context);
  tell(summary, context);
  if (!options.out.empty() && !summary.marks.empty()) {
    const std::string first = options.spools.empty() ? kJobsSpool : options.spools.front();
    const std::string folder = std::filesystem::is_directory(first) ? first : std::filesystem::path(first).parent_path().string();
    jobs::SpoolWriter marks({.folder = folder.empty() ? "." : folder, .host = "collected"}, context.clock);
    IEZ_CHECK(marks.put(std::span<const jobs::CollectedMark>(summary.marks)));
  }
  if (!options.json) return print(job_table(sink.rows(), context.terminal, !options.no_header));
  ordered_json json{{"jobs", ordered_json::array()}, {"summary", summary_json(summary)}};
  for (const jobs::JobRow& row : sink.rows()) json["jobs"].push_back(job_row_json(row));
  add_problems(json, problems);
  return print(to_line(json));
}

Result<void> run_jobs_spool(const JobsSpoolOptions& options, Context& context) {
  IEZ_TRY(const auto files, files_of(options.spools));
  Table table({{.title = "FILE"},
               {.title = "JOBS", .align = Align::right},
               {.title = "SERIES", .align = Align::right},
               {.title = "REPORTS", .align = Align::right},
               {.title = "DAMAGED", .align = Align::right},
               {.title = "TORN", .align = Align::right}});
  for (const std::string& file : files) {
    std::uint64_t job_rows = 0;
    std::uint64_t series_rows = 0;
    std::uint64_t reports = 0;
    const auto show = [&options](std::string_view kind, ordered_json row) -> Result<void> {
      if (!options.json) return {};
      ordered_json json{{"kind", kind}};
      json.update(row);
      return print(to_line(json));
    };
    const auto each = [&show](std::string_view kind, std::uint64_t& count, auto to_json) {
      return [&show, &count, kind, to_json](auto rows) -> Result<void> {
        count += rows.size();
        for (const auto& row : rows) IEZ_CHECK(show(kind, to_json(row)));
        return {};
      };
    };
    jobs::SpoolVisitor visitor;
    visitor.jobs = each("job", job_rows, job_row_json);
    visitor.series = each("series", series_rows, series_row_json);
    visitor.reports = each("report", reports, node_report_json);
    IEZ_TRY(const jobs::SpoolSummary summary, jobs::read_spool_file(file, visitor));
    table.add({{file},
               {fmt::to_string(job_rows)},
               {fmt::to_string(series_rows)},
               {fmt::to_string(reports)},
               {fmt::to_string(summary.damaged_bytes)},
               {fmt::to_string(summary.torn_bytes)}});
  }
  return options.json ? Result<void>{} : print(table.render(context.terminal, !options.no_header));
}

}  // namespace iez::cli
