#include "coordinator/together.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "coordinator/planned_rows.hpp"
#include "placement/stripe_size.hpp"
#include "planning/rows.hpp"

namespace iez::coordinator {

namespace {

constexpr std::string_view kTogether = "; planned together with the files of another application";
constexpr std::uint32_t kWritten = 0;  // phases
constexpr std::uint32_t kRead = 1;

// What a file is, apart from where it goes.
auto shape_of(const StoredLayout& layout) {
  return std::tuple(layout.bytes, layout.expected, layout.stripe_size, layout.stripes, layout.pool);
}

// One for each entry; an entry without layouts is left to Lustre.
std::vector<planning::Row> rows_of(const StoredPlan& plan, const placement::TargetTable& table) {
  std::vector<planning::Row> rows;
  rows.reserve(plan.entries.size());
  for (const StoredEntry& entry : plan.entries) {
    planning::Row& row = rows.emplace_back();
    row.file.left_alone = entry.layouts == 0;
    if (!row.file.left_alone) {
      const StoredLayout& layout = plan.layouts[entry.first];
      row = row_of(layout, table.find_pool(plan.pools[layout.pool]).value_or(placement::kAnyPool));
      row.files = entry.layouts;
    }
    row.file.phase = kWritten;
    row.file.read_phase = entry.read_phase < 0 ? planning::kNoPhase : kRead;
  }
  return rows;
}

// Of each target the least speed that any of the plans reckons with: what one user's runs have seen is not undone because the
// runs of others have not seen it. Empty: all alike.
std::vector<double> least_speeds(std::span<const PlanPointer> plans, const placement::TargetTable& table) {
  std::vector<double> out;
  for (const PlanPointer& plan : plans) {
    const std::vector<double> own = speeds_of(plan->slow, table);
    if (out.empty()) out = own;
    for (std::size_t j = 0; j < own.size(); ++j) out[j] = std::min(out[j], own[j]);
  }
  return out;
}

// The sum of the times of both phases with the targets that the plans have; none: one of them is not known any more.
std::optional<double> seconds_of(std::span<const PlanPointer> plans, const placement::TargetTable& table,
                                 std::span<const planning::File> files, std::size_t phases, const std::vector<double>& speed) {
  const std::vector<std::uint32_t> places = table.positions();
  planning::Placement placement;
  for (const PlanPointer& plan : plans) {
    for (const StoredEntry& entry : plan->entries) {
      if (entry.layouts == 0) placement.files.emplace_back();
      for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
        const StoredLayout& layout = plan->layouts[i];
        planning::Placed& placed = placement.files.emplace_back();
        placed.stripes = layout.stripes;
        placed.stripe_size = {layout.stripe_size};
        placed.object_bytes = placement::largest_object({layout.expected}, {layout.stripe_size}, layout.stripes);
        placed.first = placement.targets.size();
        for (const std::uint32_t ost : plan->osts_of(layout)) {
          if (ost >= places.size() || places[ost] >= table.targets.size()) return std::nullopt;
          if (table.targets[places[ost]].ost.value != ost) return std::nullopt;
          placement.targets.push_back(places[ost]);
        }
      }
    }
  }
  const planning::Problem problem{
      .table = table, .files = files, .phases = std::vector<planning::Phase>(phases), .speed = speed, .load = {}};
  return planning::score(problem, placement).seconds;
}

}  // namespace

bool is_of_one_phase(const StoredPlan& plan) {
  const StoredEntry* first = nullptr;
  for (const StoredEntry& entry : plan.entries) {
    if (entry.created > 0) return false;
    if (entry.layouts == 0) continue;
    if (first == nullptr) first = &entry;
    if (entry.phase != first->phase || entry.read_phase != first->read_phase) return false;
    for (std::uint32_t i = entry.first + 1; i < entry.first + entry.layouts; ++i) {
      if (shape_of(plan.layouts[i]) != shape_of(plan.layouts[entry.first])) return false;
    }
  }
  return first != nullptr;
}

bool ran_side_by_side(const StoredPlan& a, const StoredPlan& b) {
  if (a.began_ns >= a.ended_ns || b.began_ns >= b.ended_ns) return false;
  const std::int64_t both = std::min(a.ended_ns, b.ended_ns) - std::max(a.began_ns, b.began_ns);
  return both >= std::min(a.ended_ns - a.began_ns, b.ended_ns - b.began_ns) / 2;
}

Result<std::optional<std::vector<StoredPlan>>> planned_together(std::span<const PlanPointer> plans,
                                                                const placement::TargetTable& table,
                                                                planning::PlanOptions options) {
  std::vector<planning::Row> rows;
  for (const PlanPointer& plan : plans) {
    const std::vector<planning::Row> own = rows_of(*plan, table);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  options.compare = false;  // with Lustre's default: that was done when each plan was made
  const std::vector<double> speed = least_speeds(plans, table);
  IEZ_TRY(planning::RowsPlan planned, planning::plan_rows(rows, {.table = table, .speed = speed, .load = {}}, options));
  if (!planned.made()) return fail(Errc::limit, planning::verdict_text(planned.plan));
  const planning::Score& score = planned.plan.score;
  const auto before = seconds_of(plans, table, planned.files, score.phases.size(), speed);
  if (!before || score.seconds > *before * kWorthwhile) return std::nullopt;
  std::vector<StoredPlan> out;
  std::size_t row = 0;
  for (const PlanPointer& plan : plans) {
    StoredPlan& next = out.emplace_back(*plan);
    ++next.revision;
    for (const StoredEntry& entry : plan->entries) {
      if (entry.layouts > 0) {
        planned.rows[row].reason = plan->reasons[plan->layouts[entry.first].reason];
        if (!planned.rows[row].reason.ends_with(kTogether)) planned.rows[row].reason += kTogether;
      }
      ++row;
    }
    next.entries.clear();
    next.layouts.clear();
    next.osts.clear();
    next.reasons.clear();
    next.pools.clear();
    const std::size_t begin = row - plan->entries.size();
    take_plan(std::span(planned.rows).subspan(begin, plan->entries.size()),
              std::span<const planning::Row>(rows).subspan(begin, plan->entries.size()), table, next);
    next.entries = plan->entries;  // which phases those were
    next.together.clear();
    for (const PlanPointer& other : plans) {
      if (other != plan) next.together.push_back(other->id);
    }
    next.after = {score.balance.ost_cost, score.balance.oss_cost};
    next.notes = {"planned anew together with another application, whose last run was at the same time"};
  }
  return out;
}

}  // namespace iez::coordinator
