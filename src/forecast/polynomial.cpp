#include "forecast/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace iez::forecast {

void coefficients_from_partial(std::span<const double> partial, std::span<double> coefficients) {
  for (std::size_t k = 0; k < partial.size(); ++k) {
    const double r = partial[k];
    // Both ends of a pair change at once, so the update needs no copy; an odd middle is its own partner.
    for (std::size_t i = 0; i < (k + 1) / 2; ++i) {
      const std::size_t j = k - 1 - i;
      const double low = coefficients[i];
      const double high = coefficients[j];
      coefficients[i] = low - r * high;
      coefficients[j] = high - r * low;
    }
    coefficients[k] = r;
  }
}

bool partial_from_coefficients(std::span<double> values) {
  for (std::size_t k = values.size(); k-- > 0;) {
    const double r = values[k];
    const double scale = 1 - r * r;
    if (!(scale > 0)) return false;
    for (std::size_t i = 0; i < (k + 1) / 2; ++i) {
      const std::size_t j = k - 1 - i;
      const double low = values[i];
      const double high = values[j];
      values[i] = (low + r * high) / scale;
      values[j] = (high + r * low) / scale;
    }
  }
  return true;
}

void multiply_seasonal(std::span<const double> plain, std::span<const double> seasonal, unsigned period, double sign,
                       std::vector<double>& product) {
  product.assign(plain.size() + seasonal.size() * period, 0.0);
  for (std::size_t i = 0; i < plain.size(); ++i) product[i] = plain[i];
  for (std::size_t j = 0; j < seasonal.size(); ++j) {
    const std::size_t lag = (j + 1) * period;
    product[lag - 1] += seasonal[j];
    for (std::size_t i = 0; i < plain.size(); ++i) product[lag + i] -= sign * plain[i] * seasonal[j];
  }
}

double unit_root_distance(std::span<const double> coefficients) {
  std::vector<double> scaled(coefficients.size());
  // All roots are farther than `radius` if the polynomial in B * radius is stable.
  const auto all_beyond = [&](double radius) {
    double power = 1;
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      power *= radius;
      scaled[k] = coefficients[k] * power;
    }
    return partial_from_coefficients(scaled);
  };
  double low = 1;
  double high = 2;
  if (!all_beyond(low)) return 0;
  if (all_beyond(high)) return 1;
  for (int step = 0; step < 40; ++step) {
    const double middle = 0.5 * (low + high);
    (all_beyond(middle) ? low : high) = middle;
  }
  return low - 1;
}

}  // namespace iez::forecast
