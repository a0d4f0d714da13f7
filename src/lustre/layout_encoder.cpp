#include <algorithm>
#include <cstdint>
#include <limits>
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

// What a request may say of a component; all other flags are the state of a file.
constexpr std::uint32_t kRequestFlags =
    abi::kComponentPreferRead | abi::kComponentPreferWrite | abi::kComponentNoSync | abi::kComponentExtension;

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
