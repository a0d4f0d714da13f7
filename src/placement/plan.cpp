#include "placement/plan.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/stripe_size.hpp"

namespace iez::placement {

namespace {

// Larger than any file system; keeps sums of a few million files from wrapping.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;

struct PoolState {
  std::uint32_t usable = 0;
};

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

struct Draft {
  std::vector<Planned> files;
  std::vector<Demand> demands;
  std::vector<std::uint32_t> file_of;  // per demand
};

class Planner {
 public:
  Planner(const TargetTable& table, std::span<const Request> requests)
      : table_(table), requests_(requests), pools_(table.pools.size()) {
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
      const Usable members = usable(table_, pool);
      pools_[pool].usable = static_cast<std::uint32_t>(members.sound.size() + members.degraded.size());
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
      if (requests_[file.request].stripe_size && requests_[file.request].components.empty()) {
        file.object_bytes = largest_object(file.bytes, file.stripe_size, stripes);
        draft.demands[i].count = stripes;
      } else {
        const Stripes chosen = choose_stripes(file.bytes, stripes);
        file.stripe_size = chosen.size;
        file.object_bytes = chosen.object_bytes;
        draft.demands[i].count = chosen.count;
      }
      draft.demands[i].object_bytes = file.object_bytes;
      file.stripes = draft.demands[i].count;
      file.reason.cut = CountCut::space;
    }
    return true;
  }

 private:
  Result<void> add(std::uint32_t i, Draft& draft) const {
    const Request& request = requests_[i];
    IEZ_CHECK(check(request));
    for (const Piece& piece : pieces_of(request)) {
      const auto pool = table_.find_pool(piece.pool);
      if (!pool) return unknown_pool(request, piece.pool);
      const std::uint32_t usable = pools_[*pool].usable;
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
      if (piece.stripe_size) {
        auto stripes = fixed_stripes(piece.bytes, count, *piece.stripe_size);
        if (!stripes) return with_context(std::move(stripes).error(), describe(request));
        enter(file, *stripes, draft);
      } else if (piece.bytes.count > 0) {
        enter(file, choose_stripes(piece.bytes, count), draft);
      } else {
        file.stripe_size = Bytes::mib(4);
        draft.files.push_back(file);
      }
    }
    return {};
  }

  static void enter(Planned file, const Stripes& stripes, Draft& draft) {
    file.stripe_size = stripes.size;
    if (file.bytes.count == 0) {
      draft.files.push_back(file);
      return;
    }
    if (stripes.count < file.wanted) file.reason.cut = CountCut::small_file;
    file.object_bytes = stripes.object_bytes;
    file.stripes = stripes.count;
    const std::uint32_t per_target = (stripes.count + file.reason.usable - 1) / file.reason.usable;
    file.overstriped = per_target > 1;
    draft.demands.push_back({stripes.object_bytes, stripes.count, per_target, file.pool});
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
  std::vector<PoolState> pools_;
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

std::unexpected<Error> no_room(const TargetTable& table, std::span<const Request> requests, const Draft& draft,
                               std::size_t demand) {
  const Planned& file = draft.files[draft.file_of[demand]];
  Bytes wanted;
  for (const Planned& planned : draft.files) wanted += planned.bytes;
  Bytes available;
  std::size_t targets = 0;
  for (const std::uint32_t at : table.pools[file.pool].members) {
    if (table.targets[at].exclusion != Exclusion::none) continue;
    available += table.targets[at].available;
    ++targets;
  }
  return fail(
      Errc::limit,
      fmt::format("not enough space for {} ({}): all files together need {}, {} usable OSTs have {}; nothing was placed",
                  describe(requests[file.request]), to_string(file.bytes), to_string(wanted), targets, to_string(available)));
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
    }
    file.first = plan.osts.size();
    for (const std::uint32_t at : targets) {
      plan.osts.push_back(table.targets[at].ost);
      plan.added[at] += file.object_bytes;
    }
  }
  for (std::size_t i = 0; i < draft.demands.size(); ++i) {
    Reason& reason = draft.files[draft.file_of[i]].reason;
    reason.lowest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t at : assignment.of(i)) {
      const Target& target = table.targets[at];
      const double utilisation =
          static_cast<double>((target.used + plan.added[at]).count) / static_cast<double>(target.capacity.count);
      reason.lowest = std::min(reason.lowest, utilisation);
      reason.highest = std::max(reason.highest, utilisation);
      if (target.degraded) ++reason.degraded;
    }
  }
  plan.files = std::move(draft.files);
}

}  // namespace

Result<Plan> plan_files(const TargetTable& table, std::span<const Request> requests, Policy& policy) {
  IEZ_CHECK(check_names(requests));
  const Planner planner(table, requests);
  IEZ_TRY(Draft draft, planner.draft());
  Assignment assignment;
  while (true) {
    IEZ_TRY(assignment, policy.assign(table, draft.demands));
    if (!assignment.shortage) break;
    // Larger objects on fewer targets: half as many, or as many as found room.
    const std::size_t demand = assignment.shortage->demand;
    const std::uint32_t half = draft.demands[demand].count / 2;
    if (!planner.cut(draft, demand, half)) return no_room(table, requests, draft, demand);
  }
  Plan plan{.policy = std::string(policy.name())};
  const std::vector<DemandClass> classes = make_classes(draft.demands);
  plan.bound = lower_bound(table, classes, 256).value();
  take_over(table, assignment, draft, plan);
  plan.before = balance(table, {});
  plan.after = balance(table, plan.added);
  for (std::size_t j = 0; j < table.targets.size(); ++j) {
    const Target& target = table.targets[j];
    if (plan.added[j] > target.available && target.exclusion == Exclusion::none) plan.over.push_back(target.ost);
    if (target.exclusion != Exclusion::none) plan.avoided.push_back(target.ost);
  }
  return plan;
}

std::string to_string(const Reason& reason, std::uint32_t stripes) {
  if (stripes == 0) return "beyond the expected end of the file: left to the file system";
  std::string text = stripes == reason.usable ? fmt::format("all {} usable OSTs", reason.usable)
                                              : fmt::format("{} of {} usable OSTs", stripes, reason.usable);
  if (stripes > reason.usable) text = fmt::format("{} stripes on {} usable OSTs", stripes, reason.usable);
  text += stripes == 1 || reason.lowest == reason.highest
              ? fmt::format(", {:.1f} % full afterwards", 100 * reason.highest)
              : fmt::format(", {:.1f} to {:.1f} % full afterwards", 100 * reason.lowest, 100 * reason.highest);
  if (reason.degraded > 0) text += fmt::format("; {} of them degraded, since the others did not suffice", reason.degraded);
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
