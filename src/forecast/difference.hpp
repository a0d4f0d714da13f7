// Differencing: (1 - B)^d (1 - B^period)^sd.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forecast/arima.hpp"

namespace iez::forecast {

// D: how many values differencing takes off the front.
[[nodiscard]] std::size_t difference_loss(const ArimaOrder& order);

// c1..cD of the differencing polynomial 1 - c1 B - ... - cD B^D; so y(t) = w(t) + sum of ck y(t - k).
[[nodiscard]] std::vector<double> difference_coefficients(const ArimaOrder& order);

// The differenced series, D shorter; empty if nothing is left. What a missing value touches is missing.
[[nodiscard]] std::vector<double> difference(std::span<const double> values, const ArimaOrder& order);

}  // namespace iez::forecast
