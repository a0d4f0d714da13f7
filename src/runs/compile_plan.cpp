#include "runs/compile_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "lustre/layout_codec.hpp"
#include "model/layout.hpp"
#include "plan/pattern_text.hpp"

namespace iez::runs {

namespace {

Result<std::vector<std::byte>> request_of(const store::StripeLayout& layout) {
  model::Component component;
  component.stripe_size = layout.stripe_size;
  component.stripe_count = static_cast<std::uint16_t>(layout.osts.size());
  component.osts = layout.osts;
  std::vector<OstIndex> sorted = layout.osts;
  std::ranges::sort(sorted);
  component.overstriped = std::ranges::adjacent_find(sorted) != sorted.end();
  return lustre::encode_request({.components = {std::move(component)}});
}

bool is_pattern(const store::AllocationRow& row) {
  const std::string& looked_up = row.created_as.empty() ? row.name : row.created_as;
  return row.files > 1 || plan::has_fields(looked_up);
}

Result<void> add_row(const store::AllocationRow& row, std::uint64_t number, plan::PlanWriter& writer) {
  if (row.layouts.empty()) return {};
  if (!is_pattern(row)) {
    IEZ_TRY(const auto request, request_of(row.layouts.front()));
    return writer.add(plan::PlannedFile{.name = row.name, .created_as = row.created_as, .request = request, .origin = number});
  }
  plan::PlannedRule rule{.type = plan::RuleType::pattern,
                         .text = row.name,
                         .created_as = row.created_as,
                         .turn = {},
                         .requests = {},
                         .order = {},
                         .origin = number};
  for (const store::StripeLayout& layout : row.layouts) {
    IEZ_TRY(rule.requests.emplace_back(), request_of(layout));
  }
  return writer.add(rule);
}

}  // namespace

std::uint64_t plan_number(const std::string& plan) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(plan.data(), plan.data() + plan.size(), number, 16);
  return error == std::errc{} && rest == plan.data() + plan.size() && plan.size() == 16 ? number : 0;
}

std::string plan_text(std::uint64_t number) { return fmt::format("{:016x}", number); }

Result<plan::PlanSummary> compile_plan(const store::Allocation& allocation, const std::string& path) {
  plan::PlanWriter::Options options;
  options.created_ns = allocation.made_ns;
  options.id = plan_number(allocation.plan);
  options.mode = 0600;
  options.origin_word = "rows";
  plan::PlanWriter writer(path, options);
  for (const store::AllocationRow& row : allocation.rows) {
    if (row.state == store::PlanState::expired) continue;
    IEZ_CHECK(add_row(row, row.row + 1, writer));
  }
  return writer.finish();
}

}  // namespace iez::runs
