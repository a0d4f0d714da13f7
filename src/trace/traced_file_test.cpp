#include "trace/traced_file.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "trace/segment_test_support.hpp"

namespace iez::trace {
namespace {

TracedFile sum_of(TracedFile a, const TracedFile& b) {
  absorb(a, b);
  return a;
}

TEST(Absorb, AddsUp) {
  const TracedFile a{.name = "/f",
                     .written = {10},
                     .read = {1},
                     .write_calls = 2,
                     .read_calls = 1,
                     .sequential_writes = 1,
                     .largest_write = {6},
                     .largest_read = {1},
                     .end = {100},
                     .creates = 1,
                     .opens = 2,
                     .rank = 5,
                     .ranks = 1,
                     .communicator = 8,
                     .first_ns = 50,
                     .last_ns = 60};
  const TracedFile b{.name = "/f",
                     .renamed = "/g",
                     .written = {20},
                     .write_calls = 3,
                     .sequential_writes = 2,
                     .sequential_reads = 9,
                     .largest_write = {7},
                     .end = {90},
                     .opens = 1,
                     .stripe_count = 4,
                     .stripe_size = {65536},
                     .rank = 2,
                     .ranks = 3,
                     .first_ns = 40,
                     .last_ns = 55};
  const TracedFile both{.name = "/f",
                        .renamed = "/g",
                        .written = {30},
                        .read = {1},
                        .write_calls = 5,
                        .read_calls = 1,
                        .sequential_writes = 3,
                        .sequential_reads = 9,
                        .largest_write = {7},
                        .largest_read = {1},
                        .end = {100},
                        .creates = 1,
                        .opens = 3,
                        .stripe_count = 4,
                        .stripe_size = {65536},
                        .rank = 2,
                        .ranks = 4,
                        .communicator = 8,
                        .first_ns = 40,
                        .last_ns = 60};
  EXPECT_EQ(sum_of(a, b), both);
  EXPECT_EQ(sum_of(b, a), both);
}

TEST(Absorb, CountsWritersBeforeReadersBeforeTheRest) {
  const TracedFile opened{.name = "/f", .opens = 1};
  const TracedFile reader{.name = "/f", .read = {1}, .rank = 1, .ranks = 1};
  const TracedFile writer{.name = "/f", .written = {1}, .rank = 7, .ranks = 2};
  const TracedFile empty_writer{.name = "/f", .write_calls = 1, .rank = 9, .ranks = 1};
  EXPECT_EQ(sum_of(opened, reader).ranks, 1U);
  EXPECT_EQ(sum_of(opened, reader).rank, 1);
  EXPECT_EQ(sum_of(reader, reader).ranks, 2U);
  EXPECT_EQ(sum_of(reader, writer).ranks, 2U);
  EXPECT_EQ(sum_of(reader, writer).rank, 7) << "not the reader's, though it is lower";
  EXPECT_EQ(sum_of(writer, reader).rank, 7);
  EXPECT_EQ(sum_of(writer, empty_writer).ranks, 3U);
}

TEST(Absorb, KnownBeforeUnknown) {
  const TracedFile unknown{.name = "/f", .written = {1}, .ranks = 1};
  const TracedFile known{.name = "/f", .written = {1}, .rank = 7, .ranks = 1, .first_ns = 5, .last_ns = 6};
  EXPECT_EQ(sum_of(unknown, known).rank, 7);
  EXPECT_EQ(sum_of(known, unknown).rank, 7);
  EXPECT_EQ(sum_of(unknown, known).first_ns, 5);
  EXPECT_EQ(sum_of(known, unknown).last_ns, 6);
  EXPECT_FALSE(sum_of(unknown, unknown).first_ns);
  EXPECT_FALSE(sum_of(unknown, unknown).last_ns);
}

TEST(Absorb, WhatNobodySaw) {
  // Two ranks write one half each of a shared file; the first closes it when the second is done.
  TracedFile first{.name = "/a", .written = {1000}, .size_before = {0}, .size_after = {2000}};
  const TracedFile second{.name = "/a", .written = {1000}};
  EXPECT_EQ(unseen(first), Bytes{1000}) << "what the first one alone can tell";
  absorb(first, second);
  EXPECT_EQ(unseen(first), Bytes{0});
  // A third appends through a mapping.
  absorb(first, TracedFile{.name = "/a", .size_before = {2000}, .size_after = {5000}});
  EXPECT_EQ(unseen(first), Bytes{3000});
  EXPECT_EQ(first.size_before, Bytes{0});
  EXPECT_EQ(first.size_after, Bytes{5000});
  // One that wrote over and over hides what was not seen, and never gives less than nothing.
  absorb(first, TracedFile{.name = "/a", .written = {9000}});
  EXPECT_EQ(unseen(first), Bytes{0});
  EXPECT_EQ(unseen(TracedFile{.name = "/b", .written = {5}}), Bytes{0});
}

TEST(Absorb, TimesOfWritesAndReads) {
  const TracedFile a{.name = "/f", .first_write_ns = 10, .last_write_ns = 20, .last_read_ns = 5};
  const TracedFile b{.name = "/f", .first_write_ns = 15, .last_write_ns = 30, .first_read_ns = 2, .own_layout = true};
  const TracedFile both{
      .name = "/f", .first_write_ns = 10, .last_write_ns = 30, .first_read_ns = 2, .last_read_ns = 5, .own_layout = true};
  EXPECT_EQ(sum_of(a, b), both);
  EXPECT_EQ(sum_of(b, a), both);
}

TEST(Removed, ByTheLastOfWhatHappened) {
  EXPECT_FALSE(removed(TracedFile{.name = "/f"}));
  EXPECT_FALSE(removed(TracedFile{.name = "/f", .opened_ns = 5}));
  EXPECT_TRUE(removed(TracedFile{.name = "/f", .opened_ns = 5, .removed_ns = 6}));
  EXPECT_TRUE(removed(TracedFile{.name = "/f", .removed_ns = 6})) << "opened before the trace began";
  EXPECT_FALSE(removed(TracedFile{.name = "/f", .opened_ns = 7, .removed_ns = 6})) << "made anew, and kept";

  // The process that removed it never opened it.
  const TracedFile writer{.name = "/f", .written = {1}, .opened_ns = 5};
  const TracedFile remover{.name = "/f", .removed_ns = 6};
  const TracedFile second{.name = "/f", .written = {1}, .opened_ns = 9};
  EXPECT_TRUE(removed(sum_of(writer, remover)));
  EXPECT_TRUE(removed(sum_of(remover, writer)));
  EXPECT_FALSE(removed(sum_of(sum_of(writer, remover), second)));
}

TEST(Absorb, SumsDoNotWrap) {
  const TracedFile many{.name = "/f", .written = {~0ULL}, .write_calls = ~0ULL, .opens = ~0ULL, .ranks = ~0U};
  const TracedFile sum = sum_of(many, many);
  EXPECT_EQ(sum.written, Bytes{~0ULL});
  EXPECT_EQ(sum.write_calls, ~0ULL);
  EXPECT_EQ(sum.opens, ~0ULL);
  EXPECT_EQ(sum.ranks, ~0U);
}

TEST(Absorb, CommutesAndAssociates) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const TracedFile a = random_file(rng, "/f", 1000);
    const TracedFile b = random_file(rng, "/f", 1000);
    const TracedFile c = random_file(rng, "/f", 1000);
    EXPECT_EQ(sum_of(a, b), sum_of(b, a));
    EXPECT_EQ(sum_of(sum_of(a, b), c), sum_of(a, sum_of(b, c)));
  }
}

TEST(Held, WhatWasWrittenOverCountsOnce) {
  TracedFile file{.name = "/f", .written = {400}, .end = {100}};
  EXPECT_EQ(held(file), Bytes{100});
  file.end = {1000};
  EXPECT_EQ(held(file), Bytes{400}) << "a file with holes";
  file.end = {};
  EXPECT_EQ(held(file), Bytes{400}) << "offsets are not known";
  file = {.name = "/f", .written = {50}, .end = {50}, .size_before = {0}, .size_after = {300}};
  EXPECT_EQ(held(file), Bytes{300}) << "most of it through a mapping";
}

}  // namespace
}  // namespace iez::trace
