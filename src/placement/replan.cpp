#include "placement/replan.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/online.hpp"

namespace iez::placement {

namespace {

struct Move {
  std::uint32_t file;
  std::uint64_t stripe;  // in Plan::osts
};

}  // namespace

Result<Replan> replan(const Plan& plan, const TargetTable& table, std::span<const Request> requests,
                      const std::vector<bool>& created) {
  std::map<OstIndex, std::uint32_t> position;
  for (std::uint32_t j = 0; j < table.targets.size(); ++j) position[table.targets[j].ost] = j;
  const auto exists = [&](std::size_t file) { return !created.empty() && created[file]; };

  Replan result{.plan = plan};
  Plan& next = result.plan;
  next.added.assign(table.targets.size(), {});
  // First come, first kept: whatever does not fit is from the last files.
  std::vector<Move> moves;
  for (std::uint32_t i = 0; i < next.files.size(); ++i) {
    if (exists(i)) continue;
    const Planned& file = next.files[i];
    for (std::uint64_t stripe = file.first; stripe < file.first + file.stripes; ++stripe) {
      const std::uint32_t at = position.at(next.osts[stripe]);
      const Target& target = table.targets[at];
      if (target.exclusion != Exclusion::none || next.added[at] + file.object_bytes > target.available) {
        moves.push_back({i, stripe});
      } else {
        next.added[at] += file.object_bytes;
      }
    }
  }

  TargetTable now = table;
  for (std::size_t j = 0; j < now.targets.size(); ++j) {
    now.targets[j].used += next.added[j];
    now.targets[j].available = now.targets[j].available - std::min(now.targets[j].available, next.added[j]);
  }
  OnlineAllocator online(now);
  std::vector<std::uint32_t> chosen;
  for (std::size_t m = 0; m < moves.size();) {
    const std::uint32_t i = moves[m].file;
    const Planned& file = next.files[i];
    std::size_t end = m;
    while (end < moves.size() && moves[end].file == i) ++end;
    // The targets the file keeps take no further object of it.
    std::vector<std::uint32_t> kept;
    for (std::uint64_t stripe = file.first; stripe < file.first + file.stripes; ++stripe) {
      const bool moves_away =
          std::any_of(moves.begin() + static_cast<std::ptrdiff_t>(m), moves.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Move& move) { return move.stripe == stripe; });
      if (!moves_away) kept.push_back(position.at(next.osts[stripe]));
    }
    if (!file.overstriped) {
      for (const std::uint32_t at : kept) online.set_state(at, online.used(at), online.available(at), false);
    }
    const Demand demand{file.object_bytes, static_cast<std::uint32_t>(end - m), file.overstriped ? file.stripes : 1, file.pool};
    const auto shortage = online.place(demand, chosen);
    if (!file.overstriped) {
      for (const std::uint32_t at : kept) online.set_state(at, online.used(at), online.available(at), true);
    }
    if (shortage) {
      return fail(Errc::limit,
                  fmt::format("file '{}' cannot be planned anew: {} of its {} objects must move and only {} other OSTs have "
                              "{} for each; the plan is unchanged",
                              text::printable(requests[file.request].name), end - m, file.stripes, shortage->placed,
                              to_string(file.object_bytes)));
    }
    for (std::size_t k = m; k < end; ++k) {
      next.osts[moves[k].stripe] = table.targets[chosen[k - m]].ost;
      next.added[chosen[k - m]] += file.object_bytes;
    }
    result.changed.push_back(i);
    result.moved_objects += end - m;
    m = end;
  }
  next.before = balance(table, {});
  next.after = balance(table, next.added);
  next.over.clear();
  next.avoided.clear();
  for (const Target& target : table.targets) {
    if (target.exclusion != Exclusion::none) next.avoided.push_back(target.ost);
  }
  for (const std::uint32_t i : result.changed) {
    Planned& file = next.files[i];
    file.reason.lowest = 1e300;
    file.reason.highest = 0;
    file.reason.degraded = 0;
    for (const OstIndex ost : next.osts_of(file)) {
      const Target& target = table.targets[position.at(ost)];
      const double utilisation =
          static_cast<double>((target.used + next.added[position.at(ost)]).count) / static_cast<double>(target.capacity.count);
      file.reason.lowest = std::min(file.reason.lowest, utilisation);
      file.reason.highest = std::max(file.reason.highest, utilisation);
      if (target.degraded) ++file.reason.degraded;
    }
  }
  return result;
}

}  // namespace iez::placement
