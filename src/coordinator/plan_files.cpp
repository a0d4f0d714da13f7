#include "coordinator/plan_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "placement/stripe_size.hpp"

namespace iez::coordinator {

namespace {

constexpr std::size_t kNotedTargets = 8;

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

}  // namespace

PlanFiles files_of(const api::PlanRequest& request) {
  PlanFiles out;
  for (std::uint32_t i = 0; i < request.files.size(); ++i) {
    const api::FileRequest& file = request.files[i];
    const std::uint64_t reserved = std::max(file.bytes, file.high);
    placement::Request one{.name = file.name, .bytes = {file.bytes}};
    one.stripe_count = file.stripe_count;
    if (one.stripe_count == 0) {
      one.stripe_count = static_cast<std::int32_t>(placement::usual_stripe_count({reserved}, file.shared));
    }
    if (file.stripe_size != 0) one.stripe_size = Bytes{file.stripe_size};
    one.shared = file.shared;
    one.pool = file.pool;
    for (std::uint64_t k = 0; k < file.files; ++k) {
      out.requests.push_back(one);
      if (file.files > 1) out.requests.back().name = fmt::format("{} ({})", file.name, k + 1);
      out.reserved.push_back({reserved});
      out.entry.push_back(i);
    }
  }
  return out;
}

void append_files(const StoredPlan& plan, PlanFiles& files) {
  for (std::uint32_t i = 0; i < plan.entries.size(); ++i) {
    const StoredEntry& entry = plan.entries[i];
    for (std::uint32_t k = entry.first; k < entry.first + entry.layouts; ++k) {
      const StoredLayout& layout = plan.layouts[k];
      // Names are the client's; here they only have to differ.
      files.requests.push_back({.name = fmt::format("{} {}, file {}", id_text(plan.id), plan.application, k),
                                .bytes = {std::max<std::uint64_t>(1, layout.expected)},
                                .stripe_count = layout.stripes,
                                .stripe_size = Bytes{layout.stripe_size},
                                .pool = plan.pools[layout.pool],
                                .overstripe = layout.overstriped});
      files.reserved.push_back({layout.bytes});
      files.entry.push_back(i);
    }
  }
}

void take_layouts(const placement::Plan& planned, const PlanFiles& files, std::size_t first, std::size_t count, StoredPlan& out) {
  Reasons reasons;
  out.layouts.clear();
  out.osts.clear();
  out.layouts.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    const placement::Planned& file = planned.files[i];
    StoredLayout layout{.bytes = files.reserved[file.request].count, .expected = files.requests[file.request].bytes.count};
    layout.object_bytes = placement::largest_object({layout.bytes}, file.stripe_size, file.stripes).count;
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

std::vector<std::string> notes_of(const placement::Plan& plan, const placement::TargetTable& table,
                                  std::span<const OstIndex> stale) {
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

}  // namespace iez::coordinator
