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
      : lists_(kBuckets), nodes_(members), fine_(kBuckets / 64), middle_(kBuckets / 4096) {}

  static std::uint32_t bucket_of(double utilisation) {
    const double scaled = utilisation * kBuckets;
    if (!(scaled > 0)) return 0;
    return scaled < kBuckets ? static_cast<std::uint32_t>(scaled) : kBuckets - 1;
  }

  bool contains(std::uint32_t member) const { return nodes_[member].bucket != kNone; }

  // The lowest bucket that is not empty; kNone if there is none.
  std::uint32_t first_bucket() const {
    if (coarse_ == 0) return kNone;
    const auto high = static_cast<std::uint32_t>(std::countr_zero(coarse_));
    const auto middle = high * 64 + static_cast<std::uint32_t>(std::countr_zero(middle_[high]));
    return middle * 64 + static_cast<std::uint32_t>(std::countr_zero(fine_[middle]));
  }

  // The member that came first into the bucket. REQUIRES: the bucket is not empty.
  std::uint32_t first_of(std::uint32_t bucket) const { return lists_[bucket].head; }

  // The member that came first into the lowest bucket; kNone if there is none.
  std::uint32_t first() const {
    const std::uint32_t bucket = first_bucket();
    return bucket == kNone ? kNone : first_of(bucket);
  }

  // Last into its bucket. REQUIRES: not contained.
  void push(std::uint32_t member, std::uint32_t bucket) {
    List& list = lists_[bucket];
    nodes_[member] = {.next = kNone, .previous = list.tail, .bucket = bucket};
    if (list.tail == kNone) {
      list.head = member;
      fine_[bucket / 64] |= bit(bucket);
      middle_[bucket / 4096] |= bit(bucket / 64);
      coarse_ |= bit(bucket / 4096);
    } else {
      nodes_[list.tail].next = member;
    }
    list.tail = member;
  }

  // Removes the member that came first into the bucket. REQUIRES: the bucket is not empty.
  void pop_first_of(std::uint32_t bucket) {
    List& list = lists_[bucket];
    Node& node = nodes_[list.head];
    list.head = node.next;
    node.bucket = kNone;
    if (list.head == kNone) {
      list.tail = kNone;
      clear(bucket);
    } else {
      nodes_[list.head].previous = kNone;
    }
  }

  // REQUIRES: contained.
  void remove(std::uint32_t member) {
    Node& node = nodes_[member];
    const std::uint32_t bucket = node.bucket;
    List& list = lists_[bucket];
    (node.previous == kNone ? list.head : nodes_[node.previous].next) = node.next;
    (node.next == kNone ? list.tail : nodes_[node.next].previous) = node.previous;
    node.bucket = kNone;
    if (list.head == kNone) clear(bucket);
  }

 private:
  struct Node {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t bucket = kNone;  // kNone: not contained
  };

  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };

  static std::uint64_t bit(std::uint32_t index) { return std::uint64_t{1} << (index % 64); }

  // The bucket became empty.
  void clear(std::uint32_t bucket) {
    fine_[bucket / 64] &= ~bit(bucket);
    if (fine_[bucket / 64] != 0) return;
    middle_[bucket / 4096] &= ~bit(bucket / 64);
    if (middle_[bucket / 4096] == 0) coarse_ &= ~bit(bucket / 4096);
  }

  std::vector<List> lists_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> fine_;    // a bit per bucket that is not empty
  std::vector<std::uint64_t> middle_;  // a bit per word of fine_
  std::uint64_t coarse_ = 0;           // a bit per word of middle_
};

}  // namespace iez::placement
