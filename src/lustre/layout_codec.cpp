#include "lustre/layout_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lustre/layout_abi.hpp"

namespace iez::lustre {

namespace {

using model::Component;
using model::Layout;
using model::Pattern;
using Bytes8 = std::span<const std::byte>;

constexpr std::uint32_t kKnownPatternBits =
    abi::kPatternRaid0 | abi::kPatternMdt | abi::kPatternOverstriping | abi::kPatternReleased;

// What a request may say of a component; all other flags are the state of a file.
constexpr std::uint32_t kRequestFlags =
    abi::kComponentPreferRead | abi::kComponentPreferWrite | abi::kComponentNoSync | abi::kComponentExtension;

// The 16-bit word behind the stripe count means two things: in what a file has, a generation; in a request, in a default and in a
// component without objects, the wanted first OST. Reader and writer must agree, so both ask here.
bool is_instantiated(const Component& component) {
  if (!component.osts.empty()) return false;
  return !component.objects.empty() || component.released || (component.flags & abi::kComponentInit) != 0;
}

// An instantiated component over OSTs has one object a stripe, unless its data went to the archive.
bool must_have_objects(const Component& component) {
  return (component.flags & abi::kComponentInit) != 0 && component.pattern == Pattern::raid0 && !component.released &&
         component.stripe_count != 0;
}

// ---- Decoding -----------------------------------------------------------------------------------------------------------------

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

// ---- Encoding -----------------------------------------------------------------------------------------------------------------

std::unexpected<Error> unencodable(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

Result<void> check_sizes(const Component& component) {
  constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint32_t>::max();
  const bool extension = (component.flags & abi::kComponentExtension) != 0;
  const std::uint64_t stripe = component.stripe_size.count;
  const std::uint64_t step = component.extension_size.count;
  if (stripe > kMaxWord) return unencodable(fmt::format("stripe size {}: must be below 4 GiB", stripe));
  if (!extension && step != 0) return unencodable(fmt::format("extension size {} without the extension flag", step));
  if (!extension) return {};
  if (stripe != 0) return unencodable(fmt::format("stripe size {} in an extension component, which has none", stripe));
  if (step % abi::kExtensionUnit != 0 || step / abi::kExtensionUnit > kMaxWord) {
    return unencodable(fmt::format("extension size {}: must be a multiple of 1 KiB, below 4 TiB", step));
  }
  return {};
}

Result<void> check_stripes(const Component& component) {
  const std::size_t count = component.stripe_count;
  if (!component.osts.empty() && !component.objects.empty()) return unencodable("both a list of OSTs and objects");
  if (!component.osts.empty() && component.osts.size() != count) {
    return unencodable(fmt::format("stripe count {} with {} OSTs listed", count, component.osts.size()));
  }
  if (!component.objects.empty() && component.objects.size() != count) {
    return unencodable(fmt::format("stripe count {} with {} objects", count, component.objects.size()));
  }
  return {};
}

Result<void> check_offset_word(const Component& component) {
  if (is_instantiated(component)) {
    if (component.first_ost) return unencodable("a wanted first OST in a component that has its objects");
    return {};
  }
  if (component.generation != 0) return unencodable("a generation in a component that has no objects");
  if (component.first_ost && component.first_ost->value >= abi::kNoStripeOffset) {
    return unencodable(fmt::format("first OST {}: must be below {}", component.first_ost->value, abi::kNoStripeOffset));
  }
  return {};
}

Result<void> check_striping(const Component& component) {
  if ((component.other_pattern & kKnownPatternBits) != 0) {
    return unencodable(fmt::format("pattern bits {:#x}: have fields of their own", component.other_pattern));
  }
  if (component.pool.size() >= abi::kPoolNameSize || component.pool.find('\0') != std::string::npos) {
    return unencodable(
        fmt::format("pool '{}': at most {} characters, none of them zero", component.pool, abi::kPoolNameSize - 1));
  }
  IEZ_CHECK(check_sizes(component));
  IEZ_CHECK(check_stripes(component));
  return check_offset_word(component);
}

Result<void> check_plain(const Layout& layout) {
  if (layout.components.size() != 1) {
    return unencodable(fmt::format("{} components: a plain layout has exactly one", layout.components.size()));
  }
  Component bare = layout.components[0];
  if (layout.flags != 0 || layout.mirror_count != 1 || bare.extent != model::Extent{} || bare.id != 0 || bare.has_id ||
      bare.flags != 0 || bare.timestamp != 0 || bare.generation != 0 || bare.entry_generation != 0 || bare.coding != 0) {
    return unencodable("a plain layout has no extent, id, flags or mirrors: they need a composite one");
  }
  const std::uint32_t most = is_instantiated(bare) ? std::numeric_limits<std::uint16_t>::max() : 0;
  if (layout.generation > most) return unencodable(fmt::format("generation {}: at most {} here", layout.generation, most));
  return check_striping(bare);
}

Result<void> check_member(const Component& component) {
  if (component.has_id != (component.id != 0)) return unencodable("a component id is not 0, and has_id says that there is one");
  if (component.extent.end < component.extent.start) {
    return unencodable(fmt::format("extent [{}, {}): ends before it starts", component.extent.start, component.extent.end));
  }
  if (!component.objects.empty() && (component.flags & abi::kComponentInit) == 0) {
    return unencodable("objects in a component that is not flagged as instantiated");
  }
  if (must_have_objects(component) && component.objects.empty() && component.osts.empty()) {
    return unencodable("an instantiated component without its objects");
  }
  return check_striping(component);
}

Result<void> check_composite(const Layout& layout) {
  const std::size_t count = layout.components.size();
  if (count == 0 || count > std::numeric_limits<std::uint16_t>::max()) {
    return unencodable(fmt::format("{} components: a composite layout has 1 to 65535", count));
  }
  if (layout.mirror_count == 0 || layout.mirror_count > count) {
    return unencodable(fmt::format("{} mirrors of {} components", layout.mirror_count, count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (auto checked = check_member(layout.components[i]); !checked) {
      return with_context(std::move(checked).error(), fmt::format("component {}", i + 1));
    }
  }
  return {};
}

std::uint32_t magic_of(const Component& component) {
  if (!component.osts.empty()) return abi::kMagicSpecific;
  return component.pool.empty() ? abi::kMagicV1 : abi::kMagicV3;
}

std::uint32_t pattern_of(const Component& component) {
  return (component.pattern == Pattern::mdt ? abi::kPatternMdt : abi::kPatternRaid0) |
         (component.overstriped ? abi::kPatternOverstriping : 0) | (component.released ? abi::kPatternReleased : 0) |
         component.other_pattern;
}

std::size_t striping_size(const Component& component) {
  return abi::plain_header_size(magic_of(component)) + (component.osts.size() + component.objects.size()) * sizeof(abi::OstData);
}

void store_object(std::byte* at, const model::StripeObject& object) {
  abi::store_u64(at + offsetof(abi::OstData, id_high), object.id.high);
  abi::store_u64(at + offsetof(abi::OstData, id_low), object.id.low);
  abi::store_u32(at + offsetof(abi::OstData, generation), object.generation);
  abi::store_u32(at + offsetof(abi::OstData, ost), object.ost.value);
}

// Fills striping_size(component) zeroed bytes.
void store_striping(std::byte* at, const Component& component, std::uint16_t generation) {
  const bool extension = (component.flags & abi::kComponentExtension) != 0;
  const std::uint64_t size = extension ? component.extension_size.count / abi::kExtensionUnit : component.stripe_size.count;
  const std::uint16_t wanted =
      component.first_ost ? static_cast<std::uint16_t>(component.first_ost->value) : abi::kNoStripeOffset;
  abi::store_u32(at + offsetof(abi::LayoutV1, magic), magic_of(component));
  abi::store_u32(at + offsetof(abi::LayoutV1, pattern), pattern_of(component));
  abi::store_u64(at + offsetof(abi::LayoutV1, file_object), component.file_id.low);
  abi::store_u64(at + offsetof(abi::LayoutV1, file_sequence), component.file_id.high);
  abi::store_u32(at + offsetof(abi::LayoutV1, stripe_size), static_cast<std::uint32_t>(size));
  abi::store_u16(at + offsetof(abi::LayoutV1, stripe_count), component.stripe_count);
  abi::store_u16(at + offsetof(abi::LayoutV1, stripe_offset), is_instantiated(component) ? generation : wanted);
  for (std::size_t i = 0; i < component.pool.size(); ++i) {
    at[offsetof(abi::LayoutV3, pool) + i] = static_cast<std::byte>(component.pool[i]);
  }
  std::byte* stripe = at + abi::plain_header_size(magic_of(component));
  for (const OstIndex ost : component.osts) {
    store_object(stripe, {.ost = ost, .id = {}, .generation = 0});
    stripe += sizeof(abi::OstData);
  }
  for (const model::StripeObject& object : component.objects) {
    store_object(stripe, object);
    stripe += sizeof(abi::OstData);
  }
}

void store_entry(std::byte* at, const Component& component, std::size_t offset) {
  abi::store_u32(at + offsetof(abi::CompositeEntry, id), component.id);
  abi::store_u32(at + offsetof(abi::CompositeEntry, flags), component.flags);
  abi::store_u64(at + offsetof(abi::CompositeEntry, start), component.extent.start);
  abi::store_u64(at + offsetof(abi::CompositeEntry, end), component.extent.end);
  abi::store_u32(at + offsetof(abi::CompositeEntry, offset), static_cast<std::uint32_t>(offset));
  abi::store_u32(at + offsetof(abi::CompositeEntry, size), static_cast<std::uint32_t>(striping_size(component)));
  abi::store_u32(at + offsetof(abi::CompositeEntry, generation), component.entry_generation);
  abi::store_u64(at + offsetof(abi::CompositeEntry, timestamp_low), component.timestamp);
  abi::store_u32(at + offsetof(abi::CompositeEntry, coding), component.coding);
}

std::vector<std::byte> store_plain(const Layout& layout) {
  std::vector<std::byte> bytes(striping_size(layout.components[0]));
  store_striping(bytes.data(), layout.components[0], static_cast<std::uint16_t>(layout.generation));
  return bytes;
}

Result<std::vector<std::byte>> store_composite(const Layout& layout) {
  std::size_t offset = sizeof(abi::CompositeHeader) + layout.components.size() * sizeof(abi::CompositeEntry);
  std::size_t total = offset;
  for (const Component& component : layout.components) total += striping_size(component);
  if (total > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::limit, fmt::format("a layout of {} bytes: must be below 4 GiB", total));
  }
  std::vector<std::byte> bytes(total);
  std::byte* at = bytes.data();
  abi::store_u32(at + offsetof(abi::CompositeHeader, magic), abi::kMagicComposite);
  abi::store_u32(at + offsetof(abi::CompositeHeader, size), static_cast<std::uint32_t>(total));
  abi::store_u32(at + offsetof(abi::CompositeHeader, generation), layout.generation);
  abi::store_u16(at + offsetof(abi::CompositeHeader, flags), layout.flags);
  abi::store_u16(at + offsetof(abi::CompositeHeader, entry_count), static_cast<std::uint16_t>(layout.components.size()));
  abi::store_u16(at + offsetof(abi::CompositeHeader, mirror_count), static_cast<std::uint16_t>(layout.mirror_count - 1));
  std::byte* entry = at + sizeof(abi::CompositeHeader);
  for (const Component& component : layout.components) {
    store_entry(entry, component, offset);
    store_striping(at + offset, component, component.generation);
    entry += sizeof(abi::CompositeEntry);
    offset += striping_size(component);
  }
  return bytes;
}

// ---- Requests -----------------------------------------------------------------------------------------------------------------

// The component as it is sent: what the user left open and Lustre wants said is filled in.
Result<Component> request_of(Component component) {
  if (!component.objects.empty() || component.has_id || component.released) {
    return unencodable("objects, ids and released data belong to a file, not to a request");
  }
  if (component.extension_size.count != 0) component.flags |= abi::kComponentExtension;
  if ((component.flags & ~kRequestFlags) != 0) {
    return unencodable(
        fmt::format("component flags {:#x}: belong to a file, not to a request", component.flags & ~kRequestFlags));
  }
  if (component.osts.size() > std::numeric_limits<std::uint16_t>::max()) {
    return unencodable(fmt::format("{} OSTs listed: more than a layout can hold", component.osts.size()));
  }
  component.file_id = {};
  if (!component.osts.empty()) {
    // As `lfs` does; an offset outside the list would be refused, and one inside but not first would rotate it.
    if (!component.first_ost) component.first_ost = component.osts[0];
    if (component.stripe_count == 0) component.stripe_count = static_cast<std::uint16_t>(component.osts.size());
  }
  // The one stripe on the MDT is the whole component.
  if (component.pattern == Pattern::mdt && component.stripe_size.count == 0 && component.extent.end != model::Extent::kEof) {
    component.stripe_size = Bytes{component.extent.end - component.extent.start};
  }
  return component;
}

// A component that starts at 0 opens a mirror.
std::size_t mirrors_in(const Layout& layout) {
  const auto opens = [](const Component& component) { return component.extent.start == 0; };
  return static_cast<std::size_t>(std::count_if(layout.components.begin(), layout.components.end(), opens));
}

}  // namespace

Result<Layout> decode_layout(std::span<const std::byte> bytes) {
  IEZ_TRY(const std::uint32_t magic, load_magic(bytes));
  return magic == abi::kMagicComposite ? decode_composite(bytes) : decode_plain(bytes);
}

Result<std::vector<std::byte>> encode_layout(const Layout& layout) {
  if (!layout.composite) {
    IEZ_CHECK(check_plain(layout));
    return store_plain(layout);
  }
  IEZ_CHECK(check_composite(layout));
  return store_composite(layout);
}

Result<std::vector<std::byte>> encode_request(const Layout& layout) {
  Layout request = layout;
  if (layout.generation != 0) return unencodable(fmt::format("generation {}: a request has none", layout.generation));
  for (Component& component : request.components) {
    IEZ_TRY(component, request_of(std::move(component)));
  }
  if (layout.composite) {
    const std::size_t mirrors = mirrors_in(layout);
    if (layout.mirror_count != 1 && layout.mirror_count != mirrors) {
      return unencodable(fmt::format("{} mirrors, but {} components start at 0", layout.mirror_count, mirrors));
    }
    request.mirror_count = static_cast<std::uint16_t>(std::min<std::size_t>(mirrors, std::numeric_limits<std::uint16_t>::max()));
  }
  return encode_layout(request);
}

}  // namespace iez::lustre
