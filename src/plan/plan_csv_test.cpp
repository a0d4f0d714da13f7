#include "plan/plan_csv.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_reader.hpp"
#include "plan/plan_test_support.hpp"

namespace iez::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlanCsv : public testing::Test {
 protected:
  std::string compile(std::string_view text) {
    PlanWriter writer(folder_.path("plan"), test_options());
    if (const auto read = read_plan_csv(text, "plan.csv", writer); !read) return read.error().message;
    const auto done = writer.finish();
    if (!done) return done.error().message;
    const auto reader = PlanReader::open(folder_.path("plan"));
    EXPECT_TRUE(reader && reader->check());
    return "";
  }
  Explanation explain(std::string_view name) const {
    const auto reader = PlanReader::open(folder_.path("plan"));
    EXPECT_TRUE(reader);
    return reader->explain(name).value_or(Explanation{.found = Found::damaged});
  }

  TemporaryFolder folder_;
};

TEST_F(PlanCsv, FilesPatternsAndDirectories) {
  ASSERT_EQ(compile("name,stripe_size,stripe_count,osts\n"
                    "/s/mesh.h5,1M,,0 1 2\n"
                    "/s/quoted,1M,3,\"2,0,1\"\n"
                    "/s/twice,1M,,4 4\n"
                    "\"/s/a,b\",1MiB,1,7\n"
                    "/s/free,1M,4,\n"
                    "file:/s/{odd},1M,,9\n"
                    "/s/ckpt.{step}.{rank},1M,2,0-4\n"
                    "spread:/s,1M,,10-12\n"
                    "leave:/s/logs/,,,\n"),
            "");
  EXPECT_EQ(explain("/s/mesh.h5").request, on_osts({0, 1, 2}));
  EXPECT_EQ(explain("/s/quoted").request, on_osts({2, 0, 1}));
  EXPECT_EQ(explain("/s/twice").request, on_osts({4, 4}, true));
  EXPECT_EQ(explain("/s/a,b").request, on_osts({7}));
  EXPECT_EQ(explain("/s/free").request, request_of({.stripe_size = Bytes::mib(1), .stripe_count = 4}));
  EXPECT_EQ(explain("/s/{odd}").request, on_osts({9}));
  const Explanation first = explain("/s/ckpt.1.0");
  EXPECT_EQ(first.turns, 5U);
  const std::vector<Request> expected{on_osts({0, 1}), on_osts({2, 3}), on_osts({4, 0}), on_osts({1, 2}), on_osts({3, 4})};
  for (std::uint64_t rank = 0; rank < 9; ++rank) {
    EXPECT_EQ(explain("/s/ckpt.1." + std::to_string(rank)).request, expected[(first.turn + rank) % 5]);
  }
  EXPECT_EQ(explain("/s/other").found, Found::spread);
  EXPECT_EQ(explain("/s/other").turns, 3U);
  EXPECT_EQ(explain("/s/other").rule, "/s/");
  EXPECT_TRUE(explain("/s/logs/x").left_alone);
}

TEST_F(PlanCsv, SeveralLinesOfOneRule) {
  ASSERT_EQ(compile("name,osts,weight,turn,created_as,stripe_size\r\n"
                    "/s/c.{rank},1,3,rank,/s/.c.{rank},1M\r\n"
                    "\r\n"
                    "/s/c.{rank},2,,,,1M\r\n"),
            "");
  std::string order;
  for (int rank = 0; rank < 4; ++rank) order += explain("/s/.c." + std::to_string(rank)).request == on_osts({1}) ? '1' : '2';
  EXPECT_EQ(order, "1121");
  EXPECT_EQ(explain("/s/.c.3").final_name, "/s/c.3");
}

TEST_F(PlanCsv, FewLinesThatAskForTooMuch) {
  std::string text = "name,stripe_count,osts,weight\n";
  for (int i = 0; i < 4; ++i) text += "/s/{rank},1999,0-1999,\n";
  EXPECT_THAT(compile(text), HasSubstr("plan.csv:4: found more than 256 MiB of layouts"));
  EXPECT_THAT(compile("name,stripe_count,osts,weight\nspread:/s,1,0-1999,1000\n"),
              HasSubstr("found more than 1000000 layouts of one rule"));
}

TEST_F(PlanCsv, Components) {
  ASSERT_EQ(compile("name,components\n/s/pfl,\"4M:count=1 eof:count=8,size=4M\"\n"), "");
  const auto layout = lustre::decode_layout(explain("/s/pfl").request);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->composite);
  EXPECT_EQ(layout->components.size(), 2U);
}

TEST_F(PlanCsv, ErrorsNameLineColumnAndRemedy) {
  const auto message = [this](std::string_view row) {
    return compile("name,stripe_size,stripe_count,osts,first_ost,pool,components,weight,turn,created_as\n" + std::string(row) +
                   "\n");
  };
  EXPECT_EQ(compile(""),
            "plan.csv: found an empty file, expected a header line with columns of "
            "name,stripe_size,stripe_count,osts,first_ost,pool,components,weight,turn,created_as");
  EXPECT_THAT(compile("name,stripe\n"), HasSubstr("plan.csv:1: unknown column 'stripe'"));
  EXPECT_THAT(compile("name,name\n"), HasSubstr("found twice in the header"));
  EXPECT_THAT(compile("osts\n"), HasSubstr("column name: missing"));
  EXPECT_THAT(compile("name,osts\n/a,1,2\n"), HasSubstr("plan.csv:2: found 3 fields, expected 2"));
  EXPECT_THAT(compile("name,osts\n\"/a,1\n"), HasSubstr("plan.csv:2: "));
  EXPECT_THAT(message("a,,,1,,,,,,"), HasSubstr("plan.csv:2: column name: found 'a', expected an absolute name"));
  EXPECT_THAT(message("/a/,,,1,,,,,,"), HasSubstr("the name of a file"));
  EXPECT_THAT(message("/a,,,,,,,,,"), HasSubstr("expected a layout for it"));
  EXPECT_THAT(message("/a,1000,,1,,,,,,"), HasSubstr("column stripe_size: found '1000', expected a multiple of 64KiB"));
  EXPECT_THAT(message("/a,,0,,,,,,,"), HasSubstr("column stripe_count: found '0', expected 1 to 2000"));
  EXPECT_THAT(message("/a,,3,1 2,,,,,,"), HasSubstr("column stripe_count: found '3', expected 2, as 2 OSTs are listed"));
  EXPECT_THAT(message("/{rank},,3,1 2,,,,,,"), HasSubstr("expected at most 2"));
  EXPECT_THAT(message("/a,,,x,,,,,,"), HasSubstr("column osts: found 'x'"));
  EXPECT_THAT(message("/a,,,70000,,,,,,"), HasSubstr("OST numbers are 0 to 65534"));
  EXPECT_THAT(message("/a,,,1,2,,,,,"), HasSubstr("column first_ost: found '2', expected nothing beside osts"));
  EXPECT_THAT(message("/a,,1,,99999,,,,,"), HasSubstr("column first_ost"));
  EXPECT_THAT(message("/a,,,,,a b,,,,"), HasSubstr("column pool"));
  EXPECT_THAT(message("/a,,,,,,4M,,,"), HasSubstr("column components"));
  EXPECT_THAT(message("/a,1M,,,,,4M:count=1 eof:count=2,,,"), HasSubstr("nothing beside components"));
  EXPECT_THAT(message("/a,,,1,,,,2,,"), HasSubstr("column weight: found '2', expected nothing"));
  EXPECT_THAT(message("/{rank},,,1,,,,0,,"), HasSubstr("column weight: found '0', expected 1 to 1000"));
  EXPECT_THAT(message("/a,,,1,,,,,rank,"), HasSubstr("column turn"));
  EXPECT_THAT(message("/{rank},,,1,,,,,step,"), HasSubstr("plan.csv:2: column name: found 'step' in the turn"));
  EXPECT_THAT(message("/{rank,,,1,,,,,,"), HasSubstr("plan.csv:2: column name: found a single '{'"));
  EXPECT_THAT(message("/a,,,1,,,,,,b"), HasSubstr("column created_as: found 'b', expected an absolute name"));
  EXPECT_THAT(message("leave:/a,,,1,,,,,,"), HasSubstr("column osts: found '1', expected nothing beside leave:"));
  EXPECT_THAT(message("spread:/a,,,1,,,,,,/b"), HasSubstr("column created_as"));
  EXPECT_THAT(message("leave:/a,,,,,,,,,\nleave:/a,,,,,,,,,"),
              HasSubstr("plan.csv:3: column name: found 'leave:/a', expected it once"));
  EXPECT_THAT(message("/a,,,1,,,,,,\n/a,,,2,,,,,,"), HasSubstr("found '/a' twice, in lines 2 and 3"));
  EXPECT_THAT(message("/{rank},,,1,,,,,rank,\n/{rank},,,1,,,,,hash,"), HasSubstr("plan.csv:3: column turn: found 'hash'"));
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST(PlanOrder, WeightsAreSpreadEvenly) {
  EXPECT_THAT(order_by_weight({}), ElementsAre());
  EXPECT_THAT(order_by_weight(std::array<std::uint32_t, 3>{1, 1, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_by_weight(std::array<std::uint32_t, 2>{4, 2}), ElementsAre(0, 1, 0, 0, 1, 0));
  EXPECT_THAT(order_by_weight(std::array<std::uint32_t, 2>{1, 3}), ElementsAre(1, 0, 1, 1));
}

}  // namespace
}  // namespace iez::plan
