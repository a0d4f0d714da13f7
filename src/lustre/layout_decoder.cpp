#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/layout_state.hpp"

namespace iez::lustre {

namespace {

using model::Component;
using model::Layout;
using model::Pattern;
using Bytes8 = std::span<const std::byte>;

template <typename Value>
std::unexpected<Error> bad_field(std::string_view field, Value value, std::string_view expected) {
  return fail(Errc::parse, fmt::format("{} {}: {}", field, value, expected));
}

std::unexpected<Error> unknown_magic(std::uint32_t magic) {
  const std::uint32_t swapped = std::byteswap(magic);
  if (magic == abi::kMagicForeign) {
    return fail(Errc::unsupported, fmt::format("magic {:#010x}: a foreign layout, which only its owner can read", magic));
  }
  if (abi::plain_header_size(swapped) != 0 || swapped == abi::kMagicComposite) {
    return fail(Errc::unsupported, fmt::format("magic {:#010x}: a layout in the wrong byte order (big-endian)", magic));
  }
  return fail(Errc::unsupported, fmt::format("magic {:#010x}: not a layout iez knows", magic));
}

Result<std::uint32_t> load_magic(Bytes8 bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) {
    return fail(Errc::parse, fmt::format("{} bytes: too short for a layout's magic, which takes 4", bytes.size()));
  }
  return abi::load_u32(bytes.data());
}

Result<void> decode_pattern(std::uint32_t word, Component& component) {
  component.overstriped = (word & abi::kPatternOverstriping) != 0;
  component.released = (word & abi::kPatternReleased) != 0;
  component.other_pattern = word & ~kKnownPatternBits;
  const std::uint32_t kind = word & (abi::kPatternRaid0 | abi::kPatternMdt);
  const bool by_default = kind == 0 && component.other_pattern == 0;
  if (kind != abi::kPatternRaid0 && kind != abi::kPatternMdt && !by_default) {
    return fail(Errc::unsupported, fmt::format("lmm_pattern {:#x}: neither RAID 0 (0x1) nor MDT (0x100)", word));
  }
  component.pattern = kind == abi::kPatternMdt ? Pattern::mdt : Pattern::raid0;
  return {};
}

Result<std::string> decode_pool(Bytes8 field) {
  const auto end = std::find(field.begin(), field.end(), std::byte{0});
  if (end == field.end()) return fail(Errc::parse, fmt::format("lmm_pool_name: no zero within {} bytes", field.size()));
  std::string name;
  for (auto at = field.begin(); at != end; ++at) name.push_back(static_cast<char>(*at));
  return name;
}

model::StripeObject decode_object(const std::byte* at) {
  return {.ost = OstIndex{abi::load_u32(at + offsetof(abi::OstData, ost))},
          .id = {.high = abi::load_u64(at + offsetof(abi::OstData, id_high)),
                 .low = abi::load_u64(at + offsetof(abi::OstData, id_low))},
          .generation = abi::load_u32(at + offsetof(abi::OstData, generation))};
}

// `tail` is what follows the fixed part.
Result<void> decode_stripes(Bytes8 tail, bool explicit_list, bool in_composite, Component& component) {
  const std::uint16_t count = component.stripe_count;
  const bool room_only = in_composite && !explicit_list && (component.flags & abi::kComponentInit) == 0;
  if (room_only) return {};
  if (explicit_list && count == 0) return bad_field("lmm_stripe_count", count, "a list of OSTs must have at least one");
  if (tail.empty() && !explicit_list && !must_have_objects(component)) return {};
  if (tail.size() != count * sizeof(abi::OstData)) {
    return bad_field("lmm_stripe_count", count,
                     fmt::format("needs {} bytes of stripes, found {}", count * sizeof(abi::OstData), tail.size()));
  }
  for (; !tail.empty(); tail = tail.subspan(sizeof(abi::OstData))) {
    const model::StripeObject object = decode_object(tail.data());
    if (explicit_list) {
      component.osts.push_back(object.ost);
    } else {
      component.objects.push_back(object);
    }
  }
  return {};
}

// A plain layout, or the sub-layout of a component whose flags are known already.
Result<void> decode_striping(Bytes8 bytes, bool in_composite, Component& component) {
  IEZ_TRY(const std::uint32_t magic, load_magic(bytes));
  const std::size_t header_size = abi::plain_header_size(magic);
  if (header_size == 0 && magic == abi::kMagicComposite) {
    return fail(Errc::parse, fmt::format("lmm_magic {:#010x}: a composite layout inside another", magic));
  }
  if (header_size == 0) return unknown_magic(magic);
  if (bytes.size() < header_size) {
    return fail(Errc::parse, fmt::format("{} bytes: too short, magic {:#010x} takes {}", bytes.size(), magic, header_size));
  }
  const std::byte* at = bytes.data();
  IEZ_CHECK(decode_pattern(abi::load_u32(at + offsetof(abi::LayoutV1, pattern)), component));
  component.file_id = {.high = abi::load_u64(at + offsetof(abi::LayoutV1, file_sequence)),
                       .low = abi::load_u64(at + offsetof(abi::LayoutV1, file_object))};
  const std::uint32_t size = abi::load_u32(at + offsetof(abi::LayoutV1, stripe_size));
  if ((component.flags & abi::kComponentExtension) != 0) {
    component.extension_size = Bytes{size * abi::kExtensionUnit};
  } else {
    component.stripe_size = Bytes{size};
  }
  component.stripe_count = abi::load_u16(at + offsetof(abi::LayoutV1, stripe_count));
  if (header_size == sizeof(abi::LayoutV3)) {
    IEZ_TRY(component.pool, decode_pool(bytes.subspan(offsetof(abi::LayoutV3, pool), abi::kPoolNameSize)));
  }
  IEZ_CHECK(decode_stripes(bytes.subspan(header_size), magic == abi::kMagicSpecific, in_composite, component));

  const std::uint16_t offset = abi::load_u16(at + offsetof(abi::LayoutV1, stripe_offset));
  if (is_instantiated(component)) {
    component.generation = offset;
  } else if (offset != abi::kNoStripeOffset) {
    component.first_ost = OstIndex{offset};
  }
  return {};
}

Result<Layout> decode_plain(Bytes8 bytes) {
  Layout layout;
  layout.components.resize(1);
  Component& component = layout.components[0];
  IEZ_CHECK(decode_striping(bytes, false, component));
  layout.generation = std::exchange(component.generation, std::uint16_t{0});
  return layout;
}

// REQUIRES: the entry lies within bytes. `free_from` is where the sub-layout may begin, and is moved behind it.
Result<Component> decode_component(Bytes8 bytes, std::size_t entry_offset, std::uint64_t& free_from) {
  const std::byte* at = bytes.data() + entry_offset;
  Component component;
  component.id = abi::load_u32(at + offsetof(abi::CompositeEntry, id));
  component.has_id = component.id != 0;
  component.flags = abi::load_u32(at + offsetof(abi::CompositeEntry, flags));
  component.extent = {.start = abi::load_u64(at + offsetof(abi::CompositeEntry, start)),
                      .end = abi::load_u64(at + offsetof(abi::CompositeEntry, end))};
  component.entry_generation = abi::load_u32(at + offsetof(abi::CompositeEntry, generation));
  component.timestamp = abi::load_u64(at + offsetof(abi::CompositeEntry, timestamp_low));
  component.coding = abi::load_u32(at + offsetof(abi::CompositeEntry, coding));
  if (component.extent.end < component.extent.start) {
    return bad_field("lcme_extent.e_end", component.extent.end, fmt::format("before e_start {}", component.extent.start));
  }

  const std::uint32_t offset = abi::load_u32(at + offsetof(abi::CompositeEntry, offset));
  const std::uint32_t size = abi::load_u32(at + offsetof(abi::CompositeEntry, size));
  if (offset < free_from) {
    return bad_field("lcme_offset", offset, fmt::format("overlaps what ends at {}", free_from));
  }
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return bad_field("lcme_size", size, fmt::format("from lcme_offset {}, but the layout has {} bytes", offset, bytes.size()));
  }
  free_from = std::uint64_t{offset} + size;
  IEZ_CHECK(decode_striping(bytes.subspan(offset, size), true, component));
  return component;
}

Result<Layout> decode_composite(Bytes8 bytes) {
  if (bytes.size() < sizeof(abi::CompositeHeader)) {
    return fail(Errc::parse, fmt::format("{} bytes: too short, a composite layout's header takes {}", bytes.size(),
                                         sizeof(abi::CompositeHeader)));
  }
  const std::byte* at = bytes.data();
  const std::uint32_t size = abi::load_u32(at + offsetof(abi::CompositeHeader, size));
  if (size != bytes.size()) return bad_field("lcm_size", size, fmt::format("but the layout has {} bytes", bytes.size()));
  const std::uint16_t count = abi::load_u16(at + offsetof(abi::CompositeHeader, entry_count));
  std::uint64_t free_from = sizeof(abi::CompositeHeader) + count * sizeof(abi::CompositeEntry);
  if (count == 0 || free_from > bytes.size()) {
    return bad_field("lcm_entry_count", count,
                     count == 0 ? "a composite layout has at least one component"
                                : fmt::format("takes {} bytes, but the layout has {}", free_from, bytes.size()));
  }
  const std::uint16_t more_mirrors = abi::load_u16(at + offsetof(abi::CompositeHeader, mirror_count));
  if (more_mirrors >= count) {
    return bad_field("lcm_mirror_count", more_mirrors, fmt::format("one less than the mirrors, but only {} components", count));
  }

  Layout layout;
  layout.composite = true;
  layout.generation = abi::load_u32(at + offsetof(abi::CompositeHeader, generation));
  layout.flags = abi::load_u16(at + offsetof(abi::CompositeHeader, flags));
  layout.mirror_count = static_cast<std::uint16_t>(more_mirrors + 1);
  layout.components.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto component = decode_component(bytes, sizeof(abi::CompositeHeader) + i * sizeof(abi::CompositeEntry), free_from);
    if (!component) return with_context(std::move(component).error(), fmt::format("component {}", i + 1));
    layout.components.push_back(*std::move(component));
  }
  return layout;
}

}  // namespace

Result<Layout> decode_layout(std::span<const std::byte> bytes) {
  IEZ_TRY(const std::uint32_t magic, load_magic(bytes));
  return magic == abi::kMagicComposite ? decode_composite(bytes) : decode_plain(bytes);
}

}  // namespace iez::lustre
