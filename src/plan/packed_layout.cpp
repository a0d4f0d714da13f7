#include "plan/packed_layout.hpp"

#include <cstdint>
#include <cstring>

#include "lustre/layout_abi.hpp"

namespace iez::plan {

namespace {

using lustre::abi::LayoutV1;
using lustre::abi::LayoutV3;
using lustre::abi::OstData;

bool expand_raw(const std::byte* packed, std::size_t size, FoundLayout& to) {
  if (size < 1 + sizeof(LayoutV1) || size > kMaxRequest) return false;
  std::memmove(to.bytes, packed + 1, size - 1);
  to.size = static_cast<std::uint32_t>(size - 1);
  return true;
}

bool expand_list(const std::byte* packed, std::size_t size, FoundLayout& to) {
  if (size < abi::kListHead) return false;
  const auto flags = std::to_integer<std::uint8_t>(packed[1]);
  const std::uint32_t stripe_size = std::uint32_t{abi::load_u16(packed + 2)} * abi::kStripeUnit;
  const std::size_t width = (flags & abi::kListWide) != 0 ? 4 : 2;
  const std::size_t count = (size - abi::kListHead) / width;
  if (count == 0 || count > abi::kMaxStripes || abi::kListHead + count * width != size) return false;

  // The list moves to the end, from where it is expanded forward: stripe i ends below where OST i + 1 is read.
  std::byte* const list = to.bytes + kMaxRequest - count * width;
  std::memmove(list, packed + abi::kListHead, count * width);
  const auto ost_at = [list, width](std::size_t i) -> std::uint32_t {
    return width == 4 ? abi::load_u32(list + i * 4) : abi::load_u16(list + i * 2);
  };
  const std::uint32_t first = ost_at(0);
  if (first >= lustre::abi::kNoStripeOffset) return false;
  const std::uint32_t overstriping = (flags & abi::kListOverstriping) != 0 ? lustre::abi::kPatternOverstriping : 0;
  std::memset(to.bytes, 0, sizeof(LayoutV3));
  lustre::abi::store_u32(to.bytes + offsetof(LayoutV1, magic), lustre::abi::kMagicSpecific);
  lustre::abi::store_u32(to.bytes + offsetof(LayoutV1, pattern), lustre::abi::kPatternRaid0 | overstriping);
  lustre::abi::store_u32(to.bytes + offsetof(LayoutV1, stripe_size), stripe_size);
  lustre::abi::store_u16(to.bytes + offsetof(LayoutV1, stripe_count), static_cast<std::uint16_t>(count));
  lustre::abi::store_u16(to.bytes + offsetof(LayoutV1, stripe_offset), static_cast<std::uint16_t>(first));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t ost = ost_at(i);
    std::byte* const stripe = to.bytes + sizeof(LayoutV3) + i * sizeof(OstData);
    std::memset(stripe, 0, sizeof(OstData));
    lustre::abi::store_u32(stripe + offsetof(OstData, ost), ost);
  }
  to.size = static_cast<std::uint32_t>(sizeof(LayoutV3) + count * sizeof(OstData));
  return true;
}

}  // namespace

bool expand_layout(const std::byte* packed, std::size_t size, FoundLayout& to) {
  to.size = 0;
  if (size == 0) return false;
  const auto form = std::to_integer<std::uint8_t>(packed[0]);
  if (form == abi::kLayoutList) return expand_list(packed, size, to);
  return form == abi::kLayoutRaw && expand_raw(packed, size, to);
}

}  // namespace iez::plan
