// The files of a scenario, placed: which object lies on which target, and where.
//
// The placement policies are those that ship (placement/policy.hpp, planning/planner.hpp); they see the machine empty, and all
// files in the order in which their jobs start, and of a job step after step. Where on a target an object lies is drawn:
// neighbours there are no neighbours in a job.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "sim/rpc_pool.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

struct Object {
  std::uint64_t base = 0;  // first byte on the target
  std::uint32_t target = 0;
  std::uint32_t owner = kNone;  // the node that has it for itself, or the first that had
  bool contended = false;       // several nodes write it
};

struct ObjectTable {
  std::vector<Object> objects;
  std::vector<std::uint32_t> first;      // of each job: those of its files follow, file after file, each stripe after stripe
  std::vector<std::uint32_t> on_target;  // objects of each target
};

// Fails where the files do not fit.
[[nodiscard]] Result<ObjectTable> place_objects(const Scenario& scenario, Rng& rng);

}  // namespace iez::sim
