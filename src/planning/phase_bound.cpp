#include "planning/phase_bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "planning/phase_solver.hpp"

namespace iez::planning {

namespace {

constexpr std::size_t kSizesTried = 48;
constexpr std::size_t kWeighedSizes = 8;
constexpr std::size_t kWeighedTargets = 512;
constexpr double kMostLarge = 6;  // objects on one target, of which weights are tried
constexpr double kSlack = 1e-9;   // relative: sums of doubles are not exact
constexpr int kSteps = 60;        // of bisection, at most
constexpr double kPrecision = 1e-6;

}  // namespace

PhaseBound::PhaseBound(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> targets,
                       std::span<const std::uint64_t> room)
    : load_(load), servers_count_(!load.has_fast_servers()) {
  for (const std::uint32_t target : targets) {
    targets_.push_back({load.of(target), load.speed_of(target), static_cast<double>(room[target]), load.server_of(target)});
  }
  for (const Item& item : items) {
    sizes_.insert(sizes_.end(), item.count, item.bytes);
    most_stripes_ = std::max(most_stripes_, item.count);
  }
  std::ranges::sort(sizes_, std::greater<>());
  sums_.reserve(sizes_.size() + 1);
  sums_.push_back(0);
  for (const double size : sizes_) sums_.push_back(sums_.back() + size);
  // Sizes at which the numbers make a difference - behind each further m objects - and others, evenly.
  const std::size_t m = targets_.size();
  const auto try_at = [&](std::size_t at) {
    if (at < sizes_.size())
      ends_.push_back(static_cast<std::size_t>(std::ranges::upper_bound(sizes_, sizes_[at], std::greater<>()) - sizes_.begin()));
  };
  for (std::size_t k = 0; k < kSizesTried / 2; ++k) try_at(sizes_.size() * k / (kSizesTried / 2));
  for (std::size_t k = 1; m > 0 && k <= kSizesTried / 4; ++k) try_at(k * m);
  for (std::size_t k = 1; k < kSizesTried / 4; ++k) try_at(m * k / (kSizesTried / 8));
  if (!sizes_.empty()) ends_.push_back(sizes_.size());
  std::ranges::sort(ends_);
  ends_.erase(std::ranges::unique(ends_).begin(), ends_.end());
  if (most_stripes_ > 1 && m > 0) {
    // A file of c objects has c - (m - k) of them among any k targets, if that is above 0.
    std::vector<double> bytes_of(m + 1);
    for (const Item& item : items) bytes_of[std::min<std::size_t>(item.count, m)] += item.bytes;
    forced_.resize(m + 1);
    double slope = 0;
    for (std::size_t k = 1; k <= m; ++k) {
      slope += bytes_of[m - k + 1];
      forced_[k] = forced_[k - 1] + slope;
    }
  }
  capacity_.resize(m);
  server_capacity_.resize(load.servers());
  on_server_.resize(load.servers());
}

void PhaseBound::open(double time) {
  for (std::size_t j = 0; j < targets_.size(); ++j) {
    const Target& target = targets_[j];
    capacity_[j] = std::clamp((time * target.speed - target.load) * (1 + kSlack), 0.0, target.room);
  }
  if (servers_count_) {
    for (std::uint32_t k = 0; k < server_capacity_.size(); ++k) {
      server_capacity_[k] = std::max(0.0, (time * load_.speed_of_server(k) - load_.of_server(k)) * (1 + kSlack));
    }
    for (std::size_t j = 0; j < targets_.size(); ++j) capacity_[j] = std::min(capacity_[j], server_capacity_[targets_[j].server]);
  }
}

void PhaseBound::sort() {
  ascending_ = capacity_;
  std::ranges::sort(ascending_);
  tails_.assign(ascending_.size() + 1, 0);
  for (std::size_t i = 0; i < ascending_.size(); ++i) tails_[i + 1] = tails_[i] + ascending_[ascending_.size() - 1 - i];
}

// What objects of at least tau find on targets that can hold one, and their servers.
PhaseBound::Space PhaseBound::space(double tau) const {
  Space out;
  if (!servers_count_) {
    const auto first = static_cast<std::size_t>(std::ranges::lower_bound(ascending_, tau) - ascending_.begin());
    out.bytes = tails_[ascending_.size() - first];
    for (std::size_t i = first; i < ascending_.size(); ++i) out.number += std::floor(ascending_[i] / tau);
    return out;
  }
  std::ranges::fill(on_server_, 0.0);
  for (std::size_t j = 0; j < targets_.size(); ++j) {
    if (capacity_[j] >= tau) on_server_[targets_[j].server] += capacity_[j];
  }
  for (std::size_t k = 0; k < on_server_.size(); ++k) out.bytes += std::min(on_server_[k], server_capacity_[k]);
  std::ranges::fill(on_server_, 0.0);
  for (std::size_t j = 0; j < targets_.size(); ++j) on_server_[targets_[j].server] += std::floor(capacity_[j] / tau);
  for (std::size_t k = 0; k < on_server_.size(); ++k)
    out.number += std::min(on_server_[k], std::floor(server_capacity_[k] / tau));
  return out;
}

bool PhaseBound::fits(std::size_t end, double tau) const {
  const Space found = space(tau);
  return found.bytes * (1 + kSlack) >= sums_[end] && found.number >= static_cast<double>(end);
}

double PhaseBound::left_over(double time) {
  if (sizes_.empty() || targets_.empty()) return sums_.back();
  open(time);
  sort();
  double most = 0;
  for (const std::size_t end : ends_) {
    const double tau = sizes_[end - 1];
    if (tau <= 0) break;
    const Space found = space(tau);
    most = std::max(most, sums_[end] - found.bytes * (1 + kSlack));
    if (found.number >= static_cast<double>(end)) continue;
    // So many are left over, of which nothing is known but that they are not smaller than the smallest.
    most = std::max(most, sums_[end] - sums_[static_cast<std::size_t>(found.number)]);
  }
  return most;
}

bool PhaseBound::bytes_fit() const {
  double bytes = 0;
  if (!servers_count_) {
    for (const double capacity : capacity_) bytes += capacity;
    return bytes * (1 + kSlack) >= sums_.back();
  }
  std::ranges::fill(on_server_, 0.0);
  for (std::size_t j = 0; j < targets_.size(); ++j) on_server_[targets_[j].server] += capacity_[j];
  for (std::size_t k = 0; k < on_server_.size(); ++k) bytes += std::min(on_server_[k], server_capacity_[k]);
  return bytes * (1 + kSlack) >= sums_.back();
}

bool PhaseBound::alone_fits(std::size_t end, double tau) const {
  const double largest = ascending_.back();
  if (2 * tau > largest) return true;  // see `numbers`
  const auto alone = static_cast<std::size_t>(std::ranges::lower_bound(sizes_, largest - tau, std::greater<>()) - sizes_.begin());
  if (alone == 0 || alone >= end) return alone <= ascending_.size();
  // At best they take the smallest targets that can hold the smallest of them.
  const std::size_t m = ascending_.size();
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(ascending_, sizes_[alone - 1]) - ascending_.begin());
  if (first + alone > m) return false;
  const auto least = static_cast<std::size_t>(std::ranges::lower_bound(ascending_, tau) - ascending_.begin());
  const double bytes = tails_[m - least] - tails_[m - first] + tails_[m - first - alone];
  if (bytes * (1 + kSlack) < sums_[end] - sums_[alone]) return false;
  double number = 0;
  for (std::size_t i = least; i < m; ++i) {
    if (i < first || i >= first + alone) number += std::floor(ascending_[i] / tau);
  }
  return number >= static_cast<double>(end - alone);
}

bool PhaseBound::pairs_fit(std::size_t end, double tau) const {
  const double largest = ascending_.back();
  const auto holders = static_cast<std::size_t>(ascending_.end() - std::ranges::lower_bound(ascending_, tau));
  if (3 * tau <= largest || end <= holders) return true;
  if (end > 2 * holders) return false;
  for (std::size_t i = 2 * holders - end; i < holders; ++i) {
    if (sizes_[i] + sizes_[2 * holders - 1 - i] > largest) return false;
  }
  return true;
}

// Large objects of at least `large`, which count `weight`, and others of at least `small`, which count 1.
bool PhaseBound::weights_fit(std::size_t large_end, std::size_t small_end, double weight) const {
  const double large = sizes_[large_end - 1];
  const double small = sizes_[small_end - 1];
  const double needed = weight * static_cast<double>(large_end) + static_cast<double>(small_end - large_end);
  double sum = 0;
  double of_last = 0;
  for (std::size_t i = ascending_.size(); i > 0 && ascending_[i - 1] >= small; --i) {
    const double capacity = ascending_[i - 1];
    if (i == ascending_.size() || capacity != ascending_[i]) {
      of_last = 0;
      for (double number = 0; number * large <= capacity; ++number) {
        of_last = std::max(of_last, weight * number + std::floor((capacity - number * large) / small));
      }
    }
    sum += of_last;
    if (sum * (1 + kSlack) >= needed) return true;
  }
  return sum * (1 + kSlack) >= needed;
}

bool PhaseBound::weighted_fit() const {
  if (ascending_.size() > kWeighedTargets) return true;
  const std::size_t step = (ends_.size() + kWeighedSizes - 1) / kWeighedSizes;
  std::vector<double> weights;
  for (std::size_t a = 0; a < ends_.size(); a += step) {
    const double large = sizes_[ends_[a] - 1];
    for (std::size_t b = a + step; b < ends_.size(); b += step) {
      const double small = sizes_[ends_[b] - 1];
      if (small <= 0 || ascending_.back() / large > kMostLarge) continue;
      // Weights that make two ways to fill the largest or the median target alike.
      weights.clear();
      for (const double capacity : {ascending_.back(), ascending_[ascending_.size() / 2]}) {
        for (double more = 1; more * large <= capacity; ++more) {
          for (double less = 0; less < more; ++less) {
            const double fewer = std::floor((capacity - less * large) / small) - std::floor((capacity - more * large) / small);
            weights.push_back(fewer / (more - less));
          }
        }
      }
      std::ranges::sort(weights);
      weights.erase(std::ranges::unique(weights).begin(), weights.end());
      for (const double weight : weights) {
        if (!weights_fit(ends_[a], ends_[b], weight)) return false;
      }
    }
  }
  return true;
}

bool PhaseBound::distinct_fit() const {
  double smallest = 0;
  for (std::size_t k = 1; k < forced_.size(); ++k) {
    smallest += ascending_[k - 1];
    if (smallest * (1 + kSlack) < forced_[k]) return false;
  }
  return true;
}

bool PhaseBound::excludes(double time) {
  if (sizes_.empty()) return false;
  if (targets_.empty()) return true;
  open(time);
  if (!bytes_fit() || std::ranges::max(capacity_) < sizes_.front()) return true;
  sort();
  if (most_stripes_ > 1 && !distinct_fit()) return true;
  for (const std::size_t end : ends_) {
    const double tau = sizes_[end - 1];
    if (tau <= 0) break;
    if (!fits(end, tau) || !alone_fits(end, tau) || !pairs_fit(end, tau)) return true;
  }
  return !weighted_fit();
}

double PhaseBound::value(double most) {
  if (!excludes(most * 1e-12)) return 0;
  double low = 0;
  double high = most;
  for (int step = 0; step < kSteps && high - low > high * kPrecision; ++step) {
    const double middle = (low + high) / 2;
    (excludes(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace iez::planning
