// Problems for the tests of planning, and placements by trying all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "model/cluster.hpp"
#include "placement/targets.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

// So many servers with so many targets each, of 10 GiB, empty.
inline placement::TargetTable machine(std::uint32_t servers, std::uint32_t per_server) {
  model::Cluster cluster{.name = "test"};
  for (std::uint32_t o = 0; o < servers; ++o) cluster.servers.push_back({.name = "oss" + std::to_string(o)});
  for (std::uint32_t j = 0; j < servers * per_server; ++j) {
    cluster.osts.push_back(
        {.index = {j}, .oss = j / per_server, .total = Bytes::gib(10), .free = Bytes::gib(10), .available = Bytes::gib(10)});
  }
  return *placement::make_targets(cluster, {});
}

inline void fill(placement::TargetTable& table, std::uint32_t target, Bytes used) {
  table.targets[target].used = used;
  table.targets[target].available = table.targets[target].capacity - used;
}

inline File file(std::uint64_t mib, std::uint32_t phase, std::uint32_t stripes = 1) {
  return {.bytes = Bytes::mib(mib), .room = Bytes::mib(mib), .phase = phase, .stripes = stripes};
}

// Each file on as many different targets as it has stripes, all of which take objects and have room for all that is put there.
inline void expect_sound(const Problem& problem, const Placement& placement) {
  ASSERT_EQ(placement.files.size(), problem.files.size());
  std::vector<std::uint64_t> needed(problem.table.targets.size());
  for (std::size_t i = 0; i < problem.files.size(); ++i) {
    const Placed& placed = placement.files[i];
    if (problem.files[i].left_alone) {
      EXPECT_EQ(placed.stripes, 0U);
      continue;
    }
    ASSERT_GE(placed.stripes, 1U) << "file " << i;
    const auto targets = placement.of(placed);
    EXPECT_EQ(std::set<std::uint32_t>(targets.begin(), targets.end()).size(), targets.size()) << "file " << i;
    for (const std::uint32_t target : targets) {
      EXPECT_EQ(problem.table.targets[target].exclusion, placement::Exclusion::none);
      needed[target] += placed.object_bytes.count;
    }
  }
  for (std::size_t j = 0; j < needed.size(); ++j) EXPECT_LE(needed[j], problem.table.targets[j].available.count);
}

// The least sum of phase times for files of one stripe, by trying every placement for which there is room.
class BruteForce {
 public:
  explicit BruteForce(const Problem& problem) : problem_(problem), taken_(problem.table.targets.size()) {
    placement_.files.resize(problem.files.size());
    placement_.targets.resize(problem.files.size());
    for (std::size_t i = 0; i < problem.files.size(); ++i) {
      placement_.files[i] = {.stripes = 1, .stripe_size = Bytes::mib(1), .object_bytes = problem.files[i].bytes, .first = i};
    }
  }
  double best() {
    place(0);
    return best_;
  }

 private:
  void place(std::size_t i) {
    if (i == problem_.files.size()) {
      best_ = std::min(best_, score(problem_, placement_).seconds);
      return;
    }
    const std::uint64_t room = std::max(problem_.files[i].bytes, problem_.files[i].room).count;
    for (std::uint32_t j = 0; j < problem_.table.targets.size(); ++j) {
      if (taken_[j] + room > problem_.table.targets[j].available.count) continue;
      placement_.targets[i] = j;
      taken_[j] += room;
      place(i + 1);
      taken_[j] -= room;
    }
  }

  const Problem& problem_;
  Placement placement_;
  std::vector<std::uint64_t> taken_;  // room, on each target
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace iez::planning
