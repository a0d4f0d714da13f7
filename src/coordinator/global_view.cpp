#include "coordinator/global_view.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text.hpp"
#include "coordinator/begin.hpp"
#include "coordinator/mend.hpp"
#include "coordinator/planned_rows.hpp"
#include "coordinator/together.hpp"
#include "placement/stripe_size.hpp"
#include "planning/rows.hpp"
#include "planning/target_speeds.hpp"
#include "planning/waiting.hpp"

namespace iez::coordinator {

namespace {

std::int64_t nanoseconds(double seconds) {
  constexpr double kLongest = 1e9;  // of a request: longer than any rate is kept
  return static_cast<std::int64_t>(std::min(seconds, kLongest) * 1e9);
}

std::string key_of(std::string_view user, std::string_view application, std::string_view file_system) {
  std::string key(user);
  key.push_back('\0');
  key.append(application);
  key.push_back('\0');
  key.append(file_system);
  return key;
}

}  // namespace

Result<void> GlobalView::set_cluster(model::Cluster cluster, std::vector<OstIndex> stale, std::vector<TargetRate> rates) {
  FileSystem known;
  std::ranges::sort(stale);
  IEZ_TRY(const auto open, placement::make_targets(cluster, {}));
  placement::TargetOptions options;
  for (const OstIndex ost : stale) {
    if (std::ranges::find(cluster.osts, ost, &model::Ost::index) != cluster.osts.end()) options.excluded.push_back(ost);
  }
  IEZ_TRY(known.base, placement::make_targets(cluster, options));
  known.table = known.base;
  for (const placement::Target& target : open.targets) {
    known.failed.push_back(target.exclusion != placement::Exclusion::none && target.exclusion != placement::Exclusion::full);
  }
  if (!known.base.targets.empty()) known.place.assign(std::size_t{known.base.targets.back().ost.value} + 1, kNone);
  for (std::uint32_t j = 0; j < known.base.targets.size(); ++j) known.place[known.base.targets[j].ost.value] = j;
  known.stale = std::move(stale);
  known.rates = std::move(rates);
  known.cluster = std::move(cluster);
  const Sums& sums = sums_[known.cluster.name];
  for (std::uint32_t ost = 0; ost < std::max(sums.reserved.size(), sums.freed.size()); ++ost) refresh(known, sums, ost);
  std::string name = known.cluster.name;
  file_systems_.insert_or_assign(std::move(name), std::move(known));
  return {};
}

std::vector<std::string> GlobalView::file_systems() const {
  std::vector<std::string> names;
  for (const auto& [name, known] : file_systems_) names.push_back(name);
  return names;
}

Result<std::string> GlobalView::resolve(const std::string& file_system) const {
  if (file_system.empty() && file_systems_.size() == 1) return file_systems_.begin()->first;
  if (file_systems_.contains(file_system)) return file_system;
  if (file_systems_.empty()) return fail(Errc::not_found, "no agent has told of any file system yet");
  return fail(Errc::not_found, file_system.empty()
                                   ? fmt::format("'file_system' is missing; known are {}", fmt::join(file_systems(), ", "))
                                   : fmt::format("no agent has told of file system '{}'; known are {}",
                                                 text::printable(file_system), fmt::join(file_systems(), ", ")));
}

// What the target offers to plans to come. What pending plans will replace is not used any more when they are written, but it is
// no room for others until then.
void GlobalView::refresh(FileSystem& known, const Sums& sums, std::uint32_t ost) {
  if (ost >= known.place.size() || known.place[ost] == kNone) return;
  const placement::Target& base = known.base.targets[known.place[ost]];
  placement::Target& target = known.table.targets[known.place[ost]];
  const Bytes reserved{ost < sums.reserved.size() ? sums.reserved[ost] : 0};
  target.reserved = {ost < sums.expected.size() ? sums.expected[ost] : 0};
  target.used = base.used - replaced(known, sums, ost) + target.reserved;
  target.available = base.available - std::min(base.available, reserved);
  target.exclusion =
      base.exclusion == placement::Exclusion::none && target.available.count == 0 ? placement::Exclusion::full : base.exclusion;
}

// By pending plans; nobody frees what was never written.
Bytes GlobalView::replaced(const FileSystem& known, const Sums& sums, std::uint32_t ost) {
  const Bytes used = known.base.targets[known.place[ost]].used;
  return std::min(used, Bytes{ost < sums.freed.size() ? sums.freed[ost] : 0});
}

void GlobalView::free_for(FileSystem& known, const Sums& sums, std::span<const api::FreedBytes> freed) {
  std::map<std::uint32_t, std::uint64_t> whole;  // several plans may free bytes of one target
  for (const api::FreedBytes& row : freed) whole[row.ost] = saturating_add(whole[row.ost], row.bytes);
  for (const auto& [ost, all] : whole) {
    if (ost >= known.place.size() || known.place[ost] == kNone) continue;
    const placement::Target& base = known.base.targets[known.place[ost]];
    placement::Target& target = known.table.targets[known.place[ost]];
    const Bytes bytes{std::min(all, base.used.count)};
    target.used = target.used - std::min(base.used - replaced(known, sums, ost), bytes);
    target.available = std::min(target.capacity, target.available + bytes);
    if (target.exclusion == placement::Exclusion::full && target.available.count > 0)
      target.exclusion = placement::Exclusion::none;
  }
}

std::vector<double> GlobalView::load_since(const FileSystem& known, std::int64_t since_ns, std::int64_t now_ns) {
  std::vector<double> load;
  for (const TargetRate& rate : known.rates) {
    if (rate.bytes_per_second <= 0 || rate.began_ns < since_ns + kSettles_ns || is_stale(rate, now_ns)) continue;
    if (rate.ost.value >= known.place.size() || known.place[rate.ost.value] == kNone) continue;
    load.resize(known.table.targets.size());
    load[known.place[rate.ost.value]] = rate.bytes_per_second;
  }
  return load;
}

// Lustre knows nothing of plans; and what the files of this one replace is gone by then.
placement::TargetTable GlobalView::seen_by_lustre(const FileSystem& known, std::span<const api::FreedBytes> freed) {
  placement::TargetTable seen = known.base;
  for (const api::FreedBytes& one : freed) {
    if (one.ost >= known.place.size() || known.place[one.ost] == kNone) continue;
    placement::Target& target = seen.targets[known.place[one.ost]];
    const Bytes bytes = std::min(target.used, Bytes{one.bytes});
    target.used = target.used - bytes;
    target.available += bytes;
  }
  return seen;
}

Result<StoredPlan> GlobalView::plan(const api::PlanRequest& request, std::string_view user, std::uint64_t id, std::int64_t now_ns,
                                    std::int64_t ttl_ns) {
  IEZ_TRY(const std::string name, resolve(request.file_system));
  fade(now_ns);
  FileSystem& known = file_systems_.find(name)->second;
  const Sums& sums = sums_[name];
  IEZ_TRY(const auto rows, rows_of(request, known.table));
  StoredPlan out{.user = std::string(user), .application = request.application, .file_system = name};
  out.policy = kPolicy;
  out.database = request.database;
  out.made_ns = now_ns;
  if (request.ran_s > 0) {
    out.ended_ns = now_ns - nanoseconds(request.idle_s);
    out.began_ns = out.ended_ns - nanoseconds(request.ran_s);
  }
  std::vector<double> load = load_since(known, now_ns - nanoseconds(request.idle_s), now_ns);
  const auto moving = std::ranges::count_if(load, [](double rate) { return rate > 0; });
  const double rate = std::accumulate(load.begin(), load.end(), 0.0);
  free_for(known, sums, request.freed);
  const placement::TargetTable seen = seen_by_lustre(known, request.freed);
  const std::vector<planning::SlowTarget> slow = slow_targets(request.slow);
  const std::vector<OstIndex> osts = osts_of(known.table);
  const auto planned = planning::plan_rows(rows,
                                           {.table = known.table,
                                            .phase_seconds = request.phase_seconds,
                                            .speed = planning::speeds_of(slow, osts),
                                            .load = std::move(load),
                                            .seen = &seen},
                                           {.effort = effort_});
  out.notes = notes_of(known.table, known.stale);
  for (const api::FreedBytes& row : request.freed) refresh(known, sums, row.ost);
  if (!planned) return std::unexpected(planned.error());
  const planning::Plan& plan = planned->plan;
  out.verdict = planning::verdict_text(plan);
  out.gain = plan.gain();
  if (plan.verdict == planning::Verdict::no_room) {
    return fail(Errc::limit, fmt::format("'{}': {}", text::printable(request.files[planned->short_of_room].name), out.verdict));
  }
  if (moving > 0) {
    out.notes.push_back(
        fmt::format("others move {} on {} of {} OSTs now", to_string(BytesPerSecond{rate}), moving, known.table.targets.size()));
  }
  out.before = out.after = {plan.before.ost_cost, plan.before.oss_cost};
  const bool all_the_same = request.always && plan.verdict == planning::Verdict::as_good;
  if (!plan.made() && !all_the_same) {
    out.entries.resize(request.files.size());
    return out;
  }
  if (all_the_same) out.verdict += "; it was to be planned all the same";
  if (const std::string text = planning::slow_text(slow, osts); !text.empty()) out.verdict += "; " + text;
  out.id = id;
  out.expires_ns = now_ns + ttl_ns;
  out.weights = !request.spread.empty();
  out.freed = request.freed;
  out.slow = request.slow;
  out.phase_seconds = request.phase_seconds;
  out.after = {plan.score.balance.ost_cost, plan.score.balance.oss_cost};
  take_plan(planned->rows, rows, known.table, out);
  return out;
}

void GlobalView::account(const StoredPlan& plan, std::uint32_t eighths, bool add) {
  const auto part = [eighths](std::uint64_t bytes) { return bytes / 8 * eighths + bytes % 8 * eighths / 8; };
  Sums& sums = sums_[plan.file_system];
  const auto found = file_systems_.find(plan.file_system);
  const auto at = [](std::vector<std::uint64_t>& list, std::uint32_t ost) -> std::uint64_t& {
    if (ost >= list.size()) list.resize(std::size_t{ost} + 1);
    return list[ost];
  };
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first + entry.created; i < entry.first + entry.layouts; ++i) {
      const StoredLayout& layout = plan.layouts[i];
      const std::uint64_t expected =
          part(placement::largest_object({layout.expected}, {layout.stripe_size}, layout.stripes).count);
      const std::uint64_t reserved = part(layout.object_bytes);
      for (const std::uint32_t ost : plan.osts_of(layout)) {
        at(sums.reserved, ost) += add ? reserved : 0 - reserved;
        at(sums.expected, ost) += add ? expected : 0 - expected;
      }
    }
    pending_files_ += add ? entry.layouts - entry.created : 0 - std::uint64_t{entry.layouts - entry.created};
  }
  for (const api::FreedBytes& row : plan.freed) at(sums.freed, row.ost) += add ? part(row.bytes) : 0 - part(row.bytes);
  if (found == file_systems_.end()) return;
  for (const std::uint32_t ost : plan.osts) refresh(found->second, sums, ost);
  for (const api::FreedBytes& row : plan.freed) refresh(found->second, sums, row.ost);
}

void GlobalView::put(std::uint64_t id, PlanPointer plan) {
  const PlanPointer before = find(id);
  set(id, plan);
  if (!plan) {
    came_.erase(id);
    begun_.erase(id);
  } else if (plan->revision == 1 && plan->began_ns < plan->ended_ns && (!before || before->revision > 1)) {
    came_.insert(id);
  }
}

void GlobalView::set(std::uint64_t id, PlanPointer plan) {
  const auto old = plans_.find(id);
  if (old != plans_.end()) {
    const StoredPlan& before = *old->second;
    const auto counted = counted_.find(id);
    account(before, counted->second.eighths, false);
    by_fading_.erase({counted->second.until_ns, id});
    counted_.erase(counted);
    const std::string key = key_of(before.user, before.application, before.file_system);
    const auto group = by_application_.find(key);
    group->second.erase(id);
    if (group->second.empty()) by_application_.erase(group);
    by_expiry_.erase({before.expires_ns, id});
    by_run_.erase({before.ended_ns, id});
    plans_.erase(old);
  }
  if (!plan) return;
  const planning::WaitingStep step =
      planning::waiting_step(now_ns_ - plan->made_ns, std::max<std::int64_t>(1, plan->expires_ns - plan->made_ns));
  const Counted counted{.eighths = step.eighths, .until_ns = plan->made_ns + step.until};
  account(*plan, counted.eighths, true);
  counted_.emplace(id, counted);
  if (counted.eighths > 0) by_fading_.emplace(counted.until_ns, id);
  by_application_[key_of(plan->user, plan->application, plan->file_system)].insert(id);
  by_expiry_.emplace(plan->expires_ns, id);
  if (plan->began_ns < plan->ended_ns) by_run_.emplace(plan->ended_ns, id);
  plans_.emplace(id, std::move(plan));
}

void GlobalView::fade(std::int64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  while (!by_fading_.empty() && by_fading_.begin()->first <= now_ns_) {
    const std::uint64_t id = by_fading_.begin()->second;
    set(id, plans_.at(id));
  }
}

std::uint32_t GlobalView::eighths(std::uint64_t id) const {
  const auto found = counted_.find(id);
  return found == counted_.end() ? 0 : found->second.eighths;
}

PlanPointer GlobalView::find(std::uint64_t id) const {
  const auto found = plans_.find(id);
  return found == plans_.end() ? nullptr : found->second;
}

std::vector<PlanPointer> GlobalView::earlier(std::string_view user, std::string_view application,
                                             std::string_view file_system) const {
  std::vector<PlanPointer> out;
  const auto group = by_application_.find(key_of(user, application, file_system));
  if (group == by_application_.end()) return out;
  out.reserve(group->second.size());
  for (const std::uint64_t id : group->second) out.push_back(plans_.at(id));
  return out;
}

std::vector<PlanPointer> GlobalView::expired(std::int64_t now_ns) const {
  std::vector<PlanPointer> out;
  for (const auto& [when, id] : by_expiry_) {
    if (when > now_ns) break;
    out.push_back(plans_.at(id));
  }
  return out;
}

bool GlobalView::overfull(const FileSystem& known, const Sums& sums, std::uint32_t ost) const {
  if (ost >= known.place.size() || known.place[ost] == kNone) return false;  // not seen: perhaps its server starts
  if (known.failed[known.place[ost]]) return true;
  const std::uint64_t freed = ost < sums.freed.size() ? sums.freed[ost] : 0;
  return sums.reserved[ost] > saturating_add(known.base.targets[known.place[ost]].available.count, freed);
}

// Of each layout; empty: none is.
std::vector<bool> GlobalView::misplaced(const FileSystem& known, const Sums& sums, const StoredPlan& plan) const {
  std::vector<bool> out;
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first + entry.created; i < entry.first + entry.layouts; ++i) {
      const auto osts = plan.osts_of(plan.layouts[i]);
      if (std::ranges::none_of(osts, [&](std::uint32_t ost) { return overfull(known, sums, ost); })) continue;
      out.resize(plan.layouts.size());
      out[i] = true;
    }
  }
  return out;
}

// Null: it stays as it is. REQUIRES: the plan itself is not reserved.
PlanPointer GlobalView::mended(FileSystem& known, const StoredPlan& plan, std::vector<bool> affected) {
  const Sums& sums = sums_[plan.file_system];
  free_for(known, sums, plan.freed);
  auto next =
      coordinator::mended({.plan = plan, .affected = std::move(affected), .table = known.table, .options = {.effort = effort_}});
  for (const api::FreedBytes& row : plan.freed) refresh(known, sums, row.ost);
  if (!next || !*next) return nullptr;
  const std::vector<std::string> around = notes_of(known.table, known.stale);
  (*next)->notes.insert((*next)->notes.begin(), around.begin(), around.end());
  return std::make_shared<const StoredPlan>(**std::move(next));
}

std::vector<PlanChange> GlobalView::mend(std::size_t most) {
  std::vector<PlanChange> changes;
  std::size_t tries = 0;
  for (auto& [name, known] : file_systems_) {
    const Sums& sums = sums_[name];
    bool needed = false;
    for (std::uint32_t ost = 0; ost < sums.reserved.size() && !needed; ++ost) {
      needed = sums.reserved[ost] > 0 && overfull(known, sums, ost);
    }
    std::vector<PlanPointer> newest;
    const auto age = [](const PlanPointer& plan) { return std::pair(plan->made_ns, plan->id); };
    const auto last = tried_.find(name);
    for (const auto& [id, plan] : plans_) {
      if (needed && plan->file_system == name && (last == tried_.end() || age(plan) < last->second)) newest.push_back(plan);
    }
    std::ranges::sort(newest, std::greater<>(), age);
    for (const PlanPointer& plan : newest) {
      std::vector<bool> affected = misplaced(known, sums, *plan);
      if (affected.empty()) continue;
      if (tries++ == most) return changes;
      tried_[name] = age(plan);
      set(plan->id, nullptr);
      PlanPointer next = mended(known, *plan, std::move(affected));
      set(plan->id, next ? next : plan);
      if (next) changes.push_back({plan, std::move(next)});
    }
    tried_.erase(name);
  }
  return changes;
}

// The plan, and others of its file system that may be planned together with it; alone: there are none.
std::vector<PlanPointer> GlobalView::side_by_side(const PlanPointer& plan) const {
  constexpr std::size_t kLooks = 256;
  std::vector<PlanPointer> group{plan};
  std::size_t work = plan->work();
  if (work > kWorkTogether || begun_.contains(plan->id) || !is_of_one_phase(*plan)) return group;
  std::size_t looks = 0;
  // Whatever ended before this one began ran before it.
  for (auto at = by_run_.upper_bound({plan->began_ns, ~std::uint64_t{0}}); at != by_run_.end(); ++at) {
    if (group.size() > kPartners || ++looks > kLooks) break;
    const PlanPointer& other = plans_.at(at->second);
    if (other == plan || other->file_system != plan->file_system || !ran_side_by_side(*plan, *other)) continue;
    if (work + other->work() > kWorkTogether || begun_.contains(other->id) || !is_of_one_phase(*other)) continue;
    work += other->work();
    group.push_back(other);
  }
  return group;
}

std::vector<PlanChange> GlobalView::plan_together() {
  std::vector<PlanChange> changes;
  std::uint64_t looked = 0;  // up to which id
  std::size_t work = 0;
  for (std::size_t looks = 0; looks < kSeeds && work < kWorkTogether;) {
    const auto seed = came_.upper_bound(looked);
    if (seed == came_.end()) break;
    looked = *seed;
    const PlanPointer first = plans_.at(looked);
    const auto found = file_systems_.find(first->file_system);
    if (found == file_systems_.end()) continue;  // its turn comes when its targets are known
    ++looks;
    came_.erase(seed);
    const std::vector<PlanPointer> group = side_by_side(first);
    if (group.size() < 2) continue;
    for (const PlanPointer& plan : group) work += plan->work();
    FileSystem& known = found->second;
    const Sums& sums = sums_[found->first];
    std::vector<api::FreedBytes> freed;
    for (const PlanPointer& plan : group) {
      set(plan->id, nullptr);
      freed.insert(freed.end(), plan->freed.begin(), plan->freed.end());
    }
    free_for(known, sums, freed);
    const auto next = planned_together(group, known.table, {.effort = effort_});
    for (const api::FreedBytes& row : freed) refresh(known, sums, row.ost);
    const bool better = next && *next;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint64_t id = group[i]->id;
      set(id, better ? std::make_shared<const StoredPlan>((**next)[i]) : group[i]);
      if (!better) continue;
      changes.push_back({group[i], find(id)});
      came_.erase(id);
    }
  }
  return changes;
}

std::optional<PlanChange> GlobalView::begin(std::uint64_t id, std::int64_t now_ns, bool may_change) {
  fade(now_ns);
  const PlanPointer plan = plans_.at(id);
  begun_.insert(id);
  const auto found = file_systems_.find(plan->file_system);
  if (!may_change || found == file_systems_.end()) return std::nullopt;
  // Alone it would lose what it was to gain beside the other.
  if (std::ranges::any_of(plan->together, [&](std::uint64_t other) { return plans_.contains(other); })) return std::nullopt;
  FileSystem& known = found->second;
  if (!may_change_at_begin(*plan, known.table.targets.size())) return std::nullopt;
  std::vector<double> load = load_since(known, plan->ended_ns > 0 ? plan->ended_ns : plan->made_ns, now_ns);
  if (load.empty()) return std::nullopt;
  const Sums& sums = sums_[found->first];
  set(id, nullptr);
  free_for(known, sums, plan->freed);
  auto next = planned_at_begin({.plan = *plan, .table = known.table, .load = std::move(load), .options = {.effort = effort_}});
  for (const api::FreedBytes& row : plan->freed) refresh(known, sums, row.ost);
  if (!next || !*next) {
    set(id, plan);
    return std::nullopt;
  }
  set(id, std::make_shared<const StoredPlan>(**std::move(next)));
  return PlanChange{plan, find(id)};
}

Result<std::vector<api::OstWeight>> GlobalView::weights(const std::string& file_system) const {
  IEZ_TRY(const std::string name, resolve(file_system));
  const placement::TargetTable& table = file_systems_.find(name)->second.table;
  std::uint64_t largest = 0;
  for (const placement::Target& target : table.targets) {
    if (target.exclusion == placement::Exclusion::none) largest = std::max(largest, target.available.count);
  }
  std::vector<api::OstWeight> out;
  for (const placement::Target& target : table.targets) {
    if (target.exclusion != placement::Exclusion::none) continue;
    const double share = static_cast<double>(target.available.count) / static_cast<double>(largest);
    out.push_back({target.ost.value, static_cast<std::uint32_t>(std::max(1.0, 100 * share + 0.5))});
  }
  return out;
}

Bytes GlobalView::reserved(const std::string& file_system, OstIndex ost) const {
  const auto found = sums_.find(file_system);
  if (found == sums_.end() || ost.value >= found->second.reserved.size()) return {};
  return {found->second.reserved[ost.value]};
}

std::vector<TargetReport> GlobalView::targets(const std::string& file_system) const {
  std::vector<TargetReport> out;
  const auto found = file_systems_.find(file_system);
  if (found == file_systems_.end()) return out;
  const FileSystem& known = found->second;
  out.reserve(known.cluster.osts.size());
  for (const model::Ost& ost : known.cluster.osts) {
    TargetReport report{.ost = ost.index, .name = ost.name, .total = ost.total, .free = ost.free, .available = ost.available};
    report.reserved = reserved(file_system, ost.index);
    report.stale = std::ranges::binary_search(known.stale, ost.index);
    report.exclusion = known.table.targets[known.place[ost.index.value]].exclusion;
    out.push_back(std::move(report));
  }
  return out;
}

const model::Cluster* GlobalView::cluster(const std::string& file_system) const {
  const auto found = file_systems_.find(file_system);
  return found == file_systems_.end() ? nullptr : &found->second.cluster;
}

std::size_t GlobalView::usable_targets(const std::string& file_system) const {
  const auto found = file_systems_.find(file_system);
  if (found == file_systems_.end()) return 0;
  return static_cast<std::size_t>(
      std::ranges::count(found->second.table.targets, placement::Exclusion::none, &placement::Target::exclusion));
}

}  // namespace iez::coordinator
