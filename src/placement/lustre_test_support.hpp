// Tables and answers for the tests of the policies that model Lustre.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "placement/policy.hpp"

namespace iez::placement {

// Target i is OST i on servers[i]; empty.
inline TargetTable table_on(const std::vector<std::uint32_t>& servers, Bytes capacity = Bytes::gib(10)) {
  TargetTable table;
  table.pools.emplace_back();
  for (const std::uint32_t server : servers) {
    const auto position = static_cast<std::uint32_t>(table.targets.size());
    table.targets.push_back({.ost = {position}, .server = server, .capacity = capacity, .available = capacity});
    table.pools[kAnyPool].members.push_back(position);
    if (server >= table.servers.size()) table.servers.resize(server + 1);
  }
  return table;
}

inline std::uint32_t add_pool(TargetTable& table, std::string name, std::vector<std::uint32_t> members) {
  table.pools.push_back({.name = std::move(name), .members = std::move(members)});
  return static_cast<std::uint32_t>(table.pools.size() - 1);
}

// Some targets excluded, some degraded, some pools; at least one target of each pool is active.
inline TargetTable random_table(Rng& rng) {
  std::vector<std::uint32_t> servers(rng.between(1, 24));
  const std::uint64_t count = rng.between(1, 6);
  for (std::uint32_t& server : servers) server = static_cast<std::uint32_t>(rng.below(count));
  TargetTable table = table_on(servers, Bytes::gib(100));
  for (Target& target : table.targets) {
    target.available = Bytes::mib(rng.between(1, 100 << 10U));
    target.degraded = rng.chance(0.2);
    if (rng.chance(0.15)) target.exclusion = Exclusion::no_create;
  }
  table.targets[0].exclusion = Exclusion::none;
  std::vector<std::uint32_t> members{0};
  for (std::uint32_t i = 1; i < servers.size(); ++i) {
    if (rng.chance(0.5)) members.push_back(i);
  }
  add_pool(table, "some", std::move(members));
  return table;
}

inline std::vector<Demand> random_demands(const TargetTable& table, Rng& rng, std::size_t count) {
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < count; ++i) {
    Demand demand{.object_bytes = Bytes::mib(rng.between(0, 64))};
    demand.pool = static_cast<std::uint32_t>(rng.below(table.pools.size()));
    demand.per_target = rng.chance(0.3) ? static_cast<std::uint32_t>(rng.between(2, 3)) : 1;
    const auto usable = std::ranges::count_if(table.pools[demand.pool].members, [&](std::uint32_t member) {
      return table.targets[member].exclusion == Exclusion::none;
    });
    demand.count = static_cast<std::uint32_t>(rng.between(1, static_cast<std::uint64_t>(usable) * demand.per_target));
    demands.push_back(demand);
  }
  return demands;
}

// The promises of every policy: members of the pool that nothing excludes, no more objects than asked for, in all and on a
// target.
inline void expect_sound(const TargetTable& table, std::span<const Demand> demands, const Assignment& answer) {
  ASSERT_EQ(answer.offsets.size(), demands.size() + 1);
  EXPECT_EQ(answer.offsets.front(), 0U);
  EXPECT_EQ(answer.offsets.back(), answer.targets.size());
  EXPECT_FALSE(answer.shortage);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const auto targets = answer.of(i);
    EXPECT_GE(targets.size(), 1U) << "demand " << i;
    EXPECT_LE(targets.size(), demands[i].count) << "demand " << i;
    for (const std::uint32_t target : targets) {
      EXPECT_TRUE(std::ranges::binary_search(table.pools[demands[i].pool].members, target)) << "demand " << i;
      EXPECT_EQ(table.targets[target].exclusion, Exclusion::none) << "demand " << i;
      EXPECT_LE(std::ranges::count(targets, target), demands[i].per_target) << "demand " << i;
    }
  }
}

inline std::vector<std::uint32_t> targets_of(const Assignment& answer, std::size_t demand) {
  const auto targets = answer.of(demand);
  return {targets.begin(), targets.end()};
}

inline std::vector<std::uint64_t> objects_on(const TargetTable& table, const Assignment& answer) {
  std::vector<std::uint64_t> objects(table.targets.size());
  for (const std::uint32_t target : answer.targets) ++objects[target];
  return objects;
}

// Empty file systems of 3 servers with 5 targets of 10 GiB each, and what is written to them.
struct PaperCase {
  std::size_t files = 0;
  std::uint32_t count = 0;
  Bytes object_bytes;
};
inline constexpr PaperCase kIorWide{.files = 64, .count = 8, .object_bytes = Bytes::mib(128)};
inline constexpr PaperCase kIorNarrow{.files = 64, .count = 4, .object_bytes = Bytes::mib(256)};
inline constexpr PaperCase kHacc{.files = 32, .count = 8, .object_bytes = Bytes::mib(54)};

struct Costs {
  double mean = 0;
  double least = 0;
  double most = 0;
};

// Largest over mean utilisation, over seeds from 0 on.
template <typename MakePolicy>
Costs paper_costs(const PaperCase& of, std::uint64_t seeds, MakePolicy make_policy) {
  const TargetTable table = table_on({0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2});
  const std::vector<Demand> demands(of.files, {.object_bytes = of.object_bytes, .count = of.count});
  Costs costs{.mean = 0, .least = 1e9, .most = 0};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto answer = make_policy(seed)->assign(table, demands);
    EXPECT_TRUE(answer) << "seed " << seed;
    if (!answer) return {};
    std::vector<Bytes> added(table.targets.size());
    for (const std::uint32_t target : answer->targets) added[target] += of.object_bytes;
    const double cost = balance(table, added).ost_cost;
    costs.mean += cost / static_cast<double>(seeds);
    costs.least = std::min(costs.least, cost);
    costs.most = std::max(costs.most, cost);
  }
  return costs;
}

}  // namespace iez::placement
