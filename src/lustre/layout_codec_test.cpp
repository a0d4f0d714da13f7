#include "lustre/layout_codec.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lustre/layout_abi.hpp"

namespace iez::lustre {
namespace {

using model::Component;
using model::Layout;
using model::Pattern;
using testing::HasSubstr;
using ByteVector = std::vector<std::byte>;

constexpr std::string_view kCaptures[] = {"dir_default",  "dir_pfl",         "dom",        "mirror2",  "odd_stripe_size",
                                          "overstripe12", "overstripe_1122", "pfl",        "pfl_copy", "plain_touch",
                                          "spec_0_2_3",   "spec_5_0_4_1",    "v1_stripe1", "v3_pool"};
constexpr std::size_t kV1Size = sizeof(abi::LayoutV1);
constexpr std::size_t kEntry2 = sizeof(abi::CompositeHeader) + sizeof(abi::CompositeEntry);

std::string read_text(const std::string& name) {
  std::ifstream file(std::string(IEZ_TEST_DATA "/lustre-2.17.0/") + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

ByteVector to_bytes(std::string_view text) {
  ByteVector bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

ByteVector capture(std::string_view name) { return to_bytes(read_text(fmt::format("xattr/{}.lustre.lov.bin", name))); }

std::string message_of(const Result<Layout>& result) { return result ? "decoded" : result.error().message; }

// ---- Against what `lfs getstripe -y` shows of the same files
// -----------------------------------------------------------------------

// The file system of the captures has a default stripe size of 4 MiB, which lfs shows where the layout says 0.
std::uint64_t shown_stripe_size(const Component& component) {
  return component.stripe_size.count == 0 ? 4194304 : component.stripe_size.count;
}

std::string show_stripe_offset(const Component& component) {
  return component.objects.empty() ? "-1" : fmt::format("{}", component.objects[0].ost.value);
}

// `own` is the striping's own generation; 0xffff is what getxattr shows instead, where lfs, by ioctl, shows 0.
std::string show_striping(const Component& component, std::uint32_t own, bool of_directory, const std::string& indent) {
  const std::string prefix = indent + (of_directory ? "" : "lmm_");
  std::string text =
      fmt::format("{0}stripe_count:  {1}\n{0}stripe_size:   {2}\n", prefix, component.stripe_count, shown_stripe_size(component));
  text += fmt::format("{}pattern:       {}{}\n", prefix, component.pattern == Pattern::mdt ? "mdt" : "raid0",
                      component.overstriped ? ",overstriped" : "");
  if (!of_directory) text += fmt::format("{}layout_gen:    {}\n", prefix, own == 0xffff ? 0 : own);
  text += component.pattern == Pattern::mdt ? fmt::format("{}mdt_index:     0\n", prefix)
                                            : fmt::format("{}stripe_offset: {}\n", prefix, show_stripe_offset(component));
  if (!component.pool.empty()) text += fmt::format("{}pool:          {}\n", prefix, component.pool);
  if (!component.objects.empty()) text += prefix + "objects:\n";
  for (const model::StripeObject& object : component.objects) {
    text += fmt::format("      - l_ost_idx: {}\n        l_fid:     {:#x}:{:#x}:{:#x}\n", object.ost.value, object.id.high,
                        object.id.low & 0xffffffffU, object.id.low >> 32U);
  }
  return text;
}

std::string show_component(const Component& component, bool of_directory) {
  const std::string id = component.has_id ? fmt::format("{}", component.id) : "N/A";
  const std::string mirror = component.has_id ? fmt::format("{}", component.id >> 16U) : "N/A";
  const std::string end = component.extent.end == model::Extent::kEof ? "EOF" : fmt::format("{}", component.extent.end);
  const std::string flags = component.flags == abi::kComponentInit ? "init" : fmt::format("{}", component.flags);
  return fmt::format(
             "  - lcme_id:             {}\n    lcme_mirror_id:      {}\n    lcme_flags:          {}\n"
             "    lcme_extent.e_start: {}\n    lcme_extent.e_end:   {}\n    sub_layout:\n",
             id, mirror, flags, component.extent.start, end) +
         show_striping(component, component.generation, of_directory, "      ");
}

std::string show(const Layout& layout, bool of_directory) {
  if (!layout.composite) return show_striping(layout.components[0], layout.generation, of_directory, "");
  std::string text = fmt::format("lcm_layout_gen:    {}\nlcm_mirror_count:  {}\nlcm_entry_count:   {}\ncomponents:\n",
                                 layout.generation, layout.mirror_count, layout.components.size());
  for (const Component& component : layout.components) text += show_component(component, of_directory);
  return text;
}

std::map<std::string, std::string> lfs_sections() {
  std::map<std::string, std::string> sections;
  std::istringstream text(read_text("lfs_getstripe_y.txt"));
  std::string name;
  for (std::string line; std::getline(text, line);) {
    constexpr std::string_view kTitle = "######## lfs getstripe -y ";
    if (line.starts_with(kTitle)) {
      name = line.substr(kTitle.size());
    } else {
      sections[name] += line + "\n";
    }
  }
  return sections;
}

TEST(LayoutCodec, ShowsWhatLfsShows) {
  const auto sections = lfs_sections();
  ASSERT_EQ(sections.size(), std::size(kCaptures));
  for (const std::string_view name : kCaptures) {
    const auto layout = decode_layout(capture(name));
    ASSERT_TRUE(layout) << name << ": " << message_of(layout);
    EXPECT_EQ(show(*layout, name.starts_with("dir_")), sections.at(std::string(name))) << name;
  }
}

TEST(LayoutCodec, CapturesRoundTripByteForByte) {
  for (const std::string_view name : kCaptures) {
    const ByteVector bytes = capture(name);
    const auto layout = decode_layout(bytes);
    ASSERT_TRUE(layout) << name << ": " << message_of(layout);
    const auto again = encode_layout(*layout);
    ASSERT_TRUE(again) << name << ": " << again.error().message;
    EXPECT_EQ(*again, bytes) << name;
  }
}

// The ioctl shows a plain file's own generation, and the file's id. The captures lost their trailing zeros.
TEST(LayoutCodec, ReadsWhatTheIoctlGives) {
  for (const std::string_view name : {"odd_stripe_size", "v3_pool", "overstripe12", "spec_0_2_3"}) {
    ByteVector bytes = to_bytes(read_text(fmt::format("xattr/{}.ioctl_GETSTRIPE.bin", name)));
    auto by_xattr = decode_layout(capture(name));
    ASSERT_TRUE(by_xattr);
    EXPECT_EQ(by_xattr->generation, 0xffffU);
    bytes.resize(capture(name).size());
    by_xattr->generation = 0;
    const auto by_ioctl = decode_layout(bytes);
    ASSERT_TRUE(by_ioctl) << name << ": " << message_of(by_ioctl);
    EXPECT_EQ(*by_ioctl, *by_xattr) << name;
  }
}

TEST(LayoutCodec, KeepsTheFilesOwnId) {
  const auto layout = decode_layout(capture("odd_stripe_size"));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->components[0].file_id, (model::ObjectId{.high = 0x200000401, .low = 0xa2}));
}

TEST(LayoutCodec, MirrorsAreCountedFromOne) {
  const auto layout = decode_layout(capture("mirror2"));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->mirror_count, 2);
  EXPECT_EQ(layout->flags, 1);  // `lfs getstripe -v` says "ro"
}

// ---- Against what `lfs setstripe` sends
// ---------------------------------------------------------------------------------------------

std::map<std::string, ByteVector> lfs_payloads() {
  std::map<std::string, ByteVector> payloads;
  std::istringstream text(read_text("setstripe_payloads.txt"));
  std::string command;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("==== ")) command = line.substr(5, line.rfind(' ') - 5);
    if (!line.starts_with("  ") || line.size() < 8) continue;
    std::istringstream words(line.substr(8));
    for (unsigned value = 0; words >> std::hex >> value;) payloads[command].push_back(static_cast<std::byte>(value));
  }
  return payloads;
}

Layout plain(Component component) {
  Layout layout;
  layout.components = {std::move(component)};
  return layout;
}

Layout composite(std::vector<Component> components) {
  Layout layout;
  layout.composite = true;
  layout.components = std::move(components);
  return layout;
}

Component stripes(std::uint16_t count, Bytes size = {}) {
  Component component;
  component.stripe_count = count;
  component.stripe_size = size;
  return component;
}

Component over(Component component, std::uint64_t start, std::uint64_t end) {
  component.extent = {.start = start, .end = end};
  return component;
}

Component on_osts(std::vector<OstIndex> osts, Bytes size = {}) {
  Component component = stripes(0, size);
  component.osts = std::move(osts);
  return component;
}

void expect_sends(const Layout& layout, const std::string& command, const ByteVector& expected) {
  const auto sent = encode_request(layout);
  ASSERT_TRUE(sent) << command << ": " << sent.error().message;
  EXPECT_EQ(*sent, expected) << command;
}

TEST(LayoutCodec, RequestsAreThoseOfLfs) {
  auto payloads = lfs_payloads();
  ASSERT_EQ(payloads.size(), 5U);
  expect_sends(plain(on_osts({{3}, {1}, {2}}, Bytes::mib(1))), "-o 3,1,2", payloads.at("lfs setstripe -o 3,1,2 -S 1M"));
  expect_sends(plain(stripes(2, Bytes::mib(1))), "-c 2 -S 1M", payloads.at("lfs setstripe -c 2 -S 1M"));
  Component pooled = stripes(2);
  pooled.pool = "fast";
  expect_sends(plain(pooled), "-c 2 -p fast", payloads.at("lfs setstripe -c 2 -p fast"));
  Component overstriped = stripes(12);
  overstriped.overstriped = true;
  expect_sends(plain(overstriped), "-C 12", payloads.at("lfs setstripe -C 12"));

  // lfs leaks what was in its memory as the file's id of each sub-layout; iez sends zeros.
  ByteVector progressive = payloads.at("lfs setstripe -E 4M -c 1 -E -1 -c 4");
  for (const std::size_t sub_layout : {0x80U, 0xa0U}) {
    abi::store_u64(&progressive[sub_layout + offsetof(abi::LayoutV1, file_object)], 0);
  }
  const std::uint64_t four_mib = Bytes::mib(4).count;
  expect_sends(composite({over(stripes(1), 0, four_mib), over(stripes(4), four_mib, model::Extent::kEof)}), "-E", progressive);
}

TEST(LayoutCodec, FirstOstOfARequest) {
  Component component = stripes(2, Bytes::mib(1));
  component.first_ost = OstIndex{4};
  const auto sent = encode_request(plain(component));
  ASSERT_TRUE(sent);
  EXPECT_EQ(abi::load_u16(&(*sent)[offsetof(abi::LayoutV1, stripe_offset)]), 4);
}

TEST(LayoutCodec, DataOnTheMdtIsOneStripeOfItsComponent) {
  Component on_mdt = over(stripes(0), 0, 65536);
  on_mdt.pattern = Pattern::mdt;
  const auto sent = encode_request(composite({on_mdt, over(stripes(2), 65536, model::Extent::kEof)}));
  ASSERT_TRUE(sent);
  const auto asked = decode_layout(*sent);
  const auto got = decode_layout(capture("dom"));
  ASSERT_TRUE(asked && got);
  EXPECT_EQ(asked->components[0].stripe_size, got->components[0].stripe_size);
  EXPECT_EQ(asked->components[0].pattern, Pattern::mdt);
}

TEST(LayoutCodec, MirrorsOfARequestFollowFromItsExtents) {
  Layout request = composite({stripes(1), stripes(2)});
  const auto sent = encode_request(request);
  ASSERT_TRUE(sent);
  EXPECT_EQ(abi::load_u16(&(*sent)[offsetof(abi::CompositeHeader, mirror_count)]), 1);
  request.mirror_count = 3;
  EXPECT_FALSE(encode_request(request));
}

TEST(LayoutCodec, ExtensionSizeIsCountedInKib) {
  Component step = over(stripes(1), 65536, model::Extent::kEof);
  step.extension_size = Bytes::mib(64);
  const auto sent = encode_request(composite({over(stripes(1), 0, 65536), step}));
  ASSERT_TRUE(sent);
  EXPECT_EQ(abi::load_u32(&(*sent)[0xa0 + offsetof(abi::LayoutV1, stripe_size)]), 64U * 1024U);
  const auto back = decode_layout(*sent);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->components[1].extension_size, Bytes::mib(64));
  EXPECT_EQ(back->components[1].flags, abi::kComponentExtension);
}

TEST(LayoutCodec, ARequestHasNothingOfAFile) {
  const auto file = decode_layout(capture("pfl"));
  ASSERT_TRUE(file);
  EXPECT_EQ(encode_request(*file).error().code, Errc::invalid_argument);
  Component component = stripes(1);
  component.released = true;
  EXPECT_FALSE(encode_request(plain(component)));
  component = stripes(1);
  component.flags = abi::kComponentStale;
  EXPECT_THAT(encode_request(composite({component})).error().message, HasSubstr("flags 0x1"));
}

TEST(LayoutCodec, RefusesWhatTheBytesCannotSay) {
  const auto refused = [](const Layout& layout) {
    const auto bytes = encode_layout(layout);
    return bytes ? "encoded" : bytes.error().message;
  };
  Component component = stripes(1);
  component.pool = "sixteen_letters_";
  EXPECT_THAT(refused(plain(component)), HasSubstr("at most 15"));
  component = stripes(1);
  component.first_ost = OstIndex{0xffff};
  EXPECT_THAT(refused(plain(component)), HasSubstr("first OST 65535"));
  component = stripes(3);
  component.objects.resize(2);
  EXPECT_THAT(refused(plain(component)), HasSubstr("stripe count 3 with 2 objects"));
  EXPECT_THAT(refused(plain(stripes(1, Bytes::gib(4)))), HasSubstr("below 4 GiB"));
  EXPECT_THAT(refused(plain(over(stripes(1), 0, 65536))), HasSubstr("composite"));
  EXPECT_THAT(refused(composite({})), HasSubstr("0 components"));
  component = stripes(2);
  component.objects.resize(2);
  EXPECT_THAT(refused(composite({component})), HasSubstr("component 1: objects"));
}

// ---- Bytes that lie
// ---------------------------------------------------------------------------------------------------------------

TEST(LayoutCodec, ForeignUnknownAndSwappedMagics) {
  ByteVector bytes = capture("v1_stripe1");
  abi::store_u32(bytes.data(), abi::kMagicForeign);
  EXPECT_EQ(decode_layout(bytes).error().code, Errc::unsupported);
  EXPECT_THAT(message_of(decode_layout(bytes)), HasSubstr("0x0bd70bd0: a foreign layout"));
  abi::store_u32(bytes.data(), 0x12345678);
  EXPECT_EQ(decode_layout(bytes).error().code, Errc::unsupported);
  EXPECT_THAT(message_of(decode_layout(bytes)), HasSubstr("0x12345678"));
  abi::store_u32(bytes.data(), 0xD00BD30B);
  EXPECT_EQ(decode_layout(bytes).error().code, Errc::unsupported);
  EXPECT_THAT(message_of(decode_layout(bytes)), HasSubstr("byte order"));
}

TEST(LayoutCodec, UnknownPatterns) {
  ByteVector bytes = capture("v1_stripe1");
  std::byte* pattern = &bytes[offsetof(abi::LayoutV1, pattern)];
  abi::store_u32(pattern, 0x40000001);
  const auto kept = decode_layout(bytes);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->components[0].other_pattern, 0x40000000U);
  EXPECT_EQ(encode_layout(*kept).value(), bytes);
  for (const std::uint32_t unknown : {0x2U, 0x101U, 0x400U}) {
    abi::store_u32(pattern, unknown);
    EXPECT_EQ(decode_layout(bytes).error().code, Errc::unsupported) << unknown;
  }
}

TEST(LayoutCodec, ReleasedFilesHaveAGenerationButNoObjects) {
  Component component = stripes(4, Bytes::mib(1));
  component.released = true;
  Layout layout = plain(component);
  layout.generation = 7;
  const auto bytes = encode_layout(layout);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->size(), kV1Size);
  EXPECT_EQ(decode_layout(*bytes).value(), layout);
}

TEST(LayoutCodec, DirectoryDefaultWithAListOfOsts) {
  Component component = on_osts({{2}, {0}}, Bytes::mib(1));
  component.stripe_count = 2;
  component.first_ost = OstIndex{2};
  const auto bytes = encode_layout(plain(component));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 96U);  // as measured: magic SPECIFIC, 48 + 2 * 24
  EXPECT_EQ(decode_layout(*bytes).value(), plain(component));
}

// A plain layout's fixed part alone is a directory's default; every other cut must be noticed.
TEST(LayoutCodec, TruncationAtEveryLength) {
  for (const std::string_view name : kCaptures) {
    const ByteVector whole = capture(name);
    const std::size_t fixed_part = abi::plain_header_size(abi::load_u32(whole.data()));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      const auto layout = decode_layout(cut);
      if (fixed_part != 0 && length == fixed_part) {
        EXPECT_TRUE(layout && layout->components[0].objects.empty()) << name;
        continue;
      }
      ASSERT_FALSE(layout) << name << " cut to " << length;
      EXPECT_EQ(layout.error().code, Errc::parse) << name << " cut to " << length;
    }
  }
}

struct Lie {
  std::string_view capture;
  std::size_t at;
  std::uint64_t value;
  std::size_t width;
  std::string_view message;
};

std::ostream& operator<<(std::ostream& out, const Lie& lie) {
  return out << lie.capture << " at " << lie.at << " = " << lie.value;
}

class LyingLayout : public testing::TestWithParam<Lie> {};

TEST_P(LyingLayout, IsNamed) {
  const Lie& lie = GetParam();
  ByteVector bytes = capture(lie.capture);
  if (lie.width == 2) abi::store_u16(&bytes[lie.at], static_cast<std::uint16_t>(lie.value));
  if (lie.width == 4) abi::store_u32(&bytes[lie.at], static_cast<std::uint32_t>(lie.value));
  if (lie.width == 8) abi::store_u64(&bytes[lie.at], lie.value);
  const auto layout = decode_layout(bytes);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, Errc::parse);
  EXPECT_THAT(layout.error().message, HasSubstr(std::string(lie.message)));
}

INSTANTIATE_TEST_SUITE_P(
    LayoutCodec, LyingLayout,
    testing::Values(
        Lie{"v1_stripe1", offsetof(abi::LayoutV1, stripe_count), 2, 2, "lmm_stripe_count 2: needs 48 bytes of stripes, found 24"},
        Lie{"v1_stripe1", offsetof(abi::LayoutV1, stripe_count), 0, 2, "lmm_stripe_count 0: needs 0 bytes"},
        Lie{"v1_stripe1", offsetof(abi::LayoutV1, stripe_count), 65535, 2, "lmm_stripe_count 65535"},
        Lie{"v3_pool", 0, abi::kMagicV1, 4, "lmm_stripe_count 2: needs 48 bytes of stripes, found 64"},
        Lie{"dir_default", 0, abi::kMagicV3, 4, "32 bytes: too short, magic 0x0bd30bd0 takes 48"},
        Lie{"pfl", offsetof(abi::CompositeHeader, size), 343, 4, "lcm_size 343: but the layout has 344 bytes"},
        Lie{"pfl", offsetof(abi::CompositeHeader, size), 0xffffffff, 4, "lcm_size 4294967295"},
        Lie{"pfl", offsetof(abi::CompositeHeader, entry_count), 0, 2, "lcm_entry_count 0"},
        Lie{"pfl", offsetof(abi::CompositeHeader, entry_count), 4, 2, "component 1: lcme_offset 176: overlaps what ends at 224"},
        Lie{"pfl", offsetof(abi::CompositeHeader, entry_count), 65535, 2, "lcm_entry_count 65535: takes 3145712 bytes"},
        Lie{"pfl", offsetof(abi::CompositeHeader, mirror_count), 3, 2, "lcm_mirror_count 3"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, offset), 0, 4, "component 2: lcme_offset 0: overlaps"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, offset), 231, 4,
            "component 2: lcme_offset 231: overlaps what ends at 232"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, offset), 0xfffffff8, 4, "component 2: lcme_size 80: from lcme_offset"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, size), 0xfffffff8, 4, "component 2: lcme_size 4294967288"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, size), 32, 4,
            "component 2: lmm_stripe_count 2: needs 48 bytes of stripes"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, size), 3, 4, "component 2: 3 bytes: too short for a layout's magic"},
        Lie{"pfl", kEntry2 + offsetof(abi::CompositeEntry, end), 5, 8,
            "component 2: lcme_extent.e_end 5: before e_start 4194304"},
        Lie{"pfl", 0xe8, abi::kMagicComposite, 4, "component 2: lmm_magic 0x0bd60bd0: a composite layout inside another"}));

TEST(LayoutCodec, PoolNameWithoutItsEnd) {
  ByteVector bytes = capture("v3_pool");
  for (std::size_t i = 0; i < abi::kPoolNameSize; ++i) bytes[offsetof(abi::LayoutV3, pool) + i] = std::byte{'x'};
  EXPECT_THAT(message_of(decode_layout(bytes)), HasSubstr("lmm_pool_name"));
}

// Servers may keep room for the objects of a component that has none yet (seen: 24 bytes).
TEST(LayoutCodec, RoomBehindAnEmptyComponentIsNoObject) {
  ByteVector bytes = capture("dom");
  auto as_captured = decode_layout(bytes);
  bytes.resize(216);
  abi::store_u32(&bytes[offsetof(abi::CompositeHeader, size)], 216);
  abi::store_u32(&bytes[kEntry2 + offsetof(abi::CompositeEntry, size)], 56);
  EXPECT_EQ(decode_layout(bytes).value(), as_captured.value());
}

// ---- Random layouts
// -----------------------------------------------------------------------------------------------------------------

void add_stripes(Rng& rng, Component& component, bool instantiated) {
  component.stripe_count = static_cast<std::uint16_t>(rng.below(9));
  if (!instantiated && rng.chance(0.3)) {
    component.stripe_count = static_cast<std::uint16_t>(component.stripe_count + 1);
    for (unsigned i = 0; i < component.stripe_count; ++i) component.osts.push_back({static_cast<std::uint32_t>(rng.bits())});
  }
  if (!instantiated && rng.chance(0.5)) component.first_ost = OstIndex{static_cast<std::uint32_t>(rng.below(0xffff))};
  if (!instantiated || component.released || component.pattern == Pattern::mdt) return;
  for (unsigned i = 0; i < component.stripe_count; ++i) {
    component.objects.push_back({.ost = {static_cast<std::uint32_t>(rng.below(4096))},
                                 .id = {.high = rng.bits(), .low = rng.bits()},
                                 .generation = static_cast<std::uint32_t>(rng.bits())});
  }
}

Component random_striping(Rng& rng, bool instantiated, std::uint32_t flags) {
  Component component;
  component.flags = flags;
  component.pattern = rng.chance(0.2) ? Pattern::mdt : Pattern::raid0;
  component.overstriped = rng.chance(0.3);
  component.released = instantiated && rng.chance(0.2);
  component.other_pattern = rng.chance(0.1) ? 0x40000000 : 0;
  component.file_id = {.high = rng.bits(), .low = rng.bits()};
  component.pool = std::string(rng.chance(0.5) ? 0 : rng.between(1, 15), 'p');
  const std::uint64_t size = rng.bits() >> 32U;
  if ((flags & abi::kComponentExtension) != 0) {
    component.extension_size = Bytes{size * 1024};
  } else {
    component.stripe_size = Bytes{size};
  }
  add_stripes(rng, component, instantiated);
  return component;
}

Layout random_plain(Rng& rng) {
  const bool of_file = rng.chance(0.6);
  Layout layout;
  layout.components.push_back(random_striping(rng, of_file, 0));
  const Component& component = layout.components[0];
  // Without objects a plain layout is that of a directory, whatever it was meant to be.
  if (component.released || !component.objects.empty()) layout.generation = static_cast<std::uint32_t>(rng.below(0x10000));
  return layout;
}

Layout random_composite(Rng& rng) {
  Layout layout;
  layout.composite = true;
  layout.generation = static_cast<std::uint32_t>(rng.bits());
  layout.flags = static_cast<std::uint16_t>(rng.bits());
  const std::uint64_t count = rng.between(1, 6);
  layout.mirror_count = static_cast<std::uint16_t>(rng.between(1, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool init = rng.chance(0.5);
    const std::uint32_t flags = static_cast<std::uint32_t>(rng.bits()) & ~abi::kComponentInit;
    Component component = random_striping(rng, init, flags | (init ? abi::kComponentInit : 0));
    if (init) component.generation = static_cast<std::uint16_t>(rng.bits());
    component.extent.start = rng.bits() >> 1U;
    component.extent.end = rng.chance(0.5) ? model::Extent::kEof : component.extent.start + rng.below(1U << 30U);
    component.id = static_cast<std::uint32_t>(rng.below(3)) << 16U | static_cast<std::uint32_t>(rng.below(3));
    component.has_id = component.id != 0;
    component.timestamp = rng.bits();
    component.entry_generation = static_cast<std::uint32_t>(rng.bits());
    component.coding = static_cast<std::uint32_t>(rng.bits());
    layout.components.push_back(std::move(component));
  }
  return layout;
}

TEST(LayoutCodec, RandomLayoutsRoundTrip) {
  constexpr std::uint64_t kSeed = 20170;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Rng rng(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const Layout layout = rng.chance(0.4) ? random_plain(rng) : random_composite(rng);
    const auto bytes = encode_layout(layout);
    ASSERT_TRUE(bytes) << i << ": " << bytes.error().message;
    const auto back = decode_layout(*bytes);
    ASSERT_TRUE(back) << i << ": " << message_of(back);
    ASSERT_EQ(*back, layout) << i;
  }
}

TEST(LayoutCodec, MutatedBytesDecodeToThemselvesOrFail) {
  constexpr std::uint64_t kSeed = 20171;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Rng rng(kSeed);
  for (int i = 0; i < 50000; ++i) {
    ByteVector bytes = capture(kCaptures[static_cast<std::size_t>(i) % std::size(kCaptures)]);
    for (std::uint64_t n = rng.between(1, 4); n > 0; --n) bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
    const auto layout = decode_layout(bytes);
    if (!layout) continue;
    const auto again = encode_layout(*layout);
    ASSERT_TRUE(again) << i << ": " << again.error().message;
    ASSERT_EQ(decode_layout(*again).value(), *layout) << i;
  }
}

}  // namespace
}  // namespace iez::lustre
