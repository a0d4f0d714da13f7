#include "collective/file_layout.hpp"

#include <gtest/gtest.h>

#include "lustre/layout_abi.hpp"

namespace iez::collective {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMib = 1 << 20;

model::Component component(std::uint64_t begin_mib, std::uint64_t end_mib, std::uint64_t stripe_mib,
                           std::vector<std::uint32_t> osts) {
  model::Component part;
  part.extent = {begin_mib << 20U, end_mib == 0 ? model::Extent::kEof : end_mib << 20U};
  part.stripe_size = Bytes::mib(stripe_mib);
  part.stripe_count = static_cast<std::uint16_t>(osts.size());
  for (const std::uint32_t ost : osts) part.objects.push_back({.ost = {ost}});
  return part;
}

model::Layout composite(std::vector<model::Component> components) {
  return {.composite = true, .components = std::move(components)};
}

TEST(FileLayout, Plain) {
  const auto layout = striped_layout({.components = {component(0, 0, 4, {3, 1, 7})}});
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->striped);
  EXPECT_EQ(layout->ranges, (std::vector<StripedRange>{{0, kLargest, 4 * kMib, {3, 1, 7}}}));
}

TEST(FileLayout, OverstripedNamesAnOstTwice) {
  auto part = component(0, 0, 1, {3, 1, 3, 1});
  part.overstriped = true;
  const auto layout = striped_layout({.components = {part}});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->ranges[0].osts, (std::vector<std::uint32_t>{3, 1, 3, 1}));
}

TEST(FileLayout, ProgressiveWithATailThatHasNoObjectsYet) {
  auto tail = component(64, 0, 4, {});
  tail.stripe_count = 3;
  const auto layout = striped_layout(composite({component(0, 1, 1, {5}), component(1, 64, 1, {2, 3, 4, 5}), tail}));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->ranges,
            (std::vector<StripedRange>{{0, kMib, kMib, {5}},
                                       {kMib, 64 * kMib, kMib, {2, 3, 4, 5}},
                                       {64 * kMib, kLargest, 4 * kMib, {kUnknownOst, kUnknownOst + 1, kUnknownOst + 2}}}));
}

TEST(FileLayout, ATailOverAllOstsIsAtLeastAsWideAsTheRest) {
  auto tail = component(64, 0, 4, {});
  tail.stripe_count = model::Component::kAllOsts;
  const auto layout = striped_layout(composite({component(0, 64, 1, {2, 3, 4, 5}), tail}));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->ranges[1].osts.size(), 4U);
}

TEST(FileLayout, DataOnTheMdt) {
  auto head = component(0, 1, 1, {});
  head.pattern = model::Pattern::mdt;
  const auto layout = striped_layout(composite({head, component(1, 0, 1, {8, 9})}));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->ranges[0], (StripedRange{0, kMib, kMib, {kMetadataTarget}}));
}

TEST(FileLayout, AMirrorThatIsNotStale) {
  auto stale = component(0, 0, 1, {1, 2});
  stale.flags = lustre::abi::kComponentStale;
  auto layout = composite({component(0, 4, 1, {1}), component(4, 0, 1, {2}), component(0, 0, 1, {3, 4})});
  layout.mirror_count = 2;
  EXPECT_EQ(striped_layout(layout)->ranges.size(), 2U);
  layout.components[1].flags = lustre::abi::kComponentStale;
  EXPECT_EQ(striped_layout(layout)->ranges, (std::vector<StripedRange>{{0, kLargest, kMib, {3, 4}}}));
  layout.components[2].flags = lustre::abi::kComponentStale;
  EXPECT_FALSE(striped_layout(layout));
}

TEST(FileLayout, SelfExtendingGrowsWhatItExtends) {
  auto extension = component(64, 1024, 0, {});
  extension.flags = lustre::abi::kComponentExtension;
  extension.extension_size = Bytes::mib(64);
  const auto layout = striped_layout(composite({component(0, 64, 1, {1}), extension, component(1024, 0, 1, {2, 3})}));
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->ranges.size(), 2U);
  EXPECT_EQ(layout->ranges[0], (StripedRange{0, 1024 * kMib, kMib, {1}}));
}

TEST(FileLayout, EndsAtTheLargestOffsetWhateverTheLayoutSays) {
  const auto layout = striped_layout(composite({component(0, 64, 1, {1})}));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->ranges[0].end, kLargest);
}

TEST(FileLayout, RefusesWhatCannotBe) {
  EXPECT_FALSE(striped_layout({}));
  EXPECT_FALSE(striped_layout({.components = {component(0, 0, 0, {1})}}));  // a stripe size to be chosen yet
  EXPECT_FALSE(striped_layout({.components = {component(0, 0, 1, {})}}));   // a count to be chosen yet
  EXPECT_FALSE(striped_layout(composite({component(0, 4, 1, {1}), component(8, 0, 1, {1})})));
  EXPECT_FALSE(striped_layout(composite({component(4, 0, 1, {1})})));
}

TEST(FileLayout, Imagined) {
  EXPECT_EQ(imagined_layout(kMib, 3), (FileLayout{.ranges = {{0, kLargest, kMib, {0, 1, 2}}}, .striped = false}));
  EXPECT_EQ(imagined_layout(0, 0), imagined_layout(4 << 10, 1));
  EXPECT_EQ(imagined_layout(kLargest, 1).ranges[0].stripe_size, 1 << 30);
}

TEST(FileLayout, TheWidestComponentCountsOstsNotObjects) {
  EXPECT_EQ(widest({}), 1U);
  EXPECT_EQ(widest({.ranges = {{.stripe_size = 1, .osts = {4}}, {.stripe_size = 1, .osts = {1, 2, 1, 2, 9}}}, .striped = true}),
            3U);
}

}  // namespace
}  // namespace iez::collective
