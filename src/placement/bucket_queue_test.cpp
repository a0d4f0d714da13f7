#include "placement/bucket_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.hpp"

namespace iez::placement {
namespace {

TEST(BucketQueue, BucketsOfUtilisations) {
  EXPECT_EQ(BucketQueue::bucket_of(0), 0U);
  EXPECT_EQ(BucketQueue::bucket_of(-1), 0U);
  EXPECT_EQ(BucketQueue::bucket_of(0.5), BucketQueue::kBuckets / 2);
  EXPECT_EQ(BucketQueue::bucket_of(0.9999999), BucketQueue::kBuckets - 1);
  EXPECT_EQ(BucketQueue::bucket_of(1), BucketQueue::kBuckets - 1);
  EXPECT_EQ(BucketQueue::bucket_of(1e300), BucketQueue::kBuckets - 1);
  EXPECT_EQ(BucketQueue::bucket_of(std::numeric_limits<double>::quiet_NaN()), 0U);
}

TEST(BucketQueue, EmptyAndAgain) {
  BucketQueue queue(2);
  EXPECT_EQ(queue.first(), BucketQueue::kNone);
  queue.push(1, BucketQueue::kBuckets - 1);
  EXPECT_EQ(queue.first(), 1U);
  EXPECT_TRUE(queue.contains(1));
  EXPECT_FALSE(queue.contains(0));
  queue.remove(1);
  EXPECT_EQ(queue.first(), BucketQueue::kNone);
  EXPECT_FALSE(queue.contains(1));
}

TEST(BucketQueue, FirstComeFirstServedWithinABucket) {
  BucketQueue queue(4);
  for (const std::uint32_t member : {2U, 0U, 3U}) queue.push(member, 70'000);
  queue.push(1, 70'001);
  EXPECT_EQ(queue.first(), 2U);
  queue.remove(0);
  queue.remove(2);
  EXPECT_EQ(queue.first(), 3U);
  queue.push(2, 70'000);
  EXPECT_EQ(queue.first(), 3U);
  queue.remove(3);
  queue.remove(2);
  EXPECT_EQ(queue.first(), 1U);
}

TEST(BucketQueue, AgreesWithAnOrderedSet) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto members = static_cast<std::uint32_t>(rng.between(1, 200));
    BucketQueue queue(members);
    using Entry = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;  // bucket, arrival, member
    std::set<Entry> model;
    std::vector<Entry> entry(members);
    std::vector<bool> inside(members);
    // Few buckets, so that lists grow, or the ends of words, or anywhere.
    const std::uint64_t kind = rng.below(3);
    const auto draw = [&] {
      if (kind == 0) return static_cast<std::uint32_t>(rng.below(5));
      if (kind == 1) return static_cast<std::uint32_t>((rng.below(BucketQueue::kBuckets / 4096) * 4096 + rng.below(2) * 4095));
      return static_cast<std::uint32_t>(rng.below(BucketQueue::kBuckets));
    };
    for (std::uint64_t step = 0; step < 2000; ++step) {
      const auto member = static_cast<std::uint32_t>(rng.below(members));
      ASSERT_EQ(queue.contains(member), inside[member]);
      if (inside[member]) {
        queue.remove(member);
        model.erase(entry[member]);
      } else {
        entry[member] = {draw(), step, member};
        queue.push(member, std::get<0>(entry[member]));
        model.insert(entry[member]);
      }
      inside[member] = !inside[member];
      ASSERT_EQ(queue.first(), model.empty() ? BucketQueue::kNone : std::get<2>(*model.begin())) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace iez::placement
