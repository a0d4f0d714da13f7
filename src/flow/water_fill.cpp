#include "flow/water_fill.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/result.hpp"

namespace iez::flow {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A target as the search sees it: the count of units below a level is its innermost step, and a division there costs most.
struct Slot {
  double a;
  double per_cost;  // 1 / b
  double capacity;

  // Units that cost at most level.
  std::uint64_t units_below(double level) const {
    const double units = (level - a) * per_cost + 0.5;
    if (!(units >= 1)) return 0;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::min(units, capacity)));
  }
};

std::uint64_t units_below(std::span<const Slot> slots, double level) {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots) sum += slot.units_below(level);
  return sum;
}

// A threshold and how much it takes.
struct Point {
  double level = 0;
  std::uint64_t units = 0;
};

// The level between low and high to look at next: where the line through both meets the wanted units, kept off the ends so that
// the interval shrinks by a known share even where the counts are far from a line.
double next_level(const Point& low, const Point& high, double wanted) {
  const double width = high.level - low.level;
  const double rise = static_cast<double>(high.units - low.units);
  const double at = rise > 0 ? (wanted - static_cast<double>(low.units)) / rise : 0.5;
  return low.level + width * std::clamp(at, 0.0625, 0.9375);
}

// A group of targets behind one server.
struct Group {
  std::span<const Slot> targets;
  FillServer server;
  double lowest = 0;   // no unit costs less
  double highest = 0;  // no unit within capacity costs more
  Point low;           // taken by the last accepted threshold
  Point high;          // all there is
};

double unit_cost(const FillServer& server, std::uint64_t unit) {
  return server.alpha + server.beta * (static_cast<double>(unit) - 0.5);
}

double unit_cost(const FillTarget& target, std::uint64_t unit) { return target.a + target.b * (static_cast<double>(unit) - 0.5); }

// Thresholds that enclose what a group takes; how many units lie between is not worth a longer search.
struct Bracket {
  Point low;               // all of it is taken
  std::uint64_t most = 0;  // no more than this is taken
};

// What the group takes when no unit may cost more than level with its server's part.
Bracket taken(const Group& group, double level) {
  const auto fits = [&](const Point& point) {
    return point.units == 0 || point.level + unit_cost(group.server, point.units) <= level;
  };
  Point low = group.low;
  Point high = group.high;
  if (!fits(low)) low = {group.lowest, 0};
  if (fits(high)) return {high, high.units};
  // A server that costs nothing more than a constant needs no search.
  if (group.server.beta == 0) {
    const double own = std::min(level - group.server.alpha, group.highest);
    const std::uint64_t units = units_below(group.targets, own);
    return {{own, units}, units};
  }
  const std::uint64_t enough = group.targets.size() / 8 + 1;
  for (int step = 0; step < 200 && high.units - low.units > enough; ++step) {
    // The units at which the line from low to high meets the level, the server's cost included.
    const double low_cost = low.level + unit_cost(group.server, std::max<std::uint64_t>(low.units, 1));
    const double high_cost = high.level + unit_cost(group.server, high.units);
    const double share = high_cost > low_cost ? (level - low_cost) / (high_cost - low_cost) : 0.5;
    const double middle = low.level + (high.level - low.level) * std::clamp(share, 0.0625, 0.9375);
    if (middle <= low.level || middle >= high.level) break;
    const Point point{middle, units_below(group.targets, middle)};
    (fits(point) ? low : high) = point;
  }
  return {low, high.units};
}

// Takes the units left over, one by one, the cheapest first.
class UnitGreedy {
 public:
  UnitGreedy(std::span<const FillTarget> targets, std::span<const FillServer> servers, std::vector<std::uint64_t>& units)
      : targets_(targets),
        servers_(servers),
        units_(units),
        queues_(std::max<std::size_t>(servers.size(), 1)),
        on_server_(queues_.size()) {
    std::vector<std::size_t> members(queues_.size());
    for (std::uint32_t j = 0; j < targets_.size(); ++j) ++members[server_of(j)];
    for (std::size_t o = 0; o < queues_.size(); ++o) queues_[o].reserve(members[o]);
    for (std::uint32_t j = 0; j < targets_.size(); ++j) {
      on_server_[server_of(j)] += units_[j];
      if (units_[j] < targets_[j].capacity) queues_[server_of(j)].push_back(next_unit(j));
    }
    best_.reserve(queues_.size());
    for (std::uint32_t o = 0; o < queues_.size(); ++o) {
      std::make_heap(queues_[o].begin(), queues_[o].end());
      if (!queues_[o].empty()) best_.push_back(offer_of(o));
    }
    std::make_heap(best_.begin(), best_.end());
  }

  // REQUIRES: units are left in some target.
  double take() {
    const Entry best = best_.front();
    Heap& queue = queues_[best.id];
    const std::uint32_t j = queue.front().id;
    ++units_[j];
    ++on_server_[best.id];
    if (units_[j] < targets_[j].capacity) {
      raise_top(queue, next_unit(j));
    } else {
      pop(queue);
    }
    if (queue.empty()) {
      pop(best_);
    } else {
      raise_top(best_, offer_of(best.id));
    }
    return best.cost;
  }

 private:
  struct Entry {
    double cost;
    std::uint32_t id;
    // The cheapest, then the first, on top.
    bool operator<(const Entry& other) const { return cost != other.cost ? cost > other.cost : id > other.id; }
  };
  using Heap = std::vector<Entry>;

  static void pop(Heap& heap) {
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }
  // Takes the place of the top, which is not dearer: one way down, where a pop and a push would be three.
  static void raise_top(Heap& heap, const Entry& entry) {
    std::size_t at = 0;
    for (std::size_t child = 1; child < heap.size(); child = 2 * at + 1) {
      if (child + 1 < heap.size() && heap[child] < heap[child + 1]) ++child;
      if (!(entry < heap[child])) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = entry;
  }

  std::uint32_t server_of(std::uint32_t j) const { return servers_.empty() ? 0 : targets_[j].server; }
  Entry next_unit(std::uint32_t j) const { return {unit_cost(targets_[j], units_[j] + 1), j}; }

  Entry offer_of(std::uint32_t o) const {
    const double own = servers_.empty() ? 0 : unit_cost(servers_[o], on_server_[o] + 1);
    return {queues_[o].front().cost + own, o};
  }

  std::span<const FillTarget> targets_;
  std::span<const FillServer> servers_;
  std::vector<std::uint64_t>& units_;
  std::vector<Heap> queues_;  // per server: its targets by the cost of their next unit
  std::vector<std::uint64_t> on_server_;
  Heap best_;  // servers by the cost of their next unit
};

// order: targets of one server side by side; slots: in that order.
std::vector<Group> make_groups(std::span<const FillTarget> targets, std::span<const FillServer> servers,
                               std::span<const std::uint32_t> order, std::span<const Slot> slots) {
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin < order.size();) {
    const std::uint32_t server = targets[order[begin]].server;
    Group group{.targets = {}, .server = servers.empty() ? FillServer{} : servers[server]};
    group.lowest = kInfinity;
    group.highest = -kInfinity;
    std::size_t end = begin;
    for (; end < order.size() && (servers.empty() || targets[order[end]].server == server); ++end) {
      const FillTarget& target = targets[order[end]];
      group.lowest = std::min(group.lowest, target.a);
      group.highest = std::max(group.highest, unit_cost(target, std::max<std::uint64_t>(target.capacity, 1)));
    }
    // Rounding must not keep the last unit of the dearest target out.
    group.highest += 1e-9 * (std::abs(group.highest) + std::abs(group.lowest)) + std::numeric_limits<double>::min();
    group.targets = slots.subspan(begin, end - begin);
    group.low = {group.lowest, 0};
    group.high = {group.highest, units_below(group.targets, group.highest)};
    groups.push_back(group);
    begin = end;
  }
  return groups;
}

// A level for each group, all together taking at most `units`, and few less.
std::vector<double> find_levels(std::vector<Group>& groups, std::uint64_t units, std::size_t targets) {
  Point low{kInfinity, 0};
  Point high{-kInfinity, 0};
  for (const Group& group : groups) {
    low.level = std::min(low.level, group.lowest + unit_cost(group.server, 0));
    high.level = std::max(high.level, group.highest + unit_cost(group.server, group.high.units));
    high.units += group.high.units;
  }
  std::vector<Bracket> brackets(groups.size());
  std::vector<double> levels(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) levels[g] = groups[g].lowest;
  const std::uint64_t enough = targets / 4 + 2 * groups.size();
  for (int step = 0; step < 200 && units - low.units > enough; ++step) {
    const double level = next_level(low, high, static_cast<double>(units));
    if (level <= low.level || level >= high.level) break;
    Point point{level, 0};
    std::uint64_t most = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      brackets[g] = taken(groups[g], level);
      point.units += brackets[g].low.units;
      most += brackets[g].most;
    }
    // Accepted only if nothing that costs less is left out.
    if (most > units) {
      high = {level, most};
      continue;
    }
    low = point;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].low = brackets[g].low;
      levels[g] = brackets[g].low.level;
    }
  }
  return levels;
}

}  // namespace

Fill water_fill(std::span<const FillTarget> targets, std::span<const FillServer> servers, std::uint64_t units) {
  Fill fill;
  fill.units.resize(targets.size());
  std::uint64_t room = 0;
  std::uint32_t last_server = 0;
  bool sorted_already = true;
  for (const FillTarget& target : targets) {
    IEZ_ASSERT(target.b > 0 && (servers.empty() || target.server < servers.size()));
    room = target.capacity > ~room ? ~std::uint64_t{0} : room + target.capacity;
    sorted_already = sorted_already && (servers.empty() || target.server >= last_server);
    last_server = target.server;
  }
  if (room < units) {
    fill.unplaced = units - room;
    units = room;
  }
  if (units == 0) return fill;

  // Few units: taking them one by one is quicker than any search, as measured.
  std::uint64_t placed = 0;
  if (units * std::bit_width(targets.size()) > 5 * targets.size()) {
    std::vector<std::uint32_t> order(targets.size());
    for (std::uint32_t j = 0; j < order.size(); ++j) order[j] = j;
    if (!sorted_already) std::ranges::sort(order, {}, [&](std::uint32_t j) { return std::pair(targets[j].server, j); });
    std::vector<Slot> slots;
    slots.reserve(targets.size());
    for (const std::uint32_t j : order) {
      // What exceeds all units is never reached.
      const auto capacity = static_cast<double>(std::min(targets[j].capacity, units));
      slots.push_back({targets[j].a, 1 / targets[j].b, capacity});
    }
    std::vector<Group> groups = make_groups(targets, servers, order, slots);
    const std::vector<double> levels = find_levels(groups, units, targets.size());
    std::size_t i = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Slot& slot : groups[g].targets) {
        const std::uint64_t own = slot.units_below(levels[g]);
        fill.units[order[i++]] = own;
        placed += own;
      }
    }
  }
  IEZ_ASSERT(placed <= units);
  UnitGreedy greedy(targets, servers, fill.units);
  fill.level = -kInfinity;
  for (; placed < units; ++placed) fill.level = greedy.take();
  // The last unit taken is the dearest, unless the search left none to take.
  if (fill.level == -kInfinity) {
    std::vector<std::uint64_t> on_server(servers.size());
    for (std::size_t j = 0; j < targets.size() && !servers.empty(); ++j) on_server[targets[j].server] += fill.units[j];
    for (std::size_t j = 0; j < targets.size(); ++j) {
      if (fill.units[j] == 0) continue;
      const double own = servers.empty() ? 0 : unit_cost(servers[targets[j].server], on_server[targets[j].server]);
      fill.level = std::max(fill.level, unit_cost(targets[j], fill.units[j]) + own);
    }
  }
  return fill;
}

}  // namespace iez::flow
