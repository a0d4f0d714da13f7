#include "planning/exchange_search.hpp"

#include <algorithm>
#include <utility>

#include "planning/phase_solver.hpp"

namespace iez::planning {

namespace {

constexpr std::uint64_t kSeed = 21;
constexpr std::size_t kSample = 96;  // targets that a step looks at
constexpr std::size_t kShaken = 3;   // objects that are moved at random
constexpr double kBetter = 1 - 1e-12;

}  // namespace

ExchangeSearch::ExchangeSearch(Phase phase) : phase_(std::move(phase)), objects_(phase_.load.size()), rng_(kSeed) {
  sample_.assign(phase_.targets.begin(), phase_.targets.end());
}

bool ExchangeSearch::holds(std::uint32_t target, std::uint32_t item) const {
  return std::ranges::any_of(objects_[target], [item](const Object& object) { return object.item == item; });
}

double ExchangeSearch::time(std::uint32_t target) const {
  const double own = phase_.load[target] / phase_.speed[target];
  if (phase_.server_of.empty()) return own;
  const std::uint32_t server = phase_.server_of[target];
  return std::max(own, phase_.server_load[server] / phase_.server_speed[server]);
}

double ExchangeSearch::after_move(std::uint32_t from, std::uint32_t to, double bytes) const {
  const double slower = std::max((phase_.load[to] + bytes) / phase_.speed[to], (phase_.load[from] - bytes) / phase_.speed[from]);
  if (phase_.server_of.empty()) return slower;
  const std::uint32_t of_from = phase_.server_of[from];
  const std::uint32_t of_to = phase_.server_of[to];
  if (of_from == of_to) return std::max(slower, phase_.server_load[of_to] / phase_.server_speed[of_to]);
  return std::max({slower, (phase_.server_load[of_to] + bytes) / phase_.server_speed[of_to],
                   (phase_.server_load[of_from] - bytes) / phase_.server_speed[of_from]});
}

// The item may go there as far as its second phase is concerned, when so many bytes of that phase come back.
bool ExchangeSearch::second_allows(const Item& item, std::uint32_t number, std::uint32_t to, double returned) const {
  if (phase_.second_of.empty() || phase_.second_of[number] == kNoSecond) return true;
  const SecondPhase& second = phase_.seconds[phase_.second_of[number]];
  return (second.load[to] + item.bytes - returned) / phase_.speed[to] <= second.limit;
}

std::uint32_t ExchangeSearch::slowest() const {
  return *std::ranges::max_element(phase_.targets, {}, [this](std::uint32_t target) {
    // Of the targets of a slow server the one with the most objects to choose from.
    return std::pair(time(target), phase_.server_of.empty() ? 0.0 : phase_.load[target] / phase_.speed[target]);
  });
}

// What the object can do at that target: go there, or change places with a smaller one.
void ExchangeSearch::look_at(std::uint32_t from, std::uint32_t object, std::uint32_t to, Step& best) {
  const std::uint32_t number = objects_[from][object].item;
  const Item& item = phase_.items[number];
  if (holds(to, number)) return;
  const double moved = after_move(from, to, item.bytes);
  if (moved < best.after && phase_.room[to] >= item.room && second_allows(item, number, to, 0)) {
    best = {.after = moved, .object = object, .target = to, .returned = -1};
  }
  for (std::uint32_t k = 0; k < objects_[to].size(); ++k) {
    const std::uint32_t back = objects_[to][k].item;
    const Item& other = phase_.items[back];
    if (other.bytes >= item.bytes) continue;
    const double after = after_move(from, to, item.bytes - other.bytes);
    if (after >= best.after || phase_.room[to] + other.room < item.room || phase_.room[from] + item.room < other.room) continue;
    if (!phase_.second_of.empty()) {
      const bool same = phase_.second_of[number] == phase_.second_of[back];
      if (!second_allows(item, number, to, same ? other.bytes : 0)) continue;
      if (!same && !second_allows(other, back, from, 0)) continue;
    }
    if (holds(from, back)) continue;
    best = {.after = after, .object = object, .target = to, .returned = k};
  }
}

// The step after which the slower of both targets is fastest; false: none brings both below the time of `from`.
bool ExchangeSearch::find_step(std::uint32_t from, Step& best) {
  const double least = time(from) * kBetter;
  best.after = least;
  std::size_t looked_at = sample_.size();
  if (sample_.size() > kSample) {
    // Half of them the fastest, half at random.
    std::ranges::nth_element(sample_, sample_.begin() + kSample / 2, {}, [this](std::uint32_t target) { return time(target); });
    for (std::size_t i = kSample / 2; i < kSample; ++i) std::swap(sample_[i], sample_[i + rng_.below(sample_.size() - i)]);
    looked_at = kSample;
  }
  for (std::uint32_t i = 0; i < objects_[from].size(); ++i) {
    // With no second phase, equal objects are alike.
    const double bytes = phase_.items[objects_[from][i].item].bytes;
    if (i > 0 && phase_.second_of.empty() && bytes == phase_.items[objects_[from][i - 1].item].bytes) continue;
    for (std::size_t s = 0; s < looked_at; ++s) {
      const std::uint32_t to = sample_[s];
      if (to == from || time(to) >= best.after) continue;
      left_ -= std::min<std::uint64_t>(left_, 1 + objects_[to].size());
      look_at(from, i, to, best);
    }
    if (left_ == 0) break;
  }
  return best.after < least;
}

void ExchangeSearch::move(std::uint32_t from, std::size_t object, std::uint32_t to, std::vector<std::uint32_t>& placed) {
  const Object moved = objects_[from][object];
  const Item& item = phase_.items[moved.item];
  objects_[from].erase(objects_[from].begin() + static_cast<std::ptrdiff_t>(object));
  objects_[to].push_back(moved);
  phase_.load[from] -= item.bytes;
  phase_.load[to] += item.bytes;
  phase_.room[from] += item.room;
  phase_.room[to] -= item.room;
  placed[moved.at] = to;
  if (!phase_.server_of.empty()) {
    phase_.server_load[phase_.server_of[from]] -= item.bytes;
    phase_.server_load[phase_.server_of[to]] += item.bytes;
  }
  if (phase_.second_of.empty() || phase_.second_of[moved.item] == kNoSecond) return;
  SecondPhase& second = phase_.seconds[phase_.second_of[moved.item]];
  second.load[from] -= item.bytes;
  second.load[to] += item.bytes;
}

void ExchangeSearch::apply(std::uint32_t from, const Step& step, std::vector<std::uint32_t>& placed) {
  // Room may be below nothing between the two: it is counted modulo 2^64.
  move(from, step.object, step.target, placed);
  if (step.returned >= 0) move(step.target, static_cast<std::size_t>(step.returned), from, placed);
}

void ExchangeSearch::shake(std::vector<std::uint32_t>& placed) {
  for (std::size_t i = 0; i < kShaken; ++i) {
    const std::uint32_t from = phase_.targets[rng_.below(phase_.targets.size())];
    const std::uint32_t to = phase_.targets[rng_.below(phase_.targets.size())];
    left_ -= std::min<std::uint64_t>(left_, 1);
    if (from == to || objects_[from].empty()) continue;
    const std::size_t object = rng_.below(objects_[from].size());
    const std::uint32_t item = objects_[from][object].item;
    if (phase_.room[to] < phase_.items[item].room || holds(to, item)) continue;
    if (second_allows(phase_.items[item], item, to, 0)) move(from, object, to, placed);
  }
}

void ExchangeSearch::improve(std::span<const std::uint32_t> first, std::vector<std::uint32_t>& placed, double bound,
                             std::uint64_t effort) {
  if (phase_.targets.size() < 2) return;
  left_ = effort;
  for (std::uint32_t item = 0; item + 1 < first.size(); ++item) {
    for (std::uint32_t at = first[item]; at < first[item + 1]; ++at) objects_[placed[at]].push_back({item, at});
  }
  double best = time(slowest());
  std::vector<std::uint32_t> best_placed = placed;
  while (left_ > 0 && best > bound * (1 + 1e-9)) {
    left_ -= std::min<std::uint64_t>(left_, 1 + phase_.targets.size() / 8);
    const std::uint32_t from = slowest();
    if (time(from) < best * kBetter) {
      best = time(from);
      best_placed = placed;
      continue;
    }
    Step step;
    if (find_step(from, step)) {
      apply(from, step, placed);
    } else {
      shake(placed);
    }
  }
  if (time(slowest()) >= best * kBetter) placed = std::move(best_placed);
}

}  // namespace iez::planning
