#include "flow/min_cost_flow.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/result.hpp"

namespace iez::flow {
namespace {

using NodeIndex = MinCostFlow::NodeIndex;
using Quantity = MinCostFlow::Quantity;
using Cost = MinCostFlow::Cost;
__extension__ using Wide = __int128;

constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
// Potentials stay within 2, reduced costs within 4 and distances within 8 times this.
constexpr Wide kMaxPathCost = Wide{1} << 58;
constexpr Cost kFar = std::numeric_limits<Cost>::max();
constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

// The residual network, seen from the sink: the links of a node are the residual arcs that enter it, and lead to their tails.
// Each arc of the network has two, its own and its reverse; what leaves one enters the other.
class Residual {
 public:
  using LinkIndex = std::uint32_t;

  struct Link {
    NodeIndex to;     // the tail of the residual arc
    LinkIndex other;  // the same arc in the other direction
    Quantity room;
    Cost cost;
  };

  // Counts first, then adds the same arcs in the same order.
  explicit Residual(NodeIndex nodes) : first_(std::size_t{nodes} + 2, 0) {}

  void count(NodeIndex tail, NodeIndex head) {
    ++first_[std::size_t{tail} + 2];
    ++first_[std::size_t{head} + 2];
  }

  void place() {
    for (std::size_t v = 2; v < first_.size(); ++v) first_[v] += first_[v - 1];
    links_.resize(first_.back());
  }

  // The link of the arc itself; the room of its other one is the flow.
  LinkIndex add(NodeIndex tail, NodeIndex head, Quantity capacity, Cost cost) {
    // first_[v + 1] runs from where the links of v begin to where they end.
    const LinkIndex own = first_[std::size_t{head} + 1]++;
    const LinkIndex reverse = first_[std::size_t{tail} + 1]++;
    links_[own] = {.to = tail, .other = reverse, .room = capacity, .cost = cost};
    links_[reverse] = {.to = head, .other = own, .room = 0, .cost = -cost};
    return own;
  }

  [[nodiscard]] NodeIndex nodes() const { return static_cast<NodeIndex>(first_.size() - 2); }
  [[nodiscard]] LinkIndex begin(NodeIndex node) const { return first_[node]; }
  [[nodiscard]] LinkIndex end(NodeIndex node) const { return first_[std::size_t{node} + 1]; }
  [[nodiscard]] const Link& operator[](LinkIndex link) const { return links_[link]; }

  void push(LinkIndex link, Quantity amount) {
    links_[link].room -= amount;
    links_[links_[link].other].room += amount;
  }

 private:
  std::vector<LinkIndex> first_;
  std::vector<Link> links_;
};

class PrimalDual {
 public:
  PrimalDual(Residual& residual, NodeIndex source, NodeIndex sink)
      : residual_(residual),
        source_(source),
        sink_(sink),
        potential_(residual.nodes(), 0),
        distance_(residual.nodes()),
        hops_(residual.nodes()),
        next_(residual.nodes()) {}

  // False where there is a negative cycle. Starts from all nodes at once, so that none is missed and every arc is covered.
  bool find_first_potentials() {
    const NodeIndex n = residual_.nodes();
    std::deque<NodeIndex> queue;
    std::vector<bool> queued(n, true);
    for (NodeIndex v = 0; v < n; ++v) queue.push_back(v);
    std::vector<NodeIndex> arcs(n, 0);  // of the way that gave the potential
    while (!queue.empty()) {
      const NodeIndex v = queue.front();
      queue.pop_front();
      queued[v] = false;
      for (auto e = residual_.begin(v); e != residual_.end(v); ++e) {
        const auto& link = residual_[e];
        if (link.room == 0 || potential_[v] + link.cost >= potential_[link.to]) continue;
        potential_[link.to] = potential_[v] + link.cost;
        arcs[link.to] = arcs[v] + 1;
        if (arcs[link.to] >= n) return false;
        if (!queued[link.to]) queue.push_back(link.to);
        queued[link.to] = true;
      }
    }
    return true;
  }

  Quantity run() {
    Quantity sent = 0;
    while (find_cheapest_ways()) {
      lift_potentials();
      sent += send_blocking_flow();
    }
    return sent;
  }

 private:
  using LinkIndex = Residual::LinkIndex;

  // Distance and hops order the ways; the node makes the order total, so that equal input gives equal flows.
  using Label = std::tuple<Cost, std::uint32_t, NodeIndex>;

  [[nodiscard]] Cost reduced_cost(NodeIndex v, const Residual::Link& link) const {
    return link.cost + potential_[v] - potential_[link.to];
  }

  // Labels every node that comes before the source; false where the sink cannot be reached from it. Stops at the first link that
  // reaches the source: the queue holds nothing before the label it was found from, so no way is better. Labels that are
  // equal to that one are final as well, so the blocking flow misses none of the cheapest shortest ways.
  bool find_cheapest_ways() {
    std::ranges::fill(distance_, kFar);
    std::ranges::fill(hops_, kNowhere);
    heap_ = {};
    distance_[sink_] = 0;
    hops_[sink_] = 0;
    heap_.emplace(0, 0, sink_);
    while (!heap_.empty()) {
      const auto [distance, hops, v] = heap_.top();
      heap_.pop();
      if (v == source_) return true;
      if (distance != distance_[v] || hops != hops_[v]) continue;
      for (auto e = residual_.begin(v), end = residual_.end(v); e != end; ++e) {
        const auto& link = residual_[e];
        if (link.room == 0) continue;
        const Cost found = distance + reduced_cost(v, link);
        if (found > distance_[link.to] || (found == distance_[link.to] && hops + 1 >= hops_[link.to])) continue;
        distance_[link.to] = found;
        hops_[link.to] = hops + 1;
        if (link.to == source_ && found == distance) return true;
        // What lies beyond the source, as far as it is known, is not needed.
        if (found <= distance_[source_]) heap_.emplace(found, hops + 1, link.to);
      }
    }
    return false;
  }

  void lift_potentials() {
    const Cost most = distance_[source_];
    if (most == 0) return;
    for (NodeIndex v = 0; v < residual_.nodes(); ++v) potential_[v] += std::min(distance_[v], most);
  }

  // Walks from the sink over links of reduced cost 0 that lead one hop on. next_ only moves forward: a link that was full or led
  // nowhere stays so until the next labels.
  Quantity send_blocking_flow() {
    for (NodeIndex v = 0; v < residual_.nodes(); ++v) next_[v] = residual_.begin(v);
    Quantity sent = 0;
    std::vector<LinkIndex> way;
    NodeIndex v = sink_;
    while (true) {
      if (v == source_) {
        sent += send_along(way);
        // Back to the node whose link is full now: the way up to it is still good.
        const auto full = std::ranges::find_if(way, [this](LinkIndex e) { return residual_[e].room == 0; });
        v = residual_[residual_[*full].other].to;
        way.erase(full, way.end());
        continue;
      }
      if (advance(v)) {
        way.push_back(next_[v]);
        v = residual_[next_[v]].to;
        continue;
      }
      if (way.empty()) return sent;
      v = residual_[residual_[way.back()].other].to;
      way.pop_back();
      ++next_[v];
    }
  }

  // Moves next_[v] to a link to go by; false where there is none.
  bool advance(NodeIndex v) {
    // Labels beyond the source are not final, and none of them is on a shortest way.
    if (hops_[v] >= hops_[source_]) return false;
    for (const auto end = residual_.end(v); next_[v] != end; ++next_[v]) {
      const auto& link = residual_[next_[v]];
      if (link.room > 0 && hops_[link.to] == hops_[v] + 1 && reduced_cost(v, link) == 0) return true;
    }
    return false;
  }

  Quantity send_along(const std::vector<LinkIndex>& way) {
    Quantity amount = std::numeric_limits<Quantity>::max();
    for (const LinkIndex e : way) amount = std::min(amount, residual_[e].room);
    for (const LinkIndex e : way) residual_.push(e, amount);
    return amount;
  }

  Residual& residual_;
  NodeIndex source_;
  NodeIndex sink_;
  std::vector<Cost> potential_;
  std::vector<Cost> distance_;       // to the sink, by reduced costs
  std::vector<std::uint32_t> hops_;  // the fewest arcs of a way of that distance
  std::vector<LinkIndex> next_;
  std::priority_queue<Label, std::vector<Label>, std::greater<>> heap_;
};

}  // namespace

MinCostFlow::MinCostFlow(NodeIndex nodes) : nodes_(nodes) {}

void MinCostFlow::reserve_arcs(std::size_t arcs) { arcs_.reserve(arcs); }

MinCostFlow::ArcIndex MinCostFlow::add_arc(NodeIndex tail, NodeIndex head, Quantity capacity, Cost cost) {
  IEZ_ASSERT(arcs_.size() < (std::size_t{1} << 31) - 1);
  arcs_.push_back({.tail = tail, .head = head, .capacity = capacity, .cost = cost});
  return static_cast<ArcIndex>(arcs_.size() - 1);
}

MinCostFlow::Status MinCostFlow::check(NodeIndex source, NodeIndex sink) const {
  if (source >= nodes_ || sink >= nodes_ || source == sink) return Status::bad_node;
  Wide leaves_source = 0;
  Wide enters_sink = 0;
  Wide largest = 0;
  for (const Arc& arc : arcs_) {
    if (arc.tail >= nodes_ || arc.head >= nodes_) return Status::bad_node;
    if (arc.capacity < 0) return Status::bad_capacity_range;
    if (arc.capacity == 0) continue;
    if (arc.tail == source) leaves_source += arc.capacity;
    if (arc.head == sink) enters_sink += arc.capacity;
    largest = std::max(largest, arc.cost < 0 ? -Wide{arc.cost} : Wide{arc.cost});
  }
  if (std::min(leaves_source, enters_sink) > kMax) return Status::bad_capacity_range;
  if (largest * nodes_ > kMaxPathCost) return Status::bad_cost_range;
  return Status::optimal;
}

MinCostFlow::Solution MinCostFlow::solve(NodeIndex source, NodeIndex sink) {
  flow_.clear();
  if (const Status status = check(source, sink); status != Status::optimal) return {.status = status};

  // Neither carries flow, and a self loop would be its own reverse.
  const auto idle = [](const Arc& arc) { return arc.capacity == 0 || arc.tail == arc.head; };
  Residual residual(nodes_);
  bool negative = false;
  for (const Arc& arc : arcs_) {
    if (arc.capacity == 0) continue;
    if (arc.tail == arc.head && arc.cost < 0) return {.status = Status::negative_cycle};
    negative = negative || arc.cost < 0;
    if (!idle(arc)) residual.count(arc.tail, arc.head);
  }
  residual.place();
  std::vector<Residual::LinkIndex> link(arcs_.size(), kNowhere);
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const Arc& arc = arcs_[a];
    if (!idle(arc)) link[a] = residual.add(arc.tail, arc.head, arc.capacity, arc.cost);
  }

  PrimalDual solver(residual, source, sink);
  if (negative && !solver.find_first_potentials()) return {.status = Status::negative_cycle};
  Solution solution{.max_flow = solver.run()};

  // Every unit goes at most n arcs, so that these sums stay below max_flow * n * max|c|, which fits.
  Wide cost = 0;
  std::vector<Quantity> flow(arcs_.size(), 0);
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    if (link[a] == kNowhere) continue;
    flow[a] = residual[residual[link[a]].other].room;
    cost += Wide{flow[a]} * arcs_[a].cost;
  }
  if (cost > kMax || cost < -kMax) return {.status = Status::bad_cost_range};
  solution.cost = static_cast<Cost>(cost);
  flow_ = std::move(flow);
  return solution;
}

MinCostFlow::Quantity MinCostFlow::flow(ArcIndex arc) const {
  IEZ_ASSERT(arc < arcs_.size());
  return arc < flow_.size() ? flow_[arc] : 0;
}

std::string_view to_string(MinCostFlow::Status status) {
  switch (status) {
    case MinCostFlow::Status::optimal:
      return "optimal";
    case MinCostFlow::Status::negative_cycle:
      return "negative_cycle";
    case MinCostFlow::Status::bad_node:
      return "bad_node";
    case MinCostFlow::Status::bad_capacity_range:
      return "bad_capacity_range";
    case MinCostFlow::Status::bad_cost_range:
      return "bad_cost_range";
  }
  return "unknown";
}

}  // namespace iez::flow
