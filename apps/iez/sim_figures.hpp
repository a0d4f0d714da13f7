// The figures of a simulated run that tables, pages and comparisons show, and how they spread over several seeds. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/result.hpp"

namespace iez::cli {

enum class FigureUnit { rate, seconds, count, share };

struct Figure {
  std::string_view name;  // for people
  std::string_view key;   // for programs
  FigureUnit unit = FigureUnit::count;
  std::optional<double> (*of)(const sim::RunResult&) = nullptr;  // none: the run has none
};

std::span<const Figure> run_figures();

std::string figure_text(FigureUnit unit, double value);

std::string_view unit_name(FigureUnit unit);  // "B/s", "s", "", ""

// "1.25 ms", "56.0 s", "3600 s": not as minutes, so that a column of them can be read.
std::string seconds_text(double seconds);

double to_seconds(Duration duration);

// Mean share of the run that targets were busy; share of requests that had to position first. 0 if there were none.
double mean_busy(const sim::RunResult& run);
double highest_busy(const sim::RunResult& run);
double seek_share(const sim::RunResult& run);

// The mean of several runs, and the half width of the interval that holds the true mean with a probability of 95 %, for values
// that are about normal: Student's t.
struct Spread {
  double mean = 0;
  std::optional<double> band;  // none for fewer than two values
};

// REQUIRES: at least one value
Spread spread_of(std::span<const double> values);

// "163 MB/s" or "163 MB/s +- 1.20 MB/s".
std::string spread_text(FigureUnit unit, const Spread& spread);

}  // namespace iez::cli
