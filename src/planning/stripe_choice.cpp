#include "planning/stripe_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/layout.hpp"
#include "placement/stripe_size.hpp"

namespace iez::planning {

namespace {

constexpr double kDominant = 1.25;  // times as long as the phase without it

std::uint32_t most_stripes(const Problem& problem, const File& file, const PhaseSolver& solver) {
  static_cast<void>(problem);
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
    if (file.stripes != 0 || most_stripes(problem, file, solver) < 2) continue;
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

std::vector<std::uint32_t> choose_stripe_counts(const Problem& problem, std::span<const std::uint32_t> files,
                                                const PhaseLoad& load, PhaseSolver& solver) {
  std::vector<std::uint32_t> counts(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = problem.files[files[i]];
    const auto members = static_cast<std::uint32_t>(std::max<std::size_t>(1, solver.members(file.pool).size()));
    counts[i] = std::clamp(file.stripes, 1U, std::min(members, std::uint32_t{model::kMaxStripeCount}));
  }
  const std::vector<bool> may_grow = stretched(problem, files, load, solver);
  double largest = 0;
  std::uint32_t widest = 1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!may_grow[i]) continue;
    largest = std::max(largest, static_cast<double>(problem.files[files[i]].bytes.count));
    widest = std::max(widest, most_stripes(problem, problem.files[files[i]], solver));
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
        tried[i] = std::clamp(static_cast<std::uint32_t>(wanted), 1U, most_stripes(problem, file, solver));
      }
      stripes += tried[i];
    }
    const Solution solution = solver.solve(load, items_of(problem, files, tried), false);
    if (solution.short_of_room.empty()) {
      trials.push_back({solution.time, stripes, tried});
      best = std::min(best, solution.time);
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

}  // namespace iez::planning
