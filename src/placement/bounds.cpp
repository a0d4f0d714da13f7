#include "placement/bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace iez::placement {

namespace {

struct Room {
  double capacity;
  double used;
  double available;
};

// How much an object and a target's room are counted as. Objects below tau are left out, and room that could not hold one.
struct Measure {
  std::uint64_t tau = 0;
  bool whole = false;  // in multiples of tau, rounded down; else in bytes

  double of(std::uint64_t bytes) const {
    if (bytes < tau) return 0;
    return static_cast<double>(whole ? bytes / tau : bytes);
  }
};

// needs[k]: what must go to any k of the targets.
std::vector<double> needs_of(std::span<const DemandClass> classes, std::size_t targets, const Measure& measure) {
  std::vector<double> step(targets + 2);  // the need of k is above that of k - 1 by this,
  std::vector<double> rise(targets + 2);  // and by the sum of these up to k
  for (const DemandClass& group : classes) {
    const Demand& demand = group.demand;
    const double weight = static_cast<double>(group.files()) * measure.of(demand.object_bytes.count);
    const std::size_t wanted = (demand.count + demand.per_target - 1) / demand.per_target;
    const std::size_t first = targets - std::min(targets, wanted) + 1;
    const std::size_t spared = (targets - first) * demand.per_target;
    step[first] += weight * static_cast<double>(demand.count - std::min<std::size_t>(demand.count, spared));
    rise[first + 1] += weight * static_cast<double>(demand.per_target);
  }
  std::vector<double> needs(targets + 1);
  double slope = 0;
  for (std::size_t k = 1; k <= targets; ++k) {
    slope += rise[k];
    needs[k] = needs[k - 1] + step[k] + slope;
  }
  return needs;
}

// Files that want almost all of the m targets meet: whatever is chosen, a set of files shares at least m - sum (m - c_i) targets,
// and each of those holds the sum of their object sizes. Sets tried: the first of all files by size for the choice they have
// left.
double overlap_bound(std::span<const DemandClass> classes, std::span<const Room> rooms) {
  struct Wide {
    double bytes;
    double choice;  // targets it can do without
    double files;
  };
  std::vector<Wide> wide;
  const auto targets = static_cast<double>(rooms.size());
  for (const DemandClass& group : classes) {
    if (group.demand.per_target != 1 || 2 * std::size_t{group.demand.count} <= rooms.size()) continue;
    wide.push_back({static_cast<double>(group.demand.object_bytes.count), targets - static_cast<double>(group.demand.count),
                    static_cast<double>(group.files())});
  }
  // Multiplied out: a choice of 0 comes first.
  std::ranges::sort(wide, [](const Wide& a, const Wide& b) { return a.bytes * b.choice > b.bytes * a.choice; });
  double bound = 0;
  double sum = 0;
  double shared = targets;
  std::vector<double> reaches(rooms.size());
  std::size_t tries = 64;
  for (const Wide& files : wide) {
    const double some = files.choice > 0 ? std::min(files.files, std::ceil(shared / files.choice) - 1) : files.files;
    if (some <= 0) continue;
    sum += some * files.bytes;
    shared -= some * files.choice;
    if (tries-- == 0) break;
    for (std::size_t j = 0; j < rooms.size(); ++j) reaches[j] = (rooms[j].used + sum) / rooms[j].capacity;
    const auto nth = reaches.begin() + static_cast<std::ptrdiff_t>(shared) - 1;
    std::ranges::nth_element(reaches, nth);
    bound = std::max(bound, *nth);
  }
  return bound;
}

// Two sizes at once: objects of at least `large` bytes count as that, those of at least `small` bytes as that, others not at all.
struct Pair {
  std::uint64_t large = 0;
  std::uint64_t small = 0;
  double large_objects = 0;
  double small_objects = 0;
};

constexpr std::size_t kPairSizes = 12;
constexpr std::size_t kPairTargets = 512;

std::vector<Pair> pairs_of(std::span<const DemandClass> classes, std::span<const std::uint64_t> taus) {
  std::vector<std::uint64_t> sizes;
  const std::size_t tries = std::min(kPairSizes, taus.size());
  sizes.reserve(tries);
  for (std::size_t i = 0; i < tries; ++i) sizes.push_back(taus[i * taus.size() / tries]);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t j = i + 1; j < sizes.size(); ++j) {
      Pair pair{.large = sizes[i], .small = sizes[j]};
      for (const DemandClass& group : classes) {
        const std::uint64_t bytes = group.demand.object_bytes.count;
        if (bytes < pair.small) continue;
        (bytes >= pair.large ? pair.large_objects : pair.small_objects) += static_cast<double>(group.objects());
      }
      pairs.push_back(pair);
    }
  }
  return pairs;
}

class Feasibility {
 public:
  explicit Feasibility(std::vector<Room> rooms) : rooms_(std::move(rooms)), sorted_(rooms_.size()) {}

  std::size_t targets() const { return rooms_.size(); }

  // Condition (1) of the header.
  bool holds(double lambda, const std::vector<double>& needs, const Measure& measure) {
    for (std::size_t j = 0; j < rooms_.size(); ++j) {
      const Room& room = rooms_[j];
      // A bound must not be raised by rounding: a byte more is granted.
      const double bytes = std::clamp(lambda * room.capacity - room.used, 0.0, room.available) + 1;
      sorted_[j] = measure.of(static_cast<std::uint64_t>(bytes));
    }
    std::ranges::sort(sorted_);
    double sum = 0;
    for (std::size_t k = 1; k <= sorted_.size(); ++k) {
      sum += sorted_[k - 1];
      if (sum < needs[k]) return false;
    }
    return true;
  }

  // The smallest lambda from low on for which condition (1) holds in bytes. Each sum of rooms is concave in lambda, so where it
  // is too small, its slope says how far lambda must rise at least (Newton's method, from below). REQUIRES: low is at least the
  // utilisation of every target.
  double smallest(double low, const std::vector<double>& needs) const {
    struct Below {
      double bytes;
      double slope;
    };
    std::vector<Below> sorted(rooms_.size());
    double lambda = low;
    for (int step = 0; step < 60; ++step) {
      for (std::size_t j = 0; j < rooms_.size(); ++j) {
        const double below = std::max(0.0, lambda * rooms_[j].capacity - rooms_[j].used);
        const bool full = below >= rooms_[j].available;
        sorted[j] = {(full ? rooms_[j].available : below) + 1, full ? 0 : rooms_[j].capacity};
      }
      std::ranges::sort(sorted, {}, &Below::bytes);
      Below sum{.bytes = 0, .slope = 0};
      double rise = 0;
      for (std::size_t k = 1; k <= sorted.size(); ++k) {
        sum.bytes += sorted[k - 1].bytes;
        sum.slope += sorted[k - 1].slope;
        if (sum.bytes >= needs[k]) continue;
        if (sum.slope == 0) return std::max(1.0, 2 * low);
        rise = std::max(rise, (needs[k] - sum.bytes) / sum.slope);
      }
      lambda += rise;
      if (rise <= 1e-12 * lambda) break;
    }
    return lambda;
  }

  // Whether the small objects fit beside the large ones. Which target takes how many large ones is left open: a large object is
  // priced in small ones, and each target takes what pays best (a Lagrangian relaxation). Every price gives a bound; the best is
  // near the one at which large objects cost what they displace.
  bool holds(double lambda, const Pair& pair) const {
    const double even = static_cast<double>(pair.large) / static_cast<double>(pair.small);
    return std::ranges::all_of(std::array{0.0, 0.01, -0.01, 0.02, -0.02, 0.04, -0.04, 0.08, -0.08, 0.16, -0.16},
                               [&](double more) {
                                 const double price = even * (1 + more);
                                 double small = 0;
                                 for (const Room& room : rooms_) small += best_pay(room, lambda, pair, price);
                                 // Sums of prices round; the bound must not profit.
                                 return small - pair.large_objects * price >= pair.small_objects - 1e-6 * (1 + small * 1e-6);
                               });
  }

  // The smallest lambda from low on that is feasible. REQUIRES: low is not.
  template <typename Feasible>
  static double smallest(double low, Feasible feasible) {
    double high = std::max(1.0, 2 * low);
    if (!feasible(high)) return high;
    for (int step = 0; step < 60 && high - low > 1e-12 * high; ++step) {
      const double middle = (low + high) / 2;
      (feasible(middle) ? high : low) = middle;
    }
    return low;
  }

 private:
  // The most that the target can pay: small objects, and large ones at their price.
  static double best_pay(const Room& room, double lambda, const Pair& pair, double price) {
    const double most = std::clamp(lambda * room.capacity - room.used, 0.0, room.available) + 1;
    auto bytes = static_cast<std::uint64_t>(most);
    double best = 0;
    for (std::uint32_t large = 0;; ++large) {
      const std::uint64_t places = bytes / pair.small;
      best = std::max(best, static_cast<double>(places) + price * large);
      if (bytes < pair.large) return best;
      bytes -= pair.large;
      // What is left might pay to the last byte, in whichever size pays more.
      if (large == kMostLarge)
        return std::max(most / static_cast<double>(pair.small), most / static_cast<double>(pair.large) * price);
    }
  }

  static constexpr std::uint32_t kMostLarge = 256;  // looked at per target

  std::vector<Room> rooms_;
  std::vector<double> sorted_;
};

// Files that want every target there is leave no choice.
struct Forced {
  std::vector<double> bytes;        // per target
  std::vector<DemandClass> others;  // what is left to choose
};

Forced forced_by(const TargetTable& table, std::span<const DemandClass> classes) {
  Forced forced{.bytes = std::vector<double>(table.targets.size()), .others = {}};
  std::vector<std::size_t> takers(table.pools.size());
  for (std::uint32_t pool = 0; pool < table.pools.size(); ++pool) {
    const Usable members = usable(table, pool);
    takers[pool] = members.sound.size() + members.second.size();
  }
  for (const DemandClass& group : classes) {
    const Demand& demand = group.demand;
    if (demand.count < demand.per_target * takers[demand.pool]) {
      forced.others.push_back(group);
      continue;
    }
    const double bytes = static_cast<double>(group.most_per_target()) * static_cast<double>(demand.object_bytes.count);
    for (const std::uint32_t at : table.pools[demand.pool].members) {
      if (table.targets[at].exclusion == Exclusion::none) forced.bytes[at] += bytes;
    }
  }
  return forced;
}

}  // namespace

double LowerBound::value() const { return std::max({existing, linear, integral}); }

LowerBound lower_bound(const TargetTable& table, std::span<const DemandClass> all_classes, std::size_t sizes) {
  LowerBound bound;
  const Forced forced = forced_by(table, all_classes);
  const std::span<const DemandClass> classes = forced.others;
  std::vector<bool> wanted(table.pools.size());
  for (const DemandClass& group : classes) wanted[group.demand.pool] = true;
  std::vector<bool> within(table.targets.size());
  for (std::size_t pool = 0; pool < wanted.size(); ++pool) {
    if (!wanted[pool]) continue;
    for (const std::uint32_t at : table.pools[pool].members) within[at] = true;
  }
  std::vector<Room> rooms;
  for (std::size_t j = 0; j < table.targets.size(); ++j) {
    const Target& target = table.targets[j];
    if (target.capacity.count == 0) continue;
    const auto capacity = static_cast<double>(target.capacity.count);
    const double used = static_cast<double>(target.used.count) + forced.bytes[j];
    bound.existing = std::max(bound.existing, used / capacity);
    if (!within[j] || target.exclusion != Exclusion::none) continue;
    rooms.push_back({capacity, used, std::max(0.0, static_cast<double>(target.available.count) - forced.bytes[j])});
  }
  bound.linear = bound.integral = bound.existing;
  if (classes.empty() || rooms.empty()) return bound;

  const double overlap = sizes > 0 ? overlap_bound(classes, rooms) : 0;
  Feasibility feasibility(std::move(rooms));
  const auto raise = [&](double from, const Measure& measure) {
    const std::vector<double> needs = needs_of(classes, feasibility.targets(), measure);
    const auto feasible = [&](double lambda) { return feasibility.holds(lambda, needs, measure); };
    return feasible(from) ? from : Feasibility::smallest(from, feasible);
  };
  bound.linear = feasibility.smallest(bound.existing, needs_of(classes, feasibility.targets(), {}));
  bound.integral = std::max(bound.linear, overlap);
  std::vector<std::uint64_t> taus;
  for (const DemandClass& group : classes) {  // descending by size
    const std::uint64_t tau = group.demand.object_bytes.count;
    if (tau > 0 && (taus.empty() || taus.back() != tau)) taus.push_back(tau);
  }
  const std::size_t tries = std::min(sizes, taus.size());
  for (std::size_t i = 0; i < tries; ++i) {
    const std::uint64_t tau = taus[i * taus.size() / tries];
    for (const bool whole : {true, false}) bound.integral = raise(bound.integral, {.tau = tau, .whole = whole});
  }
  if (sizes > 0 && feasibility.targets() <= kPairTargets) {
    for (const Pair& pair : pairs_of(classes, taus)) {
      const auto feasible = [&](double lambda) { return feasibility.holds(lambda, pair); };
      if (!feasible(bound.integral)) bound.integral = Feasibility::smallest(bound.integral, feasible);
    }
  }
  return bound;
}

}  // namespace iez::placement
