// Tables, demands, brute force and checks for the tests of the policies that heed space.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "model/cluster.hpp"
#include "placement/classes.hpp"
#include "placement/levels.hpp"
#include "placement/lustre_test_support.hpp"
#include "placement/policy.hpp"
#include "placement/request.hpp"
#include "placement/spread.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

struct Instance {
  TargetTable table;
  std::vector<Demand> demands;
};

// Shares of the servers as bandwidths alike give them.
inline void even_shares(TargetTable& table) {
  for (Server& server : table.servers) server.share = 1.0 / static_cast<double>(table.servers.size());
}

// Empty; target j on server j / per_server.
inline TargetTable grid(std::uint32_t servers, std::uint32_t per_server, Bytes capacity = Bytes::gib(10)) {
  std::vector<std::uint32_t> server_of(std::size_t{servers} * per_server);
  for (std::uint32_t j = 0; j < server_of.size(); ++j) server_of[j] = j / per_server;
  TargetTable table = table_on(server_of, capacity);
  even_shares(table);
  return table;
}

inline void fill(Target& target, Bytes used) {
  target.used = used;
  target.available = target.capacity - used;
}

inline TargetTable paper_table() { return grid(3, 5); }

inline std::vector<Bytes> added_by(const TargetTable& table, std::span<const Demand> demands, const Assignment& answer) {
  std::vector<Bytes> added(table.targets.size());
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (const std::uint32_t target : answer.of(i)) added[target] += demands[i].object_bytes;
  }
  return added;
}

inline double highest_after(const TargetTable& table, std::span<const Demand> demands, const Assignment& answer) {
  return balance(table, added_by(table, demands, answer)).max_utilisation;
}

// What a policy that heeds space promises: the promises of every policy, all objects, no target beyond what is available.
inline void expect_placed(const TargetTable& table, std::span<const Demand> demands, const Assignment& answer) {
  ASSERT_NO_FATAL_FAILURE(expect_sound(table, demands, answer));
  for (std::size_t i = 0; i < demands.size(); ++i) EXPECT_EQ(answer.of(i).size(), demands[i].count) << "demand " << i;
  const std::vector<Bytes> added = added_by(table, demands, answer);
  for (std::size_t j = 0; j < added.size(); ++j) EXPECT_LE(added[j].count, table.targets[j].available.count) << "target " << j;
}

// The smallest largest utilisation, by trying every placement; infinity if there is none. For a handful of files and targets.
class BruteForce {
 public:
  explicit BruteForce(const Instance& instance) : instance_(instance), added_(instance.table.targets.size()) {}

  double best() {
    file(0);
    return best_;
  }

 private:
  void file(std::size_t i) {
    if (i == instance_.demands.size()) {
      best_ = std::min(best_, balance(instance_.table, added_).max_utilisation);
      return;
    }
    object(i, 0, instance_.demands[i].count);
  }

  void object(std::size_t i, std::size_t member, std::uint32_t left) {
    if (left == 0) {
      file(i + 1);
      return;
    }
    const Demand& demand = instance_.demands[i];
    const auto& members = instance_.table.pools[demand.pool].members;
    if (member == members.size()) return;
    const Target& target = instance_.table.targets[members[member]];
    const Bytes before = added_[members[member]];
    for (std::uint32_t here = 0; here <= std::min(left, demand.per_target); ++here) {
      const Bytes after{before.count + here * demand.object_bytes.count};
      if (here > 0 && (target.exclusion != Exclusion::none || after > target.available)) break;
      added_[members[member]] = after;
      object(i, member + 1, left - here);
    }
    added_[members[member]] = before;
  }

  const Instance& instance_;
  std::vector<Bytes> added_;
  double best_ = std::numeric_limits<double>::infinity();
};

// What the random instances have that is not plain.
struct Variety {
  bool capacities = true;
  bool use = true;
  bool sizes = true;
  bool counts = true;
  bool overstripe = false;
  bool shares = true;  // of servers
};

// 2 to 4 targets, 1 to 4 files: small enough for BruteForce. Room is mostly, not always, enough.
inline Instance small_instance(Rng& rng, const Variety& variety) {
  std::vector<std::uint32_t> server_of(rng.between(2, 4));
  const std::uint64_t servers = rng.between(1, 3);
  for (std::uint32_t& server : server_of) server = static_cast<std::uint32_t>(rng.below(servers));
  Instance instance{.table = table_on(server_of, Bytes::mib(4096)), .demands = {}};
  even_shares(instance.table);
  if (variety.shares) {
    for (Server& server : instance.table.servers) server.share *= 0.25 + rng.unit();
  }
  for (Target& target : instance.table.targets) {
    if (variety.capacities) target.capacity = Bytes::mib(1024 * rng.between(1, 8));
    fill(target, variety.use ? Bytes::mib(rng.below(target.capacity.count >> 20U)) : Bytes{});
  }
  const Bytes size = Bytes::mib(rng.between(1, 600));
  const auto count = static_cast<std::uint32_t>(rng.between(1, server_of.size()));
  const std::uint64_t files = rng.between(1, 4);
  for (std::uint64_t i = 0; i < files; ++i) {
    Demand demand{.object_bytes = variety.sizes ? Bytes::mib(rng.between(1, 600)) : size, .count = count};
    if (variety.overstripe && rng.chance(0.5)) demand.per_target = 2;
    if (variety.counts) demand.count = static_cast<std::uint32_t>(rng.between(1, server_of.size() * demand.per_target));
    instance.demands.push_back(demand);
  }
  return instance;
}

// A few dozen targets and files, several capacities, some targets used, excluded or degraded, two pools, overstriping. There is
// room for all of it nearly always.
inline Instance large_instance(Rng& rng) {
  Instance instance{.table = random_table(rng), .demands = {}};
  even_shares(instance.table);
  for (Target& target : instance.table.targets) {
    target.capacity = Bytes::gib(rng.between(1, 4) * 50);
    fill(target, Bytes::gib(rng.below(target.capacity.count >> 30U)));
  }
  instance.demands = random_demands(instance.table, rng, rng.between(1, 40));
  for (Demand& demand : instance.demands) {
    if (rng.chance(0.3)) demand.object_bytes = Bytes::mib(rng.between(64, 4096));
  }
  return instance;
}

// Degraded targets only where the sound ones could not hold the demand by themselves: checked for the demands whose pool has
// enough sound targets with room to spare for everything.
inline void expect_degraded_last(const TargetTable& table, std::span<const Demand> demands, const Assignment& answer) {
  Bytes all;
  for (const Demand& demand : demands) all += Bytes{demand.object_bytes.count * demand.count};
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const auto sound = usable(table, demands[i].pool).sound;
    const auto roomy = std::ranges::count_if(sound, [&](std::uint32_t at) { return table.targets[at].available >= all; });
    if (static_cast<std::uint64_t>(roomy) < demands[i].count) continue;
    for (const std::uint32_t at : answer.of(i)) EXPECT_FALSE(table.targets[at].degraded) << "demand " << i << " target " << at;
  }
}

// Levels and spreads tell the same story, and keep to what each class may have.
inline void expect_consistent(const Instance& instance, const std::vector<DemandClass>& classes, const Levels& levels,
                              const Spreads& spreads) {
  std::vector<std::uint64_t> bytes(levels.size());
  ASSERT_EQ(spreads.classes.size(), classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    std::uint64_t objects = 0;
    const PoolLevels& pool = levels.pool(classes[k].demand.pool);
    for (const TargetCount& entry : spreads.classes[k].counts()) {
      objects += entry.objects;
      EXPECT_LE(entry.objects, classes[k].most_per_target());
      EXPECT_TRUE(std::ranges::binary_search(pool.sound, entry.target) ||
                  (spreads.second_choice[k] && std::ranges::binary_search(pool.second, entry.target)));
      bytes[entry.target] += entry.objects * classes[k].demand.object_bytes.count;
    }
    EXPECT_EQ(objects, classes[k].objects());
  }
  for (std::uint32_t at = 0; at < levels.size(); ++at) {
    const Target& target = instance.table.targets[levels[at].position];
    EXPECT_EQ(levels[at].used, target.used.count + bytes[at]);
    EXPECT_LE(bytes[at], target.available.count);
    EXPECT_EQ(levels[at].available, target.available.count - bytes[at]);
  }
}

// A file system of servers with equal targets, as telemetry would tell it.
inline model::Cluster cluster_of(std::size_t servers, std::size_t per_server, Bytes capacity = Bytes::gib(10)) {
  model::Cluster cluster{.name = "test"};
  for (std::size_t o = 0; o < servers; ++o) cluster.servers.push_back({.name = "oss" + std::to_string(o)});
  for (std::size_t j = 0; j < servers * per_server; ++j) {
    cluster.osts.push_back({.index = {static_cast<std::uint32_t>(j)}, .name = "test-OST" + std::to_string(j)});
    cluster.osts.back().oss = j / per_server;
    cluster.osts.back().total = cluster.osts.back().free = cluster.osts.back().available = capacity;
  }
  return cluster;
}

inline Request request_of(std::string name, Bytes bytes, std::int32_t count) {
  Request request{.name = std::move(name), .bytes = bytes};
  request.stripe_count = count;
  return request;
}

}  // namespace iez::placement
