// Spreads equal units over targets that hang on servers, at least cost: exact, and fast enough for a whole machine.
//
// Problem. T equal units go to M targets; target j takes at most cap_j. The x-th unit on target j costs a_j + b_j (x - 1/2), the
// X-th unit on server o costs alpha_o + beta_o (X - 1/2) more, X_o being the sum of x_j over the targets of server o. All b_j > 0
// and beta_o >= 0: the more a target or server has, the dearer the next unit. In closed form, minimise
//
//     sum_j (a_j x_j + b_j x_j^2 / 2) + sum_o (alpha_o X_o + beta_o X_o^2 / 2),    sum_j x_j = T,  0 <= x_j <= cap_j, integer.
//
// This is min-cost flow with convex costs on a tree (source -> targets -> servers -> sink). The cost is M-convex, so taking the
// cheapest next unit T times is optimal. The largest cost of a unit taken is the level of the water.
//
// Algorithm. Units that cost at most a threshold are counted without being listed: on one target they are
// floor((threshold - a_j) / b_j + 1/2). A safeguarded secant search finds a threshold that takes almost T units, within each
// server another one gives the server's part of it. The few units left are taken one by one from heaps, which makes the result
// exact, ties included: among equally dear units the server, then the target, that stands first is preferred.
//
// Complexity. O(M log R) for one server or none that matter, O(M log^2 R) otherwise, R the range of the thresholds; in practice
// some 10 or 50 passes over the targets, and O(M log M) for the last units. Memory O(M).
//
// Limits. Costs are doubles: units whose costs differ by less than rounding (1e-15 of the largest) may be exchanged.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace iez::flow {

struct FillTarget {
  double a = 0;
  double b = 0;  // > 0
  std::uint64_t capacity = 0;
  std::uint32_t server = 0;
};

struct FillServer {
  double alpha = 0;
  double beta = 0;  // >= 0
};

struct Fill {
  std::vector<std::uint64_t> units;  // per target
  std::uint64_t unplaced = 0;        // not 0: every target is at its capacity, and so many units found no room
  double level = 0;                  // cost of the dearest unit taken; 0 if none was
};

// servers may be empty: then units cost what their targets ask. REQUIRES: every target's server is in servers, unless that is
// empty; all costs are finite.
Fill water_fill(std::span<const FillTarget> targets, std::span<const FillServer> servers, std::uint64_t units);

}  // namespace iez::flow
