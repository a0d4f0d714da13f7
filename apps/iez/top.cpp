#include "top.hpp"

#include <pwd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "job_view.hpp"
#include "job_watch.hpp"
#include "json.hpp"
#include "live_screen.hpp"
#include "lustre/job_reader.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownByDefault = 20;

std::string_view to_string(TopSort sort) { return std::ranges::find(kTopSorts, sort, &TopSortName::second)->first; }

Result<std::uint32_t> user_number(const std::string& user) {
  if (const auto number = text::parse_u64(user); number && *number <= std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(*number);
  }
  const passwd* const entry = ::getpwnam(user.c_str());
  if (entry == nullptr)
    return fail(Errc::invalid_argument, fmt::format("--user {}: no such user on this host; give a number", user));
  return entry->pw_uid;
}

// Names of this host's users; a capture of another host has numbers of its own.
class UserNames {
 public:
  explicit UserNames(bool known) : known_(known) {}

  std::string operator()(std::optional<std::uint32_t> uid) {
    if (!uid) return "-";
    if (!known_) return fmt::to_string(*uid);
    const auto [known, fresh] = names_.try_emplace(*uid);
    if (fresh) {
      const passwd* const entry = ::getpwuid(*uid);
      known->second = entry == nullptr ? fmt::to_string(*uid) : std::string(entry->pw_name);
    }
    return known->second;
  }

 private:
  bool known_;
  std::map<std::uint32_t, std::string> names_;
};

lustre::JobIdFormat job_id_format(const Sources& sources) {
  for (const auto& source : sources) {
    const auto variable = lustre::read_optional(*source, lustre::Param::jobid_var);
    if (variable) return lustre::JobIdFormat::from_settings(variable, lustre::read_optional(*source, lustre::Param::jobid_name));
  }
  return {};
}

void add_traffic(ordered_json& json, const lustre::JobTraffic& traffic, const std::optional<Rates>& rates) {
  json["read_bytes"] = traffic.read.count;
  json["write_bytes"] = traffic.written.count;
  json["read_calls"] = traffic.read_calls;
  json["write_calls"] = traffic.write_calls;
  json["operations"] = traffic.operations;
  json["bytes_per_call"] = bytes_per_call(traffic);
  json["read_rate"] = rates ? ordered_json(rates->read.value) : ordered_json(nullptr);
  json["write_rate"] = rates ? ordered_json(rates->write.value) : ordered_json(nullptr);
  json["operation_rate"] = rates ? ordered_json(rates->operations) : ordered_json(nullptr);
}

ordered_json to_json(const JobRow& row, TopPer per) {
  ordered_json json;
  json["job_id"] = row.identity.id;
  json["job"] = or_null(row.identity.job);
  json["program"] = or_null(row.identity.program);
  json["uid"] = or_null(row.identity.uid);
  json["gid"] = or_null(row.identity.gid);
  json["host"] = or_null(row.identity.host);
  add_traffic(json, row.traffic, row.rates);
  json["targets"] = row.targets;
  json["restarted"] = row.restarted;
  ordered_json calls = ordered_json::object();
  for (std::size_t i = 0; i < model::kOperationCount; ++i) {
    const auto operation = static_cast<model::Operation>(i);
    if (row.totals[operation] > 0) calls[std::string(model::to_string(operation))] = row.totals[operation];
  }
  json["calls"] = std::move(calls);
  if (per == TopPer::job) return json;
  ordered_json parts = ordered_json::array();
  for (const JobPart& part : row.parts) {
    ordered_json entry{{per == TopPer::ost ? "target" : "server", part.name}};
    add_traffic(entry, part.traffic, part.rates);
    parts.push_back(std::move(entry));
  }
  json[per == TopPer::ost ? "per_target" : "per_server"] = std::move(parts);
  return json;
}

std::string to_json(const JobPicture& picture, const TopOptions& options, std::size_t shown, const input::ParseReport& report,
                    std::uint64_t dropped, std::optional<WallTime> now) {
  ordered_json json;
  if (now) json["time"] = seconds_of(*now);
  json["rate_basis"] = to_string(picture.basis);
  json["interval_seconds"] =
      picture.interval ? ordered_json(static_cast<double>(picture.interval->count()) / 1e9) : ordered_json(nullptr);
  json["jobs_seen"] = picture.jobs;
  json["jobs_matching"] = picture.rows.size();
  json["jobs_dropped"] = dropped;
  json["restarted"] = picture.changes.restarted;
  json["ended"] = picture.changes.ended;
  json["targets_without_rates"] = picture.changes.partial + picture.changes.untimed + picture.changes.backward_clocks;
  json["jobs_without_user"] = picture.unknown_users;
  json["jobs"] = ordered_json::array();
  for (std::size_t i = 0; i < shown; ++i) json["jobs"].push_back(to_json(picture.rows[i], options.per));
  add_problems(json, report);
  return to_line(json);
}

std::vector<Cell> cells(const std::string& job, const std::string& user, const std::string& where,
                        const lustre::JobTraffic& traffic, const std::optional<Rates>& rates) {
  const auto size = Bytes{static_cast<std::uint64_t>(bytes_per_call(traffic))};
  return {{job},
          {user},
          {where},
          {to_string(traffic.read)},
          {to_string(traffic.written)},
          {rates ? to_string(rates->read) : "-"},
          {rates ? to_string(rates->write) : "-"},
          {fmt::to_string(traffic.operations)},
          {rates ? fmt::format("{:.1f}", rates->operations) : "-"},
          {traffic.read_calls + traffic.write_calls == 0 ? "-" : to_binary_string(size)}};
}

std::string basis_text(const JobPicture& picture, bool live) {
  switch (picture.basis) {
    case RateBasis::none:
      if (picture.rows.empty()) return "";
      return live ? "; no rates: give --interval for a second sample" : "; no rates: give --since with an earlier capture";
    case RateBasis::lifetime:
      return "; rates: average over each job's life";
    case RateBasis::interval:
      return picture.interval ? "; rates over " + iez::to_string(*picture.interval)
                              : "; no rates: no time passed between the samples";
  }
  return "";
}

std::string count_text(const JobPicture& picture, std::size_t shown) {
  std::string text = fmt::format("{} jobs", picture.jobs);
  if (picture.rows.size() < picture.jobs) text += fmt::format(", {} match", picture.rows.size());
  if (shown < picture.rows.size()) text += fmt::format(", {} shown", shown);
  return text;
}

std::string to_text(const JobPicture& picture, const TopOptions& options, std::size_t shown, bool live,
                    const Terminal& terminal) {
  const bool per_job = options.per == TopPer::job;
  Table table({{"JOB"},
               {"USER"},
               {per_job ? "TARGETS" : (options.per == TopPer::ost ? "TARGET" : "SERVER"), per_job ? Align::right : Align::left,
                per_job ? 4U : 0U},
               {"READ", Align::right, 3},
               {"WRITTEN", Align::right, 2},
               {"READ/S", Align::right},
               {"WRITE/S", Align::right},
               {"OPS", Align::right, 6},
               {"OPS/S", Align::right},
               {"BYTES/CALL", Align::right, 5}});
  UserNames names(live);
  for (std::size_t i = 0; i < shown; ++i) {
    const JobRow& row = picture.rows[i];
    const std::string id = row.identity.id.empty() ? "(none)" : row.identity.id;
    const std::string user = names(row.identity.uid);
    if (per_job) table.add(cells(id, user, fmt::to_string(row.targets), row.traffic, row.rates));
    for (const JobPart& part : row.parts) table.add(cells(id, user, part.name, part.traffic, part.rates));
  }
  std::string out;
  if (!options.no_header) {
    out = fitted(fmt::format("{}{}\n", count_text(picture, shown), basis_text(picture, live)), 2, terminal.columns);
  }
  return out + table.render(terminal, !options.no_header);
}

class Top {
 public:
  Top(const TopOptions& options, Context& context, Sources sources, JobFilter filter)
      : options_(options),
        context_(context),
        sources_(std::move(sources)),
        filter_(std::move(filter)),
        sort_(options.sort),
        screen_(options.watch, options.json, context) {}

  Result<void> run() {
    format_ = job_id_format(sources_);
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
    picture_ = make_picture(before, after, format_, filter_, options_.per);
    dropped_ = after.dropped();
    IEZ_CHECK(show_sorted(report));
    report_problems(report, context_);
    warn(picture_, after);
    return {};
  }

  Result<void> show_sorted(const input::ParseReport& report) {
    const TopSort sort = sort_.value_or(picture_.basis == RateBasis::interval ? TopSort::rate : TopSort::bytes);
    sort_rows(picture_.rows, sort, options_.reverse);
    const std::size_t shown = rows_shown(picture_.rows);
    IEZ_CHECK(screen_.begin("top", fmt::format("s: by {}", to_string(sort))));
    return print(options_.json ? to_json(picture_, options_, shown, report, dropped_, picture_time(options_.watch, context_))
                               : to_text(picture_, options_, shown, live(sources_), context_.terminal));
  }

  // The picture that is on the screen, by the next column.
  Result<void> sort_otherwise() {
    const TopSort now = sort_.value_or(picture_.basis == RateBasis::interval ? TopSort::rate : TopSort::bytes);
    const auto* const at = std::ranges::find(kTopSorts, now, &TopSortName::second);
    sort_ = (at + 1 == kTopSorts.end() ? kTopSorts.begin() : at + 1)->second;
    return show_sorted({});
  }

  void warn(const JobPicture& picture, const lustre::JobSample& after) {
    if (picture.unknown_users > 0) {
      context_.log.warning(
          fmt::format("--user: {} jobs left out, their ids tell no user (set jobid_name to include %u)", picture.unknown_users));
    }
    if (after.dropped() > 0) context_.log.warning(fmt::format("{} entries left out: too many jobs", after.dropped()));
    if (picture.changes.partial > 0) {
      context_.log.warning(fmt::format("{} targets were read in part: no rates for them", picture.changes.partial));
    }
    if (picture.changes.untimed > 0) {
      context_.log.warning(fmt::format(
          "{} targets without rates: a capture tells its time by obdfilter.*.stats or mdt.*.md_stats, which needs root",
          picture.changes.untimed));
    }
    if (picture.changes.backward_clocks > 0) {
      context_.log.warning(fmt::format("{} targets were sampled before the earlier sample: --since must name the earlier one",
                                       picture.changes.backward_clocks));
    }
  }

  // How many jobs to show.
  std::size_t rows_shown(const std::vector<JobRow>& rows) const {
    if (options_.limit) return *options_.limit == 0 ? rows.size() : std::min(rows.size(), *options_.limit);
    if (options_.json) return rows.size();
    if (!options_.watch.watch || !context_.terminal.interactive) return std::min(rows.size(), kShownByDefault);
    constexpr std::size_t kOtherLines = 4;  // three of headers, and the cursor's
    std::size_t lines = kOtherLines;
    std::size_t shown = 0;
    while (shown < rows.size()) {
      lines += options_.per == TopPer::job ? 1 : rows[shown].parts.size();
      if (lines > context_.terminal.rows) break;
      ++shown;
    }
    return shown;
  }

  const TopOptions& options_;
  Context& context_;
  Sources sources_;
  JobFilter filter_;
  lustre::JobIdFormat format_;
  JobPicture picture_;  // on the screen
  std::uint64_t dropped_ = 0;
  std::optional<TopSort> sort_;
  LiveScreen screen_;
};

}  // namespace

Result<void> run_top(const TopOptions& options, Context& context) {
  JobFilter filter{.pattern = options.job};
  if (!options.user.empty()) {
    IEZ_TRY(filter.uid, user_number(options.user));
  }
  IEZ_TRY(auto sources, open_sources(options.source.roots));
  return Top(options, context, std::move(sources), std::move(filter)).run();
}

}  // namespace iez::cli
