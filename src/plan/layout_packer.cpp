#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "lustre/layout_abi.hpp"
#include "plan/plan_writer.hpp"

namespace iez::plan {

namespace {

using lustre::abi::LayoutV1;
using lustre::abi::LayoutV3;
using lustre::abi::OstData;

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// The OSTs of a request that says nothing but stripe size, OSTs and overstriping.
std::optional<std::vector<std::uint32_t>> listed_osts(std::span<const std::byte> request) {
  if (request.size() < sizeof(LayoutV3) || lustre::abi::load_u32(request.data()) != lustre::abi::kMagicSpecific) return {};
  const std::byte* const head = request.data();
  const std::size_t count = lustre::abi::load_u16(head + offsetof(LayoutV1, stripe_count));
  const std::uint32_t pattern = lustre::abi::load_u32(head + offsetof(LayoutV1, pattern));
  if (count == 0 || count > abi::kMaxStripes || request.size() != sizeof(LayoutV3) + count * sizeof(OstData)) return {};
  if ((pattern & ~lustre::abi::kPatternOverstriping) != lustre::abi::kPatternRaid0) return {};
  if (lustre::abi::load_u32(head + offsetof(LayoutV1, stripe_size)) % abi::kStripeUnit != 0) return {};
  if (!all_zero(request.subspan(offsetof(LayoutV1, file_object), 16)) ||
      !all_zero(request.subspan(offsetof(LayoutV3, pool), lustre::abi::kPoolNameSize))) {
    return {};
  }
  std::vector<std::uint32_t> osts;
  osts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto stripe = request.subspan(sizeof(LayoutV3) + i * sizeof(OstData), sizeof(OstData));
    if (!all_zero(stripe.first(offsetof(OstData, ost)))) return {};
    osts.push_back(lustre::abi::load_u32(stripe.data() + offsetof(OstData, ost)));
  }
  if (osts[0] != lustre::abi::load_u16(head + offsetof(LayoutV1, stripe_offset))) return {};
  if (osts[0] >= lustre::abi::kNoStripeOffset) return {};
  return osts;
}

}  // namespace

Result<std::vector<std::byte>> pack_layout(std::span<const std::byte> request) {
  if (request.size() < sizeof(LayoutV1)) {
    return fail(Errc::invalid_argument,
                fmt::format("a layout of {} bytes, expected a request of at least {}", request.size(), sizeof(LayoutV1)));
  }
  if (const auto osts = listed_osts(request)) {
    const bool wide =
        std::ranges::any_of(*osts, [](std::uint32_t ost) { return ost > std::numeric_limits<std::uint16_t>::max(); });
    const bool over = lustre::abi::load_u32(request.data() + offsetof(LayoutV1, pattern)) != lustre::abi::kPatternRaid0;
    std::vector<std::byte> packed(abi::kListHead + osts->size() * (wide ? 4 : 2));
    packed[0] = std::byte{abi::kLayoutList};
    packed[1] = static_cast<std::byte>((wide ? abi::kListWide : 0) | (over ? abi::kListOverstriping : 0));
    const std::uint32_t size = lustre::abi::load_u32(request.data() + offsetof(LayoutV1, stripe_size));
    lustre::abi::store_u16(packed.data() + 2, static_cast<std::uint16_t>(size / abi::kStripeUnit));
    std::byte* to = packed.data() + abi::kListHead;
    for (const std::uint32_t ost : *osts) {
      if (wide) {
        lustre::abi::store_u32(to, ost);
      } else {
        lustre::abi::store_u16(to, static_cast<std::uint16_t>(ost));
      }
      to += wide ? 4 : 2;
    }
    return packed;
  }
  if (request.size() >= abi::kMaxLayout) {
    return fail(Errc::limit,
                fmt::format("a layout of {} bytes, expected less than {}: use fewer stripes", request.size(), abi::kMaxLayout));
  }
  std::vector<std::byte> packed(request.size() + 1);
  packed[0] = std::byte{abi::kLayoutRaw};
  std::memcpy(packed.data() + 1, request.data(), request.size());
  return packed;
}

}  // namespace iez::plan
