// How objects get their targets: the one interface behind which policies compete.
//
// A policy is given demands - sets of equal objects that one file wants on distinct targets - in the order of creation, and
// answers with targets. Names, stripe sizes, progressive layouts and reasons are made around it (plan.hpp).
//
// Thread safety: a policy may keep state between calls (Lustre's round robin does); give each thread its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

// A plain file, or one component of a progressive file.
struct Demand {
  Bytes object_bytes;            // of each object
  std::uint32_t count = 1;       // objects; at most per_target times the usable targets of the pool
  std::uint32_t per_target = 1;  // more than 1: overstriping, so many objects may share a target
  std::uint32_t pool = kAnyPool;

  friend bool operator==(const Demand&, const Demand&) = default;
};

// The first demand that found no room: all of the assignment is void.
struct Shortage {
  std::size_t demand = 0;
  std::uint32_t placed = 0;  // objects of it, or of its equals, that would have found room
};

struct Assignment {
  std::vector<std::uint64_t> offsets;  // demands + 1: objects of demand i are targets[offsets[i]] to targets[offsets[i + 1] - 1]
  std::vector<std::uint32_t> targets;  // positions in the table, in stripe order
  std::optional<Shortage> shortage;    // set: nothing else is

  std::span<const std::uint32_t> of(std::size_t demand) const {
    return std::span(targets).subspan(offsets[demand], offsets[demand + 1] - offsets[demand]);
  }
};

class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  virtual std::string_view name() const = 0;

  // REQUIRES: every demand has count >= 1, per_target >= 1, a pool of the table, and count <= per_target x usable targets of its
  // pool (sound and degraded).
  // A policy that heeds free space reports a shortage rather than exceed it; one that models a file system that does not
  // (Lustre's, random) places as that would, and may give a demand fewer objects than asked, but at least one.
  [[nodiscard]] virtual Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) = 0;
};

// "balanced", "paper", "paper-sequential", "lustre-rr", "lustre-qos", "random", in this order.
std::span<const std::string_view> policy_names();

// seed: of the policies that draw. Fails for an unknown name, with the nearest known one.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(std::string_view name, std::uint64_t seed);

}  // namespace iez::placement
