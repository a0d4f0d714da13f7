#include "placement/stripe_size.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.hpp"
#include "model/layout.hpp"

namespace iez::placement {
namespace {

constexpr Bytes kHacc{803'405'824};  // of one rank

// The largest object by dealing out stripe after stripe.
Bytes dealt(Bytes bytes, Bytes stripe_size, std::uint32_t count) {
  std::uint64_t most = 0;
  for (std::uint32_t object = 0; object < count; ++object) {
    std::uint64_t size = 0;
    for (std::uint64_t start = object * stripe_size.count; start < bytes.count; start += count * stripe_size.count) {
      size += std::min(stripe_size.count, bytes.count - start);
    }
    most = std::max(most, size);
  }
  return {most};
}

TEST(StripeCount, OfFilesForWhichNobodyAsked) {
  EXPECT_EQ(usual_stripe_count(Bytes::mib(1), false), 1U);
  EXPECT_EQ(usual_stripe_count(Bytes::mib(64), false), 1U);
  EXPECT_EQ(usual_stripe_count(Bytes::mib(64), true), 2U);
  EXPECT_EQ(usual_stripe_count(Bytes::mib(512), false), 2U);
  EXPECT_EQ(usual_stripe_count(Bytes::gib(1), true), 2U);
  EXPECT_EQ(usual_stripe_count(Bytes::gib(2), false), 4U);
}

TEST(PublishedMethods, GrowthOfTheSampleFile) {
  EXPECT_EQ(method_two(kHacc, 8), Bytes{767 * 131'072});
  EXPECT_EQ(Bytes{8 * method_two(kHacc, 8).count - kHacc.count}, Bytes::kib(832));
  const UnequalStripes one = method_one(kHacc, 8);
  EXPECT_EQ(one.first, Bytes{875 * 131'072});
  EXPECT_EQ(Bytes{7 * one.first.count + one.last.count - kHacc.count}, Bytes::kib(64));
}

TEST(PublishedMethods, HoldTheFileInEvenMultiples) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Bytes bytes{rng.between(1, std::uint64_t{1} << rng.between(1, 45))};
    const auto count = static_cast<std::uint32_t>(rng.between(2, 2000));
    const Bytes two = method_two(bytes, count);
    EXPECT_EQ(two.count % Bytes::kib(128).count, 0U);
    EXPECT_GE(two.count * count, bytes.count);
    EXPECT_LT((two.count - Bytes::kib(128).count) * count, bytes.count);
    const UnequalStripes one = method_one(bytes, count);
    const std::uint64_t grown = one.first.count * (count - 1) + one.last.count;
    EXPECT_EQ(one.first.count % Bytes::kib(128).count, 0U);
    EXPECT_EQ(one.last.count % Bytes::kib(128).count, 0U);
    EXPECT_GE(grown, bytes.count);
    EXPECT_LT(grown - bytes.count, Bytes::kib(128).count);
  }
}

TEST(LargestObject, ByHand) {
  EXPECT_EQ(largest_object({1}, Bytes::mib(1), 4), Bytes{1});
  EXPECT_EQ(largest_object(Bytes::mib(4), Bytes::mib(1), 4), Bytes::mib(1));
  EXPECT_EQ(largest_object(Bytes::mib(4) + Bytes{1}, Bytes::mib(1), 4), Bytes::mib(1) + Bytes{1});
  EXPECT_EQ(largest_object(Bytes::mib(5) + Bytes{1}, Bytes::mib(1), 4), Bytes::mib(2));
  EXPECT_EQ(largest_object(Bytes::mib(7), Bytes::mib(1), 4), Bytes::mib(2));
}

TEST(LargestObject, IsThatOfDealingStripes) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Bytes bytes{rng.between(1, 5000)};
    const Bytes size{rng.between(1, 200)};
    const auto count = static_cast<std::uint32_t>(rng.between(1, 20));
    EXPECT_EQ(largest_object(bytes, size, count), dealt(bytes, size, count));
  }
}

TEST(ChooseStripes, ByHand) {
  // 1 GiB over 8: 128 MiB each, in rounds of 4 MiB.
  Stripes stripes = choose_stripes(Bytes::gib(1), 8);
  EXPECT_EQ(stripes.size, Bytes::mib(4));
  EXPECT_EQ(stripes.count, 8U);
  EXPECT_EQ(stripes.object_bytes, Bytes::mib(128));
  // Sixteen processes that read a MiB each, one after another in the file, keep all eight busy.
  stripes = choose_stripes(Bytes::gib(1), 8, true);
  EXPECT_EQ(stripes.size, Bytes::mib(1));
  EXPECT_EQ(stripes.object_bytes, Bytes::mib(128));
  stripes = choose_stripes({1}, 8);
  EXPECT_EQ(stripes.size, Bytes::kib(64));
  EXPECT_EQ(stripes.count, 1U);
  EXPECT_EQ(stripes.object_bytes, Bytes{1});
  stripes = choose_stripes(Bytes::kib(200), 8);
  EXPECT_EQ(stripes.count, 4U) << "64 KiB each but for the last";
  stripes = choose_stripes(Bytes::gib(std::uint64_t{1} << 32U), 2000);
  EXPECT_EQ(stripes.count, 2000U);
  EXPECT_LE(stripes.size, Bytes::mib(8));
}

TEST(ChooseStripes, LargeFilesStayBelowLustresLimit) {
  // bytes / count would be 64 GiB.
  EXPECT_LE(choose_stripes(Bytes::gib(64), 1).size, Bytes::mib(8));
}

TEST(ChooseStripes, NoObjectStaysEmptyThatCouldHaveAStripe) {
  // Fills 5 of 8 by bytes / count in even multiples of 64 KiB; stripes of 64 KiB fill all 8.
  const Bytes bytes = Bytes::mib(1) + Bytes{1};
  EXPECT_EQ(choose_stripes(bytes, 8).count, 8U);
  EXPECT_EQ(choose_stripes(bytes, 8).object_bytes, Bytes::kib(128) + Bytes{1});
}

TEST(ChooseStripes, Properties) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Bytes bytes{rng.between(1, std::uint64_t{1} << rng.between(1, 50))};
    const auto count = static_cast<std::uint32_t>(rng.between(1, rng.chance(0.5) ? 16 : 2000));
    SCOPED_TRACE(std::to_string(bytes.count) + " bytes over " + std::to_string(count));
    const Stripes stripes = choose_stripes(bytes, count);
    EXPECT_GT(stripes.size.count, 0U);
    EXPECT_EQ(stripes.size.count % model::kStripeAlignment.count, 0U);
    EXPECT_LE(stripes.size, Bytes::mib(8));
    ASSERT_GE(stripes.count, 1U);
    EXPECT_LE(stripes.count, count);
    EXPECT_EQ(stripes.object_bytes, largest_object(bytes, stripes.size, stripes.count));
    EXPECT_GE(stripes.object_bytes.count * stripes.count, bytes.count);
    EXPECT_LT((stripes.count - 1) * stripes.size.count, bytes.count) << "an object is empty";
    if (bytes.count >= std::uint64_t{count} * Bytes::kib(64).count) {
      EXPECT_EQ(stripes.count, count) << "64 KiB for each object, and yet fewer";
    }
    if (bytes.count >= std::uint64_t{count} * Bytes::mib(1).count) {
      EXPECT_GE(stripes.size, Bytes::mib(1));
      for (std::uint64_t mib = 1; mib <= 8; ++mib) {
        if (Bytes::mib(mib).count * count > bytes.count) break;
        EXPECT_LE(stripes.object_bytes, largest_object(bytes, Bytes::mib(mib), count)) << mib << " MiB is better";
      }
    }
    if (HasFailure()) return;
  }
}

TEST(FixedStripes, TakesWhatLustreTakes) {
  auto stripes = fixed_stripes(Bytes::mib(10), 4, Bytes::mib(4));
  ASSERT_TRUE(stripes);
  EXPECT_EQ(stripes->size, Bytes::mib(4));
  EXPECT_EQ(stripes->count, 3U) << "10 MiB are 3 stripes";
  EXPECT_EQ(stripes->object_bytes, Bytes::mib(4));
  EXPECT_TRUE(fixed_stripes(Bytes::mib(10), 4, model::kMaxStripeSize));
  for (const Bytes bad : {Bytes{}, Bytes{1}, Bytes{65'537}, Bytes::gib(4)}) {
    const auto refused = fixed_stripes(Bytes::mib(10), 4, bad);
    ASSERT_FALSE(refused) << bad.count;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_EQ(refused.error().message,
              "stripe size " + std::to_string(bad.count) + ": Lustre takes multiples of 64 KiB below 4 GiB");
  }
}

}  // namespace
}  // namespace iez::placement
