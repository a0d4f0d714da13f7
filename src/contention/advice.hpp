// Stripe advice: how many stripes, and of which size, for a job that is not alone.
//
// Every candidate count is put through the speed model (speed_model.hpp), which gives this job's speed and the others' slowdown.
// Of those that reach (1 - accept) of the best speed, the one with the least slowdown of the others is chosen; what is within
// kAlikeSlowdown of it counts as equal, since the model is no finer, and equal ones go to fewer stripes. The stripe size follows
// from how the file is written (stripe_size.hpp).
//
// A file per process puts ranks x count streams on the OSTs (equations 5 and 6). From some number of ranks on these contend with
// each other even at one stripe each; the advice then says how many writers would do better.
//
// Complexity: candidates x (window of own streams per OST x window of others'): milliseconds. Thread safety: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "contention/speed_model.hpp"

namespace iez::contention {

inline constexpr double kAlikeSlowdown = 0.005;

struct AdviceRequest {
  std::uint64_t ranks = 1;
  std::uint64_t ranks_per_node = 1;
  Bytes bytes;  // of all ranks together
  FileUse files = FileUse::shared;
  Bytes transfer = Bytes::mib(1);
  std::optional<Bytes> block;  // contiguous bytes of one rank; none: not known
  Load others;
  // The question of a site, not of a job: each of others.jobs is such a job and takes the same advice. Only their number counts.
  bool others_follow = false;
  double accept = 0.1;                    // the share of the best speed that may be given up: 0 to below 1
  std::vector<std::uint32_t> candidates;  // counts; empty: 1 to 16, then by 8 to 64, then by 16, and the largest
};

struct Choice {
  std::uint32_t stripes = 0;
  Prediction expected;
  double share_of_best = 0;
};

// Fewer writers of a file each would be faster.
struct Aggregation {
  std::uint64_t writers = 0;
  BytesPerSecond speed;
};

struct Advice {
  std::uint32_t stripes = 0;
  Bytes stripe_size;
  std::string reason;
  std::vector<Choice> curve;  // ascending by stripes
  std::size_t chosen = 0;     // in curve
  std::size_t fastest = 0;    // in curve; the fewest stripes of equals
  std::optional<Aggregation> aggregation;
};

// Fails for a wrong machine, load or request, naming the field.
[[nodiscard]] Result<Advice> advise(const Machine& machine, const AdviceRequest& request);

}  // namespace iez::contention
