#include "contention/equations.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace iez::contention {

namespace {

constexpr double kNegligible = 1e-15;
constexpr double kMaxLoad = 1e9;

Result<void> check_request(std::uint32_t osts, std::uint32_t stripes, std::size_t position) {
  if (stripes == 0) {
    return fail(Errc::invalid_argument, fmt::format("request {}: 0 stripes; a job uses at least 1 OST", position));
  }
  if (stripes > osts) {
    return fail(Errc::invalid_argument,
                fmt::format("request {}: {} stripes on distinct OSTs, but there are {} OSTs", position, stripes, osts));
  }
  return {};
}

Result<void> check_osts(std::uint32_t osts) {
  if (osts == 0) return fail(Errc::invalid_argument, "osts: 0; expected at least 1");
  return {};
}

Result<void> check_load(double load) {
  if (!(load >= 1) || load > kMaxLoad) {
    return fail(Errc::invalid_argument, fmt::format("load: {}; expected 1 (no sharing) to {:.0e}", load, kMaxLoad));
  }
  return {};
}

Usage usage(double in_use, double requested) { return {in_use, requested, in_use > 0 ? requested / in_use : 0}; }

// D - D (1 - R/D)^n without the cancellation that many OSTs and few stripes would bring.
double equal_in_use(double osts, double stripes, double jobs) {
  if (jobs == 0) return 0;
  if (stripes >= osts) return osts;
  return -osts * std::expm1(jobs * std::log1p(-stripes / osts));
}

// How many of the independent trials so far succeeded. Keeps only the window of counts that is not negligible.
class TrialCount {
 public:
  void add(double chance) {
    chance_.push_back(0);
    for (std::size_t i = chance_.size() - 1; i > 0; --i) chance_[i] = chance_[i] * (1 - chance) + chance_[i - 1] * chance;
    chance_[0] *= 1 - chance;
    // A thousandth of what is shown: what is cut off here over many trials stays below it.
    while (chance_.size() > 1 && chance_.back() < kNegligible * 1e-3) chance_.pop_back();
    const auto first = std::ranges::find_if(chance_, [](double c) { return c >= kNegligible * 1e-3; });
    const auto below = first - chance_.begin();
    chance_.erase(chance_.begin(), first);
    first_ += static_cast<std::size_t>(below);
  }

  std::vector<double> scaled(double total) const {
    std::vector<double> result(first_, 0.0);
    for (const double chance : chance_) result.push_back(chance * total);
    while (result.size() > 1 && result.back() < kNegligible * total) result.pop_back();
    return result;
  }

 private:
  std::size_t first_ = 0;  // the count that chance_[0] belongs to
  std::vector<double> chance_ = {1.0};
};

// total x the binomial law, grown from its likeliest count by the ratio of neighbours: no factorials, no loss of digits, and
// time for the counts that matter only.
std::vector<double> binomial(std::uint64_t trials, double chance, double total) {
  if (chance >= 1) {
    std::vector<double> certain(trials + 1, 0.0);
    certain.back() = total;
    return certain;
  }
  const auto n = static_cast<double>(trials);
  const double odds = chance / (1 - chance);
  const auto mode = std::min(trials, static_cast<std::uint64_t>((n + 1) * chance));
  std::vector<double> below;  // mode - 1, mode - 2, ...
  double value = 1;
  double sum = 1;
  for (std::uint64_t k = mode; k > 0; --k) {
    value *= static_cast<double>(k) / (n - static_cast<double>(k) + 1) / odds;
    if (value < kNegligible * kNegligible) break;
    below.push_back(value);
    sum += value;
  }
  std::vector<double> result(mode - below.size(), 0.0);
  result.insert(result.end(), below.rbegin(), below.rend());
  value = 1;
  for (std::uint64_t k = mode;; ++k) {
    result.push_back(value);
    if (k == trials) break;
    value *= (n - static_cast<double>(k)) / (static_cast<double>(k) + 1) * odds;
    if (value < kNegligible) break;
    sum += value;
  }
  for (double& each : result) each *= total / sum;
  return result;
}

// The smallest number in (low, high] for which `holds` does. REQUIRES: it holds from some number on, at the latest from high.
template <typename Predicate>
std::uint64_t first_that(std::uint64_t low, std::uint64_t high, Predicate holds) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Result<Usage> expected_usage(std::uint32_t osts, std::span<const std::uint32_t> requests) {
  IEZ_CHECK(check_osts(osts));
  double in_use = 0;
  double requested = 0;
  for (std::size_t j = 0; j < requests.size(); ++j) {
    IEZ_CHECK(check_request(osts, requests[j], j));
    const double stripes = requests[j];
    in_use += stripes - in_use / osts * stripes;
    requested += stripes;
  }
  return usage(in_use, requested);
}

Result<Usage> expected_usage(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs) {
  IEZ_CHECK(check_osts(osts));
  IEZ_CHECK(check_request(osts, stripes, 0));
  const auto n = static_cast<double>(jobs);
  return usage(equal_in_use(osts, stripes, n), stripes * n);
}

Result<Usage> log_structured_usage(std::uint32_t osts, std::uint64_t ranks) {
  return expected_usage(osts, kLogStructuredStripes, ranks);
}

Result<std::vector<double>> expected_sharing(std::uint32_t osts, std::span<const std::uint32_t> requests) {
  IEZ_CHECK(check_osts(osts));
  TrialCount count;
  for (std::size_t j = 0; j < requests.size(); ++j) {
    IEZ_CHECK(check_request(osts, requests[j], j));
    count.add(static_cast<double>(requests[j]) / osts);
  }
  return count.scaled(osts);
}

Result<std::vector<double>> expected_sharing(std::uint32_t osts, std::uint32_t stripes, std::uint64_t jobs) {
  IEZ_CHECK(check_osts(osts));
  IEZ_CHECK(check_request(osts, stripes, 0));
  return binomial(jobs, static_cast<double>(stripes) / osts, osts);
}

Usage usage_of_sharing(std::span<const double> sharing) {
  double in_use = 0;
  double requested = 0;
  for (std::size_t k = 1; k < sharing.size(); ++k) {
    in_use += sharing[k];
    requested += static_cast<double>(k) * sharing[k];
  }
  return usage(in_use, requested);
}

Result<std::optional<std::uint32_t>> osts_for_load(std::uint32_t stripes, std::uint64_t jobs, double load) {
  if (stripes == 0) return fail(Errc::invalid_argument, "stripes: 0; a job uses at least 1 OST");
  if (jobs == 0) return fail(Errc::invalid_argument, "jobs: 0; expected at least 1");
  IEZ_CHECK(check_load(load));
  const auto n = static_cast<double>(jobs);
  const auto enough = [&](std::uint64_t osts) {
    return usage(equal_in_use(static_cast<double>(osts), stripes, n), stripes * n).load <= load;
  };
  if (enough(stripes)) return stripes;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (jobs > 1 && load == 1) return std::nullopt;  // rounding might say otherwise of very many OSTs
  if (!enough(kMost)) return std::nullopt;
  return static_cast<std::uint32_t>(first_that(stripes, kMost, enough));
}

Result<std::uint64_t> jobs_to_pass_load(std::uint32_t osts, std::uint32_t stripes, double load) {
  IEZ_CHECK(check_osts(osts));
  IEZ_CHECK(check_request(osts, stripes, 0));
  IEZ_CHECK(check_load(load));
  const auto passed = [&](std::uint64_t jobs) {
    const auto n = static_cast<double>(jobs);
    // One job shares with nobody, whatever rounding makes of the quotient.
    return jobs > 1 && usage(equal_in_use(osts, stripes, n), stripes * n).load > load;
  };
  std::uint64_t high = 2;
  while (!passed(high)) high *= 2;  // D_load >= n R / D, so this ends below 2 x 1e9 x 2^32
  return first_that(high / 2, high, passed);
}

}  // namespace iez::contention
