// The published search with our likelihood and somebody else's optimiser: every ARIMA order below (SIDE,SIDE,SIDE) by NLopt's
// limited-memory BFGS, from the start that fit_arima() takes first, to the accuracy that full_grid() asks for.
//
// usage: iez-peer-nlopt VALUES SIDE
//
// VALUES has one number a line. Prints the CPU seconds that the fits took, how many orders were fitted, how many failed, and how
// often the likelihood was evaluated; then a line "P D Q LOG-LIKELIHOOD" for each that was fitted.
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <numbers>
#include <vector>

#include "forecast/arima_model.hpp"
#include "forecast/arima_starts.hpp"
#include "forecast/difference.hpp"
#include "forecast/order_search.hpp"
#include "forecast/polynomial.hpp"
#include "forecast/series.hpp"

namespace {

using iez::forecast::ArimaOrder;

constexpr double kStep = 1e-6;  // of the numeric derivatives
constexpr int kMostEvaluations = 400;

class Likelihood {
 public:
  Likelihood(const std::vector<double>& values, const ArimaOrder& order)
      : order_(order), whitener_(values, order, order.d == 0), partial_(order.p + order.q), ar_(order.p), ma_(order.q) {}

  // Minus the log-likelihood, with variance and mean at their best.
  double operator()(const double* angles) {
    ++evaluations_;
    for (std::size_t i = 0; i < partial_.size(); ++i) partial_[i] = std::sin(angles[i]);
    const std::span<const double> partial(partial_);
    iez::forecast::coefficients_from_partial(partial.first(order_.p), ar_);
    iez::forecast::coefficients_from_partial(partial.subspan(order_.p), ma_);
    for (double& c : ma_) c = -c;
    if (!whitener_.whiten(ar_, ma_)) return std::numeric_limits<double>::max();
    const auto data = whitener_.residual();
    const auto ones = whitener_.regressor();
    double level = 0;
    if (!ones.empty()) {
      double along = 0;
      double length = 0;
      for (std::size_t t = 0; t < data.size(); ++t) {
        along += data[t] * ones[t];
        length += ones[t] * ones[t];
      }
      level = along / length;
    }
    double squares = 0;
    for (std::size_t t = 0; t < data.size(); ++t) {
      const double rest = data[t] - (ones.empty() ? 0 : level * ones[t]);
      squares += rest * rest;
    }
    const auto n = static_cast<double>(whitener_.observations());
    return 0.5 * (n * (std::log(2 * std::numbers::pi * squares / n) + 1) + whitener_.log_determinant());
  }

  unsigned long evaluations() const { return evaluations_; }

 private:
  ArimaOrder order_;
  iez::forecast::ArimaWhitener whitener_;
  std::vector<double> partial_;
  std::vector<double> ar_;
  std::vector<double> ma_;
  unsigned long evaluations_ = 0;
};

double objective(unsigned count, const double* angles, double* gradient, void* likelihood) {
  Likelihood& minus_log = *static_cast<Likelihood*>(likelihood);
  const double value = minus_log(angles);
  if (gradient == nullptr) return value;
  std::vector<double> moved(angles, angles + count);
  for (unsigned i = 0; i < count; ++i) {
    moved[i] += kStep;
    gradient[i] = (minus_log(moved.data()) - value) / kStep;
    moved[i] = angles[i];
  }
  return value;
}

struct Outcome {
  bool fitted = false;
  double log_likelihood = 0;
  unsigned long evaluations = 0;
};

Outcome fit(const std::vector<double>& values, const ArimaOrder& order) {
  Likelihood likelihood(values, order);
  const unsigned count = order.p + order.q;
  double value = 0;
  bool fitted = true;
  if (count == 0) {
    value = likelihood(nullptr);
  } else {
    auto differenced = iez::forecast::difference(values, order);
    const double level = order.d == 0 ? iez::forecast::mean(differenced) : 0;
    for (double& one : differenced) one -= level;
    auto angles = iez::forecast::regression_start(differenced, order);
    for (double& angle : angles) angle = std::asin(angle);
    nlopt_opt search = nlopt_create(NLOPT_LD_LBFGS, count);
    nlopt_set_min_objective(search, objective, &likelihood);
    nlopt_set_ftol_abs(search, iez::forecast::kGridFit.tolerance);
    nlopt_set_maxeval(search, kMostEvaluations);
    fitted = nlopt_optimize(search, angles.data(), &value) > 0;
    nlopt_destroy(search);
  }
  return {.fitted = fitted && std::isfinite(value), .log_likelihood = -value, .evaluations = likelihood.evaluations()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: iez-peer-nlopt VALUES SIDE\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  std::vector<double> values;
  for (double value = 0; file >> value;) values.push_back(value);
  const auto side = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  std::vector<std::pair<ArimaOrder, double>> rows;
  unsigned long evaluations = 0;
  unsigned failed = 0;
  const std::clock_t start = std::clock();
  for (unsigned d = 0; d < side; ++d) {
    for (unsigned p = 0; p < side; ++p) {
      for (unsigned q = 0; q < side; ++q) {
        const ArimaOrder order{.p = p, .d = d, .q = q};
        const Outcome outcome = fit(values, order);
        evaluations += outcome.evaluations;
        if (outcome.fitted) {
          rows.emplace_back(order, outcome.log_likelihood);
        } else {
          ++failed;
        }
      }
    }
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%.6f %zu %u %lu\n", seconds, rows.size(), failed, evaluations);
  for (const auto& [order, log_likelihood] : rows) std::printf("%u %u %u %.9g\n", order.p, order.d, order.q, log_likelihood);
  return 0;
}
