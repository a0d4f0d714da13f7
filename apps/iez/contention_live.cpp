#include "contention_live.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "lustre/params.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

// Below it, the average over a job's life says nothing; as in `iez top`.
constexpr Duration kShortestLife = std::chrono::seconds(1);
constexpr std::size_t kNamesShown = 3;  // of the jobs on an OST

struct Written {
  std::uint32_t job = 0;  // of the sample
  OstIndex ost;
  Bytes bytes;
  BytesPerSecond rate;
};

Result<std::string> choose_file_system(const lustre::JobSample& sample, const std::string& wanted) {
  std::set<std::string> known;
  for (const lustre::JobTarget& target : sample.targets()) {
    const auto device = lustre::parse_device(target.name);
    if (device && device->kind == lustre::DeviceKind::ost) known.insert(device->file_system);
  }
  const std::string list = fmt::format("{}", fmt::join(known, ", "));
  if (!wanted.empty()) {
    if (known.contains(wanted)) return wanted;
    return fail(Errc::not_found,
                fmt::format("no job_stats of an OST of file system '{}'{}", wanted, known.empty() ? "" : "; found: " + list));
  }
  if (known.empty()) return fail(Errc::not_found, "no job_stats of an OST found: it is on object servers, and needs root");
  if (known.size() > 1) {
    return fail(Errc::invalid_argument, fmt::format("there are several file systems: {}; choose one with --fs", list));
  }
  return *known.begin();
}

// Index in the sample's targets -> OST, for those that count.
std::map<std::uint32_t, OstIndex> osts_of(const lustre::JobSample& sample, const std::string& file_system,
                                          const LiveRequest& request) {
  std::map<std::uint32_t, OstIndex> osts;
  for (std::uint32_t i = 0; i < sample.targets().size(); ++i) {
    const auto device = lustre::parse_device(sample.targets()[i].name);
    if (!device || device->kind != lustre::DeviceKind::ost || device->file_system != file_system) continue;
    if (request.osts && !request.osts->contains(device->index)) continue;
    osts.emplace(i, OstIndex{device->index});
  }
  return osts;
}

std::vector<Written> written(const lustre::JobSample& after, const std::map<std::uint32_t, OstIndex>& osts,
                             const LiveRequest& request, LiveView& view) {
  std::vector<Written> all;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < after.pairs().size(); ++i) {
    const lustre::JobSample::Pair& pair = after.pairs()[i];
    const auto ost = osts.find(pair.target);
    if (ost == osts.end()) continue;
    seen.insert(pair.job);
    Written one{.job = pair.job, .ost = ost->second, .bytes = pair.traffic.written};
    if (request.before != nullptr) {
      const lustre::PairRate& change = view.changes.pairs[i];
      one.bytes = change.change.written;
      one.rate = rate_of(one.bytes, change.interval);
      if (change.interval > Duration::zero()) view.interval = std::max(view.interval.value_or(change.interval), change.interval);
    } else if (pair.lifetime && *pair.lifetime >= kShortestLife) {
      one.rate = rate_of(one.bytes, *pair.lifetime);
      view.basis = RateBasis::lifetime;
    }
    if (one.bytes.count > 0) all.push_back(one);
  }
  if (request.before != nullptr) view.basis = RateBasis::interval;
  view.jobs_seen = seen.size();
  return all;
}

std::string name_of(const std::string& id) { return id.empty() ? "(none)" : id; }

std::string ost_name(const LiveView& view, OstIndex ost) { return fmt::format("{}-OST{:04x}", view.file_system, ost.value); }

Bytes bytes_of(const LiveView& view, OstIndex ost) {
  const auto found = std::ranges::lower_bound(view.state.osts, ost, {}, &contention::OstContention::ost);
  return view.ost_bytes[static_cast<std::size_t>(found - view.state.osts.begin())];
}

// Whoever is shown has written: no rate is one that is not known.
std::string rate_text(BytesPerSecond rate) { return rate.value > 0 ? to_string(rate) : "-"; }

std::string basis_text(const LiveView& view) {
  switch (view.basis) {
    case RateBasis::none:
      return "written since each job's entry began; no rates";
    case RateBasis::lifetime:
      return "written since each job's entry began; rates: average over each job's life";
    case RateBasis::interval:
      return view.interval ? "written in " + iez::to_string(*view.interval) : "no time passed between the samples";
  }
  return "";
}

std::string summary(const LiveView& view) {
  const contention::LiveState& state = view.state;
  std::string text = fmt::format("{}: {} job{} on {:.0f} of {} OSTs", view.file_system, state.jobs.size(),
                                 state.jobs.size() == 1 ? "" : "s", state.now.in_use, view.osts);
  if (view.jobs_small > 0) text += fmt::format(", {} that hardly wrote left out", view.jobs_small);
  text += fmt::format("; {}\n", basis_text(view));
  text += fmt::format("D_req {:.0f}  D_inuse {:.0f}  D_load {:.2f}", state.now.requested, state.now.in_use, state.now.load);
  if (!state.jobs.empty()) {
    text += fmt::format("; by chance D_inuse {:.2f}, D_load {:.2f}: now {:.2f} times that", state.by_chance.in_use,
                        state.by_chance.load, state.against_chance);
  }
  text += "\nOSTs by jobs:";
  for (std::size_t k = 0; k < state.sharing.size(); ++k) {
    if (state.sharing[k] > 0) text += fmt::format("  {:.0f} with {}", state.sharing[k], k);
  }
  return text + '\n';
}

std::size_t shown(std::size_t all, std::size_t rows) { return rows == 0 ? all : std::min(all, rows); }

std::string who(const LiveView& view, const contention::OstContention& ost) {
  const auto span = view.state.uses_of(ost);
  std::vector<contention::JobUse> uses(span.begin(), span.end());
  std::ranges::sort(uses, {}, [](const contention::JobUse& use) { return std::pair(-use.rate.value, use.job); });
  std::string text;
  for (std::size_t i = 0; i < shown(uses.size(), kNamesShown); ++i) text += (i == 0 ? "" : ", ") + view.jobs[uses[i].job];
  if (uses.size() > kNamesShown) text += fmt::format(", {} more", uses.size() - kNamesShown);
  return text;
}

std::string hottest_table(const LiveView& view, const LiveTables& tables, const Terminal& terminal) {
  Table table({{"OST"}, {"JOBS", Align::right}, {"WRITTEN", Align::right}, {"WRITE/S", Align::right}, {"WHO"}});
  for (std::size_t i = 0; i < shown(view.state.hottest.size(), tables.rows); ++i) {
    const contention::OstContention& ost = view.state.hottest[i];
    table.add({{ost_name(view, ost.ost)},
               {fmt::to_string(ost.jobs)},
               {to_string(bytes_of(view, ost.ost))},
               {rate_text(ost.rate)},
               {who(view, ost)}});
  }
  std::string out = table.render(terminal, tables.header);
  const std::size_t all = view.state.osts.size();
  const std::size_t rows = shown(view.state.hottest.size(), tables.rows);
  if (tables.header && rows < all) out += fmt::format("{} of the {} OSTs that jobs write to; --top 0 shows all\n", rows, all);
  return out;
}

// Most crowded first.
std::vector<contention::JobContention> by_crowd(const LiveView& view) {
  std::vector<contention::JobContention> jobs = view.state.jobs;
  std::ranges::sort(jobs, [](const auto& a, const auto& b) {
    return std::tuple(b.shared_osts, b.mean_writers, a.job) < std::tuple(a.shared_osts, a.mean_writers, b.job);
  });
  return jobs;
}

std::string job_table(const LiveView& view, const LiveTables& tables, const Terminal& terminal) {
  Table table({{"JOB"},
               {"OSTS", Align::right},
               {"SHARED", Align::right, 1},
               {"JOBS/OST", Align::right},
               {"MOST", Align::right, 3},
               {"WRITTEN", Align::right, 2},
               {"WRITE/S", Align::right},
               {"SHARED WRITE/S", Align::right}});
  auto jobs = by_crowd(view);
  if (tables.by_rate) std::ranges::stable_sort(jobs, std::greater{}, [](const auto& job) { return job.rate.value; });
  for (std::size_t i = 0; i < shown(jobs.size(), tables.rows); ++i) {
    const contention::JobContention& job = jobs[i];
    table.add({{view.jobs[job.job]},
               {fmt::to_string(job.osts)},
               {fmt::to_string(job.shared_osts)},
               {fmt::format("{:.2f}", job.mean_writers)},
               {fmt::to_string(job.max_writers)},
               {to_string(view.job_bytes[job.job])},
               {rate_text(job.rate)},
               {rate_text(job.shared_rate)}});
  }
  return table.render(terminal, tables.header);
}

std::string pair_table(const LiveView& view, const LiveTables& tables, const Terminal& terminal) {
  Table table({{"JOB"}, {"MEETS"}, {"ON OSTS", Align::right}, {"WRITE/S", Align::right}});
  for (std::size_t i = 0; i < shown(view.state.pairs.size(), tables.rows); ++i) {
    const contention::JobPair& pair = view.state.pairs[i];
    table.add({{view.jobs[pair.first]}, {view.jobs[pair.second]}, {fmt::to_string(pair.osts)}, {rate_text(pair.rate)}});
  }
  return table.render(terminal, tables.header);
}

ordered_json usage_json(const contention::Usage& usage) {
  return {{"requested", usage.requested}, {"in_use", usage.in_use}, {"load", usage.load}};
}

ordered_json rate_json(BytesPerSecond rate) { return rate.value > 0 ? ordered_json(rate.value) : ordered_json(nullptr); }

}  // namespace

Result<LiveView> make_live_view(const lustre::JobSample& after, const LiveRequest& request,
                                const contention::LiveOptions& options) {
  LiveView view;
  IEZ_TRY(view.file_system, choose_file_system(after, request.file_system));
  if (request.before != nullptr) view.changes = lustre::changes(*request.before, after);
  const auto osts = osts_of(after, view.file_system, request);
  view.osts = request.machine_osts.value_or(static_cast<std::uint32_t>(osts.size()));
  const std::vector<Written> all = written(after, osts, request, view);

  std::map<std::uint32_t, Bytes> per_job;
  for (const Written& one : all) per_job[one.job] += one.bytes;
  std::map<std::uint32_t, std::uint32_t> number;  // of those that stay, in the sample's order
  for (const auto& [job, bytes] : per_job) {
    if (bytes < request.min_bytes) {
      ++view.jobs_small;
      continue;
    }
    number.emplace(job, static_cast<std::uint32_t>(view.jobs.size()));
    view.jobs.push_back(name_of(after.ids()[job]));
    view.job_bytes.push_back(bytes);
  }
  std::vector<contention::JobUse> uses;
  std::map<OstIndex, Bytes> per_ost;
  for (const Written& one : all) {
    const auto job = number.find(one.job);
    if (job == number.end()) continue;
    uses.push_back({.job = job->second, .ost = one.ost, .rate = one.rate});
    per_ost[one.ost] += one.bytes;
  }
  IEZ_TRY(view.state, contention::live_state(view.osts, uses, options));
  for (const contention::OstContention& ost : view.state.osts) view.ost_bytes.push_back(per_ost[ost.ost]);
  return view;
}

std::string live_text(const LiveView& view, const LiveTables& tables, const Terminal& terminal) {
  std::string out;
  if (tables.header) {
    out = fitted(summary(view), 2, terminal.columns) + '\n';
  }
  if (view.state.jobs.empty()) return out;
  out += hottest_table(view, tables, terminal) + '\n' + job_table(view, tables, terminal);
  if (!view.state.pairs.empty()) out += '\n' + pair_table(view, tables, terminal);
  return out;
}

std::string live_json(const LiveView& view, std::size_t rows, const input::ParseReport& report, std::optional<WallTime> now) {
  ordered_json json;
  if (now) json["time"] = seconds_of(*now);
  json["file_system"] = view.file_system;
  json["osts"] = view.osts;
  json["rate_basis"] = to_string(view.basis);
  json["interval_seconds"] =
      view.interval ? ordered_json(static_cast<double>(view.interval->count()) / 1e9) : ordered_json(nullptr);
  json["jobs_seen"] = view.jobs_seen;
  json["jobs_small"] = view.jobs_small;
  json["now"] = usage_json(view.state.now);
  json["by_chance"] = usage_json(view.state.by_chance);
  json["against_chance"] = view.state.against_chance;
  json["used_by"] = view.state.sharing;
  json["hottest"] = ordered_json::array();
  for (std::size_t i = 0; i < shown(view.state.hottest.size(), rows); ++i) {
    const contention::OstContention& ost = view.state.hottest[i];
    ordered_json names = ordered_json::array();
    for (const contention::JobUse& use : view.state.uses_of(ost)) names.push_back(view.jobs[use.job]);
    json["hottest"].push_back({{"target", ost_name(view, ost.ost)},
                               {"write_bytes", bytes_of(view, ost.ost).count},
                               {"write_rate", rate_json(ost.rate)},
                               {"job_ids", std::move(names)}});
  }
  json["jobs"] = ordered_json::array();
  const auto jobs = by_crowd(view);
  for (std::size_t i = 0; i < shown(jobs.size(), rows); ++i) {
    const contention::JobContention& job = jobs[i];
    json["jobs"].push_back({{"job_id", view.jobs[job.job]},
                            {"osts_used", job.osts},
                            {"osts_shared", job.shared_osts},
                            {"mean_writers", job.mean_writers},
                            {"max_writers", job.max_writers},
                            {"write_bytes", view.job_bytes[job.job].count},
                            {"write_rate", rate_json(job.rate)},
                            {"shared_write_rate", rate_json(job.shared_rate)}});
  }
  json["pairs"] = ordered_json::array();
  for (std::size_t i = 0; i < shown(view.state.pairs.size(), rows); ++i) {
    const contention::JobPair& pair = view.state.pairs[i];
    json["pairs"].push_back({{"job_ids", {view.jobs[pair.first], view.jobs[pair.second]}},
                             {"osts_shared", pair.osts},
                             {"write_rate", rate_json(pair.rate)}});
  }
  json["pairs_complete"] = view.state.pairs_complete;
  add_problems(json, report);
  return to_line(json);
}

}  // namespace iez::cli
