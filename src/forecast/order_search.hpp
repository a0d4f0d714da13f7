// Which ARIMA? Two searches over orders; arima.hpp fits each.
//
// `stepwise`: the differences are given. Try every p + q up to first_terms, and from the one with the least AICc walk to a better
// neighbour - one more or one fewer of p, q, P, Q, or of two of them - until there is none. AICc compares models of one series
// only, hence never across differences. A model whose fit did not converge, or which cannot be fitted to so few values, is passed
// over; so is one with a root on the unit circle, unless it has a season: such fits are likely by accident.
//
// `grid`: every p, d, q from 0 to 5, as the published method has it. The winner is the one with the least root mean square of
// one-step errors in the sample, which over-fits: it is there to compare with, and for who wants it. Errors of the first
// max(d) values count for no model, so that models of different d are judged on the same values; else the one with d = 0 wins
// always, or never.
//
// Cost: a fit of 72 values takes some 0.1 ms to 1 ms; stepwise tries 10 to 30, the grid 216.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "forecast/arima.hpp"

namespace iez::forecast {

struct StepwiseOptions {
  unsigned first_terms = 3;  // every p + q up to here is tried first
  unsigned max_p = 5;        // and q
  unsigned max_sp = 1;       // and Q
  unsigned max_models = 60;
  FitOptions fit = {.starts = 1};
};

struct OrderSearch {
  std::optional<ArimaFit> best;  // none: no model could be fitted
  unsigned tried = 0;
  unsigned rejected = 0;  // of them: did not converge, or could not be fitted
};

// d, sd and period are taken from `differences`; the rest of it is ignored.
OrderSearch stepwise(std::span<const double> values, const ArimaOrder& differences, const StepwiseOptions& options = {});

inline constexpr unsigned kGridSide = 6;  // 0 to 5

struct GridRow {
  ArimaFit fit;
  double rmse = 0;  // of one-step errors in the sample
};

struct GridSearch {
  std::vector<GridRow> rows;  // fitted, the best first
  unsigned tried = 0;
};

// One start, that of the better model with a term less; and no more digits of the likelihood than could ever matter.
inline constexpr FitOptions kGridFit{.starts = 1, .tolerance = 1e-5};

GridSearch full_grid(std::span<const double> values, const FitOptions& options = kGridFit);

}  // namespace iez::forecast
