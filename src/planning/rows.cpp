#include "planning/rows.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace iez::planning {

namespace {

// The phases that rows name, in ascending order: their places in it are the phases of the problem.
std::vector<std::uint32_t> phases_named(std::span<const Row> rows) {
  std::vector<std::uint32_t> named;
  for (const Row& row : rows) {
    for (const std::uint32_t phase : {row.file.phase, row.file.read_phase}) {
      if (phase != kNoPhase) named.push_back(phase);
    }
  }
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  return named;
}

std::uint32_t place_of(std::span<const std::uint32_t> named, std::uint32_t phase) {
  return phase == kNoPhase ? kNoPhase : static_cast<std::uint32_t>(std::ranges::lower_bound(named, phase) - named.begin());
}

struct PhaseFacts {
  std::uint64_t files = 0;
  Bytes bytes;
};

std::size_t usable_in(const placement::TargetTable& table, std::uint32_t pool) {
  const placement::Usable usable = placement::usable(table, pool);
  return usable.sound.empty() ? usable.second.size() : usable.sound.size();
}

}  // namespace

Result<RowsPlan> plan_rows(std::span<const Row> rows, const Surroundings& around, const PlanOptions& options) {
  std::uint64_t count = 0;
  for (const Row& row : rows) count = saturating_add(count, row.files);
  if (count > kMaxRowFiles) return fail(Errc::limit, fmt::format("{} files are too many: at most {}", count, kMaxRowFiles));
  const std::vector<std::uint32_t> named = phases_named(rows);
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return rows[i].file.phase; });

  RowsPlan out;
  out.files.reserve(static_cast<std::size_t>(count));
  std::vector<std::uint32_t> row_of;
  row_of.reserve(static_cast<std::size_t>(count));
  for (const std::uint32_t i : order) {
    File file = rows[i].file;
    file.phase = place_of(named, file.phase);
    file.read_phase = place_of(named, file.read_phase);
    out.files.insert(out.files.end(), static_cast<std::size_t>(rows[i].files), file);
    row_of.insert(row_of.end(), static_cast<std::size_t>(rows[i].files), i);
  }
  Problem problem{
      .table = around.table, .files = out.files, .phases = {}, .speed = around.speed, .load = around.load, .seen = around.seen};
  for (const std::uint32_t phase : named) {
    problem.phases.push_back({.seconds = phase < around.phase_seconds.size() ? around.phase_seconds[phase] : 0});
  }
  if (problem.phases.empty()) problem.phases.emplace_back();
  IEZ_TRY(out.plan, make_plan(problem, options));
  if (out.plan.verdict == Verdict::no_room) out.short_of_room = row_of[out.plan.short_of_room];
  out.rows.resize(rows.size());
  std::vector<PhaseFacts> phases(problem.phases.size());
  for (const File& file : out.files) {
    const std::uint32_t home = home_of(problem, file);
    if (home >= phases.size() || file.left_alone) continue;
    ++phases[home].files;
    phases[home].bytes += file.bytes;
  }
  for (std::size_t k = 0; k < out.files.size(); ++k) {
    const Placed& placed = out.plan.placement.files[k];
    if (placed.stripes == 0) continue;
    PlannedRow& row = out.rows[row_of[k]];
    RowLayout& layout = row.layouts.emplace_back();
    layout.stripe_size = placed.stripe_size;
    layout.object_bytes = placed.object_bytes;
    for (const std::uint32_t target : out.plan.placement.of(placed)) layout.osts.push_back(around.table.targets[target].ost);
    if (!row.reason.empty()) continue;
    const std::uint32_t home = home_of(problem, out.files[k]);
    const PhaseFacts phase = home < phases.size() ? phases[home] : PhaseFacts{.files = 1, .bytes = out.files[k].bytes};
    row.reason = stripe_reason(
        out.files[k], placed,
        {.usable = usable_in(around.table, out.files[k].pool), .phase_files = phase.files, .phase_bytes = phase.bytes});
  }
  return out;
}

}  // namespace iez::planning
