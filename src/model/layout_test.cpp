#include "model/layout.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/layout_spec.hpp"

namespace iez::model {
namespace {

using testing::HasSubstr;

Layout plain(Component component) {
  Layout layout;
  layout.components.push_back(std::move(component));
  return layout;
}

std::string refusal(const Layout& layout) {
  const auto checked = validate_request(layout);
  return checked ? "accepted" : checked.error().message;
}

TEST(Layout, OrdinaryRequestsAreAccepted) {
  EXPECT_EQ(refusal(plain({})), "accepted");
  EXPECT_EQ(refusal(plain({.stripe_size = Bytes::kib(192), .stripe_count = 4})), "accepted")
      << "odd multiples of 64 KiB are fine";
  EXPECT_EQ(refusal(plain({.stripe_size = kMaxStripeSize, .stripe_count = Component::kAllOsts})), "accepted");
  EXPECT_EQ(refusal(plain({.osts = {{3}, {1}, {2}}})), "accepted");
  EXPECT_EQ(refusal(plain({.overstriped = true, .osts = {{1}, {1}, {2}, {2}}})), "accepted");
}

TEST(Layout, WhatLustreRefusesIsSaidInWords) {
  EXPECT_THAT(refusal(plain({.stripe_size = Bytes{4096}})), HasSubstr("stripe size 4096: must be a multiple of 64 KiB"));
  EXPECT_THAT(refusal(plain({.stripe_size = Bytes::gib(4)})), HasSubstr("must be below 4 GiB"));
  EXPECT_THAT(refusal(plain({.stripe_count = 2001})), HasSubstr("at most 2000"));
  EXPECT_THAT(refusal(plain({.osts = {{1}, {2}, {1}}})), HasSubstr("OST 1 is listed twice: needs overstriping"));
  EXPECT_THAT(refusal(plain({.first_ost = OstIndex{9}, .osts = {{1}, {2}}})),
              HasSubstr("first OST 9: must be the first of the list, 1"));
  EXPECT_THAT(refusal(plain({.stripe_count = 3, .osts = {{1}, {2}}})), HasSubstr("stripe count 3 with 2 OSTs listed"));
  EXPECT_THAT(refusal(plain({.pool = "a-name-of-16-byt"})), HasSubstr("at most 15 characters"));
  EXPECT_THAT(refusal(Layout{}), HasSubstr("at least one component"));
  EXPECT_THAT(refusal(plain({.extent = {.start = 0, .end = 65536}})), HasSubstr("needs a composite layout"));
}

TEST(Layout, CompositeExtentsMustMeet) {
  Layout layout{.composite = true};
  layout.components = {{.extent = {.start = 0, .end = 1 << 20}}, {.extent = {.start = 2 << 20, .end = Extent::kEof}}};
  EXPECT_THAT(refusal(layout), HasSubstr("component 2 starts at 2097152, but the one before ends at 1048576"));
  layout.components[1].extent.start = 1 << 20;
  EXPECT_EQ(refusal(layout), "accepted");
  layout.components.push_back({});  // a second mirror starts at 0 again
  EXPECT_EQ(refusal(layout), "accepted");
  layout.components[0].extent.end = 1000;
  EXPECT_THAT(refusal(layout), HasSubstr("component 1 ends at 1000: must be a multiple of 64 KiB"));
  layout.components[0] = {.extent = {.start = 5, .end = 5}};
  EXPECT_THAT(refusal(layout), HasSubstr("component 1: extent [5, 5): ends before it starts"));
}

TEST(LayoutSpec, ComponentsInWords) {
  const std::vector<std::string> specs{"1M:mdt", "64M:count=2,size=1M,pool=flash", "eof:osts=3+1+5-6,size=4M"};
  const auto layout = parse_components(specs);
  ASSERT_TRUE(layout) << layout.error().message;
  ASSERT_EQ(layout->components.size(), 3U);
  EXPECT_EQ(layout->components[0].pattern, Pattern::mdt);
  EXPECT_EQ(layout->components[0].extent, (Extent{.start = 0, .end = 1 << 20}));
  EXPECT_EQ(layout->components[1].extent, (Extent{.start = 1 << 20, .end = 64 << 20}));
  EXPECT_EQ(layout->components[1].stripe_count, 2);
  EXPECT_EQ(layout->components[1].pool, "flash");
  EXPECT_THAT(layout->components[2].osts, testing::ElementsAre(OstIndex{3}, OstIndex{1}, OstIndex{5}, OstIndex{6}));
  EXPECT_EQ(layout->components[2].extent.end, Extent::kEof);
  EXPECT_EQ(refusal(*layout), "accepted");
}

TEST(LayoutSpec, AllOstsAndOverstriping) {
  const auto layout = parse_components(std::vector<std::string>{"-1:count=-1,overstripe,first=7"});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->components[0].stripe_count, Component::kAllOsts);
  EXPECT_TRUE(layout->components[0].overstriped);
  EXPECT_EQ(layout->components[0].first_ost, OstIndex{7});
}

std::string spec_error(std::vector<std::string> specs) {
  const auto layout = parse_components(specs);
  return layout ? "accepted" : layout.error().message;
}

TEST(LayoutSpec, MistakesAreNamed) {
  EXPECT_THAT(spec_error({"4M:cuont=1"}), HasSubstr("component '4M:cuont=1': 'cuont=1': expected count="));
  EXPECT_THAT(spec_error({"4M:cuont=1"}), HasSubstr("did you mean count?"));
  EXPECT_THAT(spec_error({"4Q"}), HasSubstr("expected a size"));
  EXPECT_THAT(spec_error({"eof", "eof"}), HasSubstr("the one before it has no end"));
  EXPECT_THAT(spec_error({"eof:count=0"}), HasSubstr("expected 1 to 2000, or -1"));
  EXPECT_THAT(spec_error({"eof:osts=3+x"}), HasSubstr("'x': expected an OST number"));
  EXPECT_THAT(spec_error({"eof:pool="}), HasSubstr("expected count="));
  EXPECT_THAT(spec_error({"eof:osts=4294967295"}), HasSubstr("OST numbers are 0 to 65534"));
}

TEST(Layout, DataOnTheMdtHasAnEndAndNoStripes) {
  for (const char* const spec : {"eof:mdt", "1M:mdt,count=3", "1M:mdt,osts=1"}) {
    const auto layout = parse_components(std::vector<std::string>{spec});
    ASSERT_TRUE(layout);
    EXPECT_THAT(refusal(*layout), HasSubstr("data on the MDT")) << spec;
  }
}

TEST(LayoutSpec, OstLists) {
  EXPECT_THAT(*parse_ost_list("3,1,2", ','), testing::ElementsAre(OstIndex{3}, OstIndex{1}, OstIndex{2}));
  EXPECT_THAT(*parse_ost_list("0-2, 9", ','), testing::ElementsAre(OstIndex{0}, OstIndex{1}, OstIndex{2}, OstIndex{9}));
  for (const char* const text : {"", ",", "1,,2", "-", "5-3", "1-", "-1", "a", "4294967296", "0-4000000000"}) {
    EXPECT_FALSE(parse_ost_list(text, ',')) << text;
  }
  EXPECT_EQ(parse_ost_list("0-1999", ',')->size(), 2000U);
  EXPECT_FALSE(parse_ost_list("0-2000", ','));
  EXPECT_FALSE(parse_ost_list("0-1999,7", ','));
}

}  // namespace
}  // namespace iez::model
