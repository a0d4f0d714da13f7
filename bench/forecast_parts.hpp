// The parts of the forecast benchmark; each adds its figures. forecast.cpp runs them in turn.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// forecast.mem_mib. First of all: see peak_growth_kib().
[[nodiscard]] Result<void> add_forecast_memory(const Settings& settings, std::vector<Figure>& figures);

// forecast.loglik_err, .maxlik_short, .accuracy.*
[[nodiscard]] Result<void> add_likelihoods(const Settings& settings, std::vector<Figure>& figures);
[[nodiscard]] Result<void> add_accuracy(const Settings& settings, std::vector<Figure>& figures);

// forecast.ior, .hacc: whole runs from earlier ones.
[[nodiscard]] Result<void> add_run_forecasts(const Settings& settings, std::vector<Figure>& figures);

// forecast.vs_statsmodels, .vs_r, .grid_better
[[nodiscard]] Result<void> add_forecast_peers(const Settings& settings, std::vector<Figure>& figures);

// forecast.auto_ms, .fleet_s
[[nodiscard]] Result<void> add_forecast_speed(const Settings& settings, std::vector<Figure>& figures);

// trace.merge_s, trace.template_s
[[nodiscard]] Result<void> add_trace_speed(const Settings& settings, std::vector<Figure>& figures);

}  // namespace iez::bench
