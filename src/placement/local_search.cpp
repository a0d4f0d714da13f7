#include "placement/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/rng.hpp"

namespace iez::placement {

namespace {

// An improvement smaller than this share of a utilisation is rounding.
constexpr double kRounding = 1e-12;
// Targets looked at as partners of the fullest, from the emptiest on.
constexpr int kPartners = 64;
// Objects of one class that change places at once.
constexpr std::uint32_t kMostTogether = 4;
// Classes of a partner looked at on either side of the ideal size.
constexpr std::size_t kNeighbours = 6;
constexpr std::uint64_t kSeed = 0x1E5;

struct Step {
  double reaches = 0;  // utilisation of the fuller of both targets afterwards
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t out = 0;   // class that leaves `from`
  std::uint32_t in = 0;    // class that comes back
  std::uint32_t outs = 1;  // so many objects
  std::uint32_t ins = 0;
};

class Search {
 public:
  Search(std::span<const DemandClass> classes, Levels& levels, Spreads& spreads, const SearchOptions& options)
      : classes_(classes),
        levels_(levels),
        spreads_(spreads),
        options_(options),
        left_(options.effort),
        rng_(kSeed),
        holders_(levels.size()),
        admits_(2 * pools()) {
    for (auto& holders : holders_) holders.reserve(std::min<std::size_t>(classes_.size(), 8));
    for (std::uint32_t k = 0; k < classes_.size(); ++k) {
      for (const TargetCount& entry : spreads_.classes[k].counts()) holders_[entry.target].push_back(k);
      auto& admits = admits_[admission_of(k)];
      if (!admits.empty()) continue;
      admits.resize(levels_.size());
      const PoolLevels& pool = levels_.pool(classes_[k].demand.pool);
      for (const std::uint32_t at : pool.sound) admits[at] = true;
      if (!spreads_.second_choice[k]) continue;
      for (const std::uint32_t at : pool.second) admits[at] = true;
    }
    for (std::uint32_t at = 0; at < levels_.size(); ++at) {
      by_utilisation_.emplace(levels_[at].utilisation(), at);
      smallest_inverse_ = std::min(smallest_inverse_, 1 / levels_[at].capacity);
    }
  }

  double run() {
    descend();
    double best = fullest();
    recording_ = true;
    while (left_ > 0 && best > options_.bound * (1 + 1e-9)) {
      since_best_.clear();
      kick();
      descend();
      if (fullest() < best * (1 - kRounding)) {
        best = fullest();
        continue;
      }
      recording_ = false;
      for (; !since_best_.empty(); since_best_.pop_back()) apply(reversed(since_best_.back()));
      recording_ = true;
    }
    return fullest();
  }

 private:
  std::size_t pools() const {
    std::size_t most = 0;
    for (const DemandClass& group : classes_) most = std::max<std::size_t>(most, group.demand.pool + 1);
    return most;
  }

  std::size_t admission_of(std::uint32_t k) const {
    return 2 * std::size_t{classes_[k].demand.pool} + (spreads_.second_choice[k] ? 1 : 0);
  }

  std::uint64_t bytes_of(std::uint32_t k) const { return classes_[k].demand.object_bytes.count; }

  double fullest() const { return by_utilisation_.rbegin()->first; }

  static Step reversed(const Step& step) {
    Step back = step;
    std::swap(back.from, back.to);
    return back;
  }

  bool admitted(std::uint32_t k, std::uint32_t at, std::uint32_t objects = 1) const {
    return admits_[admission_of(k)][at] && spreads_.classes[k][at] + objects <= classes_[k].most_per_target();
  }

  void transfer(std::uint32_t k, std::uint32_t from, std::uint32_t to) {
    auto first = by_utilisation_.extract({levels_[from].utilisation(), from});
    auto second = by_utilisation_.extract({levels_[to].utilisation(), to});
    spreads_.classes[k].remove_one(from);
    levels_.remove(from, bytes_of(k));
    if (spreads_.classes[k][from] == 0) {
      auto& holders = holders_[from];
      holders.erase(std::ranges::lower_bound(holders, k));
    }
    if (spreads_.classes[k][to] == 0) {
      auto& holders = holders_[to];
      holders.insert(std::ranges::lower_bound(holders, k), k);
    }
    spreads_.classes[k].add(to, 1);
    levels_.add(to, bytes_of(k));
    first.value().first = levels_[from].utilisation();
    second.value().first = levels_[to].utilisation();
    by_utilisation_.insert(std::move(first));
    by_utilisation_.insert(std::move(second));
  }

  void apply(const Step& step) {
    // Between the two, what is available may wrap around; both together fit.
    for (std::uint32_t i = 0; i < step.ins; ++i) transfer(step.in, step.to, step.from);
    for (std::uint32_t i = 0; i < step.outs; ++i) transfer(step.out, step.from, step.to);
    if (recording_) since_best_.push_back(step);
  }

  void consider(Step& best, const Step& step) {
    if (step.reaches < best.reaches * (1 - kRounding)) best = step;
  }

  // An object of class k from `from` to the emptiest target that takes it.
  void consider_moves(Step& best, std::uint32_t k, std::uint32_t from) {
    const std::uint64_t bytes = bytes_of(k);
    const double left_behind = static_cast<double>(levels_[from].used - bytes) / levels_[from].capacity;
    int partners = kPartners;
    for (const auto& [utilisation, to] : by_utilisation_) {
      if (utilisation + static_cast<double>(bytes) * smallest_inverse_ >= best.reaches || partners-- == 0) break;
      if (left_ > 0) --left_;
      const double reaches = std::max(left_behind, levels_[to].after(bytes));
      if (reaches >= best.reaches || to == from || levels_[to].available < bytes || !admitted(k, to)) continue;
      consider(best, {.reaches = reaches, .from = from, .to = to, .out = k});
    }
  }

  // `outs` objects of class k for `ins` of another class that are smaller together: best when both targets end equally full.
  void consider_exchanges(Step& best, std::uint32_t k, std::uint32_t from, std::uint32_t outs, std::uint32_t ins) {
    if (outs > 1 && spreads_.classes[k][from] < outs) return;
    const std::uint64_t bytes = bytes_of(k) * outs;
    const Level& full = levels_[from];
    int partners = kPartners;
    for (const auto& entry : by_utilisation_) {
      const double utilisation = entry.first;
      const std::uint32_t to = entry.second;
      if (utilisation >= best.reaches || partners-- == 0) break;
      if (left_ > 0) --left_;
      const Level& other = levels_[to];
      if (to == from || !admitted(k, to, outs)) continue;
      const double ideal = (full.utilisation() - utilisation) / (1 / full.capacity + 1 / other.capacity);
      const double wanted = (static_cast<double>(bytes) - ideal) / ins;
      const auto& holders = holders_[to];
      // Descending by size, as the classes are.
      const auto near = std::ranges::lower_bound(holders, wanted, std::greater{},
                                                 [&](std::uint32_t l) { return static_cast<double>(bytes_of(l)); });
      const auto middle = static_cast<std::size_t>(near - holders.begin());
      const auto look = [&](std::uint32_t l) {
        if (left_ > 0) --left_;
        const std::uint64_t back = bytes_of(l) * ins;
        if (back >= bytes || other.available + back < bytes || l == k) return false;
        const std::uint64_t difference = bytes - back;
        const double reaches = std::max(static_cast<double>(full.used - difference) / full.capacity, other.after(difference));
        if (reaches >= best.reaches || !admitted(l, from, ins)) return false;
        if (ins > 1 && spreads_.classes[l][to] < ins) return false;
        consider(best, {.reaches = reaches, .from = from, .to = to, .out = k, .in = l, .outs = outs, .ins = ins});
        return true;
      };
      for (std::size_t i = middle; i < std::min(holders.size(), middle + kNeighbours); ++i) {
        if (look(holders[i])) break;
      }
      for (std::size_t i = middle; i > middle - std::min(middle, kNeighbours); --i) {
        if (look(holders[i - 1])) break;
      }
    }
  }

  // Steps down until none helps the fullest target.
  void descend() {
    while (left_ > 0 && fullest() > options_.bound * (1 + 1e-9)) {
      const auto [utilisation, from] = *by_utilisation_.rbegin();
      Step best{.reaches = utilisation * (1 - kRounding)};
      best.from = best.to = from;
      for (const std::uint32_t k : holders_[from]) {
        consider_moves(best, k, from);
        consider_exchanges(best, k, from, 1, 1);
      }
      // Several for one, or one for several, only when nothing simple helps: 3 B + A and 2 B + A become 2 A and 5 B.
      for (std::uint32_t objects = 2; objects <= 2 * kMostTogether && best.from == best.to; ++objects) {
        for (const std::uint32_t k : holders_[from]) {
          for (std::uint32_t outs = 1; outs <= kMostTogether; ++outs) {
            if (objects > outs && objects - outs <= kMostTogether && objects > 2)
              consider_exchanges(best, k, from, outs, objects - outs);
          }
        }
      }
      if (best.from == best.to) return;
      apply(best);
    }
  }

  // Moves one object from the fullest target and a few from anywhere to anywhere, where they may go.
  void kick() {
    const auto fullest_target = by_utilisation_.rbegin()->second;
    for (int i = 0; i < 3; ++i) {
      const auto from = i == 0 ? fullest_target : static_cast<std::uint32_t>(rng_.below(levels_.size()));
      const auto to = static_cast<std::uint32_t>(rng_.below(levels_.size()));
      left_ -= std::min<std::uint64_t>(left_, 8);
      if (holders_[from].empty() || from == to) continue;
      const std::uint32_t k = holders_[from][rng_.below(holders_[from].size())];
      if (levels_[to].available < bytes_of(k) || !admitted(k, to)) continue;
      apply({.reaches = 0, .from = from, .to = to, .out = k});
    }
  }

  std::span<const DemandClass> classes_;
  Levels& levels_;
  Spreads& spreads_;
  const SearchOptions& options_;
  std::uint64_t left_;
  Rng rng_;
  std::vector<std::vector<std::uint32_t>> holders_;  // per target: classes it holds, ascending, so descending by size
  std::vector<std::vector<bool>> admits_;            // per pool, without and with its second choice: who may hold its objects
  std::set<std::pair<double, std::uint32_t>> by_utilisation_;
  double smallest_inverse_ = std::numeric_limits<double>::infinity();
  std::vector<Step> since_best_;  // steps that led away from the best placement seen
  bool recording_ = false;
};

}  // namespace

double local_search(std::span<const DemandClass> classes, Levels& levels, Spreads& spreads, const SearchOptions& options) {
  if (levels.size() == 0) return 0;
  return Search(classes, levels, spreads, options).run();
}

}  // namespace iez::placement
