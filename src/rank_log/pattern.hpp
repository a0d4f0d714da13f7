// Where bytes lie in a file: blocks of one length, one distance apart. A million pieces are four numbers.
//
// Thread safety: pure functions. Freestanding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rank_log/log_format.hpp"

namespace iez::rank_log {

struct Pattern {
  std::uint64_t offset = 0;
  std::uint64_t block = 0;
  std::uint64_t stride = 0;  // from one block to the next; of no meaning if count is 1
  std::uint64_t count = 1;

  friend bool operator==(const Pattern&, const Pattern&) = default;
};

inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// Block and count are not 0, blocks do not overlap, and all of it, in the file and as a length, fits below kMaxOffset.
inline bool is_sound(const Pattern& p) {
  if (p.block == 0 || p.count == 0 || (p.count > 1 && p.stride < p.block)) return false;
  std::uint64_t last = 0;
  std::uint64_t bytes = 0;
  if (p.count > 1 && __builtin_mul_overflow(p.count - 1, p.stride, &last)) return false;
  if (__builtin_mul_overflow(p.count, p.block, &bytes) || bytes > kMaxOffset) return false;
  return p.offset <= kMaxOffset && last <= kMaxOffset - p.offset && p.block <= kMaxOffset - p.offset - last;
}

// Those below REQUIRE a sound pattern.
inline std::uint64_t bytes_of(const Pattern& p) { return p.count * p.block; }
inline std::uint64_t end_of(const Pattern& p) { return p.offset + (p.count > 1 ? (p.count - 1) * p.stride : 0) + p.block; }
inline bool is_contiguous(const Pattern& p) { return p.count == 1 || p.stride == p.block; }

// The first byte of the pattern that is not before `from`; kNowhere behind its end.
inline std::uint64_t next_byte(const Pattern& p, std::uint64_t from) {
  if (from <= p.offset) return p.offset;
  const std::uint64_t distance = from - p.offset;
  if (p.count == 1) return distance < p.block ? from : kNowhere;
  const std::uint64_t i = distance / p.stride;
  if (i >= p.count) return kNowhere;
  if (distance - i * p.stride < p.block) return from;
  return i + 1 < p.count ? p.offset + (i + 1) * p.stride : kNowhere;
}

// The part of a pattern within [begin, end): blocks first to last, the first one without its `skip` front bytes. In the data they
// are `size` bytes in a row, `data` bytes behind its start. Size 0: none.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t skip = 0;
  std::uint64_t data = 0;
  std::uint64_t size = 0;
};

inline Part part_of(const Pattern& p, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t at = next_byte(p, begin);
  if (at == kNowhere || at >= end) return {};
  Part part;
  part.first = p.count > 1 ? (at - p.offset) / p.stride : 0;
  const std::uint64_t first_start = p.offset + part.first * (p.count > 1 ? p.stride : 0);
  part.skip = at - first_start;
  part.last = p.count > 1 ? std::min((end - 1 - p.offset) / p.stride, p.count - 1) : 0;
  const std::uint64_t last_start = p.offset + part.last * (p.count > 1 ? p.stride : 0);
  const std::uint64_t last_size = std::min(p.block, end - last_start);
  part.data = part.first * p.block + part.skip;
  part.size = part.last * p.block + last_size - part.data;
  return part;
}

inline Pattern pattern_of(const Record& record) {
  return {.offset = record.offset, .block = record.block, .stride = record.stride, .count = record.count};
}

// Makes `a` stand for both, in order, if one pattern can; the data of `b` follows that of `a`.
inline bool join(Pattern& a, const Pattern& b) {
  if (a.count == 1 && b.count == 1 && a.offset + a.block == b.offset) {
    a.block += b.block;
    return true;
  }
  if (a.block != b.block || b.offset < a.offset) return false;
  if (a.count > 1) {
    if (b.offset - a.offset != a.count * a.stride || (b.count > 1 && b.stride != a.stride)) return false;
    a.count += b.count;
    return true;
  }
  const std::uint64_t distance = b.offset - a.offset;
  if (distance < a.block || (b.count > 1 && distance != b.stride)) return false;
  a.stride = distance;
  a.count += b.count;
  return true;
}

}  // namespace iez::rank_log
