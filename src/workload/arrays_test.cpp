#include "workload/arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Runs runs_of(const Box& box) {
  Runs all;
  BoxRuns runs(box);
  std::uint64_t at = 0;
  std::uint64_t length = 0;
  while (runs.next(at, length)) all.emplace_back(at, length);
  return all;
}

Pattern flash(std::uint32_t ranks) {
  return {.kind = Kind::flash, .file = "d/f", .ranks = ranks, .arrays = 3, .blocks = 2, .cells = 2, .guard = 1};
}

Pattern chimera(std::uint32_t ranks) {
  return {.kind = Kind::chimera, .file = "d/c", .ranks = ranks, .arrays = 2, .files = 3, .grid = {4, 6, 5}};
}

TEST(BoxRuns, AreAsLongAsPossible) {
  EXPECT_EQ(runs_of({.sizes = {10}, .parts = {4}, .starts = {3}}), (Runs{{3, 4}}));
  EXPECT_EQ(runs_of({.sizes = {3, 5}, .parts = {2, 5}, .starts = {1, 0}}), (Runs{{5, 10}}));
  EXPECT_EQ(runs_of({.sizes = {3, 5}, .parts = {2, 2}, .starts = {1, 3}}), (Runs{{8, 2}, {13, 2}}));
  EXPECT_EQ(runs_of({.sizes = {2, 3, 4}, .parts = {2, 2, 4}, .starts = {0, 1, 0}}), (Runs{{4, 8}, {16, 8}}));
  EXPECT_EQ(runs_of({.sizes = {2, 3}, .parts = {2, 0}, .starts = {0, 1}}), (Runs{}));
}

TEST(ArrayPart, RunsLieTogetherInFileAndMemory) {
  ArrayPart part{.offset = 100, .element = 8};
  part.file = {.sizes = {2, 4}, .parts = {2, 4}, .starts = {0, 0}};
  part.memory = {.sizes = {2, 4, 3}, .parts = {2, 4, 1}, .starts = {0, 0, 1}};
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> seen;
  each_run(part,
           [&seen](std::uint64_t file, std::uint64_t memory, std::uint64_t bytes) { seen.emplace_back(file, memory, bytes); });
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(seen[0], std::tuple(100U, 8U, 8U));
  EXPECT_EQ(seen[7], std::tuple(156U, 176U, 8U));
}

TEST(ProcessGrid, IsEven) {
  EXPECT_THAT(process_grid(1, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(process_grid(8, 3), ElementsAre(2, 2, 2));
  EXPECT_THAT(process_grid(12, 3), ElementsAre(3, 2, 2));
  EXPECT_THAT(process_grid(7, 3), ElementsAre(7, 1, 1));
  EXPECT_THAT(process_grid(512, 3), ElementsAre(8, 8, 8));
}

TEST(Flash, UnknownsLieOneBehindTheOther) {
  const Pattern pattern = flash(4);
  ASSERT_TRUE(check(pattern));
  EXPECT_EQ(file_name(pattern, 0), "d/f_chk_0001");
  EXPECT_EQ(file_count(pattern), 1U);
  EXPECT_EQ(bytes_of(pattern, 1).count, 3U * 2 * 8 * 8);
  EXPECT_EQ(total_bytes(pattern).count, file_size(pattern, 0).count);
  const auto parts = array_parts(pattern, 1);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].offset, 4U * 2 * 8 * 8);
  std::uint64_t first = 0;
  std::uint64_t in_memory = 0;
  std::uint64_t runs = 0;
  each_run(parts[1], [&](std::uint64_t file, std::uint64_t memory, std::uint64_t bytes) {
    if (runs++ == 0) {
      first = file;
      in_memory = memory;
    }
    EXPECT_EQ(bytes, 8U);
  });
  EXPECT_EQ(runs, 16U);
  EXPECT_EQ(first, parts[1].offset + (2 * 8 * 8));
  EXPECT_EQ(in_memory, 8U * ((((1 * 4 + 1) * 4 + 1) * 3) + 1));  // cell (1, 1, 1) of 4x4x4, the second of 3 unknowns
}

TEST(Chimera, GridIsSharedInBlocks) {
  const Pattern pattern = chimera(6);
  ASSERT_TRUE(check(pattern));
  EXPECT_EQ(file_name(pattern, 2), "d/c-restart-03");
  EXPECT_EQ(file_size(pattern, 0).count, 2U * 4 * 6 * 5 * 8);
  EXPECT_EQ(total_bytes(pattern).count, 3U * 2 * 4 * 6 * 5 * 8);
  const auto parts = array_parts(pattern, 1);  // 3 x 2 x 1 processes: rank 1 is (0, 1, 0)
  EXPECT_THAT(parts[0].file.starts, ElementsAre(0, 3, 0));
  EXPECT_THAT(parts[0].file.parts, ElementsAre(2, 3, 5));
}

TEST(IorView, HasTheBlocksOfTheCalls) {
  Pattern pattern{.kind = Kind::ior, .file = "x", .ranks = 3, .block = {8}, .transfer = {4}, .segments = 2};
  const auto calls = accesses(pattern, 1);
  pattern.view = true;
  ASSERT_TRUE(check(pattern));
  EXPECT_EQ(file_size(pattern, 0).count, 48U);
  Runs seen;
  each_run(array_parts(pattern, 1)[0],
           [&seen](std::uint64_t file, std::uint64_t, std::uint64_t bytes) { seen.emplace_back(file, bytes); });
  EXPECT_EQ(seen, (Runs{{8, 8}, {32, 8}}));
  EXPECT_EQ(calls.front().offset, 8U);
}

// Every byte of every array belongs to exactly one process, whatever the pattern.
TEST(Arrays, PartsCoverEachFileOnce) {
  constexpr std::uint64_t kSeed = 20261117;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const auto ranks = static_cast<std::uint32_t>(rng.between(1, 12));
    Pattern pattern = rng.chance(0.5) ? flash(ranks) : chimera(ranks);
    pattern.grid = {rng.between(12, 20), rng.between(12, 20), rng.between(12, 14)};
    pattern.cells = rng.between(1, 5);
    pattern.guard = rng.below(3);
    pattern.blocks = rng.between(1, 5);
    if (rng.chance(0.3)) {
      pattern.kind = Kind::ior;
      pattern.view = true;
      pattern.transfer = {rng.between(1, 50)};
      pattern.block = {pattern.transfer.count * rng.between(1, 9)};
      pattern.segments = rng.between(1, 30);
      pattern.law = static_cast<SizeLaw>(rng.below(3));
      pattern.spread = 0.5;
    }
    ASSERT_TRUE(check(pattern)) << check(pattern).error().message;
    std::vector<int> seen(file_size(pattern, 0).count, 0);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto parts = array_parts(pattern, rank);
      ASSERT_EQ(parts.size(), arrays_of(pattern).size());
      for (const ArrayPart& part : parts) {
        ASSERT_EQ(part.file.elements(), part.memory.elements());
        std::uint64_t bytes = 0;
        each_run(part, [&](std::uint64_t file, std::uint64_t memory, std::uint64_t length) {
          ASSERT_LE(file + length, seen.size());
          ASSERT_LE(memory + length, part.memory.all() * part.element);
          for (std::uint64_t i = 0; i < length; ++i) ++seen[file + i];
          bytes += length;
        });
        ASSERT_EQ(bytes, part.bytes());
      }
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  }
}

TEST(Arrays, NonsenseIsNamed) {
  const auto message = [](const Pattern& pattern) {
    const auto checked = check(pattern);
    return checked ? std::string("fine") : checked.error().message;
  };
  Pattern pattern = chimera(7);
  EXPECT_THAT(message(pattern), HasSubstr("4 elements on 7 processes in dimension 1"));
  pattern = chimera(2);
  pattern.files = 0;
  EXPECT_THAT(message(pattern), HasSubstr("--files 0"));
  pattern = flash(2);
  pattern.blocks = 0;
  EXPECT_THAT(message(pattern), HasSubstr("--blocks 0"));
  pattern = flash(2);
  pattern.blocks = 1'000'000;
  pattern.guard = 100;
  EXPECT_THAT(message(pattern), HasSubstr("of memory"));
  pattern = flash(2);
  pattern.arrays = 0;
  EXPECT_THAT(message(pattern), HasSubstr("0 arrays"));
  pattern = flash(2);
  pattern.law = SizeLaw::uniform;
  EXPECT_THAT(message(pattern), HasSubstr("--sizes"));
  pattern = {.kind = Kind::ior, .file = "x", .ranks = 2, .file_per_process = true, .view = true};
  EXPECT_THAT(message(pattern), HasSubstr("--view: not with -F"));
  pattern.file_per_process = false;
  pattern.block = Bytes::mib(1024);
  EXPECT_THAT(message(pattern), HasSubstr("--view: a segment of"));
}

TEST(Grid, IsParsed) {
  EXPECT_THAT(parse_grid("64x32x7").value(), ElementsAre(64, 32, 7));
  for (const char* const bad : {"", "64", "64x32", "64x32x", "64x32x7x1", "0x1x1", "axbxc", "64x-1x2"}) {
    EXPECT_FALSE(parse_grid(bad)) << bad;
  }
}

}  // namespace
}  // namespace iez::workload
