// How fast OSTs are beside each other: what a run saw of them, and what all runs of the store come to.
//
// The law is planning/target_speeds.hpp; here it gets the files of a run with where they lie, and the runs of the store. Runs of
// all applications count, and of all users where they share a store: it is the same file system.
//
// Thread safety: none beyond that of the store.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "planning/target_speeds.hpp"
#include "runs/gather.hpp"
#include "runs/mount_table.hpp"
#include "store/store.hpp"

namespace iez::runs {

// The OSTs of a file system that are under suspicion now.
[[nodiscard]] Result<std::vector<planning::SlowTarget>> slow_targets(store::Store& store, std::string_view file_system,
                                                                     std::int64_t now_ns);

// Those that were under suspicion when all runs that ended by then had been seen.
[[nodiscard]] Result<std::vector<OstIndex>> suspects_at(store::Store& store, std::string_view file_system, std::int64_t then_ns);

// What the run saw, on each file system that it wrote planned files to.
[[nodiscard]] Result<std::vector<store::RunTargets>> seen_targets(const Gathered& gathered,
                                                                  const std::vector<LayoutMount>& mounts, store::Store& store,
                                                                  std::int64_t now_ns);

// ---- Pure parts ----

// Those of the runs that wrote to the file system.
std::vector<planning::SeenRun> sightings(std::span<const store::Run> runs, std::string_view file_system);

// The files of write phases on one file system, with their places among the files of their phase.
std::vector<planning::WrittenFile> written_on(const Gathered& gathered, const std::vector<LayoutMount>& mounts,
                                              std::string_view file_system);

}  // namespace iez::runs
