#include "contention.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "contention_live.hpp"
#include "job_watch.hpp"
#include "json.hpp"
#include "live_screen.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/job_reader.hpp"
#include "plot.hpp"
#include "stripe_words.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr std::uint64_t kEachUpTo = 20;
constexpr std::uint64_t kJobsByDefault = 10;
constexpr std::uint64_t kMaxJobs = 1'000'000;  // a row may list as many numbers
constexpr std::size_t kRowsByDefault = 10;
constexpr unsigned kPlotWidth = 60;
constexpr unsigned kPlotHeight = 12;

// The question, the same for equal and unequal requests.
struct WhatIf {
  std::uint32_t osts = 0;
  bool ranks = false;                   // jobs are ranks of a log-structured run
  std::vector<std::uint32_t> requests;  // one: equal ones
  std::uint64_t jobs = 0;

  bool equal() const { return requests.size() == 1; }
  std::string_view unit() const { return ranks ? "rank" : "job"; }
};

struct MaxLoad {
  double load = 1;
  std::optional<std::uint64_t> jobs_to_pass;  // none: not among the jobs given
  std::optional<std::uint32_t> osts_needed;   // none: no number does
};

Result<WhatIf> what_if(const ContentionOptions& options) {
  WhatIf question{.osts = options.osts.value_or(0), .ranks = options.plfs, .jobs = options.jobs.value_or(kJobsByDefault)};
  if (options.plfs) {
    if (!options.stripes.empty()) {
      return fail(Errc::invalid_argument,
                  "--stripes with --plfs: a log-structured run has 2 stripes a rank; leave one of them out");
    }
    if (!options.jobs) return fail(Errc::invalid_argument, "--plfs: --jobs is missing; give the number of ranks");
    question.requests = {contention::kLogStructuredStripes};
  } else {
    if (options.stripes.empty()) {
      return fail(Errc::invalid_argument, "--stripes is missing: give what each job asks for, e.g. --stripes 160 or 160,64,64");
    }
    IEZ_TRY(question.requests, parse_requests("--stripes", options.stripes));
  }
  if (!question.equal()) {
    if (options.jobs) {
      return fail(Errc::invalid_argument, fmt::format("--jobs with {} values of --stripes: each value is a job; leave --jobs out",
                                                      question.requests.size()));
    }
    question.jobs = question.requests.size();
  }
  if (question.jobs == 0 || question.jobs > kMaxJobs) {
    return fail(Errc::invalid_argument, fmt::format("--jobs is {}: expected 1 to {}", question.jobs, kMaxJobs));
  }
  return question;
}

Result<MaxLoad> answer_max_load(const WhatIf& question, const std::vector<LoadRow>& rows, double load) {
  MaxLoad answer{.load = load};
  if (question.equal()) {
    IEZ_TRY(answer.jobs_to_pass, contention::jobs_to_pass_load(question.osts, question.requests.front(), load));
    IEZ_TRY(answer.osts_needed, contention::osts_for_load(question.requests.front(), question.jobs, load));
    return answer;
  }
  IEZ_TRY(answer.osts_needed, osts_for_requests(question.requests, load));
  for (const LoadRow& row : rows) {
    if (row.usage.load > load && !answer.jobs_to_pass) answer.jobs_to_pass = row.jobs;
  }
  return answer;
}

std::string max_load_text(const WhatIf& question, const MaxLoad& answer) {
  const std::string_view unit = question.unit();
  std::string text = answer.jobs_to_pass
                         ? fmt::format("D_load passes {:.4g} with {} {}s", answer.load, *answer.jobs_to_pass, unit)
                         : fmt::format("D_load stays at or below {:.4g} with these {}s", answer.load, unit);
  const std::string jobs = fmt::format("{} {}{}", question.jobs, unit, question.jobs == 1 ? "" : "s");
  if (answer.osts_needed) {
    text += fmt::format("; {} need {} OSTs to stay at or below it", jobs, *answer.osts_needed);
    if (*answer.osts_needed > question.osts) text += fmt::format(", {} more than there are", *answer.osts_needed - question.osts);
  } else {
    text += fmt::format("; no number of OSTs keeps {} at or below it", jobs);
  }
  return text + '\n';
}

// OSTs that 1, 2, 3, and 4 or more jobs use.
std::array<double, 4> grouped(const std::vector<double>& sharing) {
  std::array<double, 4> groups{};
  for (std::size_t k = 1; k < sharing.size(); ++k) groups[std::min(k, groups.size()) - 1] += sharing[k];
  return groups;
}

std::string what_if_text(const WhatIf& question, const std::vector<LoadRow>& rows, const std::optional<MaxLoad>& answer,
                         const ContentionOptions& options, const Terminal& terminal) {
  std::vector<Table::Column> columns{{question.ranks ? "RANKS" : "JOBS", Align::right}};
  if (!question.equal()) columns.push_back({"STRIPES", Align::right});
  for (const std::string_view title : {"D_REQ", "D_INUSE", "D_LOAD", "BY 1", "BY 2", "BY 3", "BY 4+"}) {
    columns.push_back({title, Align::right});
  }
  Table table(std::move(columns));
  for (const LoadRow& row : rows) {
    std::vector<Cell> cells{{fmt::to_string(row.jobs)}};
    if (!question.equal()) cells.push_back({fmt::to_string(row.stripes)});
    cells.push_back({fmt::format("{:.0f}", row.usage.requested)});
    cells.push_back({fmt::format("{:.2f}", row.usage.in_use)});
    cells.push_back({fmt::format("{:.2f}", row.usage.load)});
    for (const double osts : grouped(row.sharing)) cells.push_back({fmt::format("{:.1f}", osts)});
    table.add(std::move(cells));
  }
  std::string out;
  if (!options.no_header) {
    const std::string stripes =
        question.equal() ? fmt::format(" of {} stripe{}", question.requests.front(), question.requests.front() == 1 ? "" : "s")
                         : "";
    out = fmt::format("{} OST{}, {}s{} on OSTs chosen at random\n", question.osts, question.osts == 1 ? "" : "s", question.unit(),
                      stripes);
  }
  out += table.render(terminal, !options.no_header);
  if (answer) out += max_load_text(question, *answer);
  if (options.plot || (terminal.interactive && !options.no_header)) {
    Line line{.name = fmt::format("D_load over {}s", question.unit()), .points = {}};
    for (const LoadRow& row : rows) line.points.push_back({static_cast<double>(row.jobs), row.usage.load});
    out += '\n' + line_chart(std::span(&line, 1), kPlotWidth, kPlotHeight, terminal);
  }
  return out;
}

std::string what_if_json(const WhatIf& question, const std::vector<LoadRow>& rows, const std::optional<MaxLoad>& answer) {
  ordered_json json;
  json["osts"] = question.osts;
  json["unit"] = question.unit();
  json["rows"] = ordered_json::array();
  for (const LoadRow& row : rows) {
    json["rows"].push_back({{"jobs", row.jobs},
                            {"stripes", row.stripes},
                            {"requested", row.usage.requested},
                            {"in_use", row.usage.in_use},
                            {"load", row.usage.load},
                            {"used_by", row.sharing}});
  }
  if (answer) {
    json["max_load"] = answer->load;
    json["jobs_to_pass"] = or_null(answer->jobs_to_pass);
    json["osts_needed"] = or_null(answer->osts_needed);
  }
  return to_line(json);
}

Result<void> run_what_if(const ContentionOptions& options, Context& context) {
  if (!options.source.roots.empty()) {
    return fail(Errc::invalid_argument,
                "--osts with --root: the first asks the equations, the second looks at servers; give one");
  }
  if (!options.since.empty() || options.interval || options.watch.watch || options.min_bytes || options.top ||
      !options.source.file_system.empty()) {
    return fail(Errc::invalid_argument,
                "--osts with --since, --interval, --watch, --min-bytes, --top or --fs: these look at servers; "
                "leave --osts out");
  }
  IEZ_TRY(const WhatIf question, what_if(options));
  IEZ_TRY(const auto rows, question.equal() ? load_rows(question.osts, question.requests.front(), question.jobs)
                                            : load_rows(question.osts, question.requests));
  std::optional<MaxLoad> answer;
  if (options.max_load) {
    if (!(*options.max_load >= 1)) {
      return fail(Errc::invalid_argument, fmt::format("--max-load: found {}; expected 1 or more", *options.max_load));
    }
    auto found = answer_max_load(question, rows, *options.max_load);
    if (!found) return with_context(std::move(found).error(), "--max-load");
    answer = *found;
  }
  return print(options.json ? what_if_json(question, rows, answer)
                            : what_if_text(question, rows, answer, options, context.terminal));
}

class LiveContention {
 public:
  LiveContention(const ContentionOptions& options, Context& context, Sources sources)
      : options_(options), context_(context), sources_(std::move(sources)), screen_(options.watch, options.json, context) {}

  Result<void> run() {
    const JobWatchOptions watch{.file_system = options_.source.file_system,
                                .since = options_.since,
                                .interval = options_.interval,
                                .watch = options_.watch};
    return watch_jobs(
        watch, sources_, context_.clock,
        [this](const auto* before, const auto& after, const auto& report) { return show(before, after, report); },
        [this](Duration pause) { return screen_.wait(pause, [this] { return sort_otherwise(); }); });
  }

 private:
  Result<void> show(const lustre::JobSample* before, const lustre::JobSample& after, const input::ParseReport& report) {
    const std::size_t rows = options_.top.value_or(options_.json ? 0 : kRowsByDefault);
    const LiveRequest request{
        .before = before, .file_system = options_.source.file_system, .min_bytes = options_.min_bytes.value_or(kMinBytes)};
    const std::size_t all = std::numeric_limits<std::size_t>::max();
    const contention::LiveOptions limits{.max_pairs = std::max<std::size_t>(rows, contention::LiveOptions{}.max_pairs),
                                         .max_hottest = rows == 0 ? all : rows};
    IEZ_TRY(view_, make_live_view(after, request, limits));
    IEZ_CHECK(show_sorted(report));
    report_problems(report, context_);
    warn(view_, after);
    return {};
  }

  Result<void> show_sorted(const input::ParseReport& report) {
    const std::size_t rows = options_.top.value_or(options_.json ? 0 : kRowsByDefault);
    IEZ_CHECK(screen_.begin("contention", by_rate_ ? "s: jobs by rate" : "s: jobs by crowd"));
    const LiveTables tables{.rows = rows, .header = !options_.no_header, .by_rate = by_rate_};
    return print(options_.json ? live_json(view_, rows, report, picture_time(options_.watch, context_))
                               : live_text(view_, tables, context_.terminal));
  }

  Result<void> sort_otherwise() {
    by_rate_ = !by_rate_;
    return show_sorted({});
  }

  void warn(const LiveView& view, const lustre::JobSample& after) {
    if (const std::size_t known = known_osts(view.file_system); known > view.osts) {
      context_.log.warning(fmt::format("job_stats of {} of {} OSTs: give --root for each object server", view.osts, known));
    }
    if (after.dropped() > 0) context_.log.warning(fmt::format("{} entries left out: too many jobs", after.dropped()));
    const std::uint64_t unknown = view.changes.partial + view.changes.untimed + view.changes.backward_clocks;
    if (unknown > 0) {
      context_.log.warning(fmt::format("{} targets without rates: read in part, without a time, or older than --since", unknown));
    }
  }

  // Of the file system, as far as the sources tell; an MDS knows all.
  std::size_t known_osts(const std::string& file_system) const {
    input::ParseReport ignored;  // no more than a hint hangs on it
    const auto reading = lustre::read_clusters(sources_, {}, ignored);
    if (!reading) return 0;
    for (const auto& view : reading->file_systems) {
      if (view.cluster.name == file_system) return view.cluster.osts.size();
    }
    return 0;
  }

  const ContentionOptions& options_;
  Context& context_;
  Sources sources_;
  LiveView view_;  // on the screen
  bool by_rate_ = false;
  LiveScreen screen_;
};

}  // namespace

std::vector<std::uint64_t> load_steps(std::uint64_t jobs) {
  std::vector<std::uint64_t> steps;
  if (jobs <= kEachUpTo) {
    for (std::uint64_t n = 1; n <= jobs; ++n) steps.push_back(n);
    return steps;
  }
  for (std::uint64_t n = 1; n < jobs; n *= 2) {
    steps.push_back(n);
    if (n > jobs / 2) break;
  }
  steps.push_back(jobs);
  return steps;
}

Result<std::vector<LoadRow>> load_rows(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs) {
  std::vector<LoadRow> rows;
  for (const std::uint64_t n : load_steps(jobs)) {
    LoadRow row{.jobs = n, .stripes = stripes};
    IEZ_TRY(row.usage, contention::expected_usage(osts, stripes, n));
    IEZ_TRY(row.sharing, contention::expected_sharing(osts, stripes, n));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::vector<LoadRow>> load_rows(std::uint32_t osts, const std::vector<std::uint32_t>& requests) {
  std::vector<LoadRow> rows;
  for (std::size_t n = 1; n <= requests.size(); ++n) {
    const std::span first(requests.data(), n);
    LoadRow row{.jobs = n, .stripes = requests[n - 1]};
    IEZ_TRY(row.usage, contention::expected_usage(osts, first));
    IEZ_TRY(row.sharing, contention::expected_sharing(osts, first));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::optional<std::uint32_t>> osts_for_requests(const std::vector<std::uint32_t>& requests, double load) {
  // More OSTs, less load: bisection. The fewest that can take the largest request come first.
  std::uint64_t low = *std::ranges::max_element(requests);
  std::uint64_t high = std::numeric_limits<std::uint32_t>::max();
  const auto within = [&](std::uint64_t osts) -> Result<bool> {
    IEZ_TRY(const auto usage, contention::expected_usage(static_cast<std::uint32_t>(osts), requests));
    return usage.load <= load;
  };
  IEZ_TRY(const bool possible, within(high));
  // With several jobs a load of 1 is approached, never reached: that rounding says otherwise means nothing.
  if (!possible || (load == 1 && requests.size() > 1)) return std::nullopt;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    IEZ_TRY(const bool enough, within(middle));
    if (enough) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<std::uint32_t>(low);
}

Result<void> run_contention(const ContentionOptions& options, Context& context) {
  if (options.osts) return run_what_if(options, context);
  if (!options.stripes.empty() || options.jobs || options.plfs || options.max_load || options.plot) {
    return fail(Errc::invalid_argument, "--stripes, --jobs, --plfs, --max-load and --plot need --osts, the number of OSTs");
  }
  IEZ_TRY(auto sources, open_sources(options.source.roots));
  return LiveContention(options, context, std::move(sources)).run();
}

}  // namespace iez::cli
