#include "model/layout.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace iez::model {

namespace {

Result<void> validate_striping(const Component& component) {
  const std::uint64_t size = component.stripe_size.count;
  if (size % kStripeAlignment.count != 0) {
    return fail(Errc::invalid_argument, fmt::format("stripe size {}: must be a multiple of 64 KiB", size));
  }
  if (component.stripe_size > kMaxStripeSize) {
    return fail(Errc::invalid_argument, fmt::format("stripe size {}: must be below 4 GiB", size));
  }
  if (component.stripe_count > kMaxStripeCount && component.stripe_count != Component::kAllOsts) {
    return fail(Errc::invalid_argument,
                fmt::format("stripe count {}: at most {}, or -1 for all OSTs", component.stripe_count, kMaxStripeCount));
  }
  if (component.pool.size() > kMaxPoolName) {
    return fail(Errc::invalid_argument, fmt::format("pool '{}': at most {} characters", component.pool, kMaxPoolName));
  }
  return {};
}

Result<void> validate_osts(const Component& component) {
  const std::vector<OstIndex>& osts = component.osts;
  if (osts.empty()) return {};
  if (osts.size() > kMaxStripeCount) {
    return fail(Errc::invalid_argument, fmt::format("{} OSTs listed: at most {}", osts.size(), kMaxStripeCount));
  }
  if (component.stripe_count == Component::kAllOsts) {
    return fail(Errc::invalid_argument, fmt::format("all OSTs, and {} OSTs listed: give one or the other", osts.size()));
  }
  if (component.stripe_count != 0 && component.stripe_count != osts.size()) {
    return fail(Errc::invalid_argument,
                fmt::format("stripe count {} with {} OSTs listed: give one or the other", component.stripe_count, osts.size()));
  }
  // Lustre refuses one outside the list, and silently rotates the list to one inside it.
  if (component.first_ost && *component.first_ost != osts.front()) {
    return fail(Errc::invalid_argument,
                fmt::format("first OST {}: must be the first of the list, {}", component.first_ost->value, osts.front().value));
  }
  if (component.overstriped) return {};
  std::vector<OstIndex> sorted = osts;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return fail(Errc::invalid_argument, fmt::format("OST {} is listed twice: needs overstriping", twice->value));
  }
  return {};
}

Result<void> validate_component(const Component& component) {
  if (component.extent.start >= component.extent.end) {
    return fail(Errc::invalid_argument,
                fmt::format("extent [{}, {}): ends before it starts", component.extent.start, component.extent.end));
  }
  if (component.pattern == Pattern::mdt && (!component.osts.empty() || component.stripe_count != 0 ||
                                            component.extent.start != 0 || component.extent.end == Extent::kEof)) {
    return fail(Errc::invalid_argument,
                "data on the MDT: must be the first component, with an end, and takes no count and no OSTs");
  }
  IEZ_CHECK(validate_striping(component));
  return validate_osts(component);
}

}  // namespace

Result<void> validate_request(const Layout& layout) {
  if (layout.components.empty()) return fail(Errc::invalid_argument, "a layout needs at least one component");
  if (!layout.composite && layout.components.size() != 1) {
    return fail(Errc::invalid_argument, "several components need a composite layout");
  }
  if (!layout.composite && layout.components[0].extent != Extent{}) {
    return fail(Errc::invalid_argument, "a component with an extent of its own needs a composite layout");
  }
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < layout.components.size(); ++i) {
    const Component& component = layout.components[i];
    if (auto checked = validate_component(component); !checked) {
      return layout.composite ? with_context(std::move(checked).error(), fmt::format("component {}", i + 1))
                              : std::unexpected(std::move(checked).error());
    }
    if (!layout.composite) continue;
    // A component that starts at 0 opens the next mirror; any other continues where the one before ended.
    if (component.extent.start != 0 && component.extent.start != covered) {
      return fail(Errc::invalid_argument, fmt::format("component {} starts at {}, but the one before ends at {}", i + 1,
                                                      component.extent.start, covered));
    }
    if (component.extent.end != Extent::kEof && component.extent.end % kStripeAlignment.count != 0) {
      return fail(Errc::invalid_argument,
                  fmt::format("component {} ends at {}: must be a multiple of 64 KiB", i + 1, component.extent.end));
    }
    covered = component.extent.end;
  }
  return {};
}

}  // namespace iez::model
