#include "planning/room_trade.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "planning/stripe_choice.hpp"

namespace iez::planning {

namespace {

// Of the time of a phase that may use all room: how much later scarce targets look.
constexpr std::array<double, 7> kDelays{0, 0.04, 0.1, 0.2, 0.35, 0.7, 1e3};
constexpr std::array<double, 4> kPrices{1, 0.7, 1.3, 2};  // times the one at which room suffices
constexpr int kSteps = 40;
constexpr int kRounds = 2;
constexpr std::size_t kMostWork = 50'000'000;  // files times targets
constexpr double kBetter = 1 - 1e-9;
constexpr double kWorthIt = 1.001;  // times what all phases would take if each had all room

}  // namespace

RoomTrade::RoomTrade(const Problem& problem, const PhaseFiles& files, PhaseSolver& solver, std::vector<std::uint64_t>& used,
                     std::vector<std::uint64_t>& available)
    : problem_(problem), solver_(solver), used_(used), available_(available), scarce_(used.size()) {
  for (std::uint32_t p = 0; p < problem.phases.size(); ++p) {
    Phase phase{.number = p, .files = {}, .items = {}, .choices = {}};
    for (const std::uint32_t i : files.of(p)) {
      const File& file = problem.files[i];
      if (file.left_alone || (file.phase != p && file.phase < problem.phases.size())) continue;
      phase.files.push_back(i);
      phase.bytes += static_cast<double>(file.bytes.count);
    }
    if (!phase.files.empty()) phases_.push_back(std::move(phase));
  }
  std::ranges::stable_sort(phases_, std::greater<>(), &Phase::bytes);
}

void RoomTrade::find_scarce(const Placement& placement) {
  std::vector<double> wanted(used_.size());
  PhaseLoad load(problem_);
  for (const Phase& phase : phases_) {
    const double time = time_of(phase, placement);
    load.begin(problem_.phases[phase.number]);
    for (std::uint32_t j = 0; j < wanted.size(); ++j) wanted[j] += std::max(0.0, time * load.speed_of(j) - load.of(j));
  }
  for (const std::uint32_t j : solver_.sound_members(placement::kAnyPool)) {
    const auto room = static_cast<double>(problem_.table.targets[j].available.count);
    scarce_[j] = room < wanted[j];
    if (scarce_[j]) {
      room_ += room;
    } else {
      ample_.push_back(j);
    }
  }
}

void RoomTrade::enter(const Phase& phase, const Placement& placement, bool in) {
  for (std::size_t k = 0; k < phase.files.size(); ++k) {
    const Placed& placed = placement.files[phase.files[k]];
    for (const std::uint32_t target : placement.of(placed)) {
      // Unsigned numbers wrap, so that this subtracts as well.
      used_[target] += in ? placed.object_bytes.count : -placed.object_bytes.count;
      available_[target] += in ? -phase.items[k].room : phase.items[k].room;
    }
  }
}

double RoomTrade::time_of(const Phase& phase, const Placement& placement) const {
  PhaseLoad load(problem_);
  load.begin(problem_.phases[phase.number]);
  std::vector<std::uint32_t> touched;
  for (const std::uint32_t i : phase.files) {
    const Placed& placed = placement.files[i];
    for (const std::uint32_t target : placement.of(placed)) {
      load.add(target, static_cast<double>(placed.object_bytes.count));
      touched.push_back(target);
    }
  }
  return load.time(touched);
}

double RoomTrade::room_of(const Phase& phase, const Placement& placement) const {
  double room = 0;
  for (std::size_t k = 0; k < phase.files.size(); ++k) {
    for (const std::uint32_t target : placement.of(placement.files[phase.files[k]])) {
      if (scarce_[target]) room += static_cast<double>(phase.items[k].room);
    }
  }
  return room;
}

void RoomTrade::release(const Phase& phase, PhaseLoad& load, double time, Solution& solution) const {
  struct Object {
    double bytes = 0;
    std::size_t item = 0;
    std::size_t at = 0;
  };
  std::vector<Object> objects;
  std::vector<std::uint64_t> room = available_;
  for (std::size_t k = 0; k < phase.items.size(); ++k) {
    for (std::size_t at = solution.first[k]; at < solution.first[k + 1]; ++at) {
      room[solution.targets[at]] -= phase.items[k].room;
      // What belongs to a pool stays: the others may not be in it.
      if (scarce_[solution.targets[at]] && phase.items[k].pool == placement::kAnyPool)
        objects.push_back({phase.items[k].bytes, k, at});
    }
  }
  std::ranges::stable_sort(objects, std::greater<>(), &Object::bytes);
  const double limit = time * (1 + 1e-12);
  // By target: the item at hand, if it has an object there. Objects of an item are of one size, and so come one after the other.
  const std::size_t none = phase.items.size();
  std::vector<std::size_t> taken_by(room.size(), none);
  std::size_t at_hand = none;
  for (const Object& object : objects) {
    if (std::exchange(at_hand, object.item) != object.item) {
      for (const std::uint32_t target : solution.of(object.item)) taken_by[target] = object.item;
    }
    // To the target that it fills best.
    std::uint32_t best = 0;
    double fullest = -1;
    for (const std::uint32_t j : ample_) {
      const double after = (load.of(j) + object.bytes) / load.speed_of(j);
      if (after > limit || after <= fullest || room[j] < phase.items[object.item].room) continue;
      const std::uint32_t server = load.server_of(j);
      if (!load.has_fast_servers() && server != load.server_of(solution.targets[object.at]) &&
          load.of_server(server) + object.bytes > limit * load.speed_of_server(server))
        continue;
      if (taken_by[j] == object.item) continue;
      fullest = after;
      best = j;
    }
    if (fullest < 0) continue;
    load.add(solution.targets[object.at], -object.bytes);
    load.add(best, object.bytes);
    room[best] -= phase.items[object.item].room;
    taken_by[best] = object.item;
    solution.targets[object.at] = best;
  }
}

bool RoomTrade::place(const Phase& phase, double delay, Placement& placement) {
  PhaseLoad load(problem_);
  load.begin(problem_.phases[phase.number]);
  PhaseLoad delayed = load;
  for (std::uint32_t j = 0; j < scarce_.size(); ++j) {
    if (scarce_[j]) delayed.delay(j, delay * load.speed_of(j));
  }
  solver_.refresh();
  Solution solution = solver_.solve(delayed, phase.items, true);
  if (!solution.short_of_room.empty()) return false;
  for (std::size_t k = 0; k < phase.items.size(); ++k) {
    for (const std::uint32_t target : solution.of(k)) load.add(target, phase.items[k].bytes);
  }
  release(phase, load, load.time(solution.targets), solution);
  for (std::size_t k = 0; k < phase.files.size(); ++k) {
    std::ranges::copy(solution.of(k),
                      placement.targets.begin() + static_cast<std::ptrdiff_t>(placement.files[phase.files[k]].first));
  }
  enter(phase, placement, true);
  return true;
}

void RoomTrade::find_choices(Phase& phase, Placement& placement) {
  double best = 0;
  for (const double share : kDelays) {
    const double delay = share * best;
    if (!place(phase, delay, placement)) return;
    phase.choices.push_back({.delay = delay, .time = time_of(phase, placement), .room = room_of(phase, placement)});
    enter(phase, placement, false);
    if (share == 0) best = phase.choices.front().time;
    if (phase.choices.back().room <= 0) return;
  }
}

const RoomTrade::Choice& RoomTrade::wanted(const Phase& phase, double price) const {
  return *std::ranges::min_element(phase.choices, {},
                                   [price](const Choice& choice) { return choice.time + price * choice.room; });
}

double RoomTrade::balancing_price() const {
  const auto taken = [this](double price) {
    double room = 0;
    for (const Phase& phase : phases_) room += wanted(phase, price).room;
    return room;
  };
  if (taken(0) <= room_) return 0;
  double low = 0;
  double high = 1e-3;
  for (int step = 0; step < kSteps && taken(high) > room_; ++step) high *= 2;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (taken(middle) > room_ ? low : high) = middle;
  }
  return high;
}

bool RoomTrade::place_all(double price, Placement& placement) {
  for (const Phase& phase : phases_) enter(phase, placement, false);
  for (const Phase& phase : phases_) {
    if (!place(phase, wanted(phase, price).delay, placement)) return false;
  }
  return true;
}

void RoomTrade::use_what_is_left(Placement& placement) {
  struct Entry {
    double above = 0;
    const Phase* phase = nullptr;
  };
  std::vector<Entry> entries;
  for (const Phase& phase : phases_) {
    const double above = time_of(phase, placement) - phase.choices.front().time;
    if (above > 0) entries.push_back({above, &phase});
  }
  std::ranges::stable_sort(entries, std::greater<>(), &Entry::above);
  for (const auto& [above, phase] : entries) {
    const double time = time_of(*phase, placement);
    const std::vector<std::uint32_t> before = placement.targets;
    enter(*phase, placement, false);
    if (place(*phase, 0, placement)) {
      if (time_of(*phase, placement) < time * kBetter) continue;
      enter(*phase, placement, false);
    }
    placement.targets = before;
    enter(*phase, placement, true);
  }
}

bool RoomTrade::improve(Placement& placement) {
  if (problem_.files.size() * used_.size() > kMostWork) return false;
  find_scarce(placement);
  if (room_ <= 0 || ample_.empty()) return false;
  for (Phase& phase : phases_) {
    for (const std::uint32_t i : phase.files) {
      const Placed& placed = placement.files[i];
      phase.items.push_back({.bytes = static_cast<double>(placed.object_bytes.count),
                             .room = objects_of(problem_.files[i], placed.stripes).room.count,
                             .count = placed.stripes,
                             .pool = problem_.files[i].pool});
    }
  }
  const std::vector<std::uint64_t> used = used_;
  const std::vector<std::uint64_t> available = available_;
  Placement tried = placement;
  for (const Phase& phase : phases_) enter(phase, tried, false);
  for (Phase& phase : phases_) {
    find_choices(phase, tried);
    if (phase.choices.empty()) {
      used_ = used;
      available_ = available;
      return false;
    }
  }
  const double price = balancing_price();
  double apart = 0;
  double now = 0;
  for (const Phase& phase : phases_) {
    apart += phase.choices.front().time;
    now += time_of(phase, placement);
  }
  if (now <= apart * kWorthIt) {
    used_ = used;
    available_ = available;
    return false;
  }
  const double before = score(problem_, placement).seconds;
  double best = before;
  std::vector<std::uint64_t> best_used = used;
  std::vector<std::uint64_t> best_available = available;
  std::vector<std::uint32_t> best_targets = placement.targets;
  for (const double times : kPrices) {
    used_ = used;
    available_ = available;
    tried.targets = placement.targets;
    if (!place_all(price * times, tried)) continue;
    for (int round = 0; round < kRounds; ++round) use_what_is_left(tried);
    const double seconds = score(problem_, tried).seconds;
    if (seconds >= best * kBetter) continue;
    best = seconds;
    best_used = used_;
    best_available = available_;
    best_targets = tried.targets;
  }
  used_ = best_used;
  available_ = best_available;
  placement.targets = best_targets;
  return best < before;
}

}  // namespace iez::planning
