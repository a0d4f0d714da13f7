#include "coordinator/mend.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "coordinator/planned_rows.hpp"
#include "placement/stripe_size.hpp"
#include "planning/rows.hpp"

namespace iez::coordinator {

namespace {

constexpr std::string_view kAnew = "; planned anew, since an OST of it failed or filled up";

// One plan while it is mended.
class Mend {
 public:
  explicit Mend(Mending mending)
      : in_(std::move(mending)), next_(in_.plan), places_(in_.table.positions()), speed_(speeds_of(in_.plan.slow, in_.table)) {
    osts_.reserve(in_.plan.layouts.size());
    reasons_.reserve(in_.plan.layouts.size());
    for (StoredLayout& layout : next_.layouts) {
      const auto osts = in_.plan.osts_of(layout);
      osts_.emplace_back(osts.begin(), osts.end());
      reasons_.push_back(in_.plan.reasons[layout.reason]);
      layout.pool = static_cast<std::uint16_t>(in_.table.find_pool(in_.plan.pools[layout.pool]).value_or(placement::kAnyPool));
    }
  }

  Result<std::optional<StoredPlan>> run() {
    for (const StoredEntry& entry : next_.entries) {
      for (std::uint32_t i = entry.first; i < entry.first + entry.layouts; ++i) {
        if (in_.affected[i]) {
          phases_[entry.phase].affected.push_back(i);
        } else {
          phases_[entry.phase].kept.push_back(i);
          if (i >= entry.first + entry.created) reserve(i);
        }
      }
    }
    for (const auto& [number, phase] : phases_) {
      if (!phase.affected.empty()) IEZ_CHECK(plan_anew(phase));
    }
    if (moved_ == 0) return std::nullopt;
    return finish();
  }

 private:
  struct Phase {
    std::vector<std::uint32_t> affected;  // layouts
    std::vector<std::uint32_t> kept;
  };

  std::uint64_t expected_object(std::uint32_t i) const {
    const StoredLayout& layout = next_.layouts[i];
    return placement::largest_object({layout.expected}, {layout.stripe_size}, layout.stripes).count;
  }

  // Calls with the position in the table of each target of the layout that is there.
  template <typename Visit>
  void targets_of(std::uint32_t i, Visit visit) const {
    for (const std::uint32_t ost : osts_[i]) {
      if (ost >= places_.size() || places_[ost] >= in_.table.targets.size()) continue;
      if (in_.table.targets[places_[ost]].ost.value == ost) visit(places_[ost]);
    }
  }

  void reserve(std::uint32_t i) {
    const Bytes expected{expected_object(i)};
    const Bytes reserved{next_.layouts[i].object_bytes};
    targets_of(i, [&](std::uint32_t place) {
      placement::Target& target = in_.table.targets[place];
      target.used = target.used + expected;
      target.available = target.available - std::min(target.available, reserved);
    });
  }

  // What the files that stay bring to each target; as rates, of a phase that lasts one second.
  std::vector<double> load_in(const Phase& phase) const {
    std::vector<double> load(in_.table.targets.size());
    for (const std::uint32_t i : phase.kept) {
      targets_of(i, [&](std::uint32_t place) { load[place] += static_cast<double>(expected_object(i)); });
    }
    return load;
  }

  Result<void> plan_anew(const Phase& phase) {
    std::vector<planning::Row> rows;
    rows.reserve(phase.affected.size());
    for (const std::uint32_t i : phase.affected) rows.push_back(row_of(next_.layouts[i], next_.layouts[i].pool));
    planning::PlanOptions options = in_.options;
    options.compare = false;
    IEZ_TRY(
        const planning::RowsPlan planned,
        planning::plan_rows(rows, {.table = in_.table, .phase_seconds = {1}, .speed = speed_, .load = load_in(phase)}, options));
    if (!planned.made()) return fail(Errc::limit, planning::verdict_text(planned.plan));
    for (std::size_t k = 0; k < rows.size(); ++k)
      take(phase.affected[k], planned.rows[k].layouts.front(), planned.rows[k].reason);
    return {};
  }

  void take(std::uint32_t i, const planning::RowLayout& anew, const std::string& reason) {
    std::vector<std::uint32_t> osts;
    osts.reserve(anew.osts.size());
    for (const OstIndex ost : anew.osts) osts.push_back(ost.value);
    if (osts != osts_[i]) {
      ++moved_;
      reasons_[i] = reason + std::string(kAnew);
    }
    StoredLayout& layout = next_.layouts[i];
    osts_[i] = std::move(osts);
    layout.stripe_size = anew.stripe_size.count;
    layout.stripes = static_cast<std::uint16_t>(osts_[i].size());
    layout.object_bytes = placement::largest_object({layout.bytes}, anew.stripe_size, layout.stripes).count;
    reserve(i);
  }

  StoredPlan finish() {
    ++next_.revision;
    next_.osts.clear();
    next_.reasons.clear();
    next_.pools.clear();
    std::map<std::string, std::uint32_t> numbers;
    for (std::size_t i = 0; i < next_.layouts.size(); ++i) {
      StoredLayout& layout = next_.layouts[i];
      layout.first = static_cast<std::uint32_t>(next_.osts.size());
      next_.osts.insert(next_.osts.end(), osts_[i].begin(), osts_[i].end());
      const auto [number, fresh] = numbers.emplace(reasons_[i], static_cast<std::uint32_t>(next_.reasons.size()));
      if (fresh) next_.reasons.push_back(reasons_[i]);
      layout.reason = number->second;
    }
    for (const placement::TargetPool& pool : in_.table.pools) next_.pools.push_back(pool.name);
    const placement::Balance balance = placement::balance(in_.table, std::vector<Bytes>(in_.table.targets.size()));
    next_.after = {balance.ost_cost, balance.oss_cost};
    next_.notes = {fmt::format("{} files were planned anew, since their OSTs failed or filled up", moved_)};
    return std::move(next_);
  }

  Mending in_;
  StoredPlan next_;
  std::vector<std::uint32_t> places_;             // by OST
  std::vector<double> speed_;                     // of each target; empty: all alike
  std::vector<std::vector<std::uint32_t>> osts_;  // of each layout
  std::vector<std::string> reasons_;              // likewise
  std::map<std::uint32_t, Phase> phases_;
  std::size_t moved_ = 0;
};

}  // namespace

Result<std::optional<StoredPlan>> mended(Mending mending) { return Mend(std::move(mending)).run(); }

}  // namespace iez::coordinator
