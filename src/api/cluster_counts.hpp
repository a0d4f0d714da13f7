// What a coordinator answers of its cluster and its agents, counted: how many OSTs and agents, and in which state.
//
// The answer comes from the network, and may be of anything that listens there: JSON of another shape is an error with the field
// in it, and never an exception. Fields that are not asked for are ignored, so that an older program reads a newer coordinator.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::api {

// An OST that plans keep away from.
struct UnusableOst {
  std::string name;
  std::string state;  // "full"

  friend bool operator==(const UnusableOst&, const UnusableOst&) = default;
};

struct ClusterCounts {
  std::size_t osts = 0;
  std::size_t stale = 0;                   // of them not heard of for long
  Bytes reserved;                          // on all of them, by plans
  std::vector<UnusableOst> unusable = {};  // of those heard of

  friend bool operator==(const ClusterCounts&, const ClusterCounts&) = default;
};

// Of the answer to GET /v1/cluster. It must have `file_systems`, with `osts` in each: without them it is not of a coordinator.
[[nodiscard]] Result<ClusterCounts> count_cluster(std::string_view json);

// Agents by state, of the answer to GET /v1/agents. It must have `agents`, with a `state` in each.
[[nodiscard]] Result<std::map<std::string, std::size_t>> count_agents(std::string_view json);

}  // namespace iez::api
