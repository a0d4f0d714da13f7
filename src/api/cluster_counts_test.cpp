#include "api/cluster_counts.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::api {
namespace {

constexpr std::string_view kCluster =
    R"({"file_systems":[{"name":"a","servers":[{"name":"oss0","cpu":0.5}],)"
    R"("osts":[{"index":0,"name":"a-OST0000","server":"oss0","total":9,"reserved":5,"stale":false,"state":""},)"
    R"({"index":1,"reserved":7,"stale":true,"new":{"later":[1]}}]},{"name":"b","osts":[]}],"more":null})";

TEST(ClusterCounts, OfACluster) {
  const auto counts = count_cluster(kCluster);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(*counts, (ClusterCounts{.osts = 2, .stale = 1, .reserved = Bytes{12}}));
  const auto none = count_cluster(R"({"file_systems":[]})");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(*none, ClusterCounts{});
}

TEST(ClusterCounts, OstsThatPlansKeepAwayFrom) {
  const auto counts = count_cluster(
      R"({"file_systems":[{"osts":[{"name":"a-OST0000","stale":false,"state":"usable"},{"state":"full","name":"a-OST0001"},)"
      R"({"name":"a-OST0002","stale":true,"state":"inactive"},{"name":"a-OST0003","state":"closed to new objects"}]}]})");
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->stale, 1U);
  EXPECT_EQ(counts->unusable, (std::vector<UnusableOst>{{.name = "a-OST0001", .state = "full"},
                                                        {.name = "a-OST0003", .state = "closed to new objects"}}));
}

// Anything may listen where a coordinator is looked for.
TEST(ClusterCounts, OfAnotherShape) {
  for (const std::string_view text : {"",
                                      "null",
                                      "[]",
                                      "1",
                                      "\"text\"",
                                      "{}",
                                      "<html>404</html>",
                                      R"({"file_systems":{}})",
                                      R"({"file_systems":1})",
                                      R"({"file_systems":"x"})",
                                      R"({"file_systems":[1]})",
                                      R"({"file_systems":[[]]})",
                                      R"({"file_systems":["x"]})",
                                      R"({"file_systems":[{}]})",
                                      R"({"file_systems":[{"osts":1}]})",
                                      R"({"file_systems":[{"osts":{"a":1}}]})",
                                      R"({"file_systems":[{"osts":[1]}]})",
                                      R"({"file_systems":[{"osts":["x"]}]})",
                                      R"({"file_systems":[{"osts":[[]]}]})",
                                      R"({"file_systems":[{"osts":[{"stale":1}]}]})",
                                      R"({"file_systems":[{"osts":[{"stale":"no"}]}]})",
                                      R"({"file_systems":[{"osts":[{"reserved":-1}]}]})",
                                      R"({"file_systems":[{"osts":[{"reserved":"x"}]}]})",
                                      R"({"file_systems":[{"osts":[{"reserved":1.5}]}]})",
                                      R"({"file_systems":[]} x)",
                                      R"({"file_systems":[)",
                                      "{\"file_systems\":[{\"osts\":[{\"name\":\"\xff\"}]}]}"}) {
    EXPECT_FALSE(count_cluster(text)) << text;
  }
  EXPECT_FALSE(count_cluster(std::string(1'000'000, '[')));
  const auto far = count_cluster(R"({"file_systems":[{"osts":[{"reserved":18446744073709551615},{"reserved":2}]}]})");
  ASSERT_TRUE(far) << far.error().message;
  EXPECT_EQ(far->reserved.count, 18'446'744'073'709'551'615ULL);
}

// Whatever becomes of a byte on the way: an answer, or an error.
TEST(ClusterCounts, DamagedBytes) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed 7");
  Rng rng(seed);
  for (int trial = 0; trial < 2'000; ++trial) {
    std::string text(kCluster);
    for (std::uint64_t i = rng.between(1, 4); i > 0; --i) text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    if (const auto counts = count_cluster(text); counts) {
      EXPECT_LE(counts->osts, 3U) << text;
    }
  }
}

TEST(ClusterCounts, OfAgents) {
  const auto counts = count_agents(R"({"agents":[{"state":"live","x":1},{"state":"late"},{"state":"live"}]})");
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(*counts, (std::map<std::string, std::size_t>{{"late", 1}, {"live", 2}}));
  for (const std::string_view text : {"", "[]", "{}", R"({"agents":{}})", R"({"agents":[1]})", R"({"agents":[{}]})",
                                      R"({"agents":[{"state":1}]})", R"({"agents":[{"state":null}]})"}) {
    EXPECT_FALSE(count_agents(text)) << text;
  }
}

}  // namespace
}  // namespace iez::api
