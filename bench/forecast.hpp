// How good forecasts are, and how fast: against recorded likelihoods, known laws, statsmodels and R.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

[[nodiscard]] Result<std::vector<Figure>> run_forecast(const Settings& settings);

}  // namespace iez::bench
