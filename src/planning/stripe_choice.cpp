#include "planning/stripe_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "model/layout.hpp"
#include "placement/stripe_size.hpp"

namespace iez::planning {

namespace {

constexpr double kDominant = 1.25;  // times as long as the phase without it

std::uint32_t most_stripes(const File& file, const PhaseSolver& solver) {
  const std::size_t members = solver.members(file.pool).size();
  const std::uint64_t by_size = std::max<std::uint64_t>(1, file.bytes.count / kLeastObject.count);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>({std::max<std::size_t>(1, members), by_size, model::kMaxStripeCount}));
}

std::vector<Item> items_of(const Problem& problem, std::span<const std::uint32_t> files, std::span<const std::uint32_t> counts) {
  std::vector<Item> items;
  items.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = problem.files[files[i]];
    const Objects objects = objects_of(file, counts[i]);
    items.push_back({.bytes = static_cast<double>(objects.bytes.count),
                     .room = objects.room.count,
                     .count = objects.stripes,
                     .pool = file.pool});
  }
  return items;
}

// Files that may get more than one stripe.
std::vector<bool> stretched(const Problem& problem, std::span<const std::uint32_t> files, const PhaseLoad& load,
                            PhaseSolver& solver) {
  std::vector<bool> out(files.size());
  std::size_t dominant = files.size();
  double largest = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = problem.files[files[i]];
    if (file.stripes != 0 || most_stripes(file, solver) < 2) continue;
    out[i] = file.shared;
    if (!file.shared && static_cast<double>(file.bytes.count) > largest) {
      largest = static_cast<double>(file.bytes.count);
      dominant = i;
    }
  }
  if (dominant == files.size()) return out;
  std::vector<std::uint32_t> others;
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i == dominant) continue;
    others.push_back(files[i]);
    counts.push_back(std::max(1U, problem.files[files[i]].stripes));
  }
  const Solution without = solver.solve(load, items_of(problem, others, counts), false);
  const double fastest = problem.speed.empty() ? 1 : *std::ranges::max_element(problem.speed);
  out[dominant] = without.short_of_room.empty() && largest / fastest > kDominant * without.time;
  return out;
}

// A phase in which files of the phase at hand are read together with others. Where all of them will be is not known yet, so its
// time is what it comes to at least: all bytes spread over all targets, and the largest object on the best of them.
class Reading {
 public:
  Reading(const Problem& problem, const PhaseFiles& files, std::uint32_t phase, const PhaseSolver& solver)
      : load_(problem), targets_(solver.members(placement::kAnyPool)) {
    load_.begin(problem.phases[phase]);
    double bytes = 0;
    for (const std::uint32_t i : files.of(phase)) bytes += static_cast<double>(problem.files[i].bytes.count);
    least_ = level(bytes);
  }

  // A file whose count is to be chosen, by position in the items.
  void add(std::uint32_t item) { items_.push_back(item); }

  double time(std::span<const Item> items) const {
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(items[a].bytes, items[a].count) < std::tuple(items[b].bytes, items[b].count);
    };
    const Item& largest = items[*std::ranges::max_element(items_, larger)];
    std::vector<double> times;
    for (const std::uint32_t j : targets_) times.push_back((load_.of(j) + largest.bytes) / load_.speed_of(j));
    const auto last = times.begin() + (largest.count - 1);
    std::ranges::nth_element(times, last);
    return std::max(least_, *last);
  }

 private:
  // The time at which so many bytes are moved beside what others move.
  double level(double bytes) const {
    std::vector<std::uint32_t> order(targets_.begin(), targets_.end());
    std::ranges::sort(order, {}, [this](std::uint32_t j) { return load_.time_of(j); });
    double time = 0;
    double speed = 0;
    for (const std::uint32_t j : order) {
      if (speed > 0 && load_.time_of(j) >= time) break;
      bytes += load_.of(j);
      speed += load_.speed_of(j);
      time = bytes / speed;
    }
    return time;
  }

  PhaseLoad load_;
  std::span<const std::uint32_t> targets_;
  std::vector<std::uint32_t> items_;
  double least_ = 0;
};

// Other counts for the files that may grow, with which the phase, and those in which its files are read, are fastest together.
std::vector<std::uint32_t> fastest_counts(const Problem& problem, std::span<const std::uint32_t> files,
                                          const std::vector<bool>& may_grow, std::vector<std::uint32_t> counts,
                                          const PhaseLoad& load, PhaseSolver& solver,
                                          const std::map<std::uint32_t, Reading>& readings) {
  double largest = 0;
  std::uint32_t widest = 1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!may_grow[i]) continue;
    largest = std::max(largest, static_cast<double>(problem.files[files[i]].bytes.count));
    widest = std::max(widest, most_stripes(problem.files[files[i]], solver));
  }
  if (widest < 2) return counts;

  std::vector<std::uint32_t> tried = counts;
  struct Trial {
    double time = 0;
    std::uint64_t stripes = 0;
    std::vector<std::uint32_t> counts;
  };
  std::vector<Trial> trials;
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t parts = 1;; parts = std::min(widest, std::max(parts + 1, parts + parts / 4))) {
    const double object = largest / parts;
    std::uint64_t stripes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (may_grow[i]) {
        const File& file = problem.files[files[i]];
        const double wanted = std::ceil(static_cast<double>(file.bytes.count) / object * (1 - 1e-9));
        tried[i] = std::clamp(static_cast<std::uint32_t>(wanted), 1U, most_stripes(file, solver));
      }
      stripes += tried[i];
    }
    const std::vector<Item> items = items_of(problem, files, tried);
    const Solution solution = solver.solve(load, items, false);
    if (solution.short_of_room.empty()) {
      double time = solution.time;
      for (const auto& [phase, reading] : readings) time += reading.time(items);
      trials.push_back({time, stripes, tried});
      best = std::min(best, time);
    }
    if (parts == widest) break;
  }
  const Trial* chosen = nullptr;
  for (const Trial& trial : trials) {
    if (trial.time > best * kAlike) continue;
    if (chosen == nullptr || trial.stripes < chosen->stripes) chosen = &trial;
  }
  return chosen != nullptr ? chosen->counts : counts;
}

}  // namespace

Objects objects_of(const File& file, std::uint32_t stripes) {
  const Bytes bytes = std::max(file.bytes, Bytes{1});
  const Bytes room = std::max(bytes, file.room);
  Objects out;
  if (file.stripe_size.count != 0) {
    out.stripe_size = file.stripe_size;
    const std::uint64_t filled = (bytes.count + file.stripe_size.count - 1) / file.stripe_size.count;
    out.stripes = static_cast<std::uint32_t>(std::min<std::uint64_t>(stripes, filled));
  } else {
    const placement::Stripes chosen = placement::choose_stripes(bytes, stripes, file.shared);
    out.stripe_size = chosen.size;
    out.stripes = chosen.count;
  }
  out.bytes = placement::largest_object(bytes, out.stripe_size, out.stripes);
  out.room = placement::largest_object(room, out.stripe_size, out.stripes);
  return out;
}

std::vector<std::uint32_t> choose_stripe_counts(const Problem& problem, const PhaseFiles& all,
                                                std::span<const std::uint32_t> files, const PhaseLoad& load,
                                                PhaseSolver& solver) {
  std::vector<std::uint32_t> counts(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = problem.files[files[i]];
    const auto members = static_cast<std::uint32_t>(std::max<std::size_t>(1, solver.members(file.pool).size()));
    counts[i] = std::clamp(file.stripes, 1U, std::min(members, std::uint32_t{model::kMaxStripeCount}));
  }
  const std::vector<bool> may_grow = stretched(problem, files, load, solver);
  counts = fastest_counts(problem, files, may_grow, std::move(counts), load, solver, {});
  // Files that are read together with others once more, now that the counts of those are known that are not.
  std::map<std::uint32_t, Reading> readings;
  std::vector<bool> read_again(files.size());
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const File& file = problem.files[files[i]];
    const std::uint32_t second = second_of(problem, file);
    if (!may_grow[i] || !file.shared || second == kNoPhase) continue;
    read_again[i] = true;
    readings.try_emplace(second, problem, all, second, solver).first->second.add(i);
  }
  if (readings.empty()) return counts;
  return fastest_counts(problem, files, read_again, std::move(counts), load, solver, readings);
}

}  // namespace iez::planning
