#include "collective/file_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "lustre/layout_abi.hpp"

namespace iez::collective {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallestStripe = 4 << 10;

std::int64_t offset_in_file(std::uint64_t offset) {
  return offset > static_cast<std::uint64_t>(kLargest) ? kLargest : static_cast<std::int64_t>(offset);
}

bool is_stale(const model::Component& component) { return (component.flags & lustre::abi::kComponentStale) != 0; }

bool is_extension(const model::Component& component) { return (component.flags & lustre::abi::kComponentExtension) != 0; }

// Mirrors follow each other in the list, and each begins at 0.
std::span<const model::Component> mirror_in_use(const model::Layout& layout) {
  const std::span<const model::Component> all = layout.components;
  std::size_t begin = 0;
  while (begin < all.size()) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].extent.start != 0) ++end;
    const auto mirror = all.subspan(begin, end - begin);
    if (std::ranges::none_of(mirror, is_stale)) return mirror;
    begin = end;
  }
  return {};
}

std::size_t largest_count(std::span<const model::Component> components) {
  std::size_t count = 1;
  for (const model::Component& component : components) {
    const std::size_t wanted = component.stripe_count == model::Component::kAllOsts ? 0 : component.stripe_count;
    count = std::max({count, wanted, component.objects.size()});
  }
  return count;
}

bool set_stripes(StripedRange& range, const model::Component& component, std::size_t all_osts) {
  if (component.pattern == model::Pattern::mdt) {
    range.stripe_size = std::max(offset_in_file(component.stripe_size.count), kSmallestStripe);
    range.osts = {kMetadataTarget};
    return true;
  }
  range.stripe_size = offset_in_file(component.stripe_size.count);
  if (range.stripe_size < kSmallestStripe) return false;
  range.osts.reserve(std::max<std::size_t>(component.objects.size(), component.stripe_count));
  for (const model::StripeObject& object : component.objects) range.osts.push_back(object.ost.value);
  if (!range.osts.empty()) return true;
  const std::size_t count = component.stripe_count == model::Component::kAllOsts ? all_osts : component.stripe_count;
  for (std::size_t i = 0; i < count; ++i) range.osts.push_back(kUnknownOst + static_cast<std::uint32_t>(i));
  return count > 0;
}

}  // namespace

std::optional<FileLayout> striped_layout(const model::Layout& layout) {
  const std::span<const model::Component> components = mirror_in_use(layout);
  const std::size_t all_osts = largest_count(components);
  FileLayout file{.striped = true};
  file.ranges.reserve(components.size());
  for (const model::Component& component : components) {
    const std::int64_t begin = offset_in_file(component.extent.start);
    const std::int64_t end = offset_in_file(component.extent.end);
    const std::int64_t behind = file.ranges.empty() ? 0 : file.ranges.back().end;
    if (begin != behind) return std::nullopt;
    if (begin >= end) continue;
    if (is_extension(component) && !file.ranges.empty()) {
      file.ranges.back().end = end;
      continue;
    }
    StripedRange range{.begin = begin, .end = end};
    if (!set_stripes(range, component, all_osts)) return std::nullopt;
    file.ranges.push_back(std::move(range));
  }
  if (file.ranges.empty()) return std::nullopt;
  file.ranges.back().end = kLargest;
  return file;
}

FileLayout imagined_layout(std::int64_t stripe_size, std::uint32_t stripes) {
  StripedRange range{.stripe_size = std::clamp<std::int64_t>(stripe_size, kSmallestStripe, 1 << 30)};
  range.osts.reserve(std::max(stripes, 1U));
  for (std::uint32_t i = 0; i < std::max(stripes, 1U); ++i) range.osts.push_back(i);
  return {.ranges = {std::move(range)}};
}

std::uint32_t widest(const FileLayout& layout) {
  std::size_t osts = 1;
  for (const StripedRange& range : layout.ranges) {
    std::vector<std::uint32_t> distinct = range.osts;
    std::ranges::sort(distinct);
    osts = std::max<std::size_t>(osts, static_cast<std::size_t>(std::ranges::unique(distinct).begin() - distinct.begin()));
  }
  return static_cast<std::uint32_t>(osts);
}

}  // namespace iez::collective
