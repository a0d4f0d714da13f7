#include "contention/live.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace iez::contention {

namespace {

Result<std::vector<JobUse>> merged(std::span<const JobUse> uses) {
  std::vector<JobUse> sorted(uses.begin(), uses.end());
  for (const JobUse& use : sorted) {
    if (!std::isfinite(use.rate.value) || use.rate.value < 0) {
      return fail(Errc::invalid_argument,
                  fmt::format("job {} on OST {}: rate {}; expected a number of bytes per second, 0 or more", use.job,
                              use.ost.value, use.rate.value));
    }
  }
  // The rate is part of the key so that the sums do not depend on the order of the input.
  const auto key = [](const JobUse& use) { return std::pair(std::uint64_t{use.ost.value} << 32U | use.job, use.rate.value); };
  std::ranges::sort(sorted, {}, key);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (kept > 0 && sorted[kept - 1].ost == sorted[i].ost && sorted[kept - 1].job == sorted[i].job) {
      sorted[kept - 1].rate.value += sorted[i].rate.value;
    } else {
      sorted[kept++] = sorted[i];
    }
  }
  sorted.resize(kept);
  return sorted;
}

std::vector<OstContention> group_by_ost(std::span<const JobUse> uses) {
  std::vector<OstContention> osts;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (osts.empty() || osts.back().ost != uses[i].ost) osts.push_back({.ost = uses[i].ost, .first_use = i});
    ++osts.back().jobs;
    osts.back().rate.value += uses[i].rate.value;
  }
  return osts;
}

// Every job's OSTs, in order: the same uses the other way round.
class JobTable {
 public:
  explicit JobTable(std::span<const JobUse> uses) : by_job_(uses.begin(), uses.end()) {
    std::ranges::sort(by_job_, {}, [](const JobUse& use) { return std::uint64_t{use.job} << 32U | use.ost.value; });
    for (std::size_t i = 0; i < by_job_.size(); ++i) {
      if (i == 0 || by_job_[i].job != by_job_[i - 1].job) first_.push_back(i);
    }
    first_.push_back(by_job_.size());
  }

  std::size_t size() const { return first_.size() - 1; }
  std::span<const JobUse> at(std::size_t position) const {
    return std::span(by_job_).subspan(first_[position], first_[position + 1] - first_[position]);
  }
  // REQUIRES: the job is there.
  std::span<const JobUse> of(std::uint32_t job) const {
    const auto found =
        std::ranges::lower_bound(first_.begin(), first_.end() - 1, job, {}, [&](std::size_t i) { return by_job_[i].job; });
    return at(static_cast<std::size_t>(found - first_.begin()));
  }

 private:
  std::vector<JobUse> by_job_;
  std::vector<std::size_t> first_;
};

std::uint32_t jobs_on(std::span<const OstContention> osts, OstIndex ost) {
  return std::ranges::lower_bound(osts, ost, {}, &OstContention::ost)->jobs;
}

JobContention contention_of(std::span<const JobUse> uses, std::span<const OstContention> osts) {
  JobContention job{.job = uses.front().job, .osts = static_cast<std::uint32_t>(uses.size())};
  double writers = 0;
  for (const JobUse& use : uses) {
    const std::uint32_t here = jobs_on(osts, use.ost);
    writers += here;
    job.max_writers = std::max(job.max_writers, here);
    job.rate.value += use.rate.value;
    if (here < 2) continue;
    ++job.shared_osts;
    job.shared_rate.value += use.rate.value;
  }
  job.mean_writers = writers / static_cast<double>(uses.size());
  return job;
}

JobPair exact_pair(const JobTable& jobs, std::uint32_t first, std::uint32_t second) {
  JobPair pair{.first = first, .second = second};
  const std::span<const JobUse> left = jobs.of(first);
  const std::span<const JobUse> right = jobs.of(second);
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    if (left[i].ost < right[j].ost) {
      ++i;
    } else if (right[j].ost < left[i].ost) {
      ++j;
    } else {
      ++pair.osts;
      pair.rate.value += left[i++].rate.value + right[j++].rate.value;
    }
  }
  return pair;
}

struct ProposedPair {
  std::uint64_t key = 0;  // first job * 2^32 + second
  double rate = 0;
  std::uint32_t times = 1;
};

// Pairs among the busiest jobs of each OST, ascending by key; what an OST adds is summed.
std::vector<ProposedPair> proposed_pairs(const LiveState& state, std::uint32_t jobs_per_ost) {
  std::vector<ProposedPair> proposed;
  std::vector<JobUse> busiest;
  for (const OstContention& ost : state.osts) {
    const std::span<const JobUse> uses = state.uses_of(ost);
    busiest.assign(uses.begin(), uses.end());
    if (busiest.size() > jobs_per_ost) {
      const auto key = [](const JobUse& use) { return std::pair(-use.rate.value, use.job); };
      std::ranges::nth_element(busiest, busiest.begin() + jobs_per_ost, {}, key);
      busiest.resize(jobs_per_ost);
      std::ranges::sort(busiest, {}, &JobUse::job);
    }
    for (std::size_t i = 0; i < busiest.size(); ++i) {
      for (std::size_t j = i + 1; j < busiest.size(); ++j) {
        proposed.push_back({.key = std::uint64_t{busiest[i].job} << 32U | busiest[j].job,
                            .rate = busiest[i].rate.value + busiest[j].rate.value});
      }
    }
  }
  std::ranges::sort(proposed, {}, &ProposedPair::key);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < proposed.size(); ++i) {
    if (kept > 0 && proposed[kept - 1].key == proposed[i].key) {
      ++proposed[kept - 1].times;
      proposed[kept - 1].rate += proposed[i].rate;
    } else {
      proposed[kept++] = proposed[i];
    }
  }
  proposed.resize(kept);
  return proposed;
}

std::vector<JobPair> top_pairs(const LiveState& state, const JobTable& jobs, const LiveOptions& options) {
  std::vector<ProposedPair> proposed = proposed_pairs(state, options.jobs_per_ost);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(options.max_pairs, proposed.size()));
  std::ranges::partial_sort(proposed, proposed.begin() + kept, {},
                            [](const ProposedPair& p) { return std::tuple(-std::int64_t{p.times}, -p.rate, p.key); });
  proposed.resize(static_cast<std::size_t>(kept));
  std::vector<JobPair> pairs;
  pairs.reserve(proposed.size());
  for (const ProposedPair& pair : proposed) {
    pairs.push_back(exact_pair(jobs, static_cast<std::uint32_t>(pair.key >> 32U), static_cast<std::uint32_t>(pair.key)));
  }
  std::ranges::sort(pairs, {},
                    [](const JobPair& p) { return std::tuple(-std::int64_t{p.osts}, -p.rate.value, p.first, p.second); });
  return pairs;
}

}  // namespace

Result<LiveState> live_state(std::uint32_t osts, std::span<const JobUse> uses, const LiveOptions& options) {
  LiveState state;
  IEZ_TRY(state.uses, merged(uses));
  state.osts = group_by_ost(state.uses);
  if (state.osts.size() > osts) {
    return fail(Errc::invalid_argument,
                fmt::format("osts: {} are in use, but the machine is said to have {}", state.osts.size(), osts));
  }

  std::uint32_t most = 0;
  for (const OstContention& ost : state.osts) most = std::max(most, ost.jobs);
  state.sharing.assign(std::size_t{most} + 1, 0.0);
  state.sharing[0] = static_cast<double>(osts - state.osts.size());
  for (const OstContention& ost : state.osts) state.sharing[ost.jobs] += 1;
  state.now = usage_of_sharing(state.sharing);
  state.pairs_complete = most <= options.jobs_per_ost;

  state.hottest = state.osts;
  std::ranges::sort(state.hottest, {},
                    [](const OstContention& o) { return std::tuple(-std::int64_t{o.jobs}, -o.rate.value, o.ost); });
  if (state.hottest.size() > options.max_hottest) state.hottest.resize(options.max_hottest);

  const JobTable jobs(state.uses);
  std::vector<std::uint32_t> requests;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    state.jobs.push_back(contention_of(jobs.at(i), state.osts));
    requests.push_back(state.jobs.back().osts);
  }
  if (!requests.empty()) {
    IEZ_TRY(state.by_chance, expected_usage(osts, requests));
    state.against_chance = state.now.load / state.by_chance.load;
  }
  state.pairs = top_pairs(state, jobs, options);
  return state;
}

}  // namespace iez::contention
