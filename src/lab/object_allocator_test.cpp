#include "lab/object_allocator.hpp"

#include <cerrno>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lab/layout_request.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

Config lab() {
  Config config;
  config.dir = "/lab";
  config.oss_count = 2;
  config.osts_per_oss = 2;
  config.stripe_count = 2;
  return config;
}

model::Layout wanting(std::uint16_t count) {
  model::Layout layout = ObjectAllocator::default_request();
  layout.components[0].stripe_count = count;
  return layout;
}
model::Layout wanting_osts(const std::vector<std::uint32_t>& osts) {
  model::Layout layout = wanting(static_cast<std::uint16_t>(osts.size()));
  for (const std::uint32_t ost : osts) layout.components[0].osts.push_back(OstIndex{ost});
  return layout;
}

std::vector<std::uint32_t> osts_of(const Answer<model::Layout>& layout, std::size_t component = 0) {
  std::vector<std::uint32_t> osts;
  osts.reserve(layout.value().components.at(component).objects.size());
  for (const auto& object : layout.value().components.at(component).objects) osts.push_back(object.ost.value);
  return osts;
}

OstSpace space(std::uint32_t ost, Bytes free, std::uint8_t usable = 1) {
  return {.ost = ost, .total = Bytes::gib(1).count, .free = free.count, .usable = usable};
}
void see_all(ObjectAllocator& allocator, Bytes free) {
  for (std::uint32_t ost = 0; ost < 4; ++ost) allocator.see(std::vector{space(ost, free)});
}

TEST(ObjectAllocatorTest, defaults_are_the_labs) {
  ObjectAllocator allocator(lab());
  const auto placed = allocator.place(ObjectAllocator::default_request(), {});
  EXPECT_EQ(placed.value().components[0].stripe_count, 2U);
  EXPECT_EQ(placed->components[0].stripe_size, Bytes::mib(1));
  EXPECT_EQ(osts_of(placed).size(), 2U);
}

TEST(ObjectAllocatorTest, round_robin_while_space_is_even) {
  ObjectAllocator allocator(lab());
  see_all(allocator, Bytes::mib(900));
  std::vector<int> uses(4);
  for (int i = 0; i < 400; ++i) {
    for (const std::uint32_t ost : osts_of(allocator.place(wanting(1), {}))) ++uses[ost];
  }
  EXPECT_THAT(uses, Each(100));
}

TEST(ObjectAllocatorTest, free_space_weighs_when_it_is_uneven) {
  ObjectAllocator allocator(lab());
  see_all(allocator, Bytes::mib(900));
  allocator.see(std::vector{space(0, Bytes::mib(90))});
  std::vector<int> uses(4);
  for (int i = 0; i < 2000; ++i) {
    for (const std::uint32_t ost : osts_of(allocator.place(wanting(1), {}))) ++uses[ost];
  }
  EXPECT_LT(uses[0], 150);
  EXPECT_GT(uses[0], 0);
  for (int i = 1; i < 4; ++i) EXPECT_GT(uses[static_cast<std::size_t>(i)], 500);
}

TEST(ObjectAllocatorTest, counts_are_capped) {
  ObjectAllocator allocator(lab());
  EXPECT_THAT(osts_of(allocator.place(wanting(50), {})), UnorderedElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(osts_of(allocator.place(wanting(model::Component::kAllOsts), {})).size(), 4U);
  model::Layout many = wanting(12);
  many.components[0].overstriped = true;
  const auto placed = allocator.place(many, {});
  std::vector<int> uses(4);
  for (const std::uint32_t ost : osts_of(placed)) ++uses[ost];
  EXPECT_THAT(uses, Each(3));
  EXPECT_TRUE(placed->components[0].overstriped);
}

TEST(ObjectAllocatorTest, a_first_ost_and_those_behind_it) {
  ObjectAllocator allocator(lab());
  model::Layout from = wanting(3);
  from.components[0].first_ost = OstIndex{2};
  EXPECT_THAT(osts_of(allocator.place(from, {})), ElementsAre(2U, 3U, 0U));
  allocator.set_active(3, false);
  EXPECT_THAT(osts_of(allocator.place(from, {})), ElementsAre(2U, 0U, 1U));
  allocator.set_active(2, false);
  EXPECT_EQ(allocator.place(from, {}).error(), EREMOTEIO);
  EXPECT_EQ(allocator.place(from, {}).has_value(), false);
}

TEST(ObjectAllocatorTest, a_list_is_taken_as_it_is) {
  ObjectAllocator allocator(lab());
  EXPECT_THAT(osts_of(allocator.place(wanting_osts({3, 0}), {})), ElementsAre(3U, 0U));
  allocator.see(std::vector{space(0, Bytes::gib(1), 0)});
  EXPECT_EQ(allocator.place(wanting_osts({3, 0}), {}).error(), EREMOTEIO);
  allocator.see(std::vector{space(0, Bytes{0})});
  EXPECT_EQ(allocator.place(wanting_osts({3, 0}), {}).error(), ENOSPC);
}

TEST(ObjectAllocatorTest, full_osts_are_left_out_until_there_is_some_room) {
  ObjectAllocator allocator(lab());
  see_all(allocator, Bytes::mib(500));
  const auto osts = [&] { return osts_of(allocator.place(wanting(model::Component::kAllOsts), {})); };
  allocator.see(std::vector{space(1, Bytes::kib(900))});
  EXPECT_THAT(osts(), UnorderedElementsAre(0U, 2U, 3U));
  allocator.see(std::vector{space(1, Bytes::kib(1800))});
  EXPECT_THAT(osts(), Not(Contains(1U))) << "below twice the low watermark of a full one";
  allocator.see(std::vector{space(1, Bytes::mib(3))});
  EXPECT_THAT(osts(), Contains(1U));
  allocator.see(std::vector{space(1, Bytes::kib(1800))});
  EXPECT_THAT(osts(), Contains(1U)) << "above the low watermark of one that is not";
  see_all(allocator, Bytes{0});
  EXPECT_EQ(allocator.place(wanting(1), {}).error(), ENOSPC);
}

TEST(ObjectAllocatorTest, osts_of_a_lost_server_are_left_out_unless_all_are) {
  ObjectAllocator allocator(lab());
  see_all(allocator, Bytes::mib(500));
  allocator.lose(2, 2);
  const auto osts = [&] { return osts_of(allocator.place(wanting(model::Component::kAllOsts), {})); };
  EXPECT_THAT(osts(), UnorderedElementsAre(0U, 1U));
  EXPECT_THAT(osts_of(allocator.place(wanting_osts({3}), {})), ElementsAre(3U)) << "whoever names it waits for it";
  allocator.lose(0, 2);
  EXPECT_THAT(osts(), UnorderedElementsAre(0U, 1U, 2U, 3U));
}

TEST(ObjectAllocatorTest, progressive_files) {
  ObjectAllocator allocator(lab());
  model::Layout layout;
  layout.composite = true;
  layout.components.resize(2);
  layout.components[0].extent.end = 1U << 20U;
  layout.components[0].stripe_count = 1;
  layout.components[1].extent.start = 1U << 20U;
  layout.components[1].stripe_count = model::Component::kAllOsts;
  const auto placed = allocator.place(layout, {});
  EXPECT_EQ(osts_of(placed, 0).size(), 1U);
  EXPECT_EQ(osts_of(placed, 1).size(), 4U);
  EXPECT_EQ(placed->components[0].id, 1U);
  EXPECT_EQ(placed->components[1].id, 2U);
  layout.components.assign(700, layout.components[0]);
  EXPECT_EQ(allocator.place(layout, {}).error(), E2BIG);
}

// Whatever passes the judge can be placed and encoded, and follows the rules.
TEST(ObjectAllocatorTest, random_requests) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    ObjectAllocator allocator(lab());
    see_all(allocator, Bytes::mib(500));
    for (std::uint32_t ost = 0; ost < 4; ++ost) {
      if (rng.chance(0.2)) allocator.set_active(ost, false);
      if (rng.chance(0.2)) allocator.see(std::vector{space(ost, Bytes{rng.below(2U << 20U)})});
    }
    model::Layout wanted = wanting(static_cast<std::uint16_t>(rng.below(10)));
    model::Component& component = wanted.components[0];
    component.overstriped = rng.chance(0.3);
    component.stripe_size = Bytes{rng.below(4) * 65536};
    if (rng.chance(0.3)) component.first_ost = OstIndex{static_cast<std::uint32_t>(rng.below(4))};
    const auto request = parse_layout_request(lustre::encode_request(wanted).value(), 4);
    ASSERT_TRUE(request.has_value());
    const auto placed = allocator.place(*request, {});
    if (!placed) {
      EXPECT_THAT(placed.error(), testing::AnyOf(ENOSPC, EREMOTEIO));
      continue;
    }
    EXPECT_TRUE(lustre::encode_layout(*placed).has_value());
    const auto osts = osts_of(placed);
    EXPECT_FALSE(osts.empty());
    EXPECT_LE(osts.size(), component.stripe_count == 0 ? 2U : std::size_t{component.stripe_count});
    for (const std::uint32_t ost : osts) {
      EXPECT_TRUE(allocator.osts()[ost].usable());
      EXPECT_FALSE(allocator.osts()[ost].full);
    }
    if (!component.overstriped) {
      EXPECT_EQ(std::set(osts.begin(), osts.end()).size(), osts.size());
    }
    if (component.first_ost) {
      EXPECT_EQ(osts.front(), component.first_ost->value);
    }
  }
}

}  // namespace
}  // namespace iez::lab
