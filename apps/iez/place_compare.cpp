#include "place_compare.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "place_view.hpp"
#include "plot.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr unsigned kBarWidth = 40;

// Tells how long the policy itself took, without the checks and bounds around it.
class TimedPolicy final : public placement::Policy {
 public:
  TimedPolicy(placement::Policy& policy, const Clock& clock) : policy_(policy), clock_(clock) {}

  std::string_view name() const override { return policy_.name(); }

  Result<placement::Assignment> assign(const placement::TargetTable& table, std::span<const placement::Demand> demands) override {
    const Duration start = clock_.monotonic();
    auto assignment = policy_.assign(table, demands);
    spent_ += clock_.monotonic() - start;
    return assignment;
  }

  Duration spent() const { return spent_; }

 private:
  placement::Policy& policy_;
  const Clock& clock_;
  Duration spent_{};
};

// REQUIRES: before the first run the figure is as made.
void add(Figure& figure, double value, std::size_t run, std::size_t runs) {
  figure.least = run == 0 ? value : std::min(figure.least, value);
  figure.most = run == 0 ? value : std::max(figure.most, value);
  figure.mean += value / static_cast<double>(runs);
}

// Rounding may put the mean of equals beside them.
void settle(Figure& figure) { figure.mean = std::clamp(figure.mean, figure.least, figure.most); }

struct Outcome {
  PolicyResult result;
  std::optional<Error> error;
  double bound = 0;
  double possible = 1;
};

Result<Outcome> try_policy(std::string_view name, const placement::TargetTable& table,
                           std::span<const placement::Request> requests, std::uint64_t seed, std::uint64_t seeds,
                           const Clock& clock, const CompareProgress& progress) {
  Outcome outcome{.result = {.policy = std::string(name)}, .error = std::nullopt};
  PolicyResult& result = outcome.result;
  const std::uint64_t runs = draws(name) ? seeds : 1;
  Duration spent{};
  for (std::uint64_t run = 0; run < runs; ++run) {
    progress(name, run, runs);
    IEZ_TRY(const auto policy, placement::make_policy(name, seed + run));
    TimedPolicy timed(*policy, clock);
    const auto plan = placement::plan_files(table, requests, timed);
    if (!plan) {
      outcome.result = {.policy = std::string(name), .refused = plan.error().message};
      outcome.error = plan.error();
      return outcome;
    }
    add(result.ost_cost, plan->after.ost_cost, run, runs);
    add(result.oss_cost, plan->after.oss_cost, run, runs);
    add(result.largest, plan->after.max_utilisation, run, runs);
    add(result.above_bound, above_bound(*plan), run, runs);
    result.overflowing += static_cast<double>(plan->over.size()) / static_cast<double>(runs);
    spent += timed.spent();
    outcome.bound = plan->bound;
    if (plan->after.mean_utilisation > 0) outcome.possible = plan->bound / plan->after.mean_utilisation;
  }
  for (Figure* figure : {&result.ost_cost, &result.oss_cost, &result.largest, &result.above_bound}) settle(*figure);
  result.runs = runs;
  result.time = spent / static_cast<std::int64_t>(runs);
  return outcome;
}

std::string range_text(const PolicyResult& result) {
  return result.runs > 1 ? fmt::format("{:.3f}-{:.3f}", result.ost_cost.least, result.ost_cost.most) : "-";
}

double milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string policy_table(const Comparison& comparison, bool header, const Terminal& terminal) {
  Table table({{"POLICY"},
               {"RUNS", Align::right},
               {"OSTCOST", Align::right},
               {"RANGE", Align::right},
               {"OSSCOST", Align::right},
               {"LARGEST", Align::right},
               {"ABOVE BOUND", Align::right},
               {"OVERFLOW", Align::right},
               {"MS", Align::right}});
  for (const PolicyResult& result : comparison.cases.front().policies) {
    std::vector<Cell> row{{result.policy}};
    if (!result.refused.empty()) {
      row.resize(9, {"-"});
    } else {
      row.push_back({fmt::to_string(result.runs)});
      row.push_back({fmt::format("{:.3f}", result.ost_cost.mean)});
      row.push_back({range_text(result)});
      row.push_back({comparison.servers_known ? fmt::format("{:.3f}", result.oss_cost.mean) : "-"});
      row.push_back({use_text(result.largest.mean)});
      row.push_back({fmt::format("{:.2f} %", 100 * result.above_bound.mean)});
      row.push_back({fmt::format("{:.4g}", result.overflowing), result.overflowing > 0 ? Colour::red : Colour::none});
      row.push_back({fmt::format("{:.1f}", milliseconds(result.time))});
    }
    table.add(std::move(row));
  }
  return table.render(terminal, header);
}

std::string case_table(const Comparison& comparison, bool header, const Terminal& terminal) {
  std::vector<std::string> titles;
  for (const PolicyResult& result : comparison.cases.front().policies) titles.push_back(result.policy);
  std::vector<Table::Column> columns{{"REQUESTS"}, {"possible", Align::right}};
  for (const std::string& title : titles) columns.push_back({title, Align::right});
  Table table(columns);
  for (const ComparedCase& one : comparison.cases) {
    std::vector<Cell> row{{one.label}, {fmt::format("{:.4f}", one.possible)}};
    for (const PolicyResult& result : one.policies) {
      row.push_back({result.refused.empty() ? fmt::format("{:.4f}", result.ost_cost.mean) : "-"});
    }
    table.add(std::move(row));
  }
  return table.render(terminal, header);
}

std::string charts(const Comparison& comparison, const Terminal& terminal) {
  std::vector<Bar> bars;
  for (const ComparedCase& one : comparison.cases) {
    const std::string prefix = comparison.cases.size() > 1 ? one.label + "  " : "";
    bars.push_back({.label = prefix + "possible", .value = one.possible, .note = fmt::format("{:.3f}", one.possible)});
    for (const PolicyResult& result : one.policies) {
      const bool shown = result.refused.empty();
      std::string note = shown ? fmt::format("{:.3f}", result.ost_cost.mean) : "-";
      if (result.runs > 1) note += fmt::format(" ({})", range_text(result));
      bars.push_back({.label = prefix + result.policy, .value = shown ? result.ost_cost.mean : 0, .note = note});
    }
  }
  return bar_chart(bars, kBarWidth, terminal);
}

ordered_json figure_json(const Figure& figure) { return {{"least", figure.least}, {"mean", figure.mean}, {"most", figure.most}}; }

ordered_json result_json(const PolicyResult& result, bool servers_known) {
  const bool known = result.refused.empty();
  const auto figure = [&](const Figure& value, bool shown) { return shown ? figure_json(value) : ordered_json(nullptr); };
  return {{"policy", result.policy},
          {"runs", result.runs},
          {"ost_cost", figure(result.ost_cost, known)},
          {"oss_cost", figure(result.oss_cost, known && servers_known)},
          {"largest_utilisation", figure(result.largest, known)},
          {"above_bound", figure(result.above_bound, known)},
          {"overflowing_osts", known ? ordered_json(result.overflowing) : ordered_json(nullptr)},
          {"milliseconds", known ? ordered_json(milliseconds(result.time)) : ordered_json(nullptr)},
          {"refused", known ? ordered_json(nullptr) : ordered_json(result.refused)}};
}

SvgBar svg_bar(const Figure& figure) { return {.value = figure.mean, .low = figure.least, .high = figure.most}; }

std::optional<SvgBar> svg_bar(const PolicyResult& result) {
  return result.refused.empty() ? std::optional(svg_bar(result.ost_cost)) : std::nullopt;
}

}  // namespace

bool draws(std::string_view policy) { return policy == "lustre-rr" || policy == "lustre-qos" || policy == "random"; }

Result<ComparedCase> compare_policies(const placement::TargetTable& table, std::span<const placement::Request> requests,
                                      std::uint64_t seed, std::uint64_t seeds, const Clock& clock,
                                      const CompareProgress& progress) {
  ComparedCase one{.files = requests.size()};
  for (const placement::Request& request : requests) one.bytes += request.bytes;
  std::optional<Error> first_error;
  bool any = false;
  for (const std::string_view name : placement::policy_names()) {
    IEZ_TRY(Outcome outcome, try_policy(name, table, requests, seed, seeds, clock, progress));
    if (outcome.error) {
      if (!first_error) first_error = outcome.error;
    } else if (!any) {
      any = true;
      one.bound = outcome.bound;
      one.possible = outcome.possible;
    }
    one.policies.push_back(std::move(outcome.result));
  }
  if (!any && first_error) return std::unexpected(*std::move(first_error));
  return one;
}

std::string compare_text(const Comparison& comparison, bool header, bool plot, const Terminal& terminal) {
  if (comparison.cases.empty()) return "";
  const bool several = comparison.cases.size() > 1;
  const ComparedCase& first = comparison.cases.front();
  std::string out;
  if (header) {
    out = several ? fmt::format("OSTCost after placing each batch on {}", text::printable(comparison.cluster))
                  : fmt::format("{}, {}, on {}: no placement has a largest use below {}, or an OSTCost below {:.3f}",
                                counted(first.files, "file"), to_string(first.bytes), text::printable(comparison.cluster),
                                bound_text(first.bound), first.possible);
    out += fmt::format("\nPolicies that draw: means of {}\n\n", counted(comparison.seeds, "run"));
  }
  out += several ? case_table(comparison, header, terminal) : policy_table(comparison, header, terminal);
  if (plot) out += "\nOSTCost\n" + charts(comparison, terminal);
  return out;
}

std::string compare_json(const Comparison& comparison) {
  ordered_json json{
      {"cluster", comparison.cluster}, {"seed", comparison.seed}, {"seeds", comparison.seeds}, {"cases", ordered_json::array()}};
  for (const ComparedCase& one : comparison.cases) {
    ordered_json row{{"requests", one.label}, {"file_count", one.files},           {"total_file_bytes", one.bytes.count},
                     {"bound", one.bound},    {"possible_ost_cost", one.possible}, {"policies", ordered_json::array()}};
    for (const PolicyResult& result : one.policies) row["policies"].push_back(result_json(result, comparison.servers_known));
    json["cases"].push_back(std::move(row));
  }
  return to_line(json);
}

SvgChart compare_chart(const Comparison& comparison) {
  SvgChart chart{
      .title = fmt::format("How even the OSTs of {} end up, by policy", comparison.cluster),
      .subtitle = fmt::format("Largest use / mean use (OSTCost) after placement; 1 is perfectly even. Policies that draw: "
                              "mean and range of {}.",
                              counted(comparison.seeds, "run")),
      .axis = "OSTCost"};
  if (comparison.cases.size() == 1) {
    const ComparedCase& one = comparison.cases.front();
    chart.categories = {"possible"};
    chart.series = {{.name = "", .bars = {SvgBar{.value = one.possible}}}};
    chart.decimals = 3;
    for (const PolicyResult& result : one.policies) {
      chart.categories.push_back(result.policy);
      chart.series[0].bars.push_back(svg_bar(result));
    }
    return chart;
  }
  chart.series.push_back({.name = "possible"});
  for (const ComparedCase& one : comparison.cases) {
    chart.categories.push_back(one.label);
    chart.series[0].bars.emplace_back(SvgBar{.value = one.possible});
    for (std::size_t i = 0; i < one.policies.size(); ++i) {
      if (chart.series.size() < i + 2) chart.series.push_back({.name = one.policies[i].policy});
      chart.series[i + 1].bars.push_back(svg_bar(one.policies[i]));
    }
  }
  return chart;
}

}  // namespace iez::cli
