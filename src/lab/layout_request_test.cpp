#include "lab/layout_request.hpp"

#include <cerrno>
#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {
namespace {

namespace abi = lustre::abi;
using testing::ElementsAre;

constexpr std::uint32_t kOsts = 6;  // as the system had on which the expected answers were seen

// The bytes as a program lays them out by hand.
struct Raw {
  std::uint32_t magic = abi::kMagicSpecific;
  std::uint32_t pattern = abi::kPatternRaid0;
  std::uint32_t size = 1U << 20U;
  std::uint16_t count = 0;
  std::uint16_t offset = abi::kNoStripeOffset;
  std::vector<std::uint32_t> osts;

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> result(abi::plain_header_size(magic) == 0 ? 32 : abi::plain_header_size(magic));
    abi::store_u32(result.data(), magic);
    abi::store_u32(result.data() + offsetof(abi::LayoutV1, pattern), pattern);
    abi::store_u32(result.data() + offsetof(abi::LayoutV1, stripe_size), size);
    abi::store_u16(result.data() + offsetof(abi::LayoutV1, stripe_count),
                   count != 0 ? count : static_cast<std::uint16_t>(osts.size()));
    abi::store_u16(result.data() + offsetof(abi::LayoutV1, stripe_offset), offset);
    for (const std::uint32_t ost : osts) {
      const std::size_t at = result.size();
      result.resize(at + sizeof(abi::OstData));
      abi::store_u32(result.data() + at + offsetof(abi::OstData, ost), ost);
    }
    return result;
  }
};

int error_of(const std::vector<std::byte>& bytes) {
  const auto parsed = parse_layout_request(bytes, kOsts);
  return parsed ? 0 : parsed.error();
}
std::vector<std::uint32_t> osts_of(const Raw& raw) {
  const auto parsed = parse_layout_request(raw.bytes(), kOsts);
  std::vector<std::uint32_t> osts;
  osts.reserve(parsed.value().components[0].osts.size());
  for (const OstIndex ost : parsed.value().components[0].osts) osts.push_back(ost.value);
  return osts;
}

TEST(LayoutRequestTest, stripe_sizes) {
  for (const std::uint32_t size : {0U, 65536U, 131072U, 196608U, 327680U, 3145728U, 2147483648U, 4294901760U}) {
    EXPECT_EQ(error_of(Raw{.size = size, .osts = {0, 1}}.bytes()), 0) << size;
  }
  for (const std::uint32_t size : {1U, 4096U, 65535U, 65537U, 98304U}) {
    EXPECT_EQ(error_of(Raw{.size = size, .osts = {0, 1}}.bytes()), EINVAL) << size;
  }
}

TEST(LayoutRequestTest, lists) {
  EXPECT_THAT(osts_of({.osts = {3, 1, 2}}), ElementsAre(3U, 1U, 2U));
  EXPECT_EQ(error_of(Raw{.osts = {0, 6}}.bytes()), EINVAL) << "no such OST";
  EXPECT_EQ(error_of(Raw{.osts = {1, 1}}.bytes()), EINVAL) << "twice";
  EXPECT_THAT(osts_of({.pattern = 0x201, .osts = {1, 1, 2, 2}}), ElementsAre(1U, 1U, 2U, 2U));
  EXPECT_THAT(osts_of({.osts = {0, 1, 2, 3, 4, 5, 0}}), ElementsAre(0U, 1U, 2U, 3U, 4U, 5U)) << "cut to the number of OSTs";
  EXPECT_THAT(osts_of({.count = 2, .osts = {0, 1, 2}}), ElementsAre(0U, 1U)) << "the count decides";
  auto cut = Raw{.osts = {0, 1, 2}}.bytes();
  cut.resize(72);
  EXPECT_EQ(error_of(cut), ERANGE);
}

TEST(LayoutRequestTest, first_of_a_list) {
  EXPECT_THAT(osts_of({.offset = 3, .osts = {3, 1, 2}}), ElementsAre(3U, 1U, 2U));
  EXPECT_THAT(osts_of({.offset = 1, .osts = {3, 1, 2}}), ElementsAre(1U, 2U, 3U)) << "rotated";
  EXPECT_EQ(error_of(Raw{.offset = 5, .osts = {3, 1, 2}}.bytes()), EINVAL);
  EXPECT_EQ(error_of(Raw{.offset = 0, .osts = {3, 1, 2}}.bytes()), EINVAL);
}

TEST(LayoutRequestTest, counts_and_a_first_ost) {
  const auto v1 = [](std::uint16_t count, std::uint16_t offset = abi::kNoStripeOffset) {
    return parse_layout_request(Raw{.magic = abi::kMagicV1, .count = count, .offset = offset}.bytes(), kOsts);
  };
  EXPECT_EQ(v1(50).value().components[0].stripe_count, 50U) << "the allocator caps it";
  EXPECT_EQ(v1(2001).value().components[0].stripe_count, model::Component::kAllOsts);
  EXPECT_EQ(v1(65535).value().components[0].stripe_count, model::Component::kAllOsts);
  EXPECT_EQ(v1(2, 4).value().components[0].first_ost, OstIndex{4});
  EXPECT_EQ(v1(1, 77).error(), EINVAL);
}

TEST(LayoutRequestTest, patterns_and_magics) {
  EXPECT_EQ(error_of(Raw{.pattern = 0, .osts = {0, 1}}.bytes()), 0);
  EXPECT_EQ(error_of(Raw{.pattern = 7, .osts = {0, 1}}.bytes()), EINVAL);
  EXPECT_EQ(error_of(Raw{.pattern = 0x200, .osts = {0, 0}}.bytes()), EINVAL);
  EXPECT_EQ(error_of(Raw{.pattern = 0x100, .osts = {0}}.bytes()), EOPNOTSUPP) << "data on the MDT";
  EXPECT_EQ(error_of(Raw{.magic = 0x12345678, .count = 1}.bytes()), EINVAL);
  EXPECT_EQ(error_of({}), ERANGE);
  EXPECT_EQ(error_of(std::vector<std::byte>(3)), ERANGE);
  auto half = Raw{.magic = abi::kMagicV3}.bytes();
  half.resize(40);
  EXPECT_EQ(error_of(half), ERANGE);
}

TEST(LayoutRequestTest, a_layout_copied_from_a_file_is_a_wish_for_one_like_it) {
  model::Layout has;
  has.generation = 0xFFFF;
  has.components.resize(1);
  has.components[0].stripe_size = Bytes::mib(4);
  has.components[0].stripe_count = 2;
  has.components[0].objects = {{.ost = OstIndex{1}, .id = {.high = 5, .low = 6}},
                               {.ost = OstIndex{3}, .id = {.high = 5, .low = 7}}};
  const auto wish = parse_layout_request(lustre::encode_layout(has).value(), kOsts).value();
  EXPECT_TRUE(wish.components[0].objects.empty());
  EXPECT_TRUE(wish.components[0].osts.empty());
  EXPECT_EQ(wish.components[0].stripe_count, 2U);
  EXPECT_EQ(wish.components[0].stripe_size, Bytes::mib(4));
  EXPECT_EQ(wish.components[0].first_ost, std::nullopt);
}

TEST(LayoutRequestTest, composite_layouts) {
  model::Layout wanted;
  wanted.composite = true;
  wanted.components.resize(2);
  wanted.components[0].extent = {.start = 0, .end = 4U << 20U};
  wanted.components[0].stripe_count = 1;
  wanted.components[1].extent.start = 4U << 20U;
  wanted.components[1].stripe_count = 4;
  const auto parse = [&] { return parse_layout_request(lustre::encode_request(wanted).value(), kOsts); };
  EXPECT_EQ(parse().value(), wanted);
  wanted.components[1].extent.start = 8U << 20U;
  EXPECT_EQ(parse().error(), EINVAL) << "a gap";
  wanted.components[1].extent.start = 4U << 20U;
  wanted.components[0].extent.end = wanted.components[1].extent.start = (4U << 20U) + 1;
  EXPECT_EQ(parse().error(), EINVAL) << "not a multiple of 64 KiB";
  wanted.components[0].extent.end = wanted.components[1].extent.start = 4U << 20U;
  wanted.components[0].pattern = model::Pattern::mdt;
  EXPECT_EQ(parse().error(), EOPNOTSUPP);
}

TEST(LayoutRequestTest, asking_for_nothing) {
  const auto parsed = [](const Raw& raw) { return parse_layout_request(raw.bytes(), kOsts).value(); };
  EXPECT_TRUE(asks_for_nothing(parsed({.magic = abi::kMagicV1, .size = 0})));
  EXPECT_FALSE(asks_for_nothing(parsed({.magic = abi::kMagicV1, .size = 65536})));
  EXPECT_FALSE(asks_for_nothing(parsed({.magic = abi::kMagicV1, .size = 0, .count = 1})));
  EXPECT_FALSE(asks_for_nothing(parsed({.magic = abi::kMagicV1, .size = 0, .offset = 1})));
  EXPECT_FALSE(asks_for_nothing(parsed({.size = 0, .osts = {1}})));
}

}  // namespace
}  // namespace iez::lab
