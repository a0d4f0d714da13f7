#include "placement/plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/stripe_size.hpp"

namespace iez::placement {

namespace {

constexpr std::size_t kSingleCuts = 32;
constexpr unsigned kSizedBits = 6;

// Larger than any file system.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;

std::string describe(const Request& request) { return fmt::format("file '{}'", text::printable(request.name)); }

// Pieces of a request before stripes are sized.
struct Piece {
  model::Extent extent;
  Bytes bytes;
  std::int32_t count = 1;
  std::optional<Bytes> stripe_size;
  std::string_view pool;
};

std::vector<Piece> pieces_of(const Request& request) {
  if (request.components.empty()) {
    return {{{}, request.bytes, request.stripe_count, request.stripe_size, request.pool}};
  }
  std::vector<Piece> pieces;
  std::uint64_t start = 0;
  for (const RequestComponent& component : request.components) {
    const std::uint64_t end = std::min(component.end, request.bytes.count);
    const Bytes bytes{end > start ? end - start : 0};
    pieces.push_back({{start, component.end}, bytes, component.stripe_count, component.stripe_size, component.pool});
    start = component.end;
  }
  return pieces;
}

Result<void> check(const Request& request) {
  const auto complain = [&](std::string_view what) {
    return fail(Errc::invalid_argument, fmt::format("{}: {}", describe(request), what));
  };
  if (request.name.empty()) return fail(Errc::invalid_argument, "a file has no name");
  if (request.bytes.count == 0) return complain("has 0 bytes: a file that stays empty needs no placement");
  if (request.bytes.count > kMostBytes) return complain("is larger than 4 EiB");
  std::uint64_t start = 0;
  for (const RequestComponent& component : request.components) {
    if (component.end <= start) return complain("a component ends before it starts");
    const std::uint64_t unit = component.stripe_size.value_or(model::kStripeAlignment).count;
    if (component.end != model::Extent::kEof &&
        (component.end % model::kStripeAlignment.count != 0 || (unit != 0 && component.end % unit != 0))) {
      return complain(fmt::format("a component ends at {}: expected a multiple of 64 KiB and of its stripe size", component.end));
    }
    start = component.end;
  }
  if (!request.components.empty() && start != model::Extent::kEof)
    return complain("its last component must reach the end of the file (eof)");
  for (const Piece& piece : pieces_of(request)) {
    if (piece.count == 0 || piece.count < kAllTargets) {
      return complain(fmt::format("a stripe count of {}: expected 1 or more, or -1 for all targets", piece.count));
    }
  }
  return {};
}

// What the stripe size must divide; 0: nothing.
Bytes end_of(const model::Extent& extent) { return {extent.end == model::Extent::kEof ? 0 : extent.end}; }

// For a component beyond the end of the file.
Bytes usual_stripe_size(const model::Extent& extent) {
  Bytes size = Bytes::mib(4);
  while (size > model::kStripeAlignment && end_of(extent).count % size.count != 0) size.count /= 2;
  return size;
}

struct Draft {
  std::vector<Planned> files;
  std::vector<bool> size_given;  // per file
  std::vector<Demand> demands;
  std::vector<std::uint32_t> file_of;  // per demand
};

// Choosing stripes tries a hundred sizes: answers are kept.
struct Sized {
  Bytes bytes;
  Bytes end;
  std::uint32_t count = 0;
  bool shared = false;
  Stripes stripes;
};

class Planner {
 public:
  Planner(const TargetTable& table, std::span<const Request> requests)
      : table_(table), requests_(requests), usable_(table.pools.size()) {
    for (std::uint32_t pool = 0; pool < usable_.size(); ++pool) {
      const Usable members = usable(table_, pool);
      usable_[pool] = static_cast<std::uint32_t>(members.sound.size() + members.second.size());
    }
  }

  Result<Draft> draft() const {
    Draft draft;
    draft.files.reserve(requests_.size());
    draft.demands.reserve(requests_.size());
    for (std::uint32_t i = 0; i < requests_.size(); ++i) IEZ_CHECK(add(i, draft));
    return draft;
  }

  // Gives the demand, and all like it, at most so many stripes; false if they have no fewer to give.
  bool cut(Draft& draft, std::size_t demand, std::uint32_t stripes) const {
    const Demand alike = draft.demands[demand];
    const Bytes bytes = draft.files[draft.file_of[demand]].bytes;
    if (alike.count <= 1) return false;
    stripes = std::clamp<std::uint32_t>(stripes, 1, alike.count - 1);
    for (std::size_t i = 0; i < draft.demands.size(); ++i) {
      Planned& file = draft.files[draft.file_of[i]];
      if (draft.demands[i] != alike || file.bytes != bytes) continue;
      // A given stripe size stays: it is what the request asked for.
      if (draft.size_given[draft.file_of[i]]) {
        file.object_bytes = largest_object(file.bytes, file.stripe_size, stripes);
        draft.demands[i].count = stripes;
      } else {
        const Stripes chosen = sized(file.bytes, stripes, requests_[file.request].shared, end_of(file.extent));
        file.stripe_size = chosen.size;
        file.object_bytes = chosen.object_bytes;
        draft.demands[i].count = chosen.count;
      }
      draft.demands[i].object_bytes = file.object_bytes;
      draft.demands[i].per_target = per_target(draft.demands[i].count, file.pool);
      file.overstriped = draft.demands[i].per_target > 1;
      file.stripes = draft.demands[i].count;
      file.reason.cut = CountCut::space;
    }
    return true;
  }

 private:
  const Stripes& sized(Bytes bytes, std::uint32_t count, bool shared, Bytes end) const {
    const std::uint64_t hash =
        (bytes.count + 31 * end.count + 2 * std::uint64_t{count} + (shared ? 1 : 0)) * 0x9E3779B97F4A7C15ULL;
    Sized& kept = sized_[hash >> (64U - kSizedBits)];
    if (kept.count != count || kept.bytes != bytes || kept.end != end || kept.shared != shared)
      kept = {bytes, end, count, shared, choose_stripes(bytes, count, shared, end)};
    return kept.stripes;
  }

  // How often a file of so many stripes must use a target.
  std::uint32_t per_target(std::uint32_t stripes, std::uint32_t pool) const {
    return (stripes + usable_[pool] - 1) / usable_[pool];
  }

  Result<void> add(std::uint32_t i, Draft& draft) const {
    const Request& request = requests_[i];
    IEZ_CHECK(check(request));
    for (const Piece& piece : pieces_of(request)) {
      const auto pool = table_.find_pool(piece.pool);
      if (!pool) return unknown_pool(request, piece.pool);
      const std::uint32_t usable = usable_[*pool];
      if (usable == 0) return fail(Errc::not_found, fmt::format("{}: {}", describe(request), nothing_usable(*pool)));
      Planned file{.request = i, .extent = piece.extent, .bytes = piece.bytes, .pool = *pool};
      file.reason.asked = piece.count == kAllTargets ? 0 : static_cast<std::uint32_t>(piece.count);
      file.reason.usable = usable;
      const bool over = request.overstripe && piece.count != kAllTargets;
      std::uint32_t count = piece.count == kAllTargets ? usable : static_cast<std::uint32_t>(piece.count);
      if (count > usable && !over) {
        count = usable;
        file.reason.cut = CountCut::usable_targets;
      }
      if (count > model::kMaxStripeCount) {
        count = model::kMaxStripeCount;
        file.reason.cut = CountCut::lustre_limit;
      }
      file.wanted = count;
      file.overstriped = per_target(count, *pool) > 1;
      draft.size_given.push_back(piece.stripe_size.has_value());
      if (piece.stripe_size) {
        auto stripes = fixed_stripes(piece.bytes, count, *piece.stripe_size);
        if (!stripes) return with_context(std::move(stripes).error(), describe(request));
        enter(file, *stripes, draft);
      } else if (piece.bytes.count > 0) {
        enter(file, sized(piece.bytes, count, request.shared, end_of(piece.extent)), draft);
      } else {
        file.stripe_size = usual_stripe_size(piece.extent);
        draft.files.push_back(file);
      }
    }
    return {};
  }

  void enter(Planned file, const Stripes& stripes, Draft& draft) const {
    file.stripe_size = stripes.size;
    if (file.bytes.count == 0) {
      draft.files.push_back(file);
      return;
    }
    if (stripes.count < file.wanted) file.reason.cut = CountCut::small_file;
    file.object_bytes = stripes.object_bytes;
    file.stripes = stripes.count;
    const std::uint32_t together = per_target(stripes.count, file.pool);
    file.overstriped = together > 1;
    draft.demands.push_back({stripes.object_bytes, stripes.count, together, file.pool});
    draft.file_of.push_back(static_cast<std::uint32_t>(draft.files.size()));
    draft.files.push_back(file);
  }

  std::unexpected<Error> unknown_pool(const Request& request, std::string_view name) const {
    std::vector<std::string_view> names;
    for (const TargetPool& pool : table_.pools) {
      if (!pool.name.empty()) names.push_back(pool.name);
    }
    const auto meant = text::nearest(name, names);
    const std::string remedy = meant           ? fmt::format("did you mean '{}'?", *meant)
                               : names.empty() ? std::string("the cluster has no pools")
                                               : fmt::format("there are: {}", fmt::join(names, ", "));
    return fail(Errc::invalid_argument, fmt::format("{}: no pool '{}'; {}", describe(request), text::printable(name), remedy));
  }

  std::string nothing_usable(std::uint32_t pool) const {
    std::string why;
    std::vector<std::size_t> counts(16);
    for (const std::uint32_t at : table_.pools[pool].members) ++counts[static_cast<std::size_t>(table_.targets[at].exclusion)];
    for (std::size_t kind = 1; kind < counts.size(); ++kind) {
      if (counts[kind] == 0) continue;
      why += fmt::format("{}{} {}", why.empty() ? "" : ", ", counts[kind], to_string(static_cast<Exclusion>(kind)));
    }
    const std::string where =
        table_.pools[pool].name.empty() ? std::string("the cluster") : fmt::format("pool '{}'", table_.pools[pool].name);
    return why.empty() ? fmt::format("{} has no OSTs", where) : fmt::format("no OST of {} takes new objects: {}", where, why);
  }

  const TargetTable& table_;
  std::span<const Request> requests_;
  std::vector<std::uint32_t> usable_;                              // per pool: targets that take objects
  mutable std::array<Sized, std::size_t{1} << kSizedBits> sized_;  // by a hash; files mostly are of a few kinds
};

Result<void> check_names(std::span<const Request> requests) {
  std::unordered_set<std::string_view> names;
  names.reserve(requests.size());
  for (const Request& request : requests) {
    if (!names.insert(request.name).second) {
      return fail(Errc::invalid_argument, fmt::format("{} is asked for twice", describe(request)));
    }
  }
  return {};
}

struct PoolNeed {
  Bytes wanted;
  Bytes available;
  std::size_t targets = 0;
};

// What the files of a pool need, and what its usable targets have.
PoolNeed need_of(const TargetTable& table, const Draft& draft, std::uint32_t pool) {
  PoolNeed need;
  for (std::size_t i = 0; i < draft.demands.size(); ++i) {
    const Planned& file = draft.files[draft.file_of[i]];
    if (file.pool == pool) need.wanted += file.bytes;
  }
  for (const std::uint32_t at : table.pools[pool].members) {
    if (table.targets[at].exclusion != Exclusion::none) continue;
    need.available += table.targets[at].available;
    ++need.targets;
  }
  return need;
}

std::unexpected<Error> no_room(const TargetTable& table, std::span<const Request> requests, const Draft& draft,
                               std::size_t demand) {
  const Planned& file = draft.files[draft.file_of[demand]];
  const PoolNeed need = need_of(table, draft, file.pool);
  const std::string& pool = table.pools[file.pool].name;
  return fail(Errc::limit,
              fmt::format("not enough space for {} ({}): {} need {}, {} usable OSTs have {}; nothing was placed",
                          describe(requests[file.request]), to_string(file.bytes),
                          pool.empty() ? std::string("all files together") : fmt::format("all files of pool '{}'", pool),
                          to_string(need.wanted), need.targets, to_string(need.available)));
}

void take_over(const TargetTable& table, const Assignment& assignment, Draft& draft, Plan& plan) {
  plan.added.resize(table.targets.size());
  plan.osts.reserve(assignment.targets.size());
  for (std::size_t i = 0; i < draft.demands.size(); ++i) {
    Planned& file = draft.files[draft.file_of[i]];
    const auto targets = assignment.of(i);
    if (targets.size() < file.stripes) {
      file.reason.cut = CountCut::policy;
      file.stripes = static_cast<std::uint32_t>(targets.size());
      file.object_bytes = largest_object(file.bytes, file.stripe_size, file.stripes);
      draft.demands[i].count = file.stripes;
      draft.demands[i].object_bytes = file.object_bytes;
    }
    file.first = plan.osts.size();
    for (const std::uint32_t at : targets) {
      plan.osts.push_back(table.targets[at].ost);
      plan.added[at] += file.object_bytes;
    }
  }
  plan.files = std::move(draft.files);
}

}  // namespace

Result<Plan> plan_files(const TargetTable& table, std::span<const Request> requests, Policy& policy, BoundWish bound) {
  IEZ_CHECK(check_names(requests));
  const Planner planner(table, requests);
  IEZ_TRY(Draft draft, planner.draft());
  Assignment assignment;
  for (std::size_t cuts = 0;; ++cuts) {
    IEZ_TRY(assignment, policy.assign(table, draft.demands));
    if (!assignment.shortage) break;
    const std::size_t demand = assignment.shortage->demand;
    const std::uint32_t pool = draft.demands[demand].pool;
    const PoolNeed need = need_of(table, draft, pool);
    if (need.wanted > need.available) return no_room(table, requests, draft, demand);
    // Larger objects on fewer targets: as many as found room, but at least half. After many cuts of single kinds, all at once.
    const std::uint32_t fewer = std::max(draft.demands[demand].count / 2, assignment.shortage->placed);
    bool cut = planner.cut(draft, demand, fewer);
    for (std::size_t i = 0; i < draft.demands.size() && cuts >= kSingleCuts; ++i) {
      if (draft.demands[i].pool == pool) cut = planner.cut(draft, i, draft.demands[i].count / 2) || cut;
    }
    if (!cut) return no_room(table, requests, draft, demand);
  }
  Plan plan{.policy = std::string(policy.name())};
  take_over(table, assignment, draft, plan);
  plan.before = balance(table, {});
  plan.after = balance(table, plan.added);
  refresh_reasons(plan, table);
  for (std::size_t j = 0; j < table.targets.size(); ++j) {
    const Target& target = table.targets[j];
    if (plan.added[j] > target.available && target.exclusion == Exclusion::none) plan.over.push_back(target.ost);
    if (target.exclusion != Exclusion::none) plan.avoided.push_back(target.ost);
  }
  if (bound == BoundWish::none) return plan;
  // A policy that does not heed space is not bound by it.
  TargetTable open = plan.over.empty() ? TargetTable{} : table;
  for (Target& target : open.targets) target.available = {kMostBytes};
  plan.bound = lower_bound(plan.over.empty() ? table : open, make_classes(draft.demands), kBoundSizes).value();
  return plan;
}

Result<Plan> plan_with_room(const TargetTable& table, std::span<const Request> requests, std::span<const Bytes> room,
                            Policy& policy, BoundWish bound) {
  IEZ_ASSERT(room.size() == requests.size());
  IEZ_TRY(Plan plan, plan_files(table, requests, policy, bound));
  const std::vector<std::uint32_t> position = table.positions();
  std::vector<Bytes> needed(table.targets.size());
  bool fits = true;
  for (const Planned& file : plan.files) {
    if (file.stripes == 0) continue;
    const Bytes object = largest_object(std::max(file.bytes, room[file.request]), file.stripe_size, file.stripes);
    for (const OstIndex ost : plan.osts_of(file)) {
      const std::size_t target = position[ost.value];
      needed[target] += object;
      fits = fits && needed[target] <= table.targets[target].available;
    }
  }
  if (fits) return plan;
  std::vector<Request> larger(requests.begin(), requests.end());
  for (std::size_t i = 0; i < larger.size(); ++i) larger[i].bytes = std::max(larger[i].bytes, room[i]);
  return plan_files(table, larger, policy, bound);
}

void refresh_reasons(Plan& plan, const TargetTable& table) {
  const std::vector<std::uint32_t> position = table.positions();
  for (Planned& file : plan.files) {
    Reason& reason = file.reason;
    reason.lowest = file.stripes > 0 ? std::numeric_limits<double>::infinity() : 0;
    reason.highest = 0;
    reason.second_choice = 0;
    for (const OstIndex ost : plan.osts_of(file)) {
      const std::uint32_t at = position[ost.value];
      const Target& target = table.targets[at];
      const auto used = static_cast<double>((target.used + plan.added[at]).count);
      const double utilisation = used / std::max(1.0, static_cast<double>(target.capacity.count));
      reason.lowest = std::min(reason.lowest, utilisation);
      reason.highest = std::max(reason.highest, utilisation);
      if (target.second_choice()) ++reason.second_choice;
    }
  }
}

std::string to_string(const Reason& reason, std::uint32_t stripes) {
  if (stripes == 0) return "beyond the expected end of the file: left to the file system";
  std::string text = stripes == reason.usable ? fmt::format("all {} usable OSTs", reason.usable)
                                              : fmt::format("{} of {} usable OSTs", stripes, reason.usable);
  if (stripes > reason.usable) text = fmt::format("{} stripes on {} usable OSTs", stripes, reason.usable);
  text += stripes == 1 || reason.lowest == reason.highest
              ? fmt::format(", {:.1f} % full afterwards", 100 * reason.highest)
              : fmt::format(", {:.1f} to {:.1f} % full afterwards", 100 * reason.lowest, 100 * reason.highest);
  if (reason.second_choice > 0)
    text += fmt::format("; {} of them degraded or on a busy server, since the others did not suffice", reason.second_choice);
  if (reason.moved > 0) text += fmt::format("; {} moved, since their OSTs failed or filled up", reason.moved);
  switch (reason.cut) {
    case CountCut::none:
      break;
    case CountCut::usable_targets:
      text += fmt::format("; {} stripes were asked for, but no more OSTs take objects", reason.asked);
      break;
    case CountCut::lustre_limit:
      text += "; Lustre allows 2000 stripes";
      break;
    case CountCut::small_file:
      text +=
          fmt::format("; of {} stripes asked for the others would stay empty", reason.asked == 0 ? reason.usable : reason.asked);
      break;
    case CountCut::space:
      text += fmt::format("; of {} stripes asked for, since too few OSTs have room for so many",
                          reason.asked == 0 ? reason.usable : reason.asked);
      break;
    case CountCut::policy:
      text += fmt::format("; {} stripes were asked for, the file system gives fewer",
                          reason.asked == 0 ? reason.usable : reason.asked);
      break;
  }
  return text;
}

model::Layout layout_of(const Plan& plan, std::span<const Planned> files, const TargetTable& table) {
  model::Layout layout;
  layout.composite = files.size() > 1;
  for (const Planned& file : files) {
    model::Component component;
    component.extent = file.extent;
    component.stripe_size = file.stripe_size;
    component.stripe_count = static_cast<std::uint16_t>(file.stripes > 0 ? file.stripes : file.wanted);
    component.overstriped = file.overstriped;
    component.pool = table.pools[file.pool].name;
    const auto osts = plan.osts_of(file);
    component.osts.assign(osts.begin(), osts.end());
    layout.components.push_back(std::move(component));
  }
  return layout;
}

}  // namespace iez::placement
