#include "contention/stripe_size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "model/layout.hpp"

namespace iez::contention {
namespace {

using testing::HasSubstr;

// 1,024 ranks, 16 a node, 100 segments of blocks of 4 MiB.
WritePattern source_run() {
  return {
      .file_size = Bytes::mib(409'600), .writers = 1024, .ranks_per_node = 16, .transfer = Bytes::mib(1), .block = Bytes::mib(4)};
}

TEST(StripeSize, OfTheSourceIsOneNodesBlocks) {
  const StripeSize size = choose_stripe_size(source_run(), 160, Bytes::mib(1));
  EXPECT_EQ(size.size, Bytes::mib(64));
  EXPECT_THAT(size.reason, HasSubstr("64.0 MiB that the ranks of a node write side by side"));
  // The source's 128 MB is a multiple of it: both end where a node's bytes end.
  EXPECT_EQ(Bytes::mib(128).count % size.size.count, 0U);
}

TEST(StripeSize, FewWritersGetSmallStripes) {
  WritePattern pattern = source_run();
  pattern.writers = 4;
  pattern.block = Bytes::gib(100);
  const StripeSize size = choose_stripe_size(pattern, 160, Bytes::mib(4));
  EXPECT_EQ(size.size, Bytes{Bytes::gib(100).count >> 14U});  // 6.25 MiB: 100 GiB, halved while above one RPC
  EXPECT_THAT(size.reason, HasSubstr("4 writers must keep 160 OSTs busy"));
  pattern.block = Bytes{1000};
  EXPECT_EQ(choose_stripe_size(pattern, 160, Bytes::mib(4)).size, Bytes::mib(4));
}

TEST(StripeSize, ShrinksSoThatNoObjectStaysEmpty) {
  WritePattern pattern = source_run();
  pattern.file_size = Bytes::mib(4096);  // one segment: 160 stripes of 64 MiB would fill 64 objects
  const StripeSize size = choose_stripe_size(pattern, 160, Bytes::mib(1));
  EXPECT_EQ(size.size, Bytes::mib(24));  // whole blocks of 4 MiB below 25.6 MiB
  EXPECT_THAT(size.reason, HasSubstr("each of 160 objects gets its part of 4.29 GB"));
}

TEST(StripeSize, UnknownOrOddBlocks) {
  WritePattern pattern = source_run();
  pattern.block.reset();
  pattern.transfer = Bytes{5'000'000};
  EXPECT_EQ(choose_stripe_size(pattern, 160, Bytes::mib(1)).size, Bytes{77 * 65536});  // one transfer, rounded up to 64 KiB
  EXPECT_EQ(choose_stripe_size(pattern, 160, Bytes::mib(16)).size, Bytes::mib(16));    // one RPC
  pattern.block = Bytes{47'008};  // a well-known odd record: 16 ranks of it are no multiple of 64 KiB
  const StripeSize odd = choose_stripe_size(pattern, 16, Bytes::mib(1));
  EXPECT_EQ(odd.size.count % 65536, 0U);
  EXPECT_EQ(odd.size.count % 47'008, 0U);
  EXPECT_THAT(odd.reason, HasSubstr("whole blocks"));
}

TEST(StripeSize, HugeBlocks) {
  WritePattern pattern = source_run();
  pattern.file_size = Bytes::gib(1 << 20);
  pattern.block = Bytes::gib(1);  // 16 GiB a node: too much; a rank's gigabyte it is
  EXPECT_EQ(choose_stripe_size(pattern, 160, Bytes::mib(1)).size, Bytes::gib(1));
  pattern.block = Bytes::gib(64);
  const StripeSize part = choose_stripe_size(pattern, 160, Bytes::mib(1));
  EXPECT_EQ(part.size, Bytes::gib(2));
  EXPECT_THAT(part.reason, HasSubstr("an even part"));
  pattern.block = Bytes{~std::uint64_t{0}};
  EXPECT_EQ(choose_stripe_size(pattern, 160, Bytes::mib(1)).size, Bytes::mib(1));
}

TEST(StripeSize, OfOneObject) {
  const StripeSize size = choose_stripe_size({.file_size = Bytes{10}}, 1, Bytes::mib(4));
  EXPECT_EQ(size.size, Bytes::mib(4));
  EXPECT_THAT(size.reason, HasSubstr("does not matter"));
}

TEST(UsefulStripes, AtLeastOneRpcEach) {
  EXPECT_EQ(useful_stripes(Bytes::mib(10), Bytes::mib(4), 160), 2U);
  EXPECT_EQ(useful_stripes(Bytes{1}, Bytes::mib(4), 160), 1U);
  EXPECT_EQ(useful_stripes(Bytes::gib(10), Bytes::mib(4), 160), 160U);
  EXPECT_EQ(useful_stripes(Bytes{1}, Bytes{0}, 0), 1U);
}

TEST(StripeSize, AlwaysWhatLustreTakesAndNoObjectEmpty) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto some = [&](unsigned bits) { return Bytes{rng.bits() >> (64 - rng.between(1, bits))}; };
    WritePattern pattern{.file_size = some(50), .writers = rng.between(1, 5000), .ranks_per_node = rng.between(1, 128)};
    pattern.transfer = Bytes{some(34).count + 1};
    if (rng.chance(0.8)) pattern.block = Bytes{some(40).count + 1};
    if (rng.chance(0.5) && pattern.block) pattern.block = Bytes{(pattern.block->count / 65536 + 1) * 65536};
    const Bytes rpc = Bytes::mib(rng.between(1, 16));
    const std::uint32_t stripes = 1 + static_cast<std::uint32_t>(rng.below(useful_stripes(pattern.file_size, rpc, 2000)));
    const StripeSize size = choose_stripe_size(pattern, stripes, rpc);
    EXPECT_EQ(size.size.count % 65536, 0U);
    EXPECT_GE(size.size, rpc);
    EXPECT_LE(size.size, model::kMaxStripeSize);
    if (stripes > 1) {
      EXPECT_GE(pattern.file_size.count / size.size.count, stripes);
    }
    EXPECT_FALSE(size.reason.empty());
  }
}

}  // namespace
}  // namespace iez::contention
