// What the assumed turnaround changes: for each value the two disk constants are fitted anew, and the predictions made again.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "repro_scenarios.hpp"
#include "repro_sections.hpp"
#include "sim/simulation.hpp"

namespace iez::cli {

namespace {

constexpr double kAllSeeks = 105;  // MB/s, FIX(1,1024): every request costs a transfer and a positioning
constexpr double kFewSeeks = 192;  // MB/s, FIX(32,1024)
constexpr int kSteps = 12;
constexpr double kCloseEnough = 0.05;  // MB/s

struct Published {
  std::string name;
  double rate = 0;
};

struct Case {
  double turnaround = 0;
  TianheConstants fitted;
  std::vector<double> rates;  // MB/s, of the predictions
};

Result<double> rate_of_fixed32(const TianheConstants& constants) {
  IEZ_TRY(const auto run, sim::simulate(tianhe_fixed(32, 1024, constants)));
  return run.bandwidth.value / kMib;
}

// Bisects on the transfer time. Transfer and positioning together are fixed by FIX(1,1024), so a shorter transfer always means a
// dearer positioning; few seeks make the whole faster nevertheless.
Result<TianheConstants> fit(double turnaround) {
  const double both = 1e3 / kAllSeeks;
  double low = 2;
  double high = 1e3 / kFewSeeks;
  TianheConstants constants{.turnaround_s = turnaround};
  for (int step = 0; step < kSteps; ++step) {
    constants.transfer_ms = (low + high) / 2;
    constants.positioning_ms = both - constants.transfer_ms;
    IEZ_TRY(const double rate, rate_of_fixed32(constants));
    if (std::abs(rate - kFewSeeks) < kCloseEnough) break;
    (rate > kFewSeeks ? low : high) = constants.transfer_ms;
  }
  return constants;
}

std::vector<sim::Scenario> predictions(const TianheConstants& constants) {
  return {tianhe_fixed(4, 1024, constants), tianhe_fixed(8, 1024, constants), tianhe_fixed(32, 512, constants),
          tianhe_credits(60, 1024, constants)};
}

const std::vector<Published>& published() {
  static const std::vector<Published> kRows{
      {"FIX(4,1024)", 170.13 / 1.15}, {"FIX(8,1024)", 156.13}, {"FIX(32,512)", 177}, {"CC(60,1024)", 170.13}};
  return kRows;
}

Result<void> try_turnaround(Case& one) {
  IEZ_TRY(one.fitted, fit(one.turnaround));
  for (const sim::Scenario& scenario : predictions(one.fitted)) {
    IEZ_TRY(const auto run, sim::simulate(scenario));
    one.rates.push_back(run.bandwidth.value / kMib);
  }
  return {};
}

std::vector<std::string> cells(const Case& one) {
  std::vector<std::string> row{fmt::format("{:.2f} s", one.turnaround), fmt::format("{:.3f} ms", one.fitted.transfer_ms),
                               fmt::format("{:.3f} ms", one.fitted.positioning_ms)};
  double squares = 0;
  for (std::size_t i = 0; i < one.rates.size(); ++i) {
    const double off = one.rates[i] / published()[i].rate - 1;
    squares += off * off;
    row.push_back(fmt::format("{:.1f} ({:+.1f} %)", one.rates[i], off * 100));
  }
  row.push_back(fmt::format("{:.1f} %", 100 * std::sqrt(squares / static_cast<double>(one.rates.size()))));
  return row;
}

}  // namespace

Result<void> add_turnaround(ReproSection& section, ReproRunner& runner) {
  std::vector<Case> cases;
  for (const double turnaround : {1.0, 1.25, 1.5, 1.75, 2.0}) cases.push_back({.turnaround = turnaround});
  std::vector<ReproTask> tasks;
  tasks.reserve(cases.size());
  for (Case& one : cases)
    tasks.push_back({fmt::format("turnaround {} s", one.turnaround), [&one] { return try_turnaround(one); }});
  IEZ_CHECK(runner.run(tasks));

  ReproTable table{.title = "What the assumed turnaround changes",
                   .note =
                       "For each value, transfer and positioning were fitted anew on FIX(1,1024) and FIX(32,1024). 1.5 s is used "
                       "above because "
                       "the predictions as a whole fit best near there; no published figure fixes it.",
                   .columns = {"turnaround up to", "transfer", "positioning"}};
  for (const Published& row : published()) table.columns.push_back(fmt::format("{}: {:.1f}", row.name, row.rate));
  table.columns.emplace_back("root mean square");
  for (const Case& one : cases) table.rows.push_back(cells(one));
  section.tables.push_back(std::move(table));
  return {};
}

}  // namespace iez::cli
