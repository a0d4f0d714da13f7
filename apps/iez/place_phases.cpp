#include "place_phases.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "planning/lower_bound.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using placement::Request;

// Phases that requests name, ascending; that of files without one is 0.
std::vector<std::uint32_t> phases_named(std::span<const Request> requests) {
  std::vector<std::uint32_t> named;
  for (const Request& request : requests) {
    named.push_back(request.phase.value_or(0));
    if (request.read_phase) named.push_back(*request.read_phase);
  }
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  return named;
}

std::uint32_t place_of(std::span<const std::uint32_t> named, std::uint32_t phase) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(named, phase) - named.begin());
}

Result<planning::File> file_of(const placement::TargetTable& table, const Request& request,
                               std::span<const std::uint32_t> named) {
  const auto refuse = [&](std::string_view what) {
    return fail(Errc::invalid_argument,
                fmt::format("file '{}' {}: --phases plans plain files", text::printable(request.name), what));
  };
  if (!request.components.empty()) return refuse("has components");
  if (request.overstripe) return refuse("may be overstriped");
  const auto pool = table.find_pool(request.pool);
  if (!pool) {
    return fail(Errc::invalid_argument, fmt::format("file '{}': no pool '{}' in this file system", text::printable(request.name),
                                                    text::printable(request.pool)));
  }
  const auto members = static_cast<std::uint32_t>(std::max<std::size_t>(1, table.pools[*pool].members.size()));
  planning::File file{.bytes = request.bytes,
                      .room = request.bytes,
                      .phase = place_of(named, request.phase.value_or(0)),
                      .stripes = request.stripe_count < 0 ? members : static_cast<std::uint32_t>(request.stripe_count),
                      .pool = *pool,
                      .left_alone = request.bytes < planning::kLeastFile};
  if (request.read_phase) file.read_phase = place_of(named, *request.read_phase);
  if (request.stripe_size) file.stripe_size = file.default_stripe_size = *request.stripe_size;
  file.default_stripes = file.stripes;
  return file;
}

// The plan in the form in which those of the other policies are shown.
placement::Plan shown_plan(const placement::TargetTable& table, std::span<const Request> requests,
                           std::span<const std::uint32_t> at, std::span<const planning::File> files,
                           const planning::Plan& planned) {
  placement::Plan plan{
      .policy = "phases", .added = planned.score.added, .before = planned.before, .after = planned.score.balance};
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const planning::File& file = files[at[i]];
    const planning::Placed& placed = planned.placement.files[at[i]];
    const placement::Usable usable = placement::usable(table, file.pool);
    const auto sound = static_cast<std::uint32_t>(usable.sound.size() + usable.second.size());
    placement::Planned& piece = plan.files.emplace_back(
        placement::Planned{.request = i,
                           .extent = {.start = 0, .end = model::Extent::kEof},
                           .bytes = file.bytes,
                           .stripe_size = placed.stripes > 0 ? placed.stripe_size : file.default_stripe_size,
                           .object_bytes = placed.object_bytes,
                           .pool = file.pool,
                           .first = plan.osts.size(),
                           .stripes = placed.stripes,
                           .wanted = file.stripes,
                           .reason = {.asked = requests[i].stripe_count < 0 ? 0 : file.stripes, .usable = sound}});
    for (const std::uint32_t target : planned.placement.of(placed)) {
      plan.osts.push_back(table.targets[target].ost);
      if (table.targets[target].second_choice()) ++piece.reason.second_choice;
    }
    if (placed.stripes == 0 || placed.stripes >= file.stripes || piece.reason.asked == 0) continue;
    piece.reason.cut = file.stripes > sound ? placement::CountCut::usable_targets : placement::CountCut::small_file;
  }
  placement::refresh_reasons(plan, table);
  return plan;
}

std::string load_text(double bytes) { return to_string(Bytes{static_cast<std::uint64_t>(bytes + 0.5)}); }

double sum_of(std::span<const PhaseRow> phases, bool compared, double (*of)(const PhaseRow&)) {
  double sum = 0;
  for (const PhaseRow& row : phases) {
    if (!compared || row.by_default) sum += of(row);
  }
  return sum;
}

std::string phase_table(const PhasesPlan& plan, bool header, const Terminal& terminal) {
  Table table({{"PHASE", Align::right},
               {"FILES", Align::right},
               {"BYTES", Align::right},
               {"BY PLAN", Align::right},
               {"BY DEFAULT", Align::right},
               {"BOUND", Align::right}});
  for (const PhaseRow& row : plan.phases) {
    table.add({{fmt::to_string(row.phase)},
               {fmt::to_string(row.files)},
               {to_string(row.bytes)},
               {load_text(row.by_plan)},
               {row.by_default ? load_text(*row.by_default) : "-"},
               {load_text(row.bound)}});
  }
  if (plan.phases.size() > 1) {
    const double by_default = sum_of(plan.phases, true, [](const PhaseRow& row) { return *row.by_default; });
    table.add({{"all"},
               {""},
               {""},
               {load_text(sum_of(plan.phases, false, [](const PhaseRow& row) { return row.by_plan; }))},
               {plan.all_drawn ? load_text(by_default) : "-"},
               {load_text(plan.bound)}});
  }
  return table.render(terminal, header);
}

// What iez would do with it.
std::string conclusion(const PhasesPlan& plan) {
  switch (plan.verdict) {
    case planning::Verdict::faster:
      return fmt::format("Faster than Lustre's default: {}.\n", plan.verdict_text);
    case planning::Verdict::more_even:
      return fmt::format("More even than Lustre's default: {}.\n", plan.verdict_text);
    case planning::Verdict::as_good:
      return "Lustre's default is as good: iez would leave these files to it.\n";
    case planning::Verdict::nothing:
    case planning::Verdict::no_room:
      break;
  }
  return "No file is large enough to be placed: iez would leave them to Lustre.\n";
}

}  // namespace

Result<PhasesPlan> plan_phases(const placement::TargetTable& table, std::span<const Request> requests) {
  const std::vector<std::uint32_t> named = phases_named(requests);
  // Lustre would create them phase after phase.
  std::vector<std::uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return requests[i].phase.value_or(0); });
  std::vector<planning::File> files;
  files.reserve(requests.size());
  std::vector<std::uint32_t> at(requests.size());
  for (const std::uint32_t i : order) {
    at[i] = static_cast<std::uint32_t>(files.size());
    IEZ_TRY(files.emplace_back(), file_of(table, requests[i], named));
  }
  const planning::Problem problem{.table = table,
                                  .files = files,
                                  .phases = std::vector<planning::Phase>(std::max<std::size_t>(1, named.size())),
                                  .speed = {},
                                  .load = {}};
  IEZ_TRY(const planning::Plan planned, planning::make_plan(problem));
  if (planned.verdict == planning::Verdict::no_room) {
    return fail(Errc::limit, fmt::format("file '{}' fits on no set of OSTs beside the others",
                                         text::printable(requests[order[planned.short_of_room]].name)));
  }
  const planning::DefaultScore& theirs = planned.by_default;
  PhasesPlan out{.plan = shown_plan(table, requests, at, files, planned),
                 .phases = {},
                 .verdict = planned.verdict,
                 .verdict_text = planning::verdict_text(planned),
                 .gain = planned.gain(),
                 .bound = planning::lower_bound(problem, planned.placement),
                 .ost_cost = theirs.ost_cost,
                 .oss_cost = theirs.oss_cost,
                 .all_drawn = theirs.looked_at.size() == problem.phases.size()};
  const std::vector<double> bounds = planning::phase_bounds(problem, planned.placement);
  for (std::uint32_t p = 0; p < named.size(); ++p) {
    PhaseRow& row = out.phases.emplace_back(PhaseRow{.phase = named[p], .by_plan = planned.score.phases[p], .bound = bounds[p]});
    if (std::ranges::binary_search(theirs.looked_at, p)) row.by_default = theirs.phases[p];
  }
  for (const planning::File& file : files) {
    if (file.left_alone) ++out.left_alone;
    for (const std::uint32_t phase : {file.phase, file.read_phase}) {
      if (phase == planning::kNoPhase) continue;
      ++out.phases[phase].files;
      out.phases[phase].bytes += file.bytes;
    }
  }
  return out;
}

std::string phases_text(const PlanView& view, const PhasesPlan& plan, std::size_t limit, bool header, const Terminal& terminal) {
  std::string out = plan_text(view, limit, header, terminal);
  if (!header) return out;
  out += "\nLoad of the slowest OST in each phase, by this plan and by Lustre's default:\n";
  out += phase_table(plan, header, terminal);
  if (plan.left_alone > 0) {
    out += fmt::format("{} below {} left to Lustre: they take their turn, but no time.\n", counted(plan.left_alone, "file"),
                       to_string(planning::kLeastFile));
  }
  if (plan.all_drawn && plan.verdict != planning::Verdict::nothing) {
    out += fmt::format("After Lustre's default: OSTCost {:.3f}{}.\n", plan.ost_cost,
                       view.servers_known ? fmt::format(", OSSCost {:.3f}", plan.oss_cost) : "");
  }
  return out + conclusion(plan);
}

std::string phases_json(const PlanView& view, const PhasesPlan& plan, std::size_t limit) {
  ordered_json json = plan_document(view, limit);
  json["verdict"] = planning::to_string(plan.verdict);
  json["placed"] = plan.verdict == planning::Verdict::faster || plan.verdict == planning::Verdict::more_even;
  json["gain"] = plan.gain;
  json["phases_bound"] = plan.bound;
  json["by_default"] = {{"ost_cost", plan.all_drawn ? ordered_json(plan.ost_cost) : ordered_json(nullptr)},
                        {"oss_cost", plan.all_drawn && view.servers_known ? ordered_json(plan.oss_cost) : ordered_json(nullptr)}};
  json["phases"] = ordered_json::array();
  for (const PhaseRow& row : plan.phases) {
    json["phases"].push_back({{"phase", row.phase},
                              {"file_count", row.files},
                              {"bytes", row.bytes.count},
                              {"largest_load", row.by_plan},
                              {"largest_load_by_default", row.by_default ? ordered_json(*row.by_default) : ordered_json(nullptr)},
                              {"bound", row.bound}});
  }
  return to_line(json);
}

}  // namespace iez::cli
