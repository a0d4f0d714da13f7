#include "coordinator/begin.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "coordinator/planned_rows.hpp"
#include "placement/stripe_size.hpp"

namespace iez::coordinator {

namespace {

constexpr std::string_view kBegun = "; planned anew when the run began, by what others moved then";

// The plan's files as a problem: one for each layout, phases numbered anew without gaps.
struct Files {
  std::vector<planning::File> files;
  std::vector<planning::Phase> phases;
};

Files files_of(const StoredPlan& plan, const placement::TargetTable& table) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (const StoredEntry& entry : plan.entries) {
    if (entry.layouts == 0) continue;
    numbers.emplace(entry.phase, 0);
    if (entry.read_phase >= 0) numbers.emplace(static_cast<std::uint32_t>(entry.read_phase), 0);
  }
  Files out;
  for (auto& [asked, number] : numbers) {
    number = static_cast<std::uint32_t>(out.phases.size());
    out.phases.push_back({.seconds = asked < plan.phase_seconds.size() ? plan.phase_seconds[asked] : 0});
  }
  out.files.reserve(plan.layouts.size());
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
      const StoredLayout& layout = plan.layouts[i];
      planning::File& file =
          out.files.emplace_back(row_of(layout, table.find_pool(plan.pools[layout.pool]).value_or(placement::kAnyPool)).file);
      file.phase = numbers.at(entry.phase);
      if (entry.read_phase >= 0) file.read_phase = numbers.at(static_cast<std::uint32_t>(entry.read_phase));
    }
  }
  return out;
}

// Where the files are to go as it stands; none: one of their targets is not known any more.
std::optional<planning::Placement> placement_of(const StoredPlan& plan, const placement::TargetTable& table) {
  const std::vector<std::uint32_t> places = table.positions();
  planning::Placement out;
  out.files.reserve(plan.layouts.size());
  out.targets.reserve(plan.osts.size());
  for (const StoredLayout& layout : plan.layouts) {
    out.files.push_back({.stripes = layout.stripes,
                         .stripe_size = {layout.stripe_size},
                         .object_bytes = placement::largest_object({layout.expected}, {layout.stripe_size}, layout.stripes),
                         .first = out.targets.size()});
    for (const std::uint32_t ost : plan.osts_of(layout)) {
      if (ost >= places.size() || places[ost] >= table.targets.size()) return std::nullopt;
      if (table.targets[places[ost]].ost.value != ost) return std::nullopt;
      out.targets.push_back(places[ost]);
    }
  }
  return out;
}

// The plan with its files where the placement has them.
StoredPlan moved(const StoredPlan& plan, const planning::Placement& placement, const placement::TargetTable& table) {
  StoredPlan next = plan;
  ++next.revision;
  next.osts.clear();
  std::map<std::uint32_t, std::uint32_t> anew;  // reasons of files that moved, by what they were
  for (std::size_t i = 0; i < next.layouts.size(); ++i) {
    StoredLayout& layout = next.layouts[i];
    const planning::Placed& placed = placement.files[i];
    layout.first = static_cast<std::uint32_t>(next.osts.size());
    layout.stripes = static_cast<std::uint16_t>(placed.stripes);
    layout.stripe_size = placed.stripe_size.count;
    layout.object_bytes = placement::largest_object({layout.bytes}, placed.stripe_size, layout.stripes).count;
    for (const std::uint32_t target : placement.of(placed)) next.osts.push_back(table.targets[target].ost.value);
    if (std::ranges::equal(next.osts_of(layout), plan.osts_of(plan.layouts[i]))) continue;
    if (next.reasons[layout.reason].ends_with(kBegun)) continue;
    const auto [reason, fresh] = anew.emplace(layout.reason, static_cast<std::uint32_t>(next.reasons.size()));
    if (fresh) next.reasons.push_back(next.reasons[layout.reason] + std::string(kBegun));
    layout.reason = reason->second;
  }
  return next;
}

std::string note_of(std::span<const double> load) {
  const auto moving = std::ranges::count_if(load, [](double rate) { return rate > 0; });
  return fmt::format("planned anew when the run began: others moved {} on {} of {} OSTs",
                     to_string(BytesPerSecond{std::accumulate(load.begin(), load.end(), 0.0)}), moving, load.size());
}

}  // namespace

bool may_change_at_begin(const StoredPlan& plan, std::size_t targets) {
  const std::size_t part = plan.has_reads() ? kReadAtBegin : 1;
  if (plan.osts.size() * part > kObjectsAtBegin) return false;
  if (std::ranges::none_of(plan.phase_seconds, [](double seconds) { return seconds > 0; })) return false;
  std::set<std::int64_t> phases;
  for (const StoredEntry& entry : plan.entries) {
    if (entry.created > 0) return false;
    phases.insert(entry.phase);
    if (entry.read_phase >= 0) phases.insert(entry.read_phase);
    if (phases.size() * targets * part > kLoadsAtBegin) return false;
  }
  return true;
}

Result<std::optional<StoredPlan>> planned_at_begin(Beginning beginning) {
  const StoredPlan& plan = beginning.plan;
  const placement::TargetTable& table = beginning.table;
  const auto stands = placement_of(plan, table);
  if (!stands) return std::nullopt;
  Files files = files_of(plan, table);
  const planning::Problem problem{.table = table,
                                  .files = files.files,
                                  .phases = std::move(files.phases),
                                  .speed = speeds_of(plan.slow, table),
                                  .load = std::move(beginning.load)};
  const double before = planning::score(problem, *stands).seconds;
  beginning.options.compare = false;
  beginning.options.effort = std::min(beginning.options.effort, kEffortAtBegin);
  IEZ_TRY(const planning::Plan anew, planning::make_plan(problem, beginning.options));
  if (!anew.made() || anew.score.seconds * kFasterAtBegin > before) return std::nullopt;
  StoredPlan next = moved(plan, anew.placement, table);
  next.after = {anew.score.balance.ost_cost, anew.score.balance.oss_cost};
  next.notes = {note_of(problem.load)};
  return next;
}

}  // namespace iez::coordinator
