// The targets while a batch is being placed: how full each is, what the batch puts on it, and what the next object there costs.
//
// Cost of a byte more on target j of server o:
//
//     used_j / capacity_j  +  w_target planned_j / fair_j  +  w_server planned_o / fair_o
//
// planned: bytes of this batch and of others' reservations, all about to be written; fair: the part of all planned bytes that the
// server's bandwidth share (and the target's equal part of it) stands for. A weight is the utilisation that one fair share of
// traffic more is worth: with 0.05, a server gets twice its share only if its targets are emptier by 5 % of their size.
// The largest utilisation comes before all of this (balanced.hpp).
//
// Targets are kept in an order that depends on what they are, not on where they stand in the table, so that a permuted table
// gives a permuted placement of the same quality.
//
// Thread safety: none. Units: bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/classes.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

struct TrafficWeights {
  double target = 0.05;
  double server = 0.05;
};

struct Level {
  double capacity = 0;
  std::uint64_t used = 0;
  std::uint64_t available = 0;
  std::uint64_t planned = 0;
  double per_byte = 0;  // w_target / fair_j
  std::uint32_t server = 0;
  std::uint32_t position = 0;  // in the table

  double utilisation() const { return static_cast<double>(used) / capacity; }
  double after(std::uint64_t bytes) const { return static_cast<double>(used + bytes) / capacity; }
  double cost() const { return utilisation() + per_byte * static_cast<double>(planned); }
};

struct ServerLevel {
  std::uint64_t planned = 0;
  double per_byte = 0;  // w_server / fair_o

  double cost() const { return per_byte * static_cast<double>(planned); }
};

// The usable targets of a pool, as places in Levels.
struct PoolLevels {
  std::vector<std::uint32_t> sound;
  std::vector<std::uint32_t> second;  // taken when the sound ones do not suffice
};

class Levels {
 public:
  Levels(const TargetTable& table, std::span<const DemandClass> classes, const TrafficWeights& weights);

  std::size_t size() const { return levels_.size(); }
  const Level& operator[](std::uint32_t at) const { return levels_[at]; }
  const ServerLevel& server(std::uint32_t server) const { return servers_[server]; }
  std::size_t servers() const { return servers_.size(); }
  const PoolLevels& pool(std::uint32_t pool) const { return pools_[pool]; }

  // The same targets, with traffic of no weight.
  Levels space_only() const;

  // Whether servers or traffic matter at all.
  bool weighs_traffic() const { return weighs_traffic_; }

  double max_utilisation() const;

  void add(std::uint32_t at, std::uint64_t bytes);
  void remove(std::uint32_t at, std::uint64_t bytes);

 private:
  std::vector<Level> levels_;
  std::vector<ServerLevel> servers_;
  std::vector<PoolLevels> pools_;
  bool weighs_traffic_ = false;
};

}  // namespace iez::placement
