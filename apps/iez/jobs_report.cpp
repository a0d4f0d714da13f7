#include <sys/stat.h>

#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "jobs/report.hpp"
#include "jobs_command.hpp"
#include "jobs_page.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

Result<void> write_whole(const std::string& path, std::string_view text) {
  IEZ_TRY(TextOutput output, TextOutput::create(path));
  IEZ_CHECK(output.write(text));
  return output.finish();
}

Result<void> write_csv(const std::string& folder, const jobs::Report& report) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno(errno, folder);
  for (const auto& [name, text] : report_csv(report)) IEZ_CHECK(write_whole(fmt::format("{}/{}", folder, name), text));
  return {};
}

}  // namespace

Result<void> run_jobs_report(const JobsReportOptions& options, Context& context) {
  IEZ_TRY(const jobs::JobReader::Options asked, reader_options(options.common, options.range));
  Progress progress(context.clock);
  IEZ_TRY(jobs::JobReader reader, jobs::JobReader::open(asked));
  IEZ_TRY(const jobs::Report report,
          jobs::make_report(reader, asked, options.analysis, [&](std::string_view what) { progress.tell(std::string(what)); }));
  progress.wipe();
  if (!options.out.empty()) IEZ_CHECK(write_whole(options.out, report_html(report)));
  if (!options.md.empty()) IEZ_CHECK(write_whole(options.md, report_markdown(report)));
  if (!options.csv.empty()) IEZ_CHECK(write_csv(options.csv, report));
  if (options.common.json) return print(to_line(report_json(report)));
  // What went to standard output already is the answer.
  if (options.out == kStandardStream || options.md == kStandardStream) return {};
  return print(report_text(report, context.terminal));
}

}  // namespace iez::cli
