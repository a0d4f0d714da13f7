#include "coordinator/planned_rows.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "model/layout.hpp"
#include "placement/stripe_size.hpp"

namespace iez::coordinator {

namespace {

constexpr std::size_t kNotedTargets = 8;

std::uint32_t stripes_of(std::int32_t count, const placement::TargetTable& table) {
  const std::size_t stripes = count == api::kAllTargets ? table.targets.size() : static_cast<std::size_t>(count);
  return static_cast<std::uint32_t>(std::min<std::size_t>(stripes, model::kMaxStripeCount));
}

// Fails for a stripe size that Lustre would not take.
Result<Bytes> stripe_size_of(const api::FileRequest& file) {
  if (file.stripe_size == 0) return Bytes{};
  const auto stripes = placement::fixed_stripes({file.bytes}, 1, {file.stripe_size});
  if (!stripes) return with_context(stripes.error(), fmt::format("'{}'", text::printable(file.name)));
  return Bytes{file.stripe_size};
}

Result<std::uint32_t> pool_of(const api::FileRequest& file, const placement::TargetTable& table) {
  if (const auto pool = table.find_pool(file.pool)) return *pool;
  return fail(Errc::not_found,
              fmt::format("'{}': the file system has no pool '{}'", text::printable(file.name), text::printable(file.pool)));
}

}  // namespace

Result<std::vector<planning::Row>> rows_of(const api::PlanRequest& request, const placement::TargetTable& table) {
  std::vector<planning::Row> rows;
  rows.reserve(request.files.size());
  for (const api::FileRequest& asked : request.files) {
    planning::Row& row = rows.emplace_back();
    row.files = asked.files;
    planning::File& file = row.file;
    file.bytes = {asked.bytes};
    file.room = {std::max(asked.bytes, asked.high)};
    file.phase = asked.phase;
    file.read_phase = asked.read_phase < 0 ? planning::kNoPhase : static_cast<std::uint32_t>(asked.read_phase);
    file.stripes = stripes_of(asked.stripe_count, table);
    IEZ_TRY(file.stripe_size, stripe_size_of(asked));
    file.default_stripes = std::max(1U, stripes_of(asked.default_stripe_count, table));
    if (asked.default_stripe_size != 0) file.default_stripe_size = {asked.default_stripe_size};
    file.shared = asked.shared;
    file.left_alone = asked.left_alone;
    IEZ_TRY(file.pool, pool_of(asked, table));
  }
  return rows;
}

planning::Row row_of(const StoredLayout& layout, std::uint32_t pool) {
  planning::Row row;
  row.file.bytes = {std::max<std::uint64_t>(1, layout.expected)};
  row.file.room = {layout.bytes};
  row.file.stripes = layout.stripes;
  row.file.stripe_size = {layout.stripe_size};
  row.file.pool = pool;
  return row;
}

std::vector<planning::SlowTarget> slow_targets(std::span<const api::SlowOst> slow) {
  std::vector<planning::SlowTarget> out;
  out.reserve(slow.size());
  for (const api::SlowOst& one : slow) out.push_back({.ost = {one.ost}, .speed = std::max(one.speed, planning::kSlowest)});
  return out;
}

std::vector<OstIndex> osts_of(const placement::TargetTable& table) {
  std::vector<OstIndex> out;
  out.reserve(table.targets.size());
  for (const placement::Target& target : table.targets) out.push_back(target.ost);
  return out;
}

std::vector<double> speeds_of(std::span<const api::SlowOst> slow, const placement::TargetTable& table) {
  return planning::speeds_of(slow_targets(slow), osts_of(table));
}

void take_plan(std::span<const planning::PlannedRow> planned, std::span<const planning::Row> rows,
               const placement::TargetTable& table, StoredPlan& out) {
  std::map<std::string_view, std::uint32_t> reasons;  // those that read alike are written once
  out.entries.reserve(planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const planning::File& file = rows[i].file;
    StoredEntry& entry = out.entries.emplace_back();
    entry.first = static_cast<std::uint32_t>(out.layouts.size());
    entry.layouts = static_cast<std::uint32_t>(planned[i].layouts.size());
    entry.phase = file.phase;
    entry.read_phase = file.read_phase == planning::kNoPhase ? -1 : std::int64_t{file.read_phase};
    if (planned[i].layouts.empty()) continue;
    const auto [reason, fresh] = reasons.emplace(planned[i].reason, static_cast<std::uint32_t>(out.reasons.size()));
    if (fresh) out.reasons.push_back(planned[i].reason);
    for (const planning::RowLayout& one : planned[i].layouts) {
      StoredLayout layout{.bytes = std::max(file.room, file.bytes).count, .expected = file.bytes.count};
      layout.stripes = static_cast<std::uint16_t>(one.osts.size());
      layout.object_bytes = placement::largest_object({layout.bytes}, one.stripe_size, layout.stripes).count;
      layout.stripe_size = one.stripe_size.count;
      layout.first = static_cast<std::uint32_t>(out.osts.size());
      layout.pool = static_cast<std::uint16_t>(file.pool);
      layout.reason = reason->second;
      for (const OstIndex ost : one.osts) out.osts.push_back(ost.value);
      out.layouts.push_back(layout);
    }
  }
  for (const placement::TargetPool& pool : table.pools) out.pools.push_back(pool.name);
}

std::vector<std::string> notes_of(const placement::TargetTable& table, std::span<const OstIndex> stale) {
  const auto avoided = [](const placement::Target& target) { return target.exclusion != placement::Exclusion::none; };
  const auto count = std::ranges::count_if(table.targets, avoided);
  if (count == 0) return {};
  std::size_t listed = 0;
  std::string text = fmt::format("{} of {} OSTs are planned around:", count, table.targets.size());
  for (const placement::Target& target : table.targets) {
    if (!avoided(target)) continue;
    if (++listed > kNotedTargets) break;
    const bool old = std::ranges::binary_search(stale, target.ost);
    text += fmt::format("{} {} ({})", listed == 1 ? "" : ",", target.ost.value,
                        old ? std::string_view("no recent telemetry") : placement::to_string(target.exclusion));
  }
  if (listed > kNotedTargets) text += ", ...";
  return {std::move(text)};
}

}  // namespace iez::coordinator
