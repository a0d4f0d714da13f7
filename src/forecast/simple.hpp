// Forecasters that need no model. Most files of most programs are of one size, or grow by a step, or repeat with a period: for
// them nothing is better, and nothing is as cheap. They are also what ARIMA has to beat.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "forecast/series.hpp"

namespace iez::forecast {

enum class Simple {
  naive,   // as the last
  mean,    // of all
  median,  // of all
  drift,   // the last, and the mean step
  trend,   // the least-squares line
  local,   // the last few levels weighted, with the weight that would have served best so far (exponential smoothing)
};

inline constexpr std::array kSimple = {Simple::naive, Simple::mean, Simple::median, Simple::drift, Simple::trend, Simple::local};

std::string_view to_string(Simple method);

// The value at `time`, from what was before it. REQUIRES: history is not empty, in ascending time, and time is later.
double simple_value(Simple method, std::span<const Observation> history, double time);

// Each phase of the period by itself; a period of 0 or 1 is the whole series. The next `horizon` values. A phase without any
// value takes the mean of all. REQUIRES: a value that is there.
std::vector<double> simple_path(Simple method, std::span<const double> values, unsigned period, std::size_t horizon);

// What the method would have said of each of the last `count` values, one step ahead; NaN where there was no history.
// REQUIRES: count <= values.size()
std::vector<double> simple_rolling(Simple method, std::span<const double> values, unsigned period, std::size_t count);

}  // namespace iez::forecast
