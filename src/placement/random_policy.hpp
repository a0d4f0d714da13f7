// Targets by lot: the baseline without any knowledge.
//
// Each file gets distinct targets, every set of the pool's sound ones being equally likely, in random order. Degraded targets are
// drawn only for what the sound ones cannot take. When overstriping, every sound target gets one object before any gets a second,
// and so on up to Demand::per_target; then the degraded ones likewise. Free space is not looked at, and may be exceeded.
//
// Complexity: O(members) a call for each pool named, O(count) a file.
// Thread safety: none; one policy for each thread. Deterministic: same seed and calls, same answers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

struct RandomPolicyOptions {
  std::uint64_t seed = 0;
};

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(const RandomPolicyOptions& options) : rng_(options.seed) {}

  std::string_view name() const override { return "random"; }

  // Fails (not_found) for a demand whose pool has no usable target.
  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;

 private:
  Rng rng_;
};

}  // namespace iez::placement
