#include "placement/replan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/online.hpp"
#include "placement/stripe_size.hpp"

namespace iez::placement {

namespace {

class Mender {
 public:
  Mender(const Plan& plan, const TargetTable& table, std::span<const Request> requests, const std::vector<bool>& created,
         BoundWish bound)
      : table_(table),
        requests_(requests),
        created_(created),
        bound_(bound),
        result_{.plan = plan},
        position_(table.positions()) {
    plan_.added.assign(table.targets.size(), {});
  }

  Result<Replan> mend() {
    find_misplaced();
    OnlineAllocator online(occupied());
    for (auto& [file, stripes] : misplaced_) IEZ_CHECK(move(file, stripes, online));
    summarise();
    return std::move(result_);
  }

 private:
  using Stripes = std::vector<std::uint64_t>;  // positions in Plan::osts

  std::uint32_t at(std::uint64_t stripe) const { return position_[plan_.osts[stripe].value]; }

  // First come, first kept: what does not fit is of the last files.
  void find_misplaced() {
    for (std::uint32_t i = 0; i < plan_.files.size(); ++i) {
      if (!created_.empty() && created_[i]) continue;
      const Planned& file = plan_.files[i];
      Stripes stripes;
      for (std::uint64_t stripe = file.first; stripe < file.first + file.stripes; ++stripe) {
        const Target& target = table_.targets[at(stripe)];
        if (target.exclusion != Exclusion::none || plan_.added[at(stripe)] + file.object_bytes > target.available) {
          stripes.push_back(stripe);
        } else {
          plan_.added[at(stripe)] += file.object_bytes;
        }
      }
      if (!stripes.empty()) misplaced_.emplace_back(i, std::move(stripes));
    }
  }

  // The table with what stays.
  TargetTable occupied() const {
    TargetTable now = table_;
    for (std::size_t j = 0; j < now.targets.size(); ++j) {
      now.targets[j].used += plan_.added[j];
      now.targets[j].available = now.targets[j].available - std::min(now.targets[j].available, plan_.added[j]);
    }
    return now;
  }

  Result<void> move(std::uint32_t i, const Stripes& stripes, OnlineAllocator& online) {
    Planned& file = plan_.files[i];
    std::vector<std::uint32_t> kept;
    for (std::uint64_t stripe = file.first; stripe < file.first + file.stripes; ++stripe) {
      if (!std::ranges::binary_search(stripes, stripe)) kept.push_back(at(stripe));
    }
    // The targets the file keeps take no further object of it.
    const auto set_usable = [&](bool usable) {
      if (file.overstriped) return;
      for (const std::uint32_t target : kept) online.set_state(target, online.used(target), online.available(target), usable);
    };
    set_usable(false);
    std::vector<std::uint32_t> chosen;
    auto count = static_cast<std::uint32_t>(stripes.size());
    Demand demand{file.object_bytes, count, file.overstriped ? file.stripes : 1, file.pool};
    auto shortage = online.place(demand, chosen);
    set_usable(true);
    if (shortage) {
      // Fewer and larger objects: the file keeps what it has, as far as that has room for more.
      count = shortage->placed;
      IEZ_CHECK(shrink(file, kept, static_cast<std::uint32_t>(kept.size()) + count, online));
      set_usable(false);
      demand.object_bytes = file.object_bytes;
      demand.count = count;
      shortage = count > 0 ? online.place(demand, chosen) : std::nullopt;
      set_usable(true);
      if (shortage) return no_room(file);
    }
    // Kept stripes stay where they are in the order; the others take the places that became free.
    std::vector<OstIndex> osts;
    std::size_t next = 0;
    for (std::uint64_t stripe = file.first; stripe < file.first + stripes.size() + kept.size(); ++stripe) {
      if (!std::ranges::binary_search(stripes, stripe)) {
        osts.push_back(plan_.osts[stripe]);
      } else if (next < chosen.size()) {
        osts.push_back(table_.targets[chosen[next++]].ost);
      }
    }
    std::ranges::copy(osts, plan_.osts.begin() + static_cast<std::ptrdiff_t>(file.first));
    for (const std::uint32_t target : chosen) plan_.added[target] += file.object_bytes;
    file.reason.moved += count;
    result_.changed.push_back(i);
    result_.moved_objects += stripes.size();
    return {};
  }

  // Gives the file fewer stripes, and the kept targets the larger objects.
  Result<void> shrink(Planned& file, const std::vector<std::uint32_t>& kept, std::uint32_t stripes, OnlineAllocator& online) {
    if (stripes == 0) return no_room(file);
    const Bytes larger = largest_object(file.bytes, file.stripe_size, stripes);
    const Bytes more = larger - file.object_bytes;
    for (const std::uint32_t target : kept) {
      if (online.available(target) < more) return no_room(file);
    }
    for (const std::uint32_t target : kept) {
      online.set_state(target, online.used(target) + more, online.available(target) - more, true);
      plan_.added[target] += more;
    }
    file.stripes = stripes;
    file.object_bytes = larger;
    file.reason.cut = CountCut::space;
    return {};
  }

  std::unexpected<Error> no_room(const Planned& file) const {
    return fail(Errc::limit,
                fmt::format("file '{}' cannot be planned anew: its objects on OSTs that failed or filled up find no room "
                            "elsewhere; the plan is unchanged",
                            text::printable(requests_[file.request].name)));
  }

  void summarise() {
    plan_.before = balance(table_, {});
    plan_.after = balance(table_, plan_.added);
    plan_.over.clear();
    plan_.avoided.clear();
    for (const Target& target : table_.targets) {
      if (target.exclusion != Exclusion::none) plan_.avoided.push_back(target.ost);
    }
    std::vector<std::uint32_t> takers;  // per pool
    for (std::uint32_t pool = 0; pool < table_.pools.size(); ++pool) {
      const Usable members = usable(table_, pool);
      takers.push_back(static_cast<std::uint32_t>(members.sound.size() + members.second.size()));
    }
    std::vector<Demand> demands;
    for (std::size_t i = 0; i < plan_.files.size(); ++i) {
      Planned& file = plan_.files[i];
      file.reason.usable = takers[file.pool];
      if (file.stripes == 0 || (!created_.empty() && created_[i])) continue;
      const std::uint32_t targets = std::max(file.reason.usable, 1U);
      demands.push_back({file.object_bytes, file.stripes, (file.stripes + targets - 1) / targets, file.pool});
    }
    plan_.bound = bound_ == BoundWish::none ? 0 : lower_bound(table_, make_classes(demands), kBoundSizes).value();
    refresh_reasons(plan_, table_);
  }

  const TargetTable& table_;
  std::span<const Request> requests_;
  const std::vector<bool>& created_;
  BoundWish bound_;
  Replan result_;
  Plan& plan_ = result_.plan;
  std::vector<std::uint32_t> position_;  // by OST index
  std::vector<std::pair<std::uint32_t, Stripes>> misplaced_;
};

}  // namespace

Result<Replan> replan(const Plan& plan, const TargetTable& table, std::span<const Request> requests,
                      const std::vector<bool>& created, BoundWish bound) {
  return Mender(plan, table, requests, created, bound).mend();
}

}  // namespace iez::placement
