// Exact placement of units of several classes on targets and servers, where each next unit costs more: integral convex min-cost
// flow.
//
// Problem: classes k, targets j, servers o; every target belongs to one server. Class k has units(k) to place, at most
// per_target(k) of them on one target, and only on the targets it is allowed. x(k, j) units of class k are on target j, X(j) on
// the target and X(o) on the server. X(j) is at most capacity(j). The x-th unit of a target costs a(j) + b(j) * (x - 1/2), and
// the X-th unit of a server alpha(o) + beta(o) * (X - 1/2), so that X units cost a * X + b * X^2 / 2. Find integers x(k, j) that
// place all units at the smallest total cost.
//
// This is a flow in the network source -> classes -> targets -> servers -> sink, whose last two kinds of arcs have convex costs.
// Where not all units find room, as many as possible are placed, at the smallest cost of that many.
//
// Algorithm: successive shortest paths. Each unit takes the cheapest way through the residual network: it may push a unit of
// another class off a target, and that one another, until one settles where there is room. So no exchange, and no cycle of
// exchanges, improves what has been placed. The load of a server never falls on such a way, but the way may enter it by one
// target and leave by another of its targets.
//
// Precision: the cost of each unit is rounded to a multiple of a power of two, and all the rest is done in integers. So nothing
// depends on the order of additions, and there is no cycle of exchanges that pays by rounding alone: the search ends. The step is
// at most 2^-59 * nodes * the largest cost of one unit, where nodes are classes, targets and servers: for 1000 of them 2e-15 of
// the largest cost. The result is the optimum of the rounded problem; it exceeds the true one by at most two steps for each unit.
// Costs that are multiples of the step, as small integers are, are exact.
//
// Complexity: U units, K classes, M targets, S servers. Each unit takes at most K + 1 passes over the K * M pairs, in practice
// two to four: time O(U * K * (K * M + S)). Memory: 8 bytes for a pair of class and target.
//
// Limits: at most 2^20 nodes; fewer than 2^32 - 1 units in all; costs of single units at most 1e100 in size.
//
// Equal input gives equal output: ties go to the lowest index.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace iez::flow {

struct ConvexProblem {
  struct Class {
    std::uint32_t units = 0;
    std::uint32_t per_target = 1;        // most units of this class on one target
    std::vector<std::uint32_t> allowed;  // targets, in any order; empty: all
  };

  struct TargetCost {
    double a = 0;
    double b = 0;  // REQUIRES: b >= 0
    std::uint32_t capacity = 0;
    std::uint32_t server = 0;
  };

  struct ServerCost {
    double alpha = 0;
    double beta = 0;  // REQUIRES: beta >= 0
  };

  std::vector<Class> classes;
  std::vector<TargetCost> targets;
  std::vector<ServerCost> servers;
};

struct ConvexSolution {
  enum class Status {
    optimal,
    infeasible,  // not all units found room
  };

  Status status = Status::optimal;
  std::vector<std::vector<std::uint32_t>> units;  // [class][target]
  double cost = 0;                                // of the units placed
  std::uint64_t placed = 0;
  std::uint64_t unplaced = 0;
};

// Fails for numbers that make no sense: an unknown target or server, a cost that is no number or falls, a problem beyond the
// limits.
[[nodiscard]] Result<ConvexSolution> solve_convex_flow(const ConvexProblem& problem);

// What a placement costs. REQUIRES: as many rows as classes, as long as there are targets; servers as in a valid problem.
[[nodiscard]] double convex_cost(const ConvexProblem& problem, const std::vector<std::vector<std::uint32_t>>& units);

}  // namespace iez::flow
