// Placement of files with equal objects by LEMON's minimum-cost flow: a peer of `iez bench place`.
//
// usage: iez-peer-lemon INSTANCE
//
// Files of one count form a class. Class -> target, capacity: files of the class; target -> sink, one arc for each object that
// fits, whose cost is the utilisation after it, in whole 1e-9. Costs rise, so that a flow of least cost has the smallest largest
// utilisation. NetworkSimplex and CostScaling solve it several times each, on a network already built. Prints the best time of
// the faster one in seconds, the largest utilisation, and which it was.
//
// LEMON 1.3 does not compile as C++20; this program is C++17.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

namespace {

constexpr int kRounds = 5;
constexpr double kScale = 1e9;

using Graph = lemon::SmartDigraph;

struct Target {
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t available = 0;
};

struct Input {
  std::vector<Target> targets;
  std::map<std::int64_t, std::int64_t> files;  // by count
  std::int64_t object_bytes = 0;
};

bool read(const char* path, Input& input) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "target") {
      Target target;
      double load = 0;
      if (!(words >> target.capacity >> target.used >> target.available >> load)) return false;
      input.targets.push_back(target);
    } else {
      std::int64_t bytes = 0;
      std::int64_t count = 0;
      if (kind != "file" || !(words >> bytes >> count) || bytes <= 0) return false;
      if (input.object_bytes != 0 && bytes != input.object_bytes) return false;
      input.object_bytes = bytes;
      ++input.files[count];
    }
  }
  return input.object_bytes > 0 && !input.targets.empty();
}

struct Network {
  Graph graph;
  Graph::ArcMap<std::int64_t> capacity{graph};
  Graph::ArcMap<std::int64_t> cost{graph};
  Graph::NodeMap<std::int64_t> supply{graph};
  std::vector<std::vector<Graph::Arc>> into_sink;  // by target
};

void build(const Input& input, Network& network) {
  Graph& graph = network.graph;
  const Graph::Node sink = graph.addNode();
  std::vector<Graph::Node> targets;
  std::int64_t all_files = 0;
  for (const auto& [count, files] : input.files) all_files += files;
  for (const Target& target : input.targets) {
    const Graph::Node node = graph.addNode();
    targets.push_back(node);
    auto& arcs = network.into_sink.emplace_back();
    const std::int64_t fit = std::min(all_files, target.available / input.object_bytes);
    for (std::int64_t object = 1; object <= fit; ++object) {
      const Graph::Arc arc = graph.addArc(node, sink);
      const auto after = static_cast<double>(target.used + object * input.object_bytes) / static_cast<double>(target.capacity);
      network.capacity[arc] = 1;
      network.cost[arc] = static_cast<std::int64_t>(after * kScale);
      arcs.push_back(arc);
    }
  }
  for (const auto& [count, files] : input.files) {
    const Graph::Node node = graph.addNode();
    network.supply[node] = count * files;
    network.supply[sink] -= count * files;
    for (const Graph::Node target : targets) {
      const Graph::Arc arc = graph.addArc(node, target);
      network.capacity[arc] = files;
      network.cost[arc] = 0;
    }
  }
}

struct Outcome {
  double seconds = std::numeric_limits<double>::infinity();
  double largest = 0;
  bool solved = false;
};

template <typename Solver>
Outcome solve(const Input& input, const Network& network) {
  Outcome outcome;
  for (int round = 0; round < kRounds; ++round) {
    Solver solver(network.graph);
    solver.upperMap(network.capacity).costMap(network.cost).supplyMap(network.supply);
    const auto start = std::chrono::steady_clock::now();
    const auto result = solver.run();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    outcome.solved = result == Solver::OPTIMAL;
    if (!outcome.solved) return outcome;
    outcome.seconds = std::min(outcome.seconds, elapsed.count());
    outcome.largest = 0;
    for (std::size_t j = 0; j < input.targets.size(); ++j) {
      std::int64_t used = input.targets[j].used;
      for (const Graph::Arc arc : network.into_sink[j]) used += solver.flow(arc) * input.object_bytes;
      outcome.largest = std::max(outcome.largest, static_cast<double>(used) / static_cast<double>(input.targets[j].capacity));
    }
  }
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  Input input;
  if (argc != 2 || !read(argv[1], input)) {
    std::fprintf(stderr, "usage: iez-peer-lemon INSTANCE, whose objects are all of one size\n");
    return 2;
  }
  Network network;
  build(input, network);
  const Outcome simplex = solve<lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>>(input, network);
  const Outcome scaling = solve<lemon::CostScaling<Graph, std::int64_t, std::int64_t>>(input, network);
  if (!simplex.solved || !scaling.solved) {
    std::fprintf(stderr, "iez-peer-lemon: no optimal flow\n");
    return 1;
  }
  const bool first = simplex.seconds <= scaling.seconds;
  const Outcome& best = first ? simplex : scaling;
  std::printf("%.9f %.12f %s\n", best.seconds, best.largest, first ? "NetworkSimplex" : "CostScaling");
  return 0;
}
