#include "collective/data_map.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::collective {
namespace {

using ByteRun = Run;  // testing::Test has a Run of its own

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTera = std::int64_t{1} << 40U;

struct Piece {
  std::int64_t position = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const Piece&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Piece& piece) {
  return out << "{" << piece.position << " at " << piece.offset << ", " << piece.length << "}";
}

std::vector<Piece> pieces(const DataMap& map, std::int64_t begin, std::int64_t end) {
  std::vector<Piece> all;
  map.each_piece(begin, end, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    all.push_back({position, offset, length});
  });
  return all;
}

// The offset of every byte of `tiles` tiles, one by one.
std::vector<std::int64_t> offsets(std::int64_t start, const Tile& tile, std::int64_t tiles) {
  std::vector<std::int64_t> all;
  for (std::int64_t t = 0; t < tiles; ++t) {
    std::vector<std::int64_t> bases{start + (t * tile.extent)};
    for (const Loop& loop : tile.loops) {
      std::vector<std::int64_t> inner;
      for (const std::int64_t base : bases) {
        for (std::int64_t i = 0; i < loop.count; ++i) inner.push_back(base + (i * loop.stride));
      }
      bases = inner;
    }
    for (const std::int64_t base : bases) {
      for (const Run& run : tile.runs) {
        for (std::int64_t i = 0; i < run.length; ++i) all.push_back(base + run.offset + i);
      }
    }
  }
  return all;
}

std::vector<Piece> joined(const std::vector<std::int64_t>& bytes, std::int64_t begin, std::int64_t end) {
  std::vector<Piece> all;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t offset = bytes[static_cast<std::size_t>(i)];
    if (!all.empty() && all.back().offset + all.back().length == offset) {
      ++all.back().length;
    } else {
      all.push_back({i, offset, 1});
    }
  }
  return all;
}

std::int64_t some(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

// Like a file view: every part begins behind the one before it. Gaps are often 0, so that there is much to simplify.
Tile ascending_tile(Rng& rng) {
  const auto gap = [&] { return rng.chance(0.4) ? 0 : some(rng, 1, 9); };
  Tile tile;
  std::int64_t span = 0;
  for (std::uint64_t i = rng.between(1, rng.chance(0.5) ? 1 : 5); i > 0; --i) {
    const std::int64_t offset = span + (rng.chance(0.3) ? 0 : gap());
    tile.runs.push_back({offset, rng.chance(0.5) ? 4 : some(rng, 1, 6)});
    span = offset + tile.runs.back().length;
  }
  const std::int64_t first = tile.runs[0].offset;
  span -= first;
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    const Loop loop{some(rng, 1, 4), span + gap()};
    tile.loops.insert(tile.loops.begin(), loop);
    span += loop.stride * (loop.count - 1);
    if (rng.chance(0.3)) span = loop.stride * loop.count;  // the next loop may continue this one
  }
  tile.extent = span + gap();
  return tile;
}

// Like a buffer in memory: anything goes.
Tile any_tile(Rng& rng) {
  Tile tile;
  for (std::uint64_t i = rng.between(1, 4); i > 0; --i) tile.runs.push_back({some(rng, -20, 20), some(rng, i == 1 ? 1 : 0, 5)});
  for (std::uint64_t i = rng.below(4); i > 0; --i) tile.loops.push_back({some(rng, 1, 4), some(rng, -12, 12)});
  tile.extent = some(rng, -30, 30);
  return tile;
}

void expect_like(const DataMap& map, const std::vector<std::int64_t>& bytes, Rng& rng) {
  const auto total = static_cast<std::int64_t>(bytes.size());
  for (std::int64_t i = 0; i < total; ++i) ASSERT_EQ(map.offset_of(i), bytes[static_cast<std::size_t>(i)]) << i;
  for (int i = 0; i < 8; ++i) {
    const std::int64_t begin = i == 0 ? 0 : some(rng, 0, total);
    const std::int64_t end = i == 0 ? total : some(rng, begin, total);
    const std::vector<Piece> expected = joined(bytes, begin, end);
    ASSERT_EQ(pieces(map, begin, end), expected) << begin << " to " << end;
    if (begin == end) continue;
    ASSERT_EQ(map.piece_at(begin, end), (ByteRun{expected[0].offset, expected[0].length})) << begin << " to " << end;
  }
  if (map.is_contiguous()) return;
  for (const Piece& piece : joined(bytes, 0, total)) {
    ASSERT_EQ(piece.offset % map.granule(), 0) << piece;
    ASSERT_EQ(piece.length % map.granule(), 0) << piece;
    ASSERT_LE(map.shortest_piece(), piece.length) << piece;
  }
}

TEST(DataMap, ContiguousIsItself) {
  const DataMap map = DataMap::contiguous(100);
  EXPECT_TRUE(map.ascending());
  EXPECT_TRUE(map.is_contiguous());
  EXPECT_EQ(map.offset_of(7), 107);
  EXPECT_EQ(map.position_at(3), 0);
  EXPECT_EQ(map.position_at(130), 30);
  EXPECT_EQ(map.piece_at(5, 9), (ByteRun{105, 4}));
  EXPECT_EQ(pieces(map, 2, 50), (std::vector<Piece>{{2, 102, 48}}));
  EXPECT_TRUE(pieces(map, 5, 5).empty());
  EXPECT_EQ(map.granule(), 100);
  EXPECT_EQ(DataMap::contiguous(0).granule(), std::int64_t{1} << 62U);
  EXPECT_EQ(map.shortest_piece(), kLargest);
  EXPECT_EQ(map.longest_piece(), kLargest);
}

// Rank 3 of 16, blocks of 1 KiB: as a resized block, and as a vector that holds a few of them.
TEST(DataMap, InterleavedBlocks) {
  const auto block = DataMap::tiled(3 << 10, {.runs = {{0, 1 << 10}}, .extent = 16 << 10});
  ASSERT_TRUE(block);
  EXPECT_TRUE(block->ascending());
  EXPECT_EQ(block->offset_of(1500), (19 << 10) + 476);
  EXPECT_EQ(block->position_at(0), 0);
  EXPECT_EQ(block->position_at((3 << 10) + 1023), 1023);
  EXPECT_EQ(block->position_at(4 << 10), 1024);
  EXPECT_EQ(block->position_at(19 << 10), 1024);
  EXPECT_EQ(block->granule(), 1 << 10);
  EXPECT_EQ(block->tile_bytes(), 1 << 10);
  EXPECT_EQ(block->tile_extent(), 16 << 10);
  EXPECT_EQ(pieces(*block, 1000, 2100), (std::vector<Piece>{{1000, 4072, 24}, {1024, 19 << 10, 1024}, {2048, 35 << 10, 52}}));

  const auto vector = DataMap::tiled(0, {.loops = {{8, 16 << 10}}, .runs = {{3 << 10, 1 << 10}}, .extent = 128 << 10});
  ASSERT_TRUE(vector);
  EXPECT_EQ(*vector, *block);
}

TEST(DataMap, SimplifiesWhatIsOneRun) {
  // A plane of a cube that is whole in two dimensions.
  EXPECT_EQ(DataMap::tiled(8, {.loops = {{3, 20}, {5, 4}}, .runs = {{0, 4}}, .extent = 100}),
            DataMap::tiled(0, {.runs = {{8, 60}}, .extent = 100}));
  EXPECT_EQ(DataMap::tiled(8, {.loops = {{3, 20}, {5, 4}}, .runs = {{0, 4}}, .extent = 60}), DataMap::contiguous(8));
  EXPECT_EQ(DataMap::tiled(0, {.runs = {{0, 4}, {4, 8}, {12, 4}}, .extent = 16}), DataMap::contiguous(0));
  EXPECT_EQ(DataMap::tiled(0, {.loops = {{1, 77}}, .runs = {{0, 4}}, .extent = 16}),
            DataMap::tiled(0, {.runs = {{0, 4}}, .extent = 16}));
}

TEST(DataMap, SimplifiesListsThatAreRegular) {
  const auto list = DataMap::tiled(0, {.runs = {{4, 4}, {20, 4}, {36, 4}, {52, 4}}, .extent = 64});
  EXPECT_EQ(list, DataMap::tiled(4, {.runs = {{0, 4}}, .extent = 16}));
  const auto uneven = DataMap::tiled(0, {.runs = {{4, 4}, {20, 4}, {36, 5}}, .extent = 64});
  ASSERT_TRUE(uneven);
  EXPECT_EQ(uneven->tile_bytes(), 13);
  EXPECT_EQ(uneven->longest_piece(), 5);
  EXPECT_EQ(uneven->shortest_piece(), 4);
}

TEST(DataMap, JoinsFromOneTileToTheNext) {
  const auto map = DataMap::tiled(0, {.runs = {{0, 4}, {6, 6}}, .extent = 12});
  ASSERT_TRUE(map);
  EXPECT_EQ(pieces(*map, 0, 20), (std::vector<Piece>{{0, 0, 4}, {4, 6, 10}, {14, 18, 6}}));
  EXPECT_EQ(map->piece_at(5, 100), (ByteRun{7, 9}));
  EXPECT_EQ(map->piece_at(5, 8), (ByteRun{7, 3}));
}

TEST(DataMap, RefusesWhatHasNoBytesOrNoRoom) {
  EXPECT_FALSE(DataMap::tiled(0, {.extent = 8}));
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{0, 0}, {4, 0}}, .extent = 8}));
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{0, -1}, {4, 4}}, .extent = 8}));
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{0, 8}}, .runs = {{0, 4}}, .extent = 8}));
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{-2, 8}}, .runs = {{0, 4}}, .extent = 8}));
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{kLargest, kLargest}}, .runs = {{0, 1}}, .extent = 1}));
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{kTera, 0}, {kTera, 0}}, .runs = {{0, 1}}, .extent = 1}));
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{0, kLargest}, {0, kLargest}}, .extent = 1}));
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{kLargest, 1}}, .extent = 1}));
  EXPECT_FALSE(DataMap::tiled(kLargest - 10, {.runs = {{8, 4}}, .extent = 100}));
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{-kLargest, 1}, {kLargest - 1, 1}}, .extent = 1}));
  EXPECT_TRUE(DataMap::tiled(kLargest - 12, {.runs = {{8, 4}}, .extent = 100}));
}

TEST(DataMap, KnowsHowFarItReaches) {
  EXPECT_TRUE(DataMap::contiguous(0).reaches(kLargest));
  EXPECT_TRUE(DataMap::contiguous(1).reaches(kLargest - 1));
  EXPECT_FALSE(DataMap::contiguous(1).reaches(kLargest));
  const auto sparse = DataMap::tiled(0, {.runs = {{0, 1}}, .extent = kTera});
  ASSERT_TRUE(sparse);
  EXPECT_TRUE(sparse->reaches(1 << 23U));
  EXPECT_FALSE(sparse->reaches((1 << 23U) + 1));
  const auto backwards = DataMap::tiled(0, {.runs = {{0, 1}}, .extent = -kTera});
  ASSERT_TRUE(backwards);
  EXPECT_TRUE(backwards->reaches((1 << 23U) + 1));
  EXPECT_FALSE(backwards->reaches((1 << 23U) + 2));
}

TEST(DataMap, KnowsWhatAscends) {
  EXPECT_TRUE(DataMap::tiled(0, {.runs = {{0, 4}, {8, 5}}, .extent = 13})->ascending());
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{0, 4}, {8, 5}}, .extent = 12})->ascending());
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{8, 4}, {0, 5}}, .extent = 32})->ascending());
  EXPECT_FALSE(DataMap::tiled(0, {.runs = {{0, 4}, {3, 5}}, .extent = 32})->ascending());
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{2, 0}}, .runs = {{0, 4}}, .extent = 32})->ascending());
  // Columns of a matrix, one by one.
  EXPECT_FALSE(DataMap::tiled(0, {.loops = {{4, 8}, {4, 32}}, .runs = {{0, 8}}, .extent = 128})->ascending());
}

TEST(DataMap, LargeOffsets) {
  // A column of a matrix of 2^20 rows of 2^20 bytes, from the third tera on.
  const auto map = DataMap::tiled(3 * kTera, {.loops = {{1 << 20, 1 << 20}}, .runs = {{5 << 10, 1 << 10}}, .extent = 2 * kTera});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->tile_bytes(), 1 << 30);
  EXPECT_EQ(map->offset_of(1 << 30), (5 * kTera) + (5 << 10));
  EXPECT_EQ(map->offset_of((std::int64_t{1} << 40U) - 1), (3 * kTera) + (1023 * 2 * kTera) + kTera - (1 << 20) + (6 << 10) - 1);
  EXPECT_EQ(map->position_at(4 * kTera), 1 << 30);
  EXPECT_EQ(map->position_at((5 * kTera) + (5 << 10) + 1), (1 << 30) + 1);
  const std::int64_t last = (1 << 30) - 10;
  EXPECT_EQ(pieces(*map, last, last + 20),
            (std::vector<Piece>{{last, (4 * kTera) - (1 << 20) + (6 << 10) - 10, 10}, {1 << 30, (5 * kTera) + (5 << 10), 10}}));
  EXPECT_EQ(map->granule(), 1 << 10);
}

TEST(DataMap, GranuleIsTheLargest) {
  EXPECT_EQ(DataMap::tiled(96, {.loops = {{2, 48}}, .runs = {{0, 24}}, .extent = 240})->granule(), 24);
  EXPECT_EQ(DataMap::tiled(4, {.loops = {{2, 48}}, .runs = {{0, 24}}, .extent = 240})->granule(), 4);
  EXPECT_EQ(DataMap::tiled(-48, {.runs = {{0, 24}}, .extent = -72})->granule(), 24);
  EXPECT_EQ(DataMap::tiled(0, {.runs = {{0, 24}, {36, 12}}, .extent = 54})->granule(), 6);
}

TEST(DataMap, FileViewsAgainstLists) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Tile tile = ascending_tile(rng);
    const std::int64_t start = rng.chance(0.2) ? kTera + some(rng, 0, 50) : some(rng, 0, 50);
    const auto map = DataMap::tiled(start, tile);
    ASSERT_TRUE(map);
    ASSERT_TRUE(map->ascending());
    const std::vector<std::int64_t> bytes = offsets(start, tile, 3);
    ASSERT_NO_FATAL_FAILURE(expect_like(*map, bytes, rng));
    for (std::int64_t offset = start - 2; offset <= bytes.back(); ++offset) {
      const auto expected = std::ranges::lower_bound(bytes, offset) - bytes.begin();
      ASSERT_EQ(map->position_at(offset), expected) << offset;
    }
    std::int64_t common = std::gcd(start + tile.runs[0].offset, tile.extent);
    for (const ByteRun& run : tile.runs) common = std::gcd(std::gcd(common, start + run.offset), run.length);
    for (const Loop& loop : tile.loops) common = std::gcd(common, loop.count > 1 ? loop.stride : 0);
    if (!map->is_contiguous()) {
      ASSERT_EQ(map->granule() % common, 0);
    }
  }
}

TEST(DataMap, BuffersAgainstLists) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Tile tile = any_tile(rng);
    const std::int64_t start = some(rng, -100, 100);
    const auto map = DataMap::tiled(start, tile);
    ASSERT_TRUE(map);
    const std::vector<std::int64_t> bytes = offsets(start, tile, 3);
    ASSERT_NO_FATAL_FAILURE(expect_like(*map, bytes, rng));
    const bool rises = std::ranges::adjacent_find(bytes, std::greater_equal<>{}) == bytes.end();
    ASSERT_EQ(map->ascending(), rises);
  }
}

TEST(DataMap, EqualBytesOftenAreEqualMaps) {
  // However a program says it, a block of every rank is the same map, so that plans made for one serve the other.
  const auto expected = DataMap::tiled(64, {.runs = {{0, 16}}, .extent = 256});
  EXPECT_EQ(DataMap::tiled(0, {.runs = {{64, 16}}, .extent = 256}), expected);
  EXPECT_EQ(DataMap::tiled(0, {.loops = {{2, 512}, {2, 256}, {4, 4}}, .runs = {{64, 4}}, .extent = 1024}), expected);
  EXPECT_EQ(DataMap::tiled(0, {.loops = {{3, 256}}, .runs = {{64, 8}, {72, 8}}, .extent = 768}), expected);
  EXPECT_NE(DataMap::tiled(0, {.loops = {{3, 256}}, .runs = {{64, 8}, {72, 8}}, .extent = 769}), expected);
}

}  // namespace
}  // namespace iez::collective
