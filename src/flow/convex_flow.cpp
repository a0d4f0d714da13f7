#include "flow/convex_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

namespace iez::flow {
namespace {

using Cost = std::int64_t;

constexpr Cost kFar = std::numeric_limits<Cost>::max();
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr double kMaxUnitCost = 1e100;
// A label is a sum of at most one unit cost for each node. 61 bits leave room for one more.
constexpr int kLabelBits = 61;

std::size_t node_count(const ConvexProblem& problem) {
  return problem.classes.size() + problem.targets.size() + problem.servers.size();
}

std::uint64_t unit_count(const ConvexProblem& problem) {
  std::uint64_t units = 0;
  for (const auto& one : problem.classes) units += one.units;
  return units;
}

// The cost of the x-th unit, from 1. Never falls with x, since rounding is monotone.
double unit_cost(double first, double slope, std::uint64_t x) { return first + slope * (static_cast<double>(x) - 0.5); }

Result<void> check_cost(std::string_view what, std::size_t index, std::string_view first_name, double first,
                        std::string_view slope_name, double slope, std::uint64_t units) {
  if (!std::isfinite(first)) {
    return fail(Errc::invalid_argument, fmt::format("{} {}: {} is {}, expected a finite number", what, index, first_name, first));
  }
  if (!std::isfinite(slope) || slope < 0) {
    return fail(Errc::invalid_argument,
                fmt::format("{} {}: {} is {}, expected a finite number of at least 0", what, index, slope_name, slope));
  }
  if (std::abs(first) > kMaxUnitCost || std::abs(unit_cost(first, slope, units)) > kMaxUnitCost) {
    return fail(Errc::limit, fmt::format("{} {}: {} {} and {} {} give a unit a cost above {}", what, index, first_name, first,
                                         slope_name, slope, kMaxUnitCost));
  }
  return {};
}

Result<void> check(const ConvexProblem& problem) {
  if (node_count(problem) > kMaxNodes) {
    return fail(Errc::limit, fmt::format("{} classes, targets and servers, expected at most {}", node_count(problem), kMaxNodes));
  }
  const std::uint64_t units = unit_count(problem);
  if (units >= kNowhere) return fail(Errc::limit, fmt::format("{} units, expected fewer than {}", units, kNowhere));
  for (std::size_t k = 0; k < problem.classes.size(); ++k) {
    for (const auto j : problem.classes[k].allowed) {
      if (j < problem.targets.size()) continue;
      return fail(Errc::invalid_argument,
                  fmt::format("class {}: allowed names target {}, but there are {} targets", k, j, problem.targets.size()));
    }
  }
  for (std::size_t j = 0; j < problem.targets.size(); ++j) {
    const auto& target = problem.targets[j];
    if (target.server >= problem.servers.size()) {
      return fail(Errc::invalid_argument,
                  fmt::format("target {}: its server is {}, but there are {} servers", j, target.server, problem.servers.size()));
    }
    IEZ_CHECK(check_cost("target", j, "a", target.a, "b", target.b, units + 1));
  }
  for (std::size_t o = 0; o < problem.servers.size(); ++o) {
    IEZ_CHECK(check_cost("server", o, "alpha", problem.servers[o].alpha, "beta", problem.servers[o].beta, units + 1));
  }
  return {};
}

// By which power of two unit costs are multiplied before they are rounded to integers.
int find_scale(const ConvexProblem& problem) {
  // The last unit leaves a price for one more.
  const std::uint64_t units = unit_count(problem) + 1;
  double largest = 0;
  const auto cover = [&](double first, double slope, std::uint64_t most) {
    if (most == 0) return;
    largest = std::max({largest, std::abs(unit_cost(first, slope, 1)), std::abs(unit_cost(first, slope, most))});
  };
  for (const auto& target : problem.targets) cover(target.a, target.b, std::min<std::uint64_t>(target.capacity, units));
  for (const auto& server : problem.servers) cover(server.alpha, server.beta, units);
  if (largest == 0) return 0;
  return kLabelBits - static_cast<int>(std::bit_width(node_count(problem))) - (std::ilogb(largest) + 1);
}

class Solver {
 public:
  explicit Solver(const ConvexProblem& problem)
      : problem_(problem),
        scale_(find_scale(problem)),
        waiting_(problem.classes.size()),
        allowed_(problem.classes.size()),
        units_(problem.classes.size(), std::vector<std::uint32_t>(problem.targets.size(), 0)),
        classes_(problem.classes.size()),
        targets_(problem.targets.size()),
        servers_(problem.servers.size()) {
    for (std::size_t k = 0; k < problem.classes.size(); ++k) {
      waiting_[k] = problem.classes[k].units;
      auto& allowed = allowed_[k];
      allowed = problem.classes[k].allowed;
      if (allowed.empty()) {
        allowed.resize(problem.targets.size());
        std::iota(allowed.begin(), allowed.end(), 0U);
      }
      std::ranges::sort(allowed);
      allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
    }
    for (std::uint32_t j = 0; j < targets_.size(); ++j) reprice_target(j);
    for (std::uint32_t o = 0; o < servers_.size(); ++o) reprice_server(o);
  }

  ConvexSolution run() {
    ConvexSolution solution;
    while (true) {
      find_ways();
      const std::uint32_t k = cheapest_waiting();
      if (k == kNowhere) break;
      place_one(k);
      ++solution.placed;
    }
    solution.unplaced = unit_count(problem_) - solution.placed;
    if (solution.unplaced > 0) solution.status = ConvexSolution::Status::infeasible;
    solution.cost = convex_cost(problem_, units_);
    solution.units = std::move(units_);
    return solution;
  }

 private:
  // The cheapest way to the sink of a unit that is at this node, and the node after it.
  struct Way {
    Cost cost = kFar;
    std::uint32_t next = kNowhere;
  };

  struct Class {
    Way way;  // next: a target
  };

  struct Target {
    Way way;             // next: a class to which it passes a unit back, or kNowhere: on to its server
    Cost next_cost = 0;  // of one more unit; kFar: full
    Cost last_cost = 0;  // of the dearest unit there; kFar: empty
    std::uint32_t load = 0;
  };

  struct Server {
    Way way;             // next: a target that gives a unit up, or kNowhere: on to the sink
    Cost next_cost = 0;  // of one more unit
    std::uint32_t load = 0;
  };

  [[nodiscard]] Cost rounded(double cost) const { return std::llround(std::ldexp(cost, scale_)); }

  void reprice_target(std::uint32_t j) {
    const auto& cost = problem_.targets[j];
    Target& target = targets_[j];
    target.next_cost = target.load < cost.capacity ? rounded(unit_cost(cost.a, cost.b, std::uint64_t{target.load} + 1)) : kFar;
    target.last_cost = target.load > 0 ? rounded(unit_cost(cost.a, cost.b, target.load)) : kFar;
  }

  void reprice_server(std::uint32_t o) {
    const auto& cost = problem_.servers[o];
    servers_[o].next_cost = rounded(unit_cost(cost.alpha, cost.beta, std::uint64_t{servers_[o].load} + 1));
  }

  static bool improve(Way& way, Cost cost, std::uint32_t next) {
    if (cost >= way.cost) return false;
    way = {.cost = cost, .next = next};
    return true;
  }

  // Bellman-Ford toward the sink. One pass covers every way from class to class, so that passes follow the number of
  // classes a way visits. There is no cycle of negative cost, and only what is strictly better replaces: following next ends.
  void find_ways() {
    for (auto& one : classes_) one.way = {};
    for (auto& target : targets_) target.way = {};
    for (auto& server : servers_) server.way = {.cost = server.next_cost, .next = kNowhere};
    for (std::size_t passes = 0;; ++passes) {
      IEZ_ASSERT(passes <= classes_.size() + 1);
      improve_targets_by_servers();
      if (!improve_classes()) break;
      improve_targets_by_classes();
      improve_servers();
    }
  }

  void improve_targets_by_servers() {
    for (std::uint32_t j = 0; j < targets_.size(); ++j) {
      Target& target = targets_[j];
      if (target.next_cost != kFar)
        improve(target.way, target.next_cost + servers_[problem_.targets[j].server].way.cost, kNowhere);
    }
  }

  bool improve_classes() {
    bool improved = false;
    for (std::uint32_t k = 0; k < classes_.size(); ++k) {
      const std::uint32_t most = problem_.classes[k].per_target;
      const auto& units = units_[k];
      for (const std::uint32_t j : allowed_[k]) {
        if (units[j] < most && improve(classes_[k].way, targets_[j].way.cost, j)) improved = true;
      }
    }
    return improved;
  }

  void improve_targets_by_classes() {
    for (std::uint32_t k = 0; k < classes_.size(); ++k) {
      const auto& units = units_[k];
      const Cost cost = classes_[k].way.cost;
      for (const std::uint32_t j : allowed_[k]) {
        if (units[j] > 0) improve(targets_[j].way, cost, k);
      }
    }
  }

  void improve_servers() {
    for (std::uint32_t j = 0; j < targets_.size(); ++j) {
      const Target& target = targets_[j];
      if (target.load > 0 && target.way.cost != kFar) {
        improve(servers_[problem_.targets[j].server].way, target.way.cost - target.last_cost, j);
      }
    }
  }

  [[nodiscard]] std::uint32_t cheapest_waiting() const {
    std::uint32_t best = kNowhere;
    for (std::uint32_t k = 0; k < classes_.size(); ++k) {
      if (waiting_[k] == 0 || classes_[k].way.cost == kFar) continue;
      if (best == kNowhere || classes_[k].way.cost < classes_[best].way.cost) best = k;
    }
    return best;
  }

  // Follows the way of class k to the sink.
  void place_one(std::uint32_t k) {
    --waiting_[k];
    while (true) {
      std::uint32_t j = classes_[k].way.next;
      ++units_[k][j];
      // Through servers, by one target in and by another out, until a class has to find a new place for a unit.
      while (targets_[j].way.next == kNowhere) {
        const std::uint32_t o = problem_.targets[j].server;
        ++targets_[j].load;
        reprice_target(j);
        if (servers_[o].way.next == kNowhere) {
          ++servers_[o].load;
          reprice_server(o);
          return;
        }
        j = servers_[o].way.next;
        --targets_[j].load;
        reprice_target(j);
      }
      k = targets_[j].way.next;
      --units_[k][j];
    }
  }

  const ConvexProblem& problem_;
  int scale_;
  std::vector<std::uint32_t> waiting_;               // by class
  std::vector<std::vector<std::uint32_t>> allowed_;  // by class; sorted, each once
  std::vector<std::vector<std::uint32_t>> units_;    // by class and target
  std::vector<Class> classes_;
  std::vector<Target> targets_;
  std::vector<Server> servers_;
};

}  // namespace

Result<ConvexSolution> solve_convex_flow(const ConvexProblem& problem) {
  IEZ_CHECK(check(problem));
  return Solver(problem).run();
}

double convex_cost(const ConvexProblem& problem, const std::vector<std::vector<std::uint32_t>>& units) {
  std::vector<double> servers(problem.servers.size(), 0);
  double cost = 0;
  for (std::size_t j = 0; j < problem.targets.size(); ++j) {
    double load = 0;
    for (const auto& row : units) load += row[j];
    servers[problem.targets[j].server] += load;
    cost += load * (problem.targets[j].a + problem.targets[j].b * load / 2);
  }
  for (std::size_t o = 0; o < servers.size(); ++o) {
    cost += servers[o] * (problem.servers[o].alpha + problem.servers[o].beta * servers[o] / 2);
  }
  return cost;
}

}  // namespace iez::flow
