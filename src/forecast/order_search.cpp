#include "forecast/order_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace iez::forecast {
namespace {

constexpr std::size_t kMaxSide = 8;  // more than any max_p

const ArimaFit* address(const std::optional<ArimaFit>& fit) { return fit ? &*fit : nullptr; }

bool usable(const ArimaFit& fit) { return fit.converged && std::isfinite(fit.aicc); }

constexpr double kOnUnitCircle = 0.01;  // the distance of a root: nearer is on it

struct Step {
  int p = 0;
  int q = 0;
  int sp = 0;
  int sq = 0;
};

constexpr std::array kSteps = {
    Step{.p = 1},           Step{.q = 1},          Step{.p = -1},          Step{.q = -1},           Step{.p = 1, .q = 1},
    Step{.p = -1, .q = -1}, Step{.p = 1, .q = -1}, Step{.p = -1, .q = 1},  Step{.sp = 1},           Step{.sq = 1},
    Step{.sp = -1},         Step{.sq = -1},        Step{.sp = 1, .sq = 1}, Step{.sp = -1, .sq = -1}};

class Walk {
 public:
  Walk(std::span<const double> values, const ArimaOrder& differences, const StepwiseOptions& options)
      : values_(values), base_(differences), options_(options) {
    seen_.fill(false);
  }

  OrderSearch run() {
    const int season = base_.period > 1 ? 1 : 0;
    for (int terms = 0; terms <= static_cast<int>(options_.first_terms); ++terms) {
      for (int p = 0; p <= terms; ++p) visit({.p = p, .q = terms - p, .sp = 0, .sq = season});
    }
    bool better = true;
    while (better && result_.tried < options_.max_models) {
      better = false;
      for (const Step& step : kSteps) {
        const Step from = at_;
        if (visit({.p = from.p + step.p, .q = from.q + step.q, .sp = from.sp + step.sp, .sq = from.sq + step.sq})) {
          better = true;
          break;
        }
      }
    }
    return std::move(result_);
  }

 private:
  // True: it is the best so far.
  bool visit(const Step& order) {
    const auto most = static_cast<int>(std::min<std::size_t>(options_.max_p, kMaxSide - 1));
    const int most_seasonal = base_.period > 1 ? static_cast<int>(std::min<std::size_t>(options_.max_sp, kMaxSide - 1)) : 0;
    if (order.p < 0 || order.p > most || order.q < 0 || order.q > most) return false;
    if (order.sp < 0 || order.sp > most_seasonal || order.sq < 0 || order.sq > most_seasonal) return false;
    const auto place = [](std::size_t above, int index) { return above * kMaxSide + static_cast<std::size_t>(index); };
    const std::size_t key = place(place(place(static_cast<std::size_t>(order.p), order.q), order.sp), order.sq);
    if (seen_[key] || result_.tried >= options_.max_models) return false;
    seen_[key] = true;
    ++result_.tried;
    ArimaOrder full = base_;
    full.p = static_cast<unsigned>(order.p);
    full.q = static_cast<unsigned>(order.q);
    full.sp = static_cast<unsigned>(order.sp);
    full.sq = static_cast<unsigned>(order.sq);
    auto fit = fit_arima(values_, full, options_.fit);
    if (!fit || !usable(*fit) || (full.period < 2 && fit->unit_root_distance < kOnUnitCircle)) {
      ++result_.rejected;
      return false;
    }
    if (result_.best && !(fit->aicc < result_.best->aicc)) return false;
    result_.best = std::move(fit);
    at_ = order;
    return true;
  }

  std::span<const double> values_;
  ArimaOrder base_;
  const StepwiseOptions& options_;
  std::array<bool, kMaxSide * kMaxSide * kMaxSide * kMaxSide> seen_{};
  OrderSearch result_;
  Step at_;
};

// Of one-step errors, but for the first values, which the largest d would have lost.
std::optional<double> sample_rmse(std::span<const double> values, const ArimaFit& fit) {
  double squares = 0;
  double count = 0;
  const auto errors = one_step_errors(values, fit);
  for (std::size_t i = kGridSide - 1; i < errors.size(); ++i) {
    if (std::isnan(errors[i])) continue;
    squares += errors[i] * errors[i];
    count += 1;
  }
  if (count == 0) return std::nullopt;
  return std::sqrt(squares / count);
}

}  // namespace

OrderSearch stepwise(std::span<const double> values, const ArimaOrder& differences, const StepwiseOptions& options) {
  return Walk(values, differences, options).run();
}

GridSearch full_grid(std::span<const double> values, const FitOptions& options) {
  GridSearch search;
  search.rows.reserve(std::size_t{kGridSide} * kGridSide * kGridSide);
  for (unsigned d = 0; d < kGridSide; ++d) {
    std::array<std::array<std::optional<ArimaFit>, kGridSide>, kGridSide> fits;
    for (unsigned p = 0; p < kGridSide; ++p) {
      for (unsigned q = 0; q < kGridSide; ++q) {
        ++search.tried;
        // The better of the two models with one term less is a start that is hard to beat.
        const ArimaFit* near = p > 0 ? address(fits[p - 1][q]) : nullptr;
        const ArimaFit* const other = q > 0 ? address(fits[p][q - 1]) : nullptr;
        if (other != nullptr && (near == nullptr || other->log_likelihood > near->log_likelihood)) near = other;
        FitOptions with_start = options;
        if (near != nullptr) with_start.near = &near->parameters;
        auto fit = fit_arima(values, {.p = p, .d = d, .q = q}, with_start);
        if (!fit) continue;
        const auto rmse = usable(*fit) ? sample_rmse(values, *fit) : std::nullopt;
        if (rmse) search.rows.push_back({.fit = *fit, .rmse = *rmse});
        fits[p][q] = std::move(fit);
      }
    }
  }
  std::ranges::sort(search.rows, {}, [](const GridRow& row) {
    const ArimaOrder& order = row.fit.order;
    return std::tuple(row.rmse, order.p + order.q, order.d, order.p);
  });
  return search;
}

}  // namespace iez::forecast
