#include "sim/access_cursor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/rng.hpp"

namespace iez::sim {
namespace {

std::vector<Piece> all_pieces(const AccessCursor::Shape& shape, std::uint32_t rank) {
  std::vector<Piece> pieces;
  AccessCursor cursor(shape, rank);
  while (!cursor.done(shape)) pieces.push_back(cursor.next(shape));
  return pieces;
}

TEST(AccessCursor, CutsAtRequestsAndStripes) {
  const AccessCursor::Shape shape{
      .pattern = {.block = {10}}, .striping = {.count = 2, .size = {4}}, .request_bytes = 3, .file_bytes = 10};
  const auto pieces = all_pieces(shape, 0);
  ASSERT_EQ(pieces.size(), 5U);
  const std::vector<std::uint64_t> offsets = {0, 3, 4, 7, 8};
  const std::vector<std::uint64_t> bytes = {3, 1, 3, 1, 2};
  const std::vector<std::uint32_t> stripes = {0, 0, 1, 1, 0};
  const std::vector<std::uint64_t> places = {0, 3, 0, 3, 4};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].offset, offsets[i]) << i;
    EXPECT_EQ(pieces[i].bytes, bytes[i]) << i;
    EXPECT_EQ(pieces[i].stripe, stripes[i]) << i;
    EXPECT_EQ(pieces[i].place, places[i]) << i;
  }
}

TEST(AccessCursor, InterleavesTheBlocksOfASharedFile) {
  const AccessCursor::Shape shape{.pattern = {.mode = FileMode::shared, .block = {5}, .segments = 2},
                                  .striping = {.count = 1, .size = {1000}},
                                  .request_bytes = 100,
                                  .file_bytes = 30,
                                  .writers = 3};
  const auto pieces = all_pieces(shape, 1);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].offset, 5U);
  EXPECT_EQ(pieces[1].offset, 20U);
}

TEST(AccessCursor, WalksFileAfterFile) {
  const AccessCursor::Shape shape{
      .pattern = {.block = {5}, .files = 3}, .striping = {.count = 1, .size = {1000}}, .request_bytes = 100, .file_bytes = 5};
  const auto pieces = all_pieces(shape, 0);
  ASSERT_EQ(pieces.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pieces[i].file, i);
    EXPECT_EQ(pieces[i].offset, 0U);
  }
}

TEST(AccessCursor, HasNothingToDoBeyondTheEnd) {
  const AccessCursor::Shape shape{.pattern = {.mode = FileMode::shared, .block = {10}},
                                  .striping = {.count = 1, .size = {10}},
                                  .request_bytes = 100,
                                  .file_bytes = 15,
                                  .writers = 3};
  EXPECT_EQ(all_pieces(shape, 0).size(), 1U);
  ASSERT_EQ(all_pieces(shape, 1).size(), 1U);
  EXPECT_EQ(all_pieces(shape, 1)[0].bytes, 5U);
  EXPECT_TRUE(all_pieces(shape, 2).empty());
}

// All ranks together touch every byte of every object once.
TEST(AccessCursor, CoversEveryByteOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto writers = static_cast<std::uint32_t>(rng.between(1, 4));
    AccessCursor::Shape shape{.pattern = {.mode = FileMode::shared, .block = {rng.between(1, 40)}, .segments = rng.between(1, 4)},
                              .striping = {.count = static_cast<std::uint32_t>(rng.between(1, 4)), .size = {rng.between(1, 20)}},
                              .request_bytes = rng.between(1, 15),
                              .writers = writers};
    const std::uint64_t whole = shape.pattern.block.count * shape.pattern.segments * writers;
    shape.file_bytes = rng.chance(0.5) ? whole : rng.between(1, whole);
    std::map<std::pair<std::uint32_t, std::uint64_t>, int> touched;
    for (std::uint32_t rank = 0; rank < writers; ++rank) {
      for (const Piece& piece : all_pieces(shape, rank)) {
        for (std::uint64_t i = 0; i < piece.bytes; ++i) ++touched[{piece.stripe, piece.place + i}];
      }
    }
    std::uint64_t expected = 0;
    for (std::uint32_t stripe = 0; stripe < shape.striping.count; ++stripe) {
      const std::uint64_t size = object_bytes(shape.file_bytes, shape.striping, stripe);
      expected += size;
      for (std::uint64_t i = 0; i < size; ++i) {
        const auto found = touched.find({stripe, i});
        ASSERT_NE(found, touched.end()) << stripe << ' ' << i;
        ASSERT_EQ(found->second, 1) << stripe << ' ' << i;
      }
    }
    EXPECT_EQ(expected, shape.file_bytes);
    EXPECT_EQ(touched.size(), shape.file_bytes);
  }
}

}  // namespace
}  // namespace iez::sim
