// Our own law against the published one and against static credits, on the machine of the source.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "repro_scenarios.hpp"
#include "repro_sections.hpp"
#include "repro_settle.hpp"

namespace iez::cli {

namespace {

using std::chrono::seconds;

constexpr Duration kGoal = seconds(60);
constexpr std::array<unsigned, 6> kStatic{1, 2, 4, 8, 16, 32};
constexpr Duration kFairFrom = seconds(700);
constexpr Duration kFairTo = seconds(1500);

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

sim::CongestionLaw goal_law() { return congestion::LatencyGoal{.goal = kGoal}; }
sim::CongestionLaw credit_law() { return congestion::RccParameters{.l_max = kGoal}; }

sim::Scenario with_law(sim::Scenario scenario, sim::CongestionLaw law, std::string_view suffix) {
  scenario.congestion = law;
  scenario.name += suffix;
  return scenario;
}

// The stable phase ends long before the first client of the burst can have written its part.
std::optional<double> settle_up(const sim::RunResult& run) { return settle_time(run.samples, kJumpAt, kJumpAt + seconds(600)); }

std::optional<double> settle_down(const sim::RunResult& run) {
  const auto& finished = run.jobs[1].finished;
  return finished ? settle_time(run.samples, *finished, kJumpEnd) : std::nullopt;
}

ReproRow settle_row(std::string what, std::optional<double> ours, std::optional<double> theirs) {
  ReproRow row{.what = std::move(what), .unit = "s", .ours = ours, .decimals = 0, .kind = ReproKind::predicted};
  row.target = "at most half of CC(60)'s";
  row.holds = ours && (!theirs || *ours <= *theirs / 2);
  row.note = theirs ? fmt::format("CC(60) takes {:.0f} s.", *theirs) : "CC(60) does not settle.";
  if (!ours) row.note += " Ours does not settle.";
  return row;
}

// A scenario under our law, and under static credits.
std::vector<sim::Scenario> with_goal_and_credits(const sim::Scenario& scenario) {
  std::vector<sim::Scenario> all{with_law(scenario, goal_law(), ", GOAL(60)")};
  for (const unsigned n : kStatic) all.push_back(with_law(scenario, sim::FixedCredits{n}, fmt::format(", FIX({})", n)));
  return all;
}

// bytes: of our law, then of static credits.
ReproRow against_static(std::string what, const std::vector<double>& bytes, std::string_view note) {
  const auto best = std::max_element(bytes.begin() + 1, bytes.end());
  const unsigned n = kStatic[static_cast<std::size_t>(best - bytes.begin()) - 1];
  return row_at_least(std::move(what), "", std::nullopt, bytes[0] / *best, 0.98,
                      fmt::format("The best of n = 1, 2, 4, 8, 16, 32, the source's range, is {}.{}", n, note));
}

// Of what the two jobs got between kFairFrom and kFairTo.
double fairness(const sim::RunResult& before, const sim::RunResult& after) {
  std::vector<double> got;
  got.reserve(after.jobs.size());
  for (std::size_t job = 0; job < after.jobs.size(); ++job)
    got.push_back(static_cast<double>(after.jobs[job].bytes.count - before.jobs[job].bytes.count));
  return jain_index(got);
}

void add_throughput(ReproSection& section, const sim::RunResult& goal, const std::vector<sim::RunResult>& fixed,
                    const std::vector<unsigned>& credits) {
  std::size_t best = 0;
  std::optional<std::size_t> best_within;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i].bandwidth > fixed[best].bandwidth) best = i;
    const bool within = fixed[i].latency.p99 <= in_seconds(kGoal);
    if (within && (!best_within || fixed[i].bandwidth > fixed[*best_within].bandwidth)) best_within = i;
  }
  const auto against = [&](std::size_t i) { return goal.bandwidth.value / fixed[i].bandwidth.value; };
  section.rows.push_back({.what = "GOAL(60,1024)",
                          .unit = "MB/s",
                          .ours = goal.bandwidth.value / kMib,
                          .decimals = 1,
                          .kind = ReproKind::predicted,
                          .note = "Our own law; nothing was published of it."});
  ReproRow all = row_at_least(
      "GOAL(60,1024) against the best static n", "", std::nullopt, against(best), 0.98,
      fmt::format("The best of n = 1, 2, 4, 8, 16, 32, 64 is {}, with {:.1f} MB/s and a 99th percentile of {:.0f} s; "
                  "a queue that long is what the goal forbids.",
                  credits[best], fixed[best].bandwidth.value / kMib, fixed[best].latency.p99));
  section.rows.push_back(std::move(all));
  if (best_within)
    section.rows.push_back(row_at_least(
        "GOAL(60,1024) against the best static n that keeps the goal", "", std::nullopt, against(*best_within), 1,
        fmt::format("That is n = {}, with {:.1f} MB/s.", credits[*best_within], fixed[*best_within].bandwidth.value / kMib)));
  section.rows.push_back(
      row_at_most("GOAL(60,1024): 99th percentile of latency", "s", std::nullopt, goal.latency.p99, in_seconds(kGoal)));
}

// Throughput when clients come and go, and when two jobs share a target.
Result<void> add_shared_throughput(ReproSection& section, ReproRunner& runner) {
  IEZ_TRY(const auto jumps, runner.simulate(with_goal_and_credits(tianhe_jump())));
  IEZ_TRY(const auto before, runner.simulate(with_goal_and_credits(tianhe_two_jobs(kFairFrom))));
  IEZ_TRY(const auto after, runner.simulate(with_goal_and_credits(tianhe_two_jobs(kFairTo))));
  std::vector<double> jump_bytes;
  std::vector<double> job_bytes;
  jump_bytes.reserve(jumps.size());
  job_bytes.reserve(jumps.size());
  for (std::size_t i = 0; i < jumps.size(); ++i) {
    jump_bytes.push_back(static_cast<double>(jumps[i].bytes.count));
    job_bytes.push_back(static_cast<double>(after[i].bytes.count - before[i].bytes.count));
  }
  section.rows.push_back(against_static("64, 1024, 64 clients: GOAL(60) against the best static n", jump_bytes,
                                        " Clients that start at the same moment tear each other's streams apart from the first "
                                        "request on, and static credits never mend that."));
  section.rows.push_back(against_static("Two jobs, 1000 and 10 clients: GOAL(60) against the best static n", job_bytes, ""));
  return {};
}

}  // namespace

Result<void> add_own_law(ReproSection& section, ReproRunner& runner) {
  const std::vector<unsigned> credits{1, 2, 4, 8, 16, 32, 64};
  std::vector<sim::Scenario> scenarios{
      with_law(tianhe_clients(1024), goal_law(), "GOAL(60,1024)"),
      with_law(tianhe_jump(), goal_law(), ", GOAL(60)"),
      with_law(tianhe_jump(), credit_law(), ", CC(60)"),
      with_law(tianhe_two_jobs(kFairFrom), goal_law(), ", GOAL(60)"),
      with_law(tianhe_two_jobs(kFairTo), goal_law(), ", GOAL(60)"),
      with_law(tianhe_two_jobs(kFairFrom), credit_law(), ", CC(60)"),
      with_law(tianhe_two_jobs(kFairTo), credit_law(), ", CC(60)"),
  };
  const std::size_t first_fixed = scenarios.size();
  for (const unsigned n : credits) scenarios.push_back(tianhe_fixed(n, 1024));
  IEZ_TRY(auto runs, runner.simulate(scenarios));
  const std::vector<sim::RunResult> fixed(runs.begin() + static_cast<std::ptrdiff_t>(first_fixed), runs.end());
  add_throughput(section, runs[0], fixed, credits);

  section.rows.push_back(settle_row("64 to 1024 clients: settle time of GOAL(60)", settle_up(runs[1]), settle_up(runs[2])));
  section.rows.push_back(settle_row("1024 to 64 clients: settle time of GOAL(60)", settle_down(runs[1]), settle_down(runs[2])));
  section.rows.push_back(row_at_most("64, 1024, 64 clients: 99th percentile of latency under GOAL(60)", "s", std::nullopt,
                                     runs[1].latency.p99, in_seconds(kGoal),
                                     fmt::format("CC(60) has {:.1f} s.", runs[2].latency.p99)));
  section.rows.push_back(row_at_least("Two jobs, 1000 and 10 clients: Jain index under GOAL(60)", "", std::nullopt,
                                      fairness(runs[3], runs[4]), 0.95,
                                      fmt::format("Of what each job gets from {:.0f} s to {:.0f} s; CC(60) has {:.3f}.",
                                                  in_seconds(kFairFrom), in_seconds(kFairTo), fairness(runs[5], runs[6]))));
  IEZ_CHECK(add_shared_throughput(section, runner));
  section.text +=
      " Settle time: from the jump (up: when 960 more clients start; down: when the last of them has finished) to the first "
      "moment "
      "from which the queue depth, averaged over 5 s, stays within 15 % of its mean from then on; up, it is watched for 600 s.";
  return {};
}

}  // namespace iez::cli
