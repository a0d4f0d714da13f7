#include "runs/allocate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "placement/plan.hpp"
#include "placement/policy.hpp"
#include "placement/stripe_size.hpp"

namespace iez::runs {

namespace {

constexpr std::size_t kSpreadFolders = 64;
constexpr double kMaxWeight = 100;
constexpr std::uint64_t kSeed = 1;  // of policies that draw

model::Cluster without(model::Cluster cluster, std::span<const placement::Reservation> replaced) {
  std::map<OstIndex, std::uint64_t> freed;
  for (const placement::Reservation& one : replaced) freed[one.ost] += one.bytes.count;
  for (model::Ost& ost : cluster.osts) {
    const auto found = freed.find(ost.index);
    if (found == freed.end()) continue;
    const std::uint64_t bytes = std::min(found->second, model::used(ost).count);
    ost.free.count += bytes;
    ost.available.count += bytes;
  }
  return cluster;
}

std::vector<placement::Reservation> known_ones(const model::Cluster& cluster, std::span<const placement::Reservation> all) {
  std::vector<placement::Reservation> out;
  for (const placement::Reservation& one : all) {
    if (std::ranges::any_of(cluster.osts, [&](const model::Ost& ost) { return ost.index == one.ost; })) out.push_back(one);
  }
  return out;
}

// How often a new file should go to each target: by the room that the plan leaves there.
std::vector<std::pair<OstIndex, std::uint32_t>> weights_of(const placement::TargetTable& table, const placement::Plan& plan) {
  std::vector<std::pair<OstIndex, double>> room;
  double most = 0;
  for (const bool second : {false, true}) {
    for (std::size_t i = 0; i < table.targets.size(); ++i) {
      const placement::Target& target = table.targets[i];
      if (target.exclusion != placement::Exclusion::none || target.second_choice() != second) continue;
      const std::uint64_t added = plan.added[i].count;
      const double left = target.available.count > added ? static_cast<double>(target.available.count - added) : 0;
      if (left <= 0) continue;
      room.emplace_back(target.ost, left);
      most = std::max(most, left);
    }
    if (!room.empty()) break;  // slow ones only where there are no others
  }
  std::ranges::sort(room);
  std::vector<std::pair<OstIndex, std::uint32_t>> weights;
  weights.reserve(room.size());
  for (const auto& [ost, left] : room) {
    weights.emplace_back(ost, static_cast<std::uint32_t>(std::max(1.0, std::round(kMaxWeight * left / most))));
  }
  return weights;
}

// The count that most unplanned files may take as theirs: that of most files.
std::uint32_t usual_count(const placement::Plan& plan) {
  std::map<std::uint32_t, std::uint64_t> counts;
  for (const placement::Planned& file : plan.files) ++counts[std::max(1U, file.stripes)];
  std::pair<std::uint64_t, std::uint32_t> best{0, 1};
  for (const auto& [count, files] : counts) {
    if (files > best.first) best = {files, count};
  }
  return best.second;
}

// Empty: it takes objects.
std::string_view why_unfit(const model::Ost& ost) {
  if (!ost.state.active) return "inactive";
  if (ost.state.read_only) return "read-only";
  if (ost.state.no_create) return "closed to new objects";
  return model::full(ost) ? "full" : "";
}

}  // namespace

void add_objects(Bytes bytes, Bytes stripe_size, std::span<const OstIndex> osts, std::vector<placement::Reservation>& to) {
  if (osts.empty() || bytes.count == 0) return;
  const Bytes size = stripe_size.count == 0 ? model::kStripeAlignment : stripe_size;
  const Bytes object = placement::largest_object(bytes, size, static_cast<std::uint32_t>(osts.size()));
  for (const OstIndex ost : osts) to.push_back({.ost = ost, .bytes = object});
}

std::vector<placement::Reservation> reservations_of(const store::Allocation& allocation) {
  std::vector<placement::Reservation> all;
  for (const store::AllocationRow& row : allocation.rows) {
    if (row.state != store::PlanState::planned) continue;
    for (const store::StripeLayout& layout : row.layouts) add_objects(row.bytes, layout.stripe_size, layout.osts, all);
  }
  std::map<OstIndex, std::uint64_t> sums;
  for (const placement::Reservation& one : all) sums[one.ost] += one.bytes.count;
  std::vector<placement::Reservation> out;
  out.reserve(sums.size());
  for (const auto& [ost, bytes] : sums) out.push_back({.ost = ost, .bytes = Bytes{bytes}});
  return out;
}

Result<PlannedRows> plan_rows(const store::Prediction& prediction, std::span<const std::uint32_t> rows, const LocalPlan& local) {
  std::vector<placement::Request> requests;
  std::vector<Bytes> room;
  for (const std::uint32_t number : rows) {
    const store::PredictionRow& row = prediction.rows.at(number);
    if (row.files > kMaxLocalFiles || requests.size() + row.files > kMaxLocalFiles) {
      return fail(Errc::limit, fmt::format("more than {} files are foretold: too many to plan here", kMaxLocalFiles));
    }
    placement::Request request;
    request.name = row.name;
    request.bytes = std::max(row.bytes, Bytes{1});
    request.stripe_count = static_cast<std::int32_t>(
        row.stripe_count != 0 ? row.stripe_count : placement::usual_stripe_count(row.bytes, row.shared));
    if (row.stripe_size.count != 0) request.stripe_size = row.stripe_size;
    request.shared = row.shared;
    // Each file of a pattern is one of its own.
    for (std::uint64_t i = 0; i < row.files; ++i) {
      if (row.files > 1) request.name = fmt::format("{}#{}", row.name, i);
      requests.push_back(request);
      room.push_back(std::max(request.bytes, row.high));
    }
  }
  const model::Cluster cluster = without(local.cluster, local.replaced);
  placement::TargetOptions options;
  options.reservations = known_ones(cluster, local.reservations);
  IEZ_TRY(placement::TargetTable table, placement::make_targets(cluster, options));
  for (const placement::Reservation& one : local.vanishing) {
    const auto target = std::ranges::find(table.targets, one.ost, &placement::Target::ost);
    if (target != table.targets.end()) target->used = target->used - std::min(target->used - target->reserved, one.bytes);
  }
  IEZ_TRY(const auto policy, placement::make_policy(local.policy, kSeed));
  IEZ_TRY(const placement::Plan plan, placement::plan_with_room(table, requests, room, *policy));

  PlannedRows out;
  out.policy = plan.policy;
  out.rows.reserve(rows.size());
  std::size_t at = 0;
  std::set<OstIndex> used;
  for (const std::uint32_t number : rows) {
    store::AllocationRow row;
    row.row = number;
    for (std::uint64_t i = 0; i < prediction.rows[number].files; ++i, ++at) {
      const placement::Planned& file = plan.files[at];
      const auto osts = plan.osts_of(file);
      row.layouts.push_back({.stripe_size = file.stripe_size, .osts = {osts.begin(), osts.end()}});
      used.insert(osts.begin(), osts.end());
      if (i == 0) row.reason = placement::to_string(file.reason, file.stripes);
    }
    out.rows.push_back(std::move(row));
  }
  PlanDetails& details = out.details;
  details.weights = weights_of(table, plan);
  details.stripe_count = usual_count(plan);
  details.osts.assign(used.begin(), used.end());
  details.ost_cost_before = plan.before.ost_cost;
  details.oss_cost_before = plan.before.oss_cost;
  details.ost_cost_after = plan.after.ost_cost;
  details.oss_cost_after = plan.after.oss_cost;
  for (const placement::Target& target : table.targets) {
    if (target.exclusion == placement::Exclusion::none) continue;
    details.notes.push_back(fmt::format("OST {} is left out: {}", target.ost.value, placement::to_string(target.exclusion)));
  }
  return out;
}

std::vector<std::string> spread_folders(std::span<const std::string> names) {
  std::set<std::string, std::less<>> folders;
  for (const std::string& name : names) {
    const std::size_t slash = name.rfind('/');
    // A folder whose name is not known, or one at the top, is nobody's own.
    if (slash == std::string::npos || slash == 0 || name.find_first_of("{}") < slash) continue;
    folders.insert(name.substr(0, slash + 1));
  }
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (!out.empty() && folder.starts_with(out.back())) continue;  // sorted: the one above comes first
    if (out.size() == kSpreadFolders) break;
    out.push_back(folder);
  }
  return out;
}

std::vector<UnfitTarget> unfit_targets(std::span<const OstIndex> used, const model::Cluster& cluster) {
  std::vector<UnfitTarget> out;
  for (const OstIndex index : used) {
    const auto found = std::ranges::find(cluster.osts, index, &model::Ost::index);
    const std::string_view why = found == cluster.osts.end() ? "gone" : why_unfit(*found);
    if (!why.empty()) out.push_back({.ost = index, .why = std::string(why)});
  }
  return out;
}

}  // namespace iez::runs
