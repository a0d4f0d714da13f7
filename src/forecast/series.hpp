// What can be said of a numeric series before any model is fitted: its scale, whether it is constant, how often it must be
// differenced, and whether it repeats.
//
// A series is values in order; NaN is a missing one, and infinities are not allowed anywhere in this module.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace iez::forecast {

// One value that is there, and when it was.
struct Observation {
  double time = 0;
  double value = 0;
};

// Those that are not missing; the time is the index.
std::vector<Observation> observations(std::span<const double> values);

// The round that value i is in, as a time.
inline double cycle_of(std::size_t i, std::size_t period) {
  const std::size_t round = i / period;
  return static_cast<double>(round);
}

double mean(std::span<const double> values);    // REQUIRES: not empty, none missing
double median(std::vector<double> values);      // REQUIRES: not empty, none missing
double spread(std::span<const double> values);  // root of the mean square. 0 for none.

// All values that are there agree to a few units in the last place.
bool constant(std::span<const double> values);

// The statistic of Kwiatkowski, Phillips, Schmidt and Shin for a level: large where the series wanders. 0 for fewer than 4
// values.
double kpss(std::span<const double> values);

// How often to difference until kpss() does not object at 5 %; at most `most`.
unsigned differences_needed(std::span<const double> values, unsigned most);

// A series that repeats.
struct Season {
  unsigned period = 0;
  double strength = 0;  // share of the variance that the phase explains, adjusted for the number of phases: at most 1
};

// The period whose phases explain the series best, after a straight line or, in each phase, a straight line of its own is taken
// out; none where phases explain less than a third, or no more than chance would among so many periods.
//
// Every period from 2 to n/3 (and kLongestPeriod) is tried: O(n) each. The one with the least Bayesian information criterion
// wins, or its shortest divisor that explains nearly as much: a multiple always explains a little more.
inline constexpr unsigned kLongestPeriod = 512;
std::optional<Season> find_season(std::span<const double> values);

// Season::strength of a given period; 0 where the phases explain nothing. REQUIRES: period >= 2
double season_strength(std::span<const double> values, unsigned period);

}  // namespace iez::forecast
