#include "lab/layout_request.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {

namespace {

namespace abi = lustre::abi;
using model::Component;
using model::Layout;

// Lustre looks at the fields it needs and at no more; the codec wants bytes that fit exactly.
Answer<std::span<const std::byte>> meaningful(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return std::unexpected(ERANGE);
  const std::uint32_t magic = abi::load_u32(bytes.data());
  if (magic == abi::kMagicComposite) return bytes;
  std::size_t size = abi::plain_header_size(magic);
  if (size == 0) return std::unexpected(EINVAL);
  if (bytes.size() < size) return std::unexpected(ERANGE);
  if (magic == abi::kMagicSpecific) {
    size += abi::load_u16(bytes.data() + offsetof(abi::LayoutV1, stripe_count)) * sizeof(abi::OstData);
    if (bytes.size() < size) return std::unexpected(ERANGE);
  }
  return bytes.first(size);
}

int judge_list(Component& component, std::uint32_t ost_count) {
  std::vector<OstIndex>& osts = component.osts;
  if (osts.size() > ost_count && !component.overstriped) osts.resize(ost_count);
  if (osts.size() > model::kMaxStripeCount) return EINVAL;
  if (component.first_ost) {
    const auto first = std::ranges::find(osts, *component.first_ost);
    if (first == osts.end()) return EINVAL;
    std::rotate(osts.begin(), first, osts.end());
    component.first_ost.reset();
  }
  if (std::ranges::any_of(osts, [&](OstIndex ost) { return ost.value >= ost_count; })) return EINVAL;
  if (!component.overstriped) {
    std::vector<OstIndex> sorted = osts;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return EINVAL;
  }
  component.stripe_count = static_cast<std::uint16_t>(osts.size());
  return 0;
}

int judge(Component& component, std::uint32_t ost_count) {
  if (component.pattern == model::Pattern::mdt || (component.flags & abi::kComponentExtension) != 0) return EOPNOTSUPP;
  if (component.other_pattern != 0 || component.released) return EINVAL;
  if (component.stripe_size.count % model::kStripeAlignment.count != 0) return EINVAL;
  // What another file had: neither its objects nor its state.
  component.objects.clear();
  component.file_id = {};
  component.id = 0;
  component.has_id = false;
  component.flags = 0;
  component.timestamp = 0;
  component.generation = 0;
  component.entry_generation = 0;
  component.coding = 0;
  if (!component.osts.empty()) return judge_list(component, ost_count);
  if (component.stripe_count > model::kMaxStripeCount) component.stripe_count = Component::kAllOsts;
  if (component.first_ost && component.first_ost->value >= ost_count) return EINVAL;
  return 0;
}

int judge_extents(const Layout& request) {
  std::uint64_t covered = 0;
  for (const Component& component : request.components) {
    const model::Extent& extent = component.extent;
    if (extent.start != covered || extent.end <= extent.start) return EINVAL;
    if (extent.end != model::Extent::kEof && extent.end % model::kStripeAlignment.count != 0) return EINVAL;
    covered = extent.end;
  }
  return 0;
}

// The codec takes a pattern of overstriping alone for RAID 0; Lustre does not.
bool pattern_is_odd(std::span<const std::byte> bytes) {
  if (abi::plain_header_size(abi::load_u32(bytes.data())) == 0) return false;
  return abi::load_u32(bytes.data() + offsetof(abi::LayoutV1, pattern)) == abi::kPatternOverstriping;
}

}  // namespace

Answer<Layout> parse_layout_request(std::span<const std::byte> bytes, std::uint32_t ost_count) {
  const auto needed = meaningful(bytes);
  if (!needed) return std::unexpected(needed.error());
  if (pattern_is_odd(*needed)) return std::unexpected(EINVAL);
  auto request = lustre::decode_layout(*needed);
  if (!request) return std::unexpected(EINVAL);
  if (request->mirror_count > 1) return std::unexpected(EOPNOTSUPP);
  request->generation = 0;
  request->flags = 0;
  for (Component& component : request->components) {
    if (const int wrong = judge(component, ost_count); wrong != 0) return std::unexpected(wrong);
  }
  if (request->composite) {
    if (const int wrong = judge_extents(*request); wrong != 0) return std::unexpected(wrong);
  }
  return *std::move(request);
}

bool asks_for_nothing(const Layout& request) {
  if (request.composite) return false;
  const Component& component = request.components[0];
  return component.osts.empty() && component.stripe_count == 0 && component.stripe_size.count == 0 && !component.first_ost &&
         component.pool.empty();
}

}  // namespace iez::lab
