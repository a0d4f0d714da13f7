#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "repro_scenarios.hpp"
#include "repro_sections.hpp"

namespace iez::cli {

namespace {

struct Scale {
  std::uint32_t processes = 0;
  double published = 0;  // rate of collective over independent writing
};

ReproRow outside_row(std::string what, std::string unit, double paper, int decimals, std::string note) {
  return {.what = std::move(what),
          .unit = std::move(unit),
          .paper = paper,
          .decimals = decimals,
          .kind = ReproKind::outside,
          .note = std::move(note)};
}

Result<void> add_flash(ReproSection& section, ReproRunner& runner, const std::vector<Scale>& scales) {
  std::vector<sim::Scenario> scenarios;
  for (const Scale& scale : scales) {
    scenarios.push_back(jaguar_flash(scale.processes, false));
    scenarios.push_back(jaguar_flash(scale.processes, true));
  }
  IEZ_TRY(const auto runs, runner.simulate(scenarios));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double ratio = runs[2 * i + 1].bandwidth.value / runs[2 * i].bandwidth.value;
    section.rows.push_back(row_within(
        fmt::format("FLASH-IO, {} processes: collective over POSIX", scales[i].processes), "", scales[i].published, ratio, 0.25,
        ReproKind::predicted,
        "Neither what the servers' caches join nor the messages between processes are in the model, and the stripe count is not "
        "published: with these constants it does not reproduce the report."));
  }
  return {};
}

}  // namespace

Result<ReproSection> repro_collective(ReproRunner& runner, bool quick) {
  ReproSection section{
      .id = "collective",
      .title = "Collective: stripe-contiguous writing (jaguar)",
      .text =
          "The report gives few constants of its machine, so that only ratios are compared: all constants are assumed, and none "
          "is "
          "fitted. What needs message passing, HDF5 or the servers' caches is outside the model, and marked so.",
      .constants = {{"targets", "72", "published"},
                    {"one OST", "150 MB/s, positioning 8 ms", "assumed"},
                    {"locks", "0.5 ms each, 5 ms to take one away", "assumed"},
                    {"one writer collects", "300 MB/s", "assumed"},
                    {"FLASH-IO", "1024 variables, blocks of 40 KiB, 72 stripes of 1 MB", "published but for the stripe count"}}};
  IEZ_CHECK(
      add_flash(section, runner,
                quick ? std::vector<Scale>{{64, 2}} : std::vector<Scale>{{64, 2}, {256, 2}, {512, 624.0 / 368}, {1024, 2}}));
  section.rows.push_back(
      outside_row("FLASH-IO, 512 processes: collective", "MB/s", 624, 0,
                  "Thousands of small collective calls one after the other: the time is that of their messages."));
  section.rows.push_back(
      outside_row("FLASH-IO, 512 processes: POSIX", "MB/s", 368, 0, "It depends on what the servers' caches join."));
  section.rows.push_back(outside_row("CHIMERA, 512 processes: speed-up of all eight files", "", 361.7 / 31.8, 1,
                                     "The sizes and offsets of its requests are not published."));
  section.rows.push_back(outside_row("CHIMERA: speed-up of the worst file", "", 224.6 / 2.9, 1, "As above."));
  section.rows.push_back(outside_row("Communication share of collective writes, before and after", "%", 20, 0,
                                     "Published as 50 % before; message passing between processes is not modelled."));
  section.rows.push_back(
      outside_row("Collective open over one write", "", 30, 0, "A property of the MPI library's open, not of storage."));
  return section;
}

ReproSection repro_prediction() {
  ReproSection section{.id = "prediction",
                       .title = "Prediction: the next run of an application",
                       .text =
                           "Not repeated here: iez bench forecast measures accuracy, time and memory of the forecasts against "
                           "the published figures."};
  section.rows.push_back(outside_row("HACC-IO: accuracy of ARIMA(5,1,2)", "%", 98.3, 1, "See iez bench forecast."));
  section.rows.push_back(outside_row("IOR: accuracy of ARIMA(2,1,1)", "%", 99.1, 1, "See iez bench forecast."));
  return section;
}

}  // namespace iez::cli
