#include "forecast/rename_rule.hpp"

#include <gtest/gtest.h>

namespace iez::forecast {
namespace {

TEST(RenameRule, SuffixIsDropped) {
  const std::vector<RenamedFile> pairs{{"d/ckpt.0003.tmp", "d/ckpt.0003"}, {"d/ckpt.0004.tmp", "d/ckpt.0004"}};
  const auto rules = learn_renames(pairs);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].pairs, 2U);
  EXPECT_EQ(rules[0].apply("d/ckpt.0017.tmp"), "d/ckpt.0017");
  EXPECT_FALSE(rules[0].apply("d/ckpt.0017"));
}

TEST(RenameRule, RandomWordIsForgotten) {
  const std::vector<RenamedFile> pairs{
      {".ckpt.3.XyZ12", "ckpt.3"}, {".ckpt.4.q9RtA", "ckpt.4"}, {".ckpt.5.Bn3xK", "ckpt.5"}, {"log.tmp", "log"}};
  const auto rules = learn_renames(pairs);
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].apply(".ckpt.12.aaaaa"), "ckpt.12");
  EXPECT_FALSE(rules[0].apply(".ckpt.12.aaaa"));
  EXPECT_EQ(rules[1].apply("log.tmp"), "log");
}

TEST(RenameRule, FieldsMayChangePlacesAndPadding) {
  const std::vector<RenamedFile> pairs{
      {"tmp/0_10", "step0010/r0"}, {"tmp/1_10", "step0010/r1"}, {"tmp/0_20", "step0020/r0"}, {"tmp/1_20", "step0020/r1"}};
  const auto rules = learn_renames(pairs);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].apply("tmp/7_30"), "step0030/r7");
}

TEST(RenameRule, NoRuleWhereTheFinalNameCannotBeTold) {
  const std::vector<RenamedFile> pairs{{"tmp.1", "a.70"}, {"tmp.2", "a.13"}, {"tmp.3", "a.99"}};
  EXPECT_TRUE(learn_renames(pairs).empty());
  const std::vector<RenamedFile> forked{{"tmp.1", "a"}, {"tmp.2", "b"}};
  EXPECT_TRUE(learn_renames(forked).empty());
  EXPECT_TRUE(learn_renames({}).empty());
}

}  // namespace
}  // namespace iez::forecast
