// Pages of `iez sim`: HTML with everything in it, no script and nothing to load, for light and dark screens. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "line_chart.hpp"
#include "sim/result.hpp"
#include "sim_compare.hpp"
#include "sim_view.hpp"

namespace iez::cli {

// What a page shows of one run over time, thinned to what can be seen.
struct RunTrace {
  static constexpr std::size_t kSeries = 6;

  std::string name;
  std::uint64_t seeds = 0;
  std::array<std::vector<ChartPoint>, kSeries> series;  // with the first seed
  std::array<std::vector<ChartRange>, kSeries> bands;   // the lowest and the highest of all seeds; empty for one seed
};

inline constexpr std::size_t kMostTraces = kChartColours;  // that are laid over one another

// Makes the trace of one combination from its runs.
class SeedTraces {
 public:
  explicit SeedTraces(std::string name) : name_(std::move(name)) {}

  void add(std::span<const sim::Sample> samples);  // of one seed after the other; samples ascend in time
  [[nodiscard]] RunTrace trace() const;

 private:
  // What all runs had at one time. Runs are sampled at the same times but for their ends.
  struct Moment {
    Duration at{};
    std::uint64_t runs = 0;
    std::array<std::uint64_t, RunTrace::kSeries> values{};  // of the runs; some have none
    std::array<double, RunTrace::kSeries> low{};
    std::array<double, RunTrace::kSeries> high{};
  };

  std::string name_;
  std::uint64_t seeds_ = 0;
  std::array<std::vector<ChartPoint>, RunTrace::kSeries> first_;
  std::vector<Moment> moments_;
};

std::vector<RunTrace> finished(std::span<const SeedTraces> traces);

// traces: of the first combinations, at most kMostTraces.
std::string report_page(const SimReport& report, std::span<const RunTrace> traces);

// Two scenarios side by side: `figures` of compare_runs(), `traces` one of each.
std::string compare_page(const SimReport& a, const SimReport& b, const std::vector<Compared>& figures,
                         std::span<const RunTrace> traces);

}  // namespace iez::cli
