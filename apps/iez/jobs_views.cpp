#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "advise.hpp"
#include "base/text.hpp"
#include "contention/advice.hpp"
#include "jobs/job_views.hpp"
#include "jobs_command.hpp"
#include "jobs_page.hpp"
#include "plot.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

// The reader with what its views need.
Result<jobs::JobReader> prepared(const JobsStoreOptions& common, const JobsRangeOptions& range,
                                 const jobs::AnalysisOptions& analysis) {
  IEZ_TRY(const jobs::JobReader::Options asked, reader_options(common, range));
  IEZ_TRY(jobs::JobReader reader, jobs::JobReader::open(asked));
  IEZ_CHECK(jobs::prepare(reader.duck(), analysis));
  return reader;
}

std::string titled(std::string_view title, const jobs::ResultTable& table, std::size_t most, bool header,
                   const Terminal& terminal) {
  if (table.rows.empty()) return {};
  return fmt::format("\n{}\n{}", title, table_text(table, most, header, terminal));
}

// One row as lines of names and values.
std::string facts_text(const jobs::ResultTable& table, std::size_t row) {
  std::size_t width = 0;
  for (const std::string& column : table.columns) width = std::max(width, column.size());
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::string name = table.columns[i];
    std::ranges::replace(name, '_', ' ');
    out += fmt::format("{:<{}}  {}\n", name, width, text::printable(shown(table.rows[row][i], table.columns[i])));
  }
  return out;
}

// Slots as times, for people.
jobs::ResultTable with_times(jobs::ResultTable table) {
  const std::size_t slot = table.column("slot");
  for (auto& row : table.rows) row[slot] = time_text(std::get<std::int64_t>(row[slot]));
  table.columns[slot] = "from";
  return table;
}

// A bar for each minute, or for each stretch of minutes of a long job.
std::string minutes_text(const jobs::ResultTable& minutes, const Terminal& terminal) {
  constexpr std::size_t kMost = 24;
  if (minutes.rows.empty()) return {};
  const std::int64_t first = minutes.integer(0, "slot");
  const std::int64_t last = minutes.integer(minutes.rows.size() - 1, "slot");
  const std::int64_t stretch = std::max<std::int64_t>(60, ((last - first) / 60 / static_cast<std::int64_t>(kMost) + 1) * 60);
  std::vector<std::pair<double, double>> sums(static_cast<std::size_t>((last - first) / stretch + 1));
  for (std::size_t row = 0; row < minutes.rows.size(); ++row) {
    auto& [read, written] = sums[static_cast<std::size_t>((minutes.integer(row, "slot") - first) / stretch)];
    read += minutes.number(row, "read_bytes");
    written += minutes.number(row, "write_bytes");
  }
  double most = 1;
  for (const auto& [read, written] : sums) most = std::max(most, read + written);
  std::string out = fmt::format("\nBytes, {} at a time\n", stretch == 60 ? "a minute" : fmt::format("{} minutes", stretch / 60));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    out += fmt::format("{}  {}  read {:>9}  written {:>9}\n", time_text(first + static_cast<std::int64_t>(i) * stretch),
                       bar((sums[i].first + sums[i].second) / most, 24, terminal), jobs::bytes_text(sums[i].first),
                       jobs::bytes_text(sums[i].second));
  }
  return out;
}

// Stripes for the largest job of a user, among as many others as usually write. Rates of the machine are assumed, and it is said.
std::optional<jobs::Advice> stripe_advice(const jobs::UserView& view, std::size_t row) {
  const auto osts = static_cast<std::uint32_t>(view.sharing.integer(row, "osts"));
  const double own = view.sharing.number(row, "own_stripes");
  const std::string cluster = view.sharing.text(row, "cluster");
  std::size_t largest = view.jobs.rows.size();
  for (std::size_t i = 0; i < view.jobs.rows.size() && largest == view.jobs.rows.size(); ++i) {
    if (view.jobs.text(i, "cluster") == cluster) largest = i;
  }
  if (osts < 2 || largest == view.jobs.rows.size()) return std::nullopt;
  const auto stripes =
      static_cast<std::uint32_t>(std::clamp(std::lround(view.sharing.number(row, "stripes")), 1L, static_cast<long>(osts)));
  const auto others = static_cast<std::size_t>(std::max(0.0, std::round(view.sharing.number(row, "others"))));
  const std::vector<std::uint32_t> requests(others, stripes);
  contention::AdviceRequest request{
      .ranks = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(view.jobs.integer(largest, "nodes"))),
      .bytes = Bytes{static_cast<std::uint64_t>(view.jobs.number(largest, "write_bytes"))}};
  const auto load = contention::load_of_requests(osts, requests);
  if (!load || request.bytes.count == 0) return std::nullopt;
  request.others = *load;
  const contention::Machine machine{.osts = osts,
                                    .ost_rate = kAssumedOstRate,
                                    .servers = std::max<std::uint32_t>(1, osts / 4),
                                    .server_rate = {kAssumedOstRate.value * 4},
                                    .node_rate = kAssumedNodeRate,
                                    .node_rate_files = kAssumedNodeRate};
  const auto advice = contention::advise(machine, request);
  if (!advice || std::abs(advice->stripes - own) < 1) return std::nullopt;
  return jobs::Advice{
      .cluster = cluster,
      .who = view.summary.text(0, "uid"),
      .topic = "stripes",
      .text = fmt::format(
          "Your jobs write to {:.1f} OSTs on average; job {} ({}) among {} others, of {} stripes each on {} OSTs, would do "
          "best with {} (lfs setstripe -c {}). Assumed: {} an OST, {} a node; `iez advise` takes the real ones.",
          own, text::printable(view.jobs.text(largest, "job")), jobs::bytes_text(view.jobs.number(largest, "write_bytes")),
          others, stripes, osts, advice->stripes, advice->stripes, to_string(kAssumedOstRate), to_string(kAssumedNodeRate)),
      .evidence = {{"own_stripes", own},
                   {"others", static_cast<double>(others)},
                   {"osts", static_cast<double>(osts)},
                   {"advised_stripes", static_cast<double>(advice->stripes)}}};
}

}  // namespace

Result<void> run_jobs_show(const JobsShowOptions& options, Context& context) {
  IEZ_TRY(jobs::JobReader reader, prepared(options.common, options.range, options.analysis));
  IEZ_TRY(const jobs::JobLife life, jobs::life_of(reader, options.job));
  if (options.common.json) {
    return print(to_line({{"job", table_json(life.job)},
                          {"grade", std::string(1, life.grade)},
                          {"minutes", table_json(life.minutes)},
                          {"bursts", table_json(life.bursts)},
                          {"targets", table_json(life.targets)},
                          {"contention", table_json(life.contention)}}));
  }
  const bool header = !options.no_header;
  std::string out = life.job.rows.empty() ? fmt::format("job {}: known by its time series alone\n", text::printable(options.job))
                                          : facts_text(life.job, 0);
  out += fmt::format("grade of writes: {}\n", life.grade);
  out += minutes_text(life.minutes, context.terminal);
  if (!life.bursts.rows.empty()) out += titled("Bursts of writing", with_times(life.bursts), 20, header, context.terminal);
  out += titled("Targets", life.targets, 0, header, context.terminal);
  out += titled("Others on the same OSTs at the same time", life.contention, 0, header, context.terminal);
  return print(out);
}

Result<void> run_jobs_user(const JobsUserOptions& options, Context& context) {
  IEZ_TRY(jobs::JobReader reader, prepared(options.common, options.range, options.analysis));
  IEZ_TRY(jobs::UserView view, jobs::view_of_user(reader, reader.user_name(options.user), options.analysis));
  for (std::size_t row = 0; row < view.sharing.rows.size(); ++row) {
    if (auto advice = stripe_advice(view, row)) view.advice.push_back(*std::move(advice));
  }
  if (options.common.json) {
    return print(to_line({{"summary", table_json(view.summary)},
                          {"jobs", table_json(view.jobs)},
                          {"hours", table_json(view.hours)},
                          {"sharing", table_json(view.sharing)},
                          {"advice", advice_json(view.advice)}}));
  }
  std::string out;
  for (std::size_t row = 0; row < view.summary.rows.size(); ++row) {
    if (row > 0) out += '\n';
    out += facts_text(view.summary, row);
  }
  const bool header = !options.no_header;
  out += titled("The largest jobs", view.jobs, 0, header, context.terminal);
  out += "\nAdvice\n";
  if (view.advice.empty()) out += "none: nothing of what the counters tell calls for any\n";
  for (const jobs::Advice& advice : view.advice) out += fmt::format("- {}: {}\n", advice.topic, text::printable(advice.text));
  return print(out);
}

Result<void> run_jobs_contention(const JobsContentionOptions& options, Context& context) {
  IEZ_TRY(const std::int64_t at, parse_time("--at", options.at));
  constexpr std::int64_t kAround = 86400;  // other intervals of the same jobs, to compare with
  JobsRangeOptions range{.cluster = options.cluster};
  IEZ_TRY(jobs::JobReader::Options asked, reader_options(options.common, range));
  asked.range = {.from = std::max<std::int64_t>(0, at - kAround), .to = at + kAround};
  IEZ_TRY(jobs::JobReader reader, jobs::JobReader::open(asked));
  IEZ_TRY(const jobs::Moment moment, jobs::contention_at(reader, at));
  if (options.common.json) {
    return print(to_line({{"at", at},
                          {"targets", table_json(moment.targets)},
                          {"pairs", table_json(moment.pairs)},
                          {"jobs", table_json(moment.jobs)}}));
  }
  const bool header = !options.no_header;
  if (moment.targets.rows.empty()) return print(fmt::format("{}: no time series has any I/O then\n", time_text(at)));
  std::string out = fmt::format("{} UTC\n", time_text(at));
  out +=
      titled("Jobs, and what they usually move in such an interval on the same OSTs", moment.jobs, 30, header, context.terminal);
  out += titled("Who shared OSTs with whom", moment.pairs, 30, header, context.terminal);
  out += titled("OSTs", moment.targets, 30, header, context.terminal);
  return print(out);
}

}  // namespace iez::cli
