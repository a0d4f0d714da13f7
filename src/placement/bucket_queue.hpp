// Targets by utilisation, the least used first, in constant time.
//
// Utilisation 0 to 1 is cut into 2^18 buckets; a bucket is a list in order of arrival. Three levels of bit masks find the first
// bucket that is not empty in three steps. Targets whose utilisations differ by less than 4 millionths may share a bucket, and
// then take turns.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace iez::placement {

class BucketQueue {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kBuckets = 1U << 18U;

  // Holds members 0 .. members-1, none at first.
  explicit BucketQueue(std::uint32_t members)
      : heads_(kBuckets, kNone), tails_(kBuckets, kNone), nodes_(members), fine_(kBuckets / 64), middle_(kBuckets / 4096) {}

  static std::uint32_t bucket_of(double utilisation) {
    const double scaled = utilisation * kBuckets;
    if (!(scaled > 0)) return 0;
    return scaled < kBuckets ? static_cast<std::uint32_t>(scaled) : kBuckets - 1;
  }

  bool contains(std::uint32_t member) const { return nodes_[member].bucket != kNone; }

  // The member that came first into the lowest bucket; kNone if there is none.
  std::uint32_t first() const {
    if (coarse_ == 0) return kNone;
    const auto high = static_cast<std::uint32_t>(std::countr_zero(coarse_));
    const auto middle = high * 64 + static_cast<std::uint32_t>(std::countr_zero(middle_[high]));
    return heads_[middle * 64 + static_cast<std::uint32_t>(std::countr_zero(fine_[middle]))];
  }

  // Last into its bucket. REQUIRES: not contained.
  void push(std::uint32_t member, std::uint32_t bucket) {
    Node& node = nodes_[member];
    node = {.next = kNone, .previous = tails_[bucket], .bucket = bucket};
    if (node.previous == kNone) {
      heads_[bucket] = member;
      fine_[bucket / 64] |= bit(bucket);
      middle_[bucket / 4096] |= bit(bucket / 64);
      coarse_ |= bit(bucket / 4096);
    } else {
      nodes_[node.previous].next = member;
    }
    tails_[bucket] = member;
  }

  // REQUIRES: contained.
  void remove(std::uint32_t member) {
    Node& node = nodes_[member];
    const std::uint32_t bucket = node.bucket;
    (node.previous == kNone ? heads_[bucket] : nodes_[node.previous].next) = node.next;
    (node.next == kNone ? tails_[bucket] : nodes_[node.next].previous) = node.previous;
    node.bucket = kNone;
    if (heads_[bucket] != kNone) return;
    fine_[bucket / 64] &= ~bit(bucket);
    if (fine_[bucket / 64] != 0) return;
    middle_[bucket / 4096] &= ~bit(bucket / 64);
    if (middle_[bucket / 4096] == 0) coarse_ &= ~bit(bucket / 4096);
  }

 private:
  struct Node {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t bucket = kNone;  // kNone: not contained
  };

  static std::uint64_t bit(std::uint32_t index) { return std::uint64_t{1} << (index % 64); }

  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> tails_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> fine_;    // a bit per bucket that is not empty
  std::vector<std::uint64_t> middle_;  // a bit per word of fine_
  std::uint64_t coarse_ = 0;           // a bit per word of middle_
};

}  // namespace iez::placement
