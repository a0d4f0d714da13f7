#include "coordinator/global_view.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/plan.hpp"
#include "placement/replan.hpp"
#include "placement/stripe_size.hpp"

namespace iez::coordinator {

namespace {

constexpr std::size_t kNotedTargets = 8;
constexpr double kEven = 1.01;        // OSTCost that is good enough
constexpr double kWorthwhile = 0.99;  // of the OSTCost before

std::string key_of(std::string_view user, std::string_view application, std::string_view file_system) {
  std::string key(user);
  key.push_back('\0');
  key.append(application);
  key.push_back('\0');
  key.append(file_system);
  return key;
}

struct Expanded {
  std::vector<placement::Request> requests;
  std::vector<std::uint32_t> file;  // per request
};

Expanded expand(const api::PlanRequest& request, bool with_high) {
  Expanded out;
  for (std::uint32_t i = 0; i < request.files.size(); ++i) {
    const api::FileRequest& file = request.files[i];
    placement::Request one{.name = file.name, .bytes = {with_high ? std::max(file.bytes, file.high) : file.bytes}};
    one.stripe_count = file.stripe_count;
    if (one.stripe_count == 0) {
      one.stripe_count = static_cast<std::int32_t>(placement::usual_stripe_count({std::max(file.bytes, file.high)}, file.shared));
    }
    if (file.stripe_size != 0) one.stripe_size = Bytes{file.stripe_size};
    one.pool = file.pool;
    if (file.files == 1) {
      out.requests.push_back(std::move(one));
      out.file.push_back(i);
      continue;
    }
    for (std::uint64_t k = 0; k < file.files; ++k) {
      out.requests.push_back(one);
      out.requests.back().name = fmt::format("{} ({})", file.name, k + 1);
      out.file.push_back(i);
    }
  }
  return out;
}

bool any_high(const api::PlanRequest& request) {
  return std::ranges::any_of(request.files, [](const api::FileRequest& file) { return file.high > file.bytes; });
}

std::vector<std::string> notes_of(const placement::Plan& plan, const placement::TargetTable& table,
                                  const std::vector<OstIndex>& stale) {
  std::vector<std::string> notes;
  if (plan.avoided.empty()) return notes;
  std::size_t listed = 0;
  std::string text = fmt::format("{} of {} OSTs are planned around:", plan.avoided.size(), table.targets.size());
  for (const placement::Target& target : table.targets) {
    if (target.exclusion == placement::Exclusion::none) continue;
    if (++listed > kNotedTargets) break;
    const bool old = std::ranges::binary_search(stale, target.ost);
    text += fmt::format("{} {} ({})", listed == 1 ? "" : ",", target.ost.value,
                        old ? std::string_view("no recent telemetry") : placement::to_string(target.exclusion));
  }
  if (listed > kNotedTargets) text += ", ...";
  notes.push_back(std::move(text));
  return notes;
}

// Reasons that read alike are written once.
class Reasons {
 public:
  std::uint32_t add(const placement::Reason& reason, std::uint32_t stripes) {
    const auto tenths = [](double share) { return static_cast<std::int64_t>(share * 1000 + 0.5); };
    const Key key{stripes,
                  reason.asked,
                  static_cast<std::uint64_t>(reason.cut),
                  reason.usable,
                  reason.second_choice,
                  reason.moved,
                  static_cast<std::uint64_t>(tenths(reason.lowest)),
                  static_cast<std::uint64_t>(tenths(reason.highest))};
    const auto [known, fresh] = known_.emplace(key, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(placement::to_string(reason, stripes));
    return known->second;
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  using Key = std::array<std::uint64_t, 8>;
  std::map<Key, std::uint32_t> known_;
  std::vector<std::string> texts_;
};

void take_layouts(const placement::Plan& planned, const std::vector<std::uint64_t>& reserved_bytes, StoredPlan& out) {
  Reasons reasons;
  out.layouts.clear();
  out.osts.clear();
  out.layouts.reserve(planned.files.size());
  out.osts.reserve(planned.osts.size());
  for (std::size_t i = 0; i < planned.files.size(); ++i) {
    const placement::Planned& file = planned.files[i];
    StoredLayout layout{.bytes = reserved_bytes[i], .object_bytes = file.object_bytes.count};
    if (layout.bytes > file.bytes.count) {
      layout.object_bytes = placement::largest_object({layout.bytes}, file.stripe_size, file.stripes).count;
    }
    layout.stripe_size = file.stripe_size.count;
    layout.first = static_cast<std::uint32_t>(out.osts.size());
    layout.stripes = static_cast<std::uint16_t>(file.stripes);
    layout.pool = static_cast<std::uint16_t>(file.pool);
    layout.overstriped = file.overstriped;
    layout.reason = reasons.add(file.reason, file.stripes);
    for (const OstIndex ost : planned.osts_of(file)) out.osts.push_back(ost.value);
    out.layouts.push_back(layout);
  }
  out.reasons = reasons.take();
}

}  // namespace

Result<void> GlobalView::set_cluster(model::Cluster cluster, std::vector<OstIndex> stale) {
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
  target.reserved = reserved;
  target.used = base.used - replaced(known, sums, ost) + reserved;
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
  for (const api::FreedBytes& row : freed) {
    if (row.ost >= known.place.size() || known.place[row.ost] == kNone) continue;
    const placement::Target& base = known.base.targets[known.place[row.ost]];
    placement::Target& target = known.table.targets[known.place[row.ost]];
    const Bytes bytes{std::min(row.bytes, base.used.count)};
    target.used = target.used - std::min(base.used - replaced(known, sums, row.ost), bytes);
    target.available = std::min(target.capacity, target.available + bytes);
    if (target.exclusion == placement::Exclusion::full && target.available.count > 0)
      target.exclusion = placement::Exclusion::none;
  }
}

Result<StoredPlan> GlobalView::plan(const api::PlanRequest& request, std::string_view user, std::uint64_t id, std::int64_t now_ns,
                                    std::int64_t ttl_ns) {
  IEZ_TRY(const std::string name, resolve(request.file_system));
  FileSystem& known = file_systems_.find(name)->second;
  const Sums& sums = sums_[name];
  StoredPlan out{.id = id, .user = std::string(user), .application = request.application, .file_system = name};
  out.policy = policy_->name();
  out.database = request.database;
  out.made_ns = now_ns;
  out.expires_ns = now_ns + ttl_ns;
  out.weights = !request.spread.empty();
  out.freed = request.freed;
  free_for(known, sums, request.freed);
  const auto undo_freed = [&] {
    for (const api::FreedBytes& row : request.freed) refresh(known, sums, row.ost);
  };
  std::optional<Result<placement::Plan>> planned;
  Expanded expanded;
  const bool high = any_high(request);
  for (const bool with_high : {false, true}) {
    if (with_high && !high) break;
    expanded = expand(request, with_high);
    planned = placement::plan_files(known.table, expanded.requests, *policy_, placement::BoundWish::none);
    if (!*planned || !high || with_high) break;
    // Sizes as expected decide where; but what is reserved must fit, too.
    std::vector<std::uint64_t> added(known.table.targets.size());
    bool fits = true;
    for (const placement::Planned& file : (*planned)->files) {
      const api::FileRequest& asked = request.files[expanded.file[file.request]];
      const Bytes object = placement::largest_object({std::max(asked.bytes, asked.high)}, file.stripe_size, file.stripes);
      for (const OstIndex ost : (*planned)->osts_of(file)) {
        std::uint64_t& sum = added[known.place[ost.value]];
        sum = saturating_add(sum, object.count);
        fits = fits && sum <= known.table.targets[known.place[ost.value]].available.count;
      }
    }
    if (fits) break;
  }
  if (!*planned) {
    undo_freed();
    return std::unexpected(std::move(*planned).error());
  }
  const placement::Plan& plan = **planned;
  std::vector<std::uint64_t> reserved_bytes;
  reserved_bytes.reserve(plan.files.size());
  out.entries.resize(request.files.size());
  for (const placement::Planned& file : plan.files) {
    const std::uint32_t at = expanded.file[file.request];
    reserved_bytes.push_back(std::max(request.files[at].bytes, request.files[at].high));
    ++out.entries[at].layouts;
  }
  std::uint32_t first = 0;
  for (StoredEntry& entry : out.entries) {
    entry.first = first;
    first += entry.layouts;
  }
  for (const placement::TargetPool& pool : known.table.pools) out.pools.push_back(pool.name);
  take_layouts(plan, reserved_bytes, out);
  out.before = {plan.before.ost_cost, plan.before.oss_cost};
  out.after = {plan.after.ost_cost, plan.after.oss_cost};
  out.notes = notes_of(plan, known.table, known.stale);
  undo_freed();
  return out;
}

void GlobalView::account(const StoredPlan& plan, bool add) {
  Sums& sums = sums_[plan.file_system];
  const auto found = file_systems_.find(plan.file_system);
  const auto at = [](std::vector<std::uint64_t>& list, std::uint32_t ost) -> std::uint64_t& {
    if (ost >= list.size()) list.resize(std::size_t{ost} + 1);
    return list[ost];
  };
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first + entry.created; i < entry.first + entry.layouts; ++i) {
      const StoredLayout& layout = plan.layouts[i];
      for (const std::uint32_t ost : plan.osts_of(layout)) {
        at(sums.reserved, ost) += add ? layout.object_bytes : 0 - layout.object_bytes;
      }
    }
    pending_files_ += add ? entry.layouts - entry.created : 0 - std::uint64_t{entry.layouts - entry.created};
  }
  for (const api::FreedBytes& row : plan.freed) at(sums.freed, row.ost) += add ? row.bytes : 0 - row.bytes;
  if (found == file_systems_.end()) return;
  for (const std::uint32_t ost : plan.osts) refresh(found->second, sums, ost);
  for (const api::FreedBytes& row : plan.freed) refresh(found->second, sums, row.ost);
}

void GlobalView::put(std::uint64_t id, PlanPointer plan) {
  const auto old = plans_.find(id);
  if (old != plans_.end()) {
    const StoredPlan& before = *old->second;
    account(before, false);
    const std::string key = key_of(before.user, before.application, before.file_system);
    const auto group = by_application_.find(key);
    group->second.erase(id);
    if (group->second.empty()) by_application_.erase(group);
    by_expiry_.erase({before.expires_ns, id});
    plans_.erase(old);
  }
  if (!plan) return;
  account(*plan, true);
  by_application_[key_of(plan->user, plan->application, plan->file_system)].insert(id);
  by_expiry_.emplace(plan->expires_ns, id);
  plans_.emplace(id, std::move(plan));
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

bool GlobalView::misplaced(const FileSystem& known, const Sums& sums, const StoredPlan& plan) const {
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first + entry.created; i < entry.first + entry.layouts; ++i) {
      for (const std::uint32_t ost : plan.osts_of(plan.layouts[i])) {
        if (overfull(known, sums, ost)) return true;
      }
    }
  }
  return false;
}

// REQUIRES: the plan itself is not reserved.
Result<PlanPointer> GlobalView::mended(FileSystem& known, const StoredPlan& plan) {
  placement::Plan old{.policy = plan.policy};
  std::vector<bool> created;
  std::vector<std::uint64_t> bytes;
  for (const StoredEntry& entry : plan.entries) {
    for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
      const StoredLayout& layout = plan.layouts[i];
      const auto pool = known.table.find_pool(plan.pools[layout.pool]);
      placement::Planned file{.request = 0, .bytes = {layout.bytes}, .stripe_size = {layout.stripe_size}};
      file.object_bytes = {layout.object_bytes};
      file.pool = pool.value_or(placement::kAnyPool);
      file.overstriped = layout.overstriped;
      file.first = layout.first;
      file.stripes = layout.stripes;
      file.reason.asked = layout.stripes;
      old.files.push_back(file);
      bytes.push_back(layout.bytes);
      created.push_back(i < entry.first + entry.created);
    }
  }
  for (const std::uint32_t ost : plan.osts) {
    if (ost >= known.place.size() || known.place[ost] == kNone) {
      return fail(Errc::not_found, fmt::format("OST {} is not known any more", ost));
    }
    old.osts.push_back({ost});
  }
  const std::vector<placement::Request> names{{.name = plan.application}};
  const Sums& sums = sums_[plan.file_system];
  free_for(known, sums, plan.freed);
  auto anew = placement::replan(old, known.table, names, created, placement::BoundWish::none);
  for (const api::FreedBytes& row : plan.freed) refresh(known, sums, row.ost);
  if (!anew) return std::unexpected(std::move(anew).error());
  if (anew->changed.empty()) return PlanPointer();
  auto next = std::make_shared<StoredPlan>(plan);
  ++next->revision;
  next->pools.clear();
  for (const placement::TargetPool& pool : known.table.pools) next->pools.push_back(pool.name);
  take_layouts(anew->plan, bytes, *next);
  next->after = {anew->plan.after.ost_cost, anew->plan.after.oss_cost};
  next->notes = notes_of(anew->plan, known.table, known.stale);
  next->notes.push_back(fmt::format("{} objects were planned anew, since their OSTs failed or filled up", anew->moved_objects));
  return PlanPointer(std::move(next));
}

std::vector<PlanChange> GlobalView::mend(std::size_t most) {
  std::vector<PlanChange> changes;
  for (auto& [name, known] : file_systems_) {
    const Sums& sums = sums_[name];
    bool needed = false;
    for (std::uint32_t ost = 0; ost < sums.reserved.size() && !needed; ++ost) {
      needed = sums.reserved[ost] > 0 && overfull(known, sums, ost);
    }
    if (!needed) continue;
    std::vector<PlanPointer> newest;
    for (const auto& [id, plan] : plans_) {
      if (plan->file_system == name) newest.push_back(plan);
    }
    std::ranges::sort(newest, [](const PlanPointer& a, const PlanPointer& b) {
      return std::pair(a->made_ns, a->id) > std::pair(b->made_ns, b->id);
    });
    for (const PlanPointer& plan : newest) {
      if (changes.size() >= most) return changes;
      if (!misplaced(known, sums, *plan)) continue;
      put(plan->id, nullptr);
      auto next = mended(known, *plan);
      const bool better = next && *next;
      put(plan->id, better ? *next : plan);
      if (better) changes.push_back({plan, *std::move(next)});
    }
  }
  return changes;
}

// REQUIRES: the plan itself is not reserved, and nothing of it was created.
Result<PlanPointer> GlobalView::planned_anew(FileSystem& known, const StoredPlan& plan) {
  std::vector<placement::Request> requests;
  std::vector<std::uint64_t> bytes;
  requests.reserve(plan.layouts.size());
  bytes.reserve(plan.layouts.size());
  for (const StoredLayout& layout : plan.layouts) {
    requests.push_back({.name = plan.application,
                        .bytes = {std::max<std::uint64_t>(1, layout.bytes)},
                        .stripe_count = layout.stripes,
                        .stripe_size = Bytes{layout.stripe_size},
                        .pool = plan.pools[layout.pool],
                        .overstripe = layout.overstriped});
    bytes.push_back(layout.bytes);
  }
  const Sums& sums = sums_[plan.file_system];
  free_for(known, sums, plan.freed);
  auto planned = placement::plan_files(known.table, requests, *policy_, placement::BoundWish::none);
  for (const api::FreedBytes& row : plan.freed) refresh(known, sums, row.ost);
  if (!planned) return std::unexpected(std::move(planned).error());
  auto next = std::make_shared<StoredPlan>(plan);
  ++next->revision;
  next->pools.clear();
  for (const placement::TargetPool& pool : known.table.pools) next->pools.push_back(pool.name);
  take_layouts(*planned, bytes, *next);
  next->after = {planned->after.ost_cost, planned->after.oss_cost};
  next->notes = notes_of(*planned, known.table, known.stale);
  next->notes.emplace_back("planned anew together with another application's files");
  return PlanPointer(std::move(next));
}

std::vector<PlanChange> GlobalView::rebalance(std::int64_t since_ns) {
  std::vector<PlanChange> changes;
  for (auto& [name, known] : file_systems_) {
    std::vector<PlanPointer> recent;
    for (const auto& [id, plan] : plans_) {
      if (plan->file_system == name && plan->made_ns >= since_ns && plan->layouts.size() <= kRebalanced && plan->created() == 0) {
        recent.push_back(plan);
      }
    }
    if (recent.size() < 2) continue;
    std::ranges::sort(recent, {}, [](const PlanPointer& plan) { return std::pair(plan->made_ns, plan->id); });
    if (recent.size() > kTogether) recent.erase(recent.begin(), recent.end() - kTogether);
    const auto cost = [&known] {
      return placement::balance(known.table, std::vector<Bytes>(known.table.targets.size())).ost_cost;
    };
    double before = cost();
    for (const PlanPointer& plan : recent) {
      if (before <= kEven) break;
      put(plan->id, nullptr);
      const auto next = planned_anew(known, *plan);
      if (next) put(plan->id, *next);
      const double after = next ? cost() : before;
      if (after < before * kWorthwhile) {
        changes.push_back({plan, *next});
        before = after;
      } else {
        put(plan->id, plan);
      }
    }
  }
  return changes;
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
