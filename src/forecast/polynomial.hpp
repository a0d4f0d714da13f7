// Lag polynomials of autoregressive and moving-average models.
//
// A polynomial 1 - c1 B - ... - ck B^k is kept as its coefficients c1..ck. It is stable if all its roots are outside the unit
// circle; so are the partial autocorrelations r1..rk of Durbin and Levinson all below 1 in size, and each such set gives a stable
// polynomial (Barndorff-Nielsen and Schou 1973, Monahan 1984). A moving average 1 + m1 B + ... has c = -m.
//
// Complexity: O(k^2) each. Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

namespace iez::forecast {

// Partial autocorrelations to coefficients. REQUIRES: same sizes.
void coefficients_from_partial(std::span<const double> partial, std::span<double> coefficients);

// The inverse, in place. False: the polynomial is not stable, and the values are then undefined.
[[nodiscard]] bool partial_from_coefficients(std::span<double> values);

// Makes `product` the coefficients of (1 - sign * sum a_i B^i)(1 - sign * sum b_j B^(j period)), in the sign convention of its
// factors: sign is 1 for autoregressive and -1 for moving-average coefficients.
void multiply_seasonal(std::span<const double> plain, std::span<const double> seasonal, unsigned period, double sign,
                       std::vector<double>& product);

// |root| - 1 of the root nearest to the unit circle; 0 if the polynomial is not stable; at most 1.
[[nodiscard]] double unit_root_distance(std::span<const double> coefficients);

}  // namespace iez::forecast
