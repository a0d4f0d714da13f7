#include "forecast/difference.hpp"

namespace iez::forecast {
namespace {

// Times 1 - B^lag, on the polynomial written with its leading 1.
void multiply_by_difference(std::vector<double>& polynomial, std::size_t lag) {
  const std::size_t old_size = polynomial.size();
  polynomial.resize(old_size + lag, 0.0);
  for (std::size_t i = old_size; i-- > 0;) polynomial[i + lag] -= polynomial[i];
}

void subtract_lagged(std::vector<double>& values, std::size_t lag) {
  for (std::size_t i = 0; i + lag < values.size(); ++i) values[i] = values[i + lag] - values[i];
  values.resize(values.size() > lag ? values.size() - lag : 0);
}

}  // namespace

std::size_t difference_loss(const ArimaOrder& order) {
  return std::size_t{order.d} + std::size_t{order.sd} * std::size_t{order.period};
}

std::vector<double> difference_coefficients(const ArimaOrder& order) {
  std::vector<double> polynomial{1.0};
  for (unsigned i = 0; i < order.d; ++i) multiply_by_difference(polynomial, 1);
  for (unsigned i = 0; i < order.sd; ++i) multiply_by_difference(polynomial, order.period);
  polynomial.erase(polynomial.begin());
  for (double& coefficient : polynomial) coefficient = -coefficient;
  return polynomial;
}

std::vector<double> difference(std::span<const double> values, const ArimaOrder& order) {
  std::vector<double> result(values.begin(), values.end());
  for (unsigned i = 0; i < order.sd; ++i) subtract_lagged(result, order.period);
  for (unsigned i = 0; i < order.d; ++i) subtract_lagged(result, 1);
  return result;
}

}  // namespace iez::forecast
