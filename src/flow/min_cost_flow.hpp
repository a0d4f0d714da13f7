// Minimum-cost maximum flow on a directed network with integer capacities and costs.
//
// Problem: given nodes N, arcs A, each with a capacity u(a) >= 0 and a cost c(a) per unit, a source s and a sink t. Among all
// flows f with 0 <= f(a) <= u(a) that conserve flow at every node but s and t and send as much as possible from s to t, find one
// with the smallest sum of c(a) * f(a). It is integral.
//
// Costs may be negative. A cycle of arcs of positive capacity with a negative cost is reported, not solved, wherever it lies.
// Parallel and antiparallel arcs, self loops and arcs of capacity 0 are fine.
//
// Notation: the residual network has u(a) - f(a) left on each arc, at cost c(a), and f(a) on its reverse, at cost -c(a). A
// potential p gives every residual arc (v, w) the reduced cost c(v, w) - p(v) + p(w); p is kept such that none is negative, which
// proves that the flow so far is the cheapest of its value. Hence p(v) is, up to a constant, the cost of the way from v to t.
//
// Algorithm: primal-dual. Each round
//   1. finds the cheapest ways to t, by Dijkstra on reduced costs, and among the cheapest those of the fewest arcs;
//   2. lifts the potentials, so that the arcs of the cheapest ways from s to t have a reduced cost of 0;
//   3. sends a blocking flow over these ways (Dinic), by a depth-first walk without recursion.
// Rounds of the same path cost are the rounds of Dinic's maximum flow, so the number of Dijkstras follows the number of different
// path costs, not the value of the flow. The searches run backward from t and stop at s: in an assignment the arcs into the sink
// are the few that fill up, and tell best where the next cheapest way is. Where a cost is negative, Bellman-Ford with a queue
// finds the first potentials, or the negative cycle.
//
// Complexity: n nodes, m arcs, d different costs of shortest paths, r rounds for each. Time O(d * r * (m log n + n * m)) at
// worst, where n * m, of the blocking flow, is O(m) in networks of unit arcs and r is below n; O(n * m) before that where a cost
// is negative. Memory: 32 bytes for an arc, 52 more for each while solving.
//
// Negative costs are for small networks: from the potentials they start with, every search may visit the whole network, and a
// dense one with as many path costs as units takes minutes where the same with costs shifted to 0 and above takes a second.
//
// Limits: fewer than 2^31 arcs. n * max|c| is at most 2^58, so that no potential overflows; the maximum flow and the total cost
// fit 64 bits. What exceeds this is a status; nothing overflows.
//
// Thread safety: none while adding or solving; const members may be called from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace iez::flow {

class MinCostFlow {
 public:
  using NodeIndex = std::uint32_t;
  using ArcIndex = std::uint32_t;
  using Quantity = std::int64_t;
  using Cost = std::int64_t;

  enum class Status {
    optimal,             // also where nothing can flow
    negative_cycle,      // of arcs of positive capacity
    bad_node,            // an arc, the source or the sink names no node, or source and sink are the same
    bad_capacity_range,  // a negative capacity, or the flow might not fit 64 bits
    bad_cost_range,      // potentials or the total cost might not fit 64 bits
  };

  struct Solution {
    Status status = Status::optimal;
    Quantity max_flow = 0;  // 0 unless optimal
    Cost cost = 0;          // 0 unless optimal

    friend bool operator==(const Solution&, const Solution&) = default;
  };

  // Nodes are 0 to nodes - 1.
  explicit MinCostFlow(NodeIndex nodes);

  void reserve_arcs(std::size_t arcs);

  // Arcs are numbered from 0 in the order they come. What is wrong with one is told by solve().
  // REQUIRES: fewer than 2^31 arcs so far.
  ArcIndex add_arc(NodeIndex tail, NodeIndex head, Quantity capacity, Cost cost);

  // May be called again, for other ends or after more arcs; each call starts from no flow.
  [[nodiscard]] Solution solve(NodeIndex source, NodeIndex sink);

  // Of the last solve(); 0 before, where that was not optimal, and for arcs added since.
  // REQUIRES: the arc exists.
  [[nodiscard]] Quantity flow(ArcIndex arc) const;

  [[nodiscard]] NodeIndex nodes() const { return nodes_; }
  [[nodiscard]] ArcIndex arcs() const { return static_cast<ArcIndex>(arcs_.size()); }

 private:
  struct Arc {
    NodeIndex tail;
    NodeIndex head;
    Quantity capacity;
    Cost cost;
  };

  [[nodiscard]] Status check(NodeIndex source, NodeIndex sink) const;

  NodeIndex nodes_;
  std::vector<Arc> arcs_;
  std::vector<Quantity> flow_;  // by arc; empty: no flow
};

std::string_view to_string(MinCostFlow::Status status);

}  // namespace iez::flow
