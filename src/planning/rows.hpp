// From rows - a file each, or a pattern that stands for several alike - to the files of a problem, and from its plan back to
// rows.
//
// A request of a client and a prediction of the store are both lists of rows; here is what they have in common. Phases may be
// numbered in any way: those that no row names cost nothing.
//
// Thread safety: pure functions. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "planning/planner.hpp"
#include "planning/problem.hpp"

namespace iez::planning {

struct Row {
  File file;                // what each of its files is
  std::uint64_t files = 1;  // of a pattern: each is a file of its own
};

struct RowLayout {
  Bytes stripe_size;
  Bytes object_bytes;          // of the largest object
  std::vector<OstIndex> osts;  // in stripe order
};

struct PlannedRow {
  std::vector<RowLayout> layouts;  // one for each of its files; none where Lustre places them
  std::string reason;
};

struct RowsPlan {
  Plan plan;
  std::vector<File> files;  // of the problem: in the order of phases
  std::vector<PlannedRow> rows;
  std::size_t short_of_room = 0;  // with Verdict::no_room: the row

  bool made() const { return plan.made(); }
};

// What the rows are planned among.
struct Surroundings {
  const placement::TargetTable& table;
  std::vector<double> phase_seconds;  // by the number that rows give their phases; missing ones are not known
  std::vector<double> speed;          // as in Problem
  std::vector<double> load;
  const placement::TargetTable* seen = nullptr;
};

inline constexpr std::uint64_t kMaxRowFiles = 1'000'000;

// Fails with Errc::limit if there are more files than kMaxRowFiles, with Errc::not_found if nothing takes objects.
[[nodiscard]] Result<RowsPlan> plan_rows(std::span<const Row> rows, const Surroundings& around, const PlanOptions& options = {});

}  // namespace iez::planning
