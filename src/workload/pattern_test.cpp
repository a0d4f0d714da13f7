#include "workload/pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Pattern ior(std::uint32_t ranks, bool per_process) {
  return {.kind = Kind::ior,
          .file = "d/out",
          .ranks = ranks,
          .file_per_process = per_process,
          .block = {8},
          .transfer = {4},
          .segments = 2};
}

Pattern hacc(std::uint32_t ranks, bool per_process) {
  return {.kind = Kind::hacc, .file = "d/ck", .ranks = ranks, .file_per_process = per_process, .particles = 10, .header = {100}};
}

TEST(Pattern, NamesOfIor) {
  EXPECT_EQ(file_name(ior(64, true), 12), "d/out.00000012");
  EXPECT_EQ(file_name(ior(64, false), 0), "d/out");
  EXPECT_EQ(file_count(ior(64, true)), 64U);
  EXPECT_EQ(file_count(ior(64, false)), 1U);
}

TEST(Pattern, NamesOfHacc) {
  EXPECT_EQ(file_name(hacc(32, true), 12), "d/ck-Part00000012-of-00000032.data");
  EXPECT_EQ(file_name(hacc(32, false), 0), "d/ck-Part00000000-of-00000001.data");
}

TEST(Pattern, IorSharedInterleavesBlocksBySegment) {
  EXPECT_THAT(accesses(ior(3, false), 1), ElementsAre(Access{8, 4}, Access{12, 4}, Access{32, 4}, Access{36, 4}));
}

TEST(Pattern, IorFilePerProcessPutsSegmentsTogether) {
  EXPECT_THAT(accesses(ior(3, true), 1), ElementsAre(Access{0, 4}, Access{4, 4}, Access{8, 4}, Access{12, 4}));
}

TEST(Pattern, HaccFileHasHeaderAndNineVariables) {
  const auto all = accesses(hacc(2, true), 1);
  EXPECT_THAT(all, ElementsAre(Access{0, 100}, Access{100, 40}, Access{140, 40}, Access{180, 40}, Access{220, 40},
                               Access{260, 40}, Access{300, 40}, Access{340, 40}, Access{380, 80}, Access{460, 20}));
  EXPECT_EQ(file_size(hacc(2, true), 1).count, 480U);
}

TEST(Pattern, HaccSharedPutsVariablesOfAllRanksTogether) {
  const auto all = accesses(hacc(2, false), 1);
  EXPECT_THAT(all, ElementsAre(Access{140, 40}, Access{220, 40}, Access{300, 40}, Access{380, 40}, Access{460, 40},
                               Access{540, 40}, Access{620, 40}, Access{740, 80}, Access{840, 20}));
  EXPECT_EQ(file_size(hacc(2, false), 0).count, 860U);
}

// 803,405,824 bytes a rank is what the benchmark writes with 20,480,000 particles.
TEST(Pattern, HaccSizeAsPublished) {
  Pattern pattern = hacc(1, true);
  pattern.header = Pattern{}.header;
  pattern.particles = 20'480'000;
  EXPECT_EQ(bytes_of(pattern, 0).count, 803'405'824U);
}

// Every byte of every file is written by exactly one access, whatever the pattern.
TEST(Pattern, AccessesCoverEachFileOnce) {
  constexpr std::uint64_t kSeed = 20261116;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const auto ranks = static_cast<std::uint32_t>(rng.between(1, 9));
    Pattern pattern = rng.chance(0.5) ? ior(ranks, rng.chance(0.5)) : hacc(ranks, rng.chance(0.5));
    pattern.transfer = {rng.between(1, 9)};
    pattern.block = {pattern.transfer.count * rng.between(1, 9)};
    pattern.segments = rng.between(1, 4);
    pattern.particles = rng.between(1, 30);
    pattern.header = {rng.below(3) * 50};
    pattern.random_offsets = rng.chance(0.5);
    pattern.law = static_cast<SizeLaw>(rng.below(3));
    pattern.spread = 0.9;
    pattern.seed = rng.bits();
    ASSERT_TRUE(check(pattern));
    std::map<std::uint32_t, std::vector<Access>> files;
    std::uint64_t total = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::uint64_t own = 0;
      for (const Access& access : accesses(pattern, rank)) {
        files[file_of(pattern, rank)].push_back(access);
        own += access.length;
      }
      EXPECT_EQ(own, bytes_of(pattern, rank).count);
      total += own;
    }
    EXPECT_EQ(total, total_bytes(pattern).count);
    EXPECT_EQ(files.size(), file_count(pattern));
    for (auto& [file, all] : files) {
      std::ranges::sort(all, {}, &Access::offset);
      std::uint64_t at = 0;
      for (const Access& access : all) {
        ASSERT_EQ(access.offset, at);
        at += access.length;
      }
      EXPECT_EQ(at, file_size(pattern, file).count);
    }
  }
}

TEST(Pattern, RandomOrderHasTheSamePieces) {
  Pattern pattern = ior(2, true);
  pattern.segments = 50;
  auto plain = accesses(pattern, 1);
  pattern.random_offsets = true;
  auto shuffled = accesses(pattern, 1);
  EXPECT_NE(plain, shuffled);
  std::ranges::sort(shuffled, {}, &Access::offset);
  EXPECT_EQ(plain, shuffled);
}

TEST(Pattern, LawsSpreadSizesAroundTheirMean) {
  for (const SizeLaw law : {SizeLaw::uniform, SizeLaw::lognormal}) {
    Pattern pattern = ior(4000, true);
    pattern.block = {4'000'000};
    pattern.law = law;
    pattern.spread = 0.5;
    pattern.seed = 7;
    const double mean = static_cast<double>(total_bytes(pattern).count) / 4000 / 8'000'000;
    EXPECT_NEAR(mean, 1, 0.03);
    EXPECT_NE(bytes_of(pattern, 0), bytes_of(pattern, 1));
    EXPECT_EQ(bytes_of(pattern, 0), bytes_of(pattern, 0));
  }
}

TEST(Pattern, ReorderedReadersTakeTheNeighbours) {
  Pattern pattern = ior(3, true);
  EXPECT_EQ(read_of(pattern, 2), 2U);
  pattern.reorder = true;
  EXPECT_EQ(read_of(pattern, 0), 1U);
  EXPECT_EQ(read_of(pattern, 2), 0U);
}

// What is read in pieces of any size is what was written in others.
TEST(Pattern, BytesDependOnOffsetsAlone) {
  constexpr std::uint64_t kSeed = 99;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  std::vector<std::byte> whole(1000);
  fill(whole, 5, 3, 123);
  for (int round = 0; round < 300; ++round) {
    const std::size_t at = rng.below(whole.size());
    const std::size_t length = rng.below(whole.size() - at + 1);
    std::vector<std::byte> part(length);
    fill(part, 5, 3, 123 + at);
    ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(at)));
    ASSERT_EQ(differences(part, 5, 3, 123 + at).count, 0U);
  }
}

TEST(Pattern, AnyChangedByteIsFound) {
  std::vector<std::byte> data(100);
  fill(data, 1, 2, 3);
  for (std::size_t at = 0; at < data.size(); ++at) {
    const std::byte before = data[at];
    data[at] ^= std::byte{1};
    const Differences found = differences(data, 1, 2, 3);
    EXPECT_EQ(found.count, 1U);
    EXPECT_EQ(found.first, at);
    EXPECT_EQ(found.expected, before);
    data[at] = before;
  }
}

TEST(Pattern, OtherFilesSeedsAndOffsetsHaveOtherBytes) {
  std::vector<std::byte> data(4096);
  fill(data, 1, 2, 0);
  EXPECT_GT(differences(data, 2, 2, 0).count, 4000U);
  EXPECT_GT(differences(data, 1, 3, 0).count, 4000U);
  EXPECT_GT(differences(data, 1, 2, 8).count, 3000U);
  EXPECT_GT(differences(data, 1, 2, 1).count, 4000U);
}

TEST(Pattern, NonsenseIsNamed) {
  const auto message = [](const Pattern& pattern) {
    const auto checked = check(pattern);
    return checked ? std::string("fine") : checked.error().message;
  };
  Pattern pattern = ior(2, true);
  EXPECT_EQ(message(pattern), "fine");
  pattern.block = {9};
  EXPECT_THAT(message(pattern), HasSubstr("-b 9"));
  pattern = ior(0, true);
  EXPECT_THAT(message(pattern), HasSubstr("0 processes"));
  pattern = ior(2, true);
  pattern.transfer = {0};
  EXPECT_THAT(message(pattern), HasSubstr("-t 0"));
  pattern = ior(2, true);
  pattern.segments = ~std::uint64_t{0};
  EXPECT_THAT(message(pattern), HasSubstr("more than"));
  pattern = hacc(2, true);
  pattern.particles = 0;
  EXPECT_THAT(message(pattern), HasSubstr("particles"));
  pattern = hacc(2, true);
  pattern.interface = Interface::hdf5;
  EXPECT_THAT(message(pattern), HasSubstr("HDF5"));
}

TEST(Pattern, SizesAreReadAndPrinted) {
  for (const std::string text : {"equal", "uniform:0.5", "lognormal:1"}) {
    const auto sizes = parse_sizes(text);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(to_string(*sizes), text);
  }
  for (const std::string text : {"", "uniform", "uniform:2", "lognormal:-1", "zipf:1", "uniform:x"}) {
    ASSERT_FALSE(parse_sizes(text)) << text;
    EXPECT_THAT(parse_sizes(text).error().message, HasSubstr("expected equal"));
  }
}

}  // namespace
}  // namespace iez::workload
