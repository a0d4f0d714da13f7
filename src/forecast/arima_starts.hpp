// Where the search for ARIMA coefficients starts.
//
// A point is the partial autocorrelations of the four polynomials, one after the other: ar, ma, seasonal ar, seasonal ma (the
// moving averages as 1 - c1 B - ..., see polynomial.hpp). All are below 1 in size.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forecast/arima.hpp"

namespace iez::forecast {

// Hannan and Rissanen: a long autoregression estimates the innovations; a regression on earlier values and innovations gives the
// coefficients, the seasonal ones as if they added to the others. What is not stable is shrunk until it is. All 0 where the
// series is too short. REQUIRES: the values are complete, differenced and without mean.
[[nodiscard]] std::vector<double> regression_start(std::span<const double> values, const ArimaOrder& order);

// Point `index` of a sequence that fills [-0.9, 0.9]^size evenly (Roberts' generalised golden ratio).
[[nodiscard]] std::vector<double> spread_start(std::size_t index, std::size_t size);

}  // namespace iez::forecast
