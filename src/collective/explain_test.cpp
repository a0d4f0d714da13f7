#include "collective/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::collective {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kKib = 1 << 10;

FileLayout striped(std::int64_t stripe_size, std::uint32_t osts) {
  FileLayout layout = imagined_layout(stripe_size, osts);
  layout.striped = true;
  return layout;
}

Explanation of(const Hints& hints, const FileLayout& layout, const Machine& machine, const Pattern& pattern) {
  const auto explanation = explain(hints, layout, machine, pattern);
  EXPECT_TRUE(explanation) << explanation.error().message;
  return explanation ? *explanation : Explanation{};
}

// Ranks 0 and 1 on node 0, 2 and 3 on node 1; in every step ranks 0 and 2 write to OST 0, 1 and 3 to OST 1.
TEST(Explain, FourRanksOnTwoNodes) {
  const Machine machine{.ranks = 4, .nodes = 2, .cpus_per_node = 2};
  const Pattern pattern{.block = kMib, .bytes = 4 * kMib};
  const Explanation explanation = of({.buffer_bytes = 2 * kMib}, striped(kMib, 2), machine, pattern);
  EXPECT_EQ(explanation.way, (Choice<Way>{Way::collect, Because::interleaved}));
  EXPECT_TRUE(explanation.requests.interleaved);
  EXPECT_EQ(explanation.requests.bytes, 16 * kMib);
  EXPECT_EQ(explanation.requests.end, 16 * kMib);

  EXPECT_EQ(explanation.independent.calls, 16);
  EXPECT_EQ(explanation.independent.steps, 4);
  EXPECT_EQ(explanation.independent.clients_per_object, 2U);
  EXPECT_EQ(explanation.independent.hand_overs, 14);  // 0 1 0 1 0 1 0 1 on both

  EXPECT_EQ(explanation.choices.aggregators.value, 2U);
  EXPECT_EQ(explanation.contiguous.steps, 4);
  EXPECT_EQ(explanation.contiguous.calls, 8);
  EXPECT_EQ(explanation.contiguous.hand_overs, 14);

  EXPECT_EQ(explanation.portions, 8);
  EXPECT_EQ(explanation.stripes.calls, 16);
  EXPECT_EQ(explanation.stripes.clients_per_object, 1U);
  EXPECT_EQ(explanation.stripes.hand_overs, 0);
  ASSERT_EQ(explanation.work.size(), 2U);
  EXPECT_EQ(explanation.work[1].osts, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(explanation.work[1].bytes, 8 * kMib);
  EXPECT_EQ(explanation.work[1].windows, 8);
  EXPECT_EQ(explanation.work[1].calls, 8);
}

TEST(Explain, OneNodeIsOneClient) {
  const Explanation explanation = of({}, striped(kMib, 2), {.ranks = 4, .cpus_per_node = 4}, {.block = kKib, .bytes = kMib});
  EXPECT_EQ(explanation.independent.hand_overs, 0);
  EXPECT_EQ(explanation.independent.clients_per_object, 1U);
  EXPECT_EQ(explanation.independent.calls, 4096);
  EXPECT_EQ(explanation.stripes.calls, 4);
}

TEST(Explain, LargePartsOfTheFileAreNotCollected) {
  const Explanation explanation =
      of({}, striped(kMib, 4), {.ranks = 8, .nodes = 8}, {.block = kMib, .bytes = 16 * kMib, .interleaved = false});
  EXPECT_EQ(explanation.way, (Choice<Way>{Way::pass, Because::long_pieces}));
  EXPECT_EQ(explanation.requests.shortest_piece, 16 * kMib);
  EXPECT_FALSE(explanation.requests.interleaved);
  EXPECT_EQ(explanation.independent.calls, 8);
}

// Bytes that nobody writes are not written: a call for each block, or more where a stripe ends in one.
TEST(Explain, Holes) {
  const Pattern pattern{.block = 24 * kKib, .hole = 24 * kKib, .bytes = 240 * kKib, .begin = 100 * kKib};
  const Explanation explanation = of({}, striped(64 * kKib, 2), {.ranks = 2, .nodes = 2, .cpus_per_node = 1}, pattern);
  EXPECT_EQ(explanation.requests.begin, 100 * kKib);
  EXPECT_EQ(explanation.requests.end, (100 + (20 * 48) - 24) * kKib);
  std::int64_t bytes = 0;
  for (const Work& work : explanation.work) bytes += work.bytes;
  EXPECT_EQ(bytes, 480 * kKib);
  // Blocks begin at 100 + 48 i KiB, stripes at multiples of 64 KiB: which blocks hold a boundary in their inside.
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t at = 100 + (48 * i);
    expected += 1 + ((at + 23) / 64 != at / 64 ? 1 : 0);
  }
  EXPECT_EQ(explanation.stripes.calls, expected);
  EXPECT_EQ(explanation.independent.calls, 20);
}

TEST(Explain, BytesOfAllAggregatorsAreAllBytes) {
  for (const std::uint32_t osts : {1U, 3U, 7U}) {
    for (const std::uint32_t clients : {1U, 2U}) {
      for (const std::int64_t block : {3 * kKib, 100 * kKib, 3000 * kKib}) {
        const Explanation explanation =
            of({.clients_per_ost = clients}, striped(kMib, osts), {.ranks = 6, .nodes = 3, .cpus_per_node = 2},
               {.block = block, .bytes = 4 * block, .begin = 777});
        std::int64_t bytes = 0;
        for (const Work& work : explanation.work) bytes += work.bytes;
        EXPECT_EQ(bytes, 24 * block);
        EXPECT_LE(explanation.stripes.clients_per_object, clients);
      }
    }
  }
}

TEST(Explain, NearestPattern) {
  // 4 ranks, 3 blocks of 10 bytes each, 2 bytes of hole behind each but the last.
  const Requests regular{.interleaved = true,
                         .ranks_with_data = 4,
                         .bytes = 120,
                         .shortest_piece = 10,
                         .longest_piece = 10,
                         .begin = 1000,
                         .end = 1000 + 120 + 22};
  const Pattern pattern = nearest_pattern(regular);
  EXPECT_EQ(pattern.block, 10);
  EXPECT_EQ(pattern.bytes, 30);
  EXPECT_EQ(pattern.hole, 2);
  EXPECT_EQ(pattern.begin, 1000);
  EXPECT_TRUE(pattern.interleaved);
  EXPECT_TRUE(pattern.write);
  const auto explained = explain({}, imagined_layout(4 << 10, 2), {.ranks = 4, .nodes = 2, .cpus_per_node = 2}, pattern);
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->requests.end, regular.end);
  EXPECT_EQ(explained->requests.bytes, regular.bytes);

  // Whatever it is, explain() takes it.
  for (const Requests& odd :
       {Requests{.ranks_with_data = 3, .bytes = 100, .shortest_piece = 7, .longest_piece = 50, .begin = 5, .end = 900},
        Requests{.ranks_with_data = 3, .bytes = 2, .shortest_piece = 1, .longest_piece = 1, .begin = 0, .end = 2},
        Requests{.ranks_with_data = 2, .bytes = 40, .shortest_piece = 30, .longest_piece = 30, .begin = 0, .end = 30},
        Requests{.ranks_with_data = 1, .bytes = 9, .shortest_piece = 9, .longest_piece = 9, .begin = 1, .end = 10}}) {
    const auto answer = explain({}, imagined_layout(4 << 10, 2), {.ranks = odd.ranks_with_data}, nearest_pattern(odd));
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

TEST(Explain, RefusesWhatMakesNoSense) {
  const auto message = [](const Machine& machine, const Pattern& pattern) {
    const auto explanation = explain({}, imagined_layout(kMib, 2), machine, pattern);
    return explanation ? std::string("none") : explanation.error().message;
  };
  EXPECT_THAT(message({.ranks = 0}, {}), HasSubstr("ranks: 0"));
  EXPECT_THAT(message({.ranks = 2, .nodes = 3}, {}), HasSubstr("nodes: 3, expected 1 to 2"));
  EXPECT_THAT(message({}, {.block = 0}), HasSubstr("block: 0"));
  EXPECT_THAT(message({}, {.hole = -1}), HasSubstr("below 0"));
  EXPECT_THAT(message({}, {.block = 3, .bytes = 10}), HasSubstr("expected a multiple of the block, 3"));
  EXPECT_THAT(message({.ranks = 1 << 30}, {.block = 1 << 30, .bytes = std::int64_t{1} << 50U}), HasSubstr("1 EiB"));
  EXPECT_THAT(message({.ranks = 1 << 10}, {.block = 1, .bytes = 1 << 20}), HasSubstr("a smaller part tells the same"));
  EXPECT_EQ(message({.ranks = 1 << 10}, {.block = 64 * kKib, .bytes = kMib}), "none");
}

}  // namespace
}  // namespace iez::collective
