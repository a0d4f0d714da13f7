// Contention as it is now: from which job uses which OST to the load metrics, the crowded OSTs and the jobs that meet there.
//
// Problem. Given (job, OST, rate) triples of one moment, say who shares what with whom, and whether the present state is better
// or worse than a random choice of OSTs would have made it.
//
// Algorithm. Sort the triples by OST, sum those of the same job and OST, and walk the groups. Pairs of jobs: an OST with k jobs
// has k (k - 1) / 2 of them, too many to count where thousands of jobs share one. So only the busiest jobs of each OST
// (Options::jobs_per_ost) propose pairs; the pairs proposed most often are then counted exactly, by merging both jobs' OST lists.
// Complexity: n triples, D OSTs in use, b = jobs_per_ost: O(n log n + D b^2 log(D b)) time, O(n + D b^2) memory.
// Limits: where an OST has more than b jobs, a pair that is never among its busiest may be missing (pairs_complete is false);
// what is shown of a pair is exact all the same.
//
// Thread safety: pure function, plain values. Units: bytes per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "contention/equations.hpp"

namespace iez::contention {

// One job's traffic to one OST. The caller keeps the names; equal numbers are the same job.
struct JobUse {
  std::uint32_t job = 0;
  OstIndex ost;
  BytesPerSecond rate;  // 0 is a use: the job has an object there

  friend bool operator==(const JobUse&, const JobUse&) = default;
};

struct OstContention {
  OstIndex ost;
  std::uint32_t jobs = 0;
  BytesPerSecond rate;        // of all of them
  std::size_t first_use = 0;  // its uses are LiveState::uses[first_use] to [first_use + jobs - 1]
};

struct JobContention {
  std::uint32_t job = 0;
  std::uint32_t osts = 0;         // it uses
  std::uint32_t shared_osts = 0;  // of these, used by others too
  double mean_writers = 1;        // jobs on its OSTs, itself included; 1: alone everywhere
  std::uint32_t max_writers = 1;
  BytesPerSecond rate;
  BytesPerSecond shared_rate;  // of its own, to shared OSTs
};

struct JobPair {
  std::uint32_t first = 0;  // first < second
  std::uint32_t second = 0;
  std::uint32_t osts = 0;  // both use
  BytesPerSecond rate;     // of both, to those OSTs

  friend bool operator==(const JobPair&, const JobPair&) = default;
};

struct LiveState {
  Usage now;
  Usage by_chance;                     // equation 1 for the same requests
  double against_chance = 1;           // now.load / by_chance.load: below 1 is better than chance; 1 when nothing is in use
  std::vector<double> sharing;         // element k: OSTs that exactly k jobs use; sums to the machine's OSTs
  std::vector<OstContention> osts;     // in use, ascending by index
  std::vector<JobUse> uses;            // ascending by OST, then job; one per job and OST
  std::vector<JobContention> jobs;     // ascending by job
  std::vector<OstContention> hottest;  // most jobs first, then highest rate, then index
  std::vector<JobPair> pairs;          // most shared OSTs first, then highest rate, then job numbers
  bool pairs_complete = true;          // no OST had too many jobs to propose all its pairs

  std::span<const JobUse> uses_of(const OstContention& ost) const { return std::span(uses).subspan(ost.first_use, ost.jobs); }
};

struct LiveOptions {
  std::size_t max_pairs = 100;
  std::size_t max_hottest = 20;
  std::uint32_t jobs_per_ost = 32;
};

// osts: how many the machine has. Fails if more are in use than it has, and for a rate that is negative or no number.
[[nodiscard]] Result<LiveState> live_state(std::uint32_t osts, std::span<const JobUse> uses, const LiveOptions& options = {});

}  // namespace iez::contention
