#include "placement/lustre_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using testing::HasSubstr;

constexpr std::array<std::uint32_t, 1> kFirst{0};

TEST(LustreView, ActiveIsWhatNothingExcludes) {
  TargetTable table = table_on({0, 0, 1, 1});
  table.targets[1].exclusion = Exclusion::full;
  table.targets[2].degraded = true;
  LustreView view(false);
  EXPECT_FALSE(view.refresh(table));
  EXPECT_EQ(view.active_count(), 3U);
  EXPECT_FALSE(view.active(1));
  EXPECT_TRUE(view.active(2));
  EXPECT_TRUE(view.degraded(2));
  EXPECT_FALSE(view.degraded(3));
  EXPECT_EQ(view.available(3), Bytes::gib(10));
}

TEST(LustreView, SeesBytesOnlyIfVisible) {
  const TargetTable table = table_on({0, 0});
  LustreView blind(false);
  blind.refresh(table);
  EXPECT_TRUE(blind.take_changed());
  blind.write(kFirst, Bytes::gib(10));
  EXPECT_EQ(blind.available(0), Bytes::gib(10));
  EXPECT_TRUE(blind.active(0));
  EXPECT_FALSE(blind.take_changed());

  LustreView seeing(true);
  seeing.refresh(table);
  EXPECT_TRUE(seeing.take_changed());
  seeing.write(kFirst, Bytes{});
  EXPECT_FALSE(seeing.take_changed());
  seeing.write(kFirst, Bytes::gib(1));
  EXPECT_EQ(seeing.available(0), Bytes::gib(9));
  EXPECT_EQ(seeing.available(1), Bytes::gib(10));
  EXPECT_TRUE(seeing.take_changed());
  EXPECT_FALSE(seeing.take_changed());
  seeing.write(kFirst, Bytes::gib(100));
  EXPECT_EQ(seeing.available(0), Bytes{});
  EXPECT_FALSE(seeing.active(0));
  EXPECT_EQ(seeing.active_count(), 1U);
}

// 10 GiB: out below 10 MiB, back above 21 MiB.
TEST(LustreView, WatermarksRemember) {
  TargetTable table = table_on({0, 0});
  LustreView view(true);
  const auto active_with = [&](Bytes available) {
    table.targets[0].available = available;
    view.refresh(table);
    return view.active(0);
  };
  EXPECT_TRUE(active_with(Bytes::mib(10)));
  EXPECT_FALSE(active_with(Bytes::mib(10) - Bytes{1}));
  EXPECT_FALSE(active_with(Bytes::mib(10)));
  EXPECT_FALSE(active_with(Bytes::mib(22) - Bytes{1}));
  EXPECT_TRUE(active_with(Bytes::mib(22)));
  EXPECT_TRUE(active_with(Bytes::mib(10)));
}

TEST(LustreView, SmallTargetsKeepOneMebibyte) {
  TargetTable table = table_on({0, 0}, Bytes::mib(64));
  LustreView view(true);
  view.refresh(table);
  view.write(kFirst, Bytes::mib(63));
  EXPECT_TRUE(view.active(0));
  view.write(kFirst, Bytes{1});
  EXPECT_FALSE(view.active(0));
}

TEST(LustreView, TellsOtherTargets) {
  TargetTable table = table_on({0, 0, 1});
  LustreView view(true);
  EXPECT_FALSE(view.refresh(table));
  EXPECT_TRUE(view.take_changed());
  EXPECT_TRUE(view.refresh(table));
  EXPECT_FALSE(view.take_changed());
  table.targets[1].exclusion = Exclusion::read_only;
  EXPECT_TRUE(view.refresh(table));
  EXPECT_TRUE(view.take_changed());
  EXPECT_EQ(view.active_count(), 2U);
  table.targets[1].server = 1;
  EXPECT_FALSE(view.refresh(table));
  EXPECT_EQ(view.active_count(), 2U);
  EXPECT_FALSE(view.refresh(table_on({0, 0})));
  EXPECT_EQ(view.active_count(), 2U);
}

TEST(LustreWant, MinimumAndCount) {
  TargetTable table = table_on({0, 0, 0, 0, 0, 0, 0, 0});
  LustreView view(false);
  view.refresh(table);
  EXPECT_EQ(lustre_want(view, {.count = 8}, false).minimum, 8U);
  EXPECT_EQ(lustre_want(view, {.count = 8}, true).minimum, 6U);
  EXPECT_EQ(lustre_want(view, {.count = 7}, true).minimum, 6U);
  EXPECT_EQ(lustre_want(view, {.count = 4}, true).minimum, 3U);
  EXPECT_EQ(lustre_want(view, {.count = 3}, true).minimum, 3U);
  EXPECT_EQ(lustre_want(view, {.count = 1}, true).minimum, 1U);

  // More than there are: all of them, as if by default.
  const LustreWant lowered = lustre_want(view, {.count = 9}, false);
  EXPECT_EQ(lowered.count, 8U);
  EXPECT_EQ(lowered.minimum, 6U);
  const LustreWant overstriped = lustre_want(view, {.count = 9, .per_target = 2}, false);
  EXPECT_EQ(overstriped.count, 9U);
  EXPECT_EQ(overstriped.minimum, 9U);
}

TEST(LustreWant, FailureNamesThePool) {
  TargetTable table = table_on({0, 0});
  const std::uint32_t pool = add_pool(table, "flash", {1});
  EXPECT_THAT(no_active_target(table, 3, pool).error().message, HasSubstr("demand 3: none of the 1 targets of pool 'flash'"));
  EXPECT_THAT(no_active_target(table, 0, kAnyPool).error().message, HasSubstr("none of the 2 targets of the file system"));
}

}  // namespace
}  // namespace iez::placement
