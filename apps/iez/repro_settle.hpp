// How fast a law settles and how fair it is, from what a run gave.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>

#include "sim/result.hpp"

namespace iez::cli {

// Seconds from `from` until the queue depth has settled: the earliest time from which on, until `to`, every average over 5 s is
// within 15 % of the mean of all that follow. None: it does not, or settles only within the last tenth of the time watched.
// Of samples that are 1 s apart.
std::optional<double> settle_time(std::span<const sim::Sample> samples, Duration from, Duration to);

// (sum x)^2 / (n sum x^2): 1 is even, 1 / n is all for one. 1 where nobody has anything.
double jain_index(std::span<const double> shares);

}  // namespace iez::cli
