#include "collective/windows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::collective {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kKib = 1 << 10;

std::vector<std::uint32_t> first_osts(std::uint32_t count) {
  std::vector<std::uint32_t> osts(count);
  std::iota(osts.begin(), osts.end(), 0U);
  return osts;
}

FileLayout plain(std::int64_t stripe_size, std::vector<std::uint32_t> osts) {
  return {.ranges = {{.stripe_size = stripe_size, .osts = std::move(osts)}}, .striped = true};
}

std::vector<Chunk> chunks_of(const Windows& windows, std::int64_t portion, std::uint32_t aggregator) {
  std::vector<Chunk> chunks{{99, 99}};  // must be taken away
  windows.chunks(portion, aggregator, chunks);
  return chunks;
}

const StripedRange& range_at(const FileLayout& layout, std::int64_t offset) {
  return *std::ranges::find_if(layout.ranges, [&](const StripedRange& range) { return offset < range.end; });
}

// Everything that is promised, for the part of a file that the portions of [begin, end) hold.
void expect_sound(const FileLayout& layout, const WindowOptions& options, std::int64_t begin, std::int64_t end) {
  const Windows windows(layout, options);
  ASSERT_GE(windows.aggregators(), 1U);
  ASSERT_LE(windows.aggregators(), options.aggregators);
  std::vector<Chunk> all;
  std::map<std::pair<const StripedRange*, std::uint32_t>, std::set<std::uint32_t>> clients;
  const bool joins = layout.ranges.size() == 1 && layout.ranges[0].osts.size() == 1 && windows.aggregators() == 1;
  for (std::int64_t portion = windows.first_portion(begin); portion <= windows.last_portion(end); ++portion) {
    for (std::uint32_t aggregator = 0; aggregator < windows.aggregators(); ++aggregator) {
      std::int64_t behind = -1;
      std::int64_t bytes = 0;
      for (const Chunk& chunk : chunks_of(windows, portion, aggregator)) {
        ASSERT_GT(chunk.length, 0);
        ASSERT_GE(chunk.offset, std::max<std::int64_t>(behind, 0));
        ASSERT_LE(chunk.length, kLargest - chunk.offset);
        behind = chunk.offset + chunk.length;
        bytes += chunk.length;
        all.push_back(chunk);

        const StripedRange& range = range_at(layout, chunk.offset);
        ASSERT_LE(behind, range.end);
        const std::int64_t stripe = chunk.offset / range.stripe_size;
        if (!joins && range.osts.size() > 1) {
          ASSERT_EQ(stripe, (behind - 1) / range.stripe_size) << chunk.offset << " + " << chunk.length;
        }
        const auto object = static_cast<std::size_t>(stripe) % range.osts.size();
        clients[{&range, range.osts[object]}].insert(aggregator);
        const auto which = static_cast<std::size_t>(&range - layout.ranges.data());
        const std::vector<std::uint32_t> osts = windows.osts_of(which, aggregator);
        ASSERT_TRUE(std::ranges::binary_search(osts, range.osts[object]));

        for (const auto& [from, to] :
             {std::pair(chunk.offset, behind), std::pair(chunk.offset, chunk.offset + 1), std::pair(behind - 1, behind),
              std::pair(chunk.offset, std::min(behind, kLargest - 1) + 1)}) {
          const PortionSpan span = windows.portions(from, to);
          ASSERT_LE(span.first, portion);
          ASSERT_GE(span.last, portion);
          ASSERT_GE(span.first, windows.first_portion(from));
          ASSERT_LE(span.last, windows.last_portion(to));
        }
      }
      ASSERT_LE(bytes, options.window_bytes);
    }
  }
  for (const auto& [ost, served_by] : clients) ASSERT_LE(served_by.size(), options.clients_per_ost) << "OST " << ost.second;
  std::ranges::sort(all, {}, &Chunk::offset);
  ASSERT_FALSE(all.empty());
  ASSERT_LE(all.front().offset, begin);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_EQ(all[i].offset, all[i - 1].offset + all[i - 1].length) << "chunk " << i;
  }
  ASSERT_GE(all.back().offset + all.back().length, end);
}

TEST(Windows, FourOstsFourAggregators) {
  const Windows windows(plain(kMib, first_osts(4)), {.aggregators = 4, .window_bytes = 2 * kMib});
  EXPECT_EQ(windows.aggregators(), 4U);
  EXPECT_EQ(chunks_of(windows, 0, 1), (std::vector<Chunk>{{kMib, kMib}, {5 * kMib, kMib}}));
  EXPECT_EQ(chunks_of(windows, 1, 3), (std::vector<Chunk>{{11 * kMib, kMib}, {15 * kMib, kMib}}));
  EXPECT_EQ(windows.first_portion(8 * kMib), 1);
  EXPECT_EQ(windows.last_portion(8 * kMib), 0);
  EXPECT_EQ(windows.portions(7 * kMib, 8 * kMib + 1), (PortionSpan{0, 1}));
  EXPECT_EQ(windows.portions(5, 5), (PortionSpan{0, -1}));
  EXPECT_EQ(windows.osts_of(0, 2), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(windows.osts_of(1, 2).empty());
  EXPECT_TRUE(windows.osts_of(0, 4).empty());
  EXPECT_TRUE(chunks_of(windows, 0, 4).empty());
  EXPECT_TRUE(chunks_of(windows, -1, 0).empty());
}

TEST(Windows, TwoClientsOfAnOstTakeTurns) {
  const Windows windows(plain(kMib, {7, 9}), {.aggregators = 5, .clients_per_ost = 2, .window_bytes = kMib});
  EXPECT_EQ(windows.aggregators(), 4U);  // the fifth would make loads uneven
  EXPECT_EQ(chunks_of(windows, 0, 0), (std::vector<Chunk>{{0, kMib}}));
  EXPECT_EQ(chunks_of(windows, 0, 1), (std::vector<Chunk>{{kMib, kMib}}));
  EXPECT_EQ(chunks_of(windows, 0, 2), (std::vector<Chunk>{{2 * kMib, kMib}}));
  EXPECT_EQ(chunks_of(windows, 0, 3), (std::vector<Chunk>{{3 * kMib, kMib}}));
  EXPECT_EQ(chunks_of(windows, 3, 2), (std::vector<Chunk>{{14 * kMib, kMib}}));
  EXPECT_EQ(windows.osts_of(0, 2), (std::vector<std::uint32_t>{7}));
}

// ROMIO would take one aggregator for seven OSTs when it may have four.
TEST(Windows, APrimeNumberOfOsts) {
  const Windows windows(plain(kMib, first_osts(7)), {.aggregators = 4, .window_bytes = 4 * kMib});
  EXPECT_EQ(windows.aggregators(), 4U);
  EXPECT_EQ(chunks_of(windows, 0, 0), (std::vector<Chunk>{{0, kMib}, {4 * kMib, kMib}, {7 * kMib, kMib}, {11 * kMib, kMib}}));
  EXPECT_EQ(chunks_of(windows, 0, 3), (std::vector<Chunk>{{3 * kMib, kMib}, {10 * kMib, kMib}}));
  // Six or five are no faster than four: some aggregator would have two OSTs all the same.
  EXPECT_EQ(Windows(plain(kMib, first_osts(7)), {.aggregators = 6}).aggregators(), 4U);
  EXPECT_EQ(Windows(plain(kMib, first_osts(8)), {.aggregators = 7}).aggregators(), 4U);
}

TEST(Windows, AnOverstripedOstHasOneClient) {
  const Windows windows(plain(kMib, {5, 5, 6, 6}), {.aggregators = 8, .window_bytes = 2 * kMib});
  EXPECT_EQ(windows.aggregators(), 2U);
  EXPECT_EQ(chunks_of(windows, 0, 0), (std::vector<Chunk>{{0, kMib}, {kMib, kMib}}));
  // The OST with three objects goes alone.
  const Windows uneven(plain(kMib, {1, 5, 2, 5, 3, 5}), {.aggregators = 2, .window_bytes = 3 * kMib});
  EXPECT_EQ(uneven.osts_of(0, 0), (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(uneven.osts_of(0, 1), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Windows, StripesLargerThanWindowsAreTakenInParts) {
  const Windows windows(plain(10 * kMib, {1, 2}), {.aggregators = 2, .window_bytes = 4 * kMib});
  const std::int64_t part = 3416 * kKib;  // a third, in whole pages
  EXPECT_EQ(chunks_of(windows, 0, 1), (std::vector<Chunk>{{10 * kMib, part}}));
  EXPECT_EQ(chunks_of(windows, 1, 1), (std::vector<Chunk>{{10 * kMib + part, part}}));
  EXPECT_EQ(chunks_of(windows, 2, 1), (std::vector<Chunk>{{10 * kMib + 2 * part, 10 * kMib - 2 * part}}));
  EXPECT_EQ(chunks_of(windows, 3, 1), (std::vector<Chunk>{{30 * kMib, part}}));
  EXPECT_EQ(windows.portions(11 * kMib, 11 * kMib + 1), (PortionSpan{0, 0}));
  EXPECT_EQ(windows.portions(16 * kMib, 18 * kMib), (PortionSpan{1, 2}));
}

TEST(Windows, OneObjectOneAggregatorHasNoBoundaries) {
  const Windows windows(plain(64 * kKib, {3}), {.aggregators = 4, .window_bytes = kMib});
  EXPECT_EQ(windows.aggregators(), 1U);
  EXPECT_EQ(chunks_of(windows, 2, 0), (std::vector<Chunk>{{2 * kMib, kMib}}));
}

TEST(Windows, ComponentsThatBeginInsideOfAStripe) {
  FileLayout layout{
      .ranges = {{0, kMib, kMib, {0}}, {kMib, 64 * kMib, 4 * kMib, {1, 2}}, {64 * kMib, kLargest, 4 * kMib, first_osts(4)}}};
  const Windows windows(layout, {.aggregators = 4, .window_bytes = 4 * kMib});
  EXPECT_EQ(windows.aggregators(), 4U);
  EXPECT_EQ(chunks_of(windows, 0, 0), (std::vector<Chunk>{{0, kMib}}));
  EXPECT_TRUE(chunks_of(windows, 0, 1).empty());
  EXPECT_EQ(chunks_of(windows, 1, 0), (std::vector<Chunk>{{kMib, 3 * kMib}}));
  EXPECT_EQ(chunks_of(windows, 1, 1), (std::vector<Chunk>{{4 * kMib, 4 * kMib}}));
  EXPECT_TRUE(chunks_of(windows, 1, 2).empty());
  EXPECT_EQ(chunks_of(windows, 9, 2), (std::vector<Chunk>{{72 * kMib, 4 * kMib}}));
  expect_sound(layout, {.aggregators = 4, .window_bytes = 4 * kMib}, 0, 200 * kMib);
}

TEST(Windows, TheEndOfTheLargestFile) {
  for (const std::uint32_t osts : {1U, 3U, 2000U}) {
    for (const std::int64_t stripe : {64 * kKib, 3 * kMib, 4096 * kMib - 64 * kKib}) {
      for (const std::uint32_t aggregators : {1U, 2U, 5000U}) {
        SCOPED_TRACE(testing::Message() << osts << " OSTs, stripes of " << stripe << ", " << aggregators << " aggregators");
        const WindowOptions options{.aggregators = aggregators, .clients_per_ost = 3, .window_bytes = 16 * kMib};
        const Windows windows(plain(stripe, first_osts(osts)), options);
        const PortionSpan span = windows.portions(kLargest - 1, kLargest);
        std::int64_t bytes = 0;
        for (std::int64_t portion = span.first; portion <= span.last; ++portion) {
          for (std::uint32_t aggregator = 0; aggregator < windows.aggregators(); ++aggregator) {
            for (const Chunk& chunk : chunks_of(windows, portion, aggregator)) {
              ASSERT_GT(chunk.length, 0);
              ASSERT_LE(chunk.length, kLargest - chunk.offset);
              if (chunk.offset + chunk.length == kLargest) ++bytes;
            }
          }
        }
        EXPECT_EQ(bytes, 1);
        for (std::uint32_t aggregator = 0; aggregator < windows.aggregators(); ++aggregator) {
          ASSERT_TRUE(chunks_of(windows, windows.last_portion(kLargest) + 1, aggregator).empty());
          ASSERT_TRUE(chunks_of(windows, kLargest, aggregator).empty());
        }
      }
    }
  }
}

TEST(Windows, SillyNumbersAreBroughtToReason) {
  const Windows windows(imagined_layout(0, 0), {.aggregators = 0, .clients_per_ost = 0, .window_bytes = -5});
  EXPECT_EQ(windows.aggregators(), 1U);
  EXPECT_EQ(windows.window_bytes(), 4 * kKib);
  EXPECT_EQ(chunks_of(windows, 3, 0), (std::vector<Chunk>{{12 * kKib, 4 * kKib}}));
}

// In every turn, no aggregator has more than one OST's objects more than another.
TEST(Windows, LoadsAreEven) {
  for (std::uint32_t osts = 1; osts <= 17; ++osts) {
    for (std::uint32_t aggregators = 1; aggregators <= 40; ++aggregators) {
      for (const std::uint32_t clients : {1U, 2U, 3U}) {
        SCOPED_TRACE(testing::Message() << osts << " OSTs, " << aggregators << " aggregators, CO " << clients);
        const Windows windows(plain(64 * kKib, first_osts(osts)),
                              {.aggregators = aggregators, .clients_per_ost = clients, .window_bytes = 64 * kMib});
        std::vector<std::int64_t> stripes(windows.aggregators());
        const std::int64_t rows = aggregators < osts ? 1 : std::min(clients, aggregators / osts);
        for (std::uint32_t aggregator = 0; aggregator < windows.aggregators(); ++aggregator) {
          for (const Chunk& chunk : chunks_of(windows, 0, aggregator)) {
            for (std::int64_t offset = chunk.offset; offset < chunk.offset + chunk.length; offset += 64 * kKib) {
              if (offset < rows * osts * 64 * kKib) ++stripes[aggregator];
            }
          }
        }
        const auto [least, most] = std::ranges::minmax(stripes);
        ASSERT_EQ(std::accumulate(stripes.begin(), stripes.end(), std::int64_t{0}), rows * osts);
        ASSERT_LE(most, least + 1);
        // As short as any deal of whole OSTs can be.
        ASSERT_EQ(most, aggregators >= osts ? 1 : (osts + aggregators - 1) / aggregators);
      }
    }
  }
}

TEST(Windows, RandomLayouts) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    FileLayout layout{.striped = true};
    std::int64_t begin = 0;
    for (std::uint64_t left = rng.between(1, 3); left > 0; --left) {
      StripedRange range{.begin = begin};
      range.stripe_size = static_cast<std::int64_t>(rng.between(1, 12)) * 4 * kKib;
      range.end = left == 1 ? kLargest : begin + static_cast<std::int64_t>(rng.between(1, 60)) * 3 * kKib;
      const std::uint64_t some = rng.between(1, rng.chance(0.3) ? 1 : 13);
      const bool overstriped = rng.chance(0.3);
      for (std::uint32_t i = 0; i < some; ++i) {
        range.osts.push_back(overstriped ? static_cast<std::uint32_t>(rng.below(some)) : static_cast<std::uint32_t>(some) - i);
      }
      begin = range.end;
      layout.ranges.push_back(std::move(range));
    }
    const WindowOptions options{
        .aggregators = static_cast<std::uint32_t>(rng.between(1, 20)),
        .clients_per_ost = static_cast<std::uint32_t>(rng.between(1, 3)),
        .window_bytes = static_cast<std::int64_t>(rng.between(4 * kKib, rng.chance(0.5) ? 20 * kKib : 200 * kKib))};
    const auto from = static_cast<std::int64_t>(rng.below(3000 * kKib));
    ASSERT_NO_FATAL_FAILURE(expect_sound(layout, options, 0, kMib));
    ASSERT_NO_FATAL_FAILURE(expect_sound(layout, options, from, from + 1 + static_cast<std::int64_t>(rng.below(900 * kKib))));
  }
}

}  // namespace
}  // namespace iez::collective
