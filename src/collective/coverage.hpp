// Which bytes of a window have been filled: a bit for every granule. Several processes mark at the same time.
//
// Thread safety: mark() and the bits are atomic; each_run() and clear() want nobody to mark.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

namespace iez::collective {

class Coverage {
 public:
  Coverage(std::span<std::atomic<std::uint64_t>> words, std::int64_t granule)
      : words_(words),
        granule_(static_cast<std::uint64_t>(granule)),
        shift_(std::has_single_bit(granule_) ? std::countr_zero(granule_) : -1) {}

  // Bytes [begin, end) of the window. REQUIRES: both are multiples of the granule.
  void mark(std::int64_t begin, std::int64_t end) const {
    const std::uint64_t first = index_of(begin);
    const std::uint64_t last = index_of(end);  // exclusive
    if (first >= last) return;
    const std::uint64_t word = first / 64;
    const std::uint64_t last_word = (last - 1) / 64;
    const std::uint64_t head = ~std::uint64_t{0} << (first % 64);
    const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (last - 1) % 64);
    if (word == last_word) {
      words_[word].fetch_or(head & tail, std::memory_order_relaxed);
      return;
    }
    words_[word].fetch_or(head, std::memory_order_relaxed);
    for (std::uint64_t at = word + 1; at < last_word; ++at) words_[at].store(~std::uint64_t{0}, std::memory_order_relaxed);
    words_[last_word].fetch_or(tail, std::memory_order_relaxed);
  }

  // Calls take(begin, end) for the marked runs of bytes within [begin, end) of the window, in order. REQUIRES: as for mark().
  template <typename Take>
  void each_run(std::int64_t begin, std::int64_t end, Take take) const {
    const std::uint64_t limit = index_of(end);
    std::uint64_t at = next(index_of(begin), limit, true);
    while (at < limit) {
      const std::uint64_t stop = next(at, limit, false);
      take(static_cast<std::int64_t>(at * granule_), static_cast<std::int64_t>(stop * granule_));
      at = next(stop, limit, true);
    }
  }

  // All of the first `bytes` bytes of the window.
  void clear(std::int64_t bytes) const {
    const std::uint64_t used = std::min<std::uint64_t>(index_of(bytes) / 64 + 1, words_.size());
    for (std::uint64_t at = 0; at < used; ++at) words_[at].store(0, std::memory_order_relaxed);
  }

 private:
  std::uint64_t index_of(std::int64_t byte) const {
    return shift_ >= 0 ? static_cast<std::uint64_t>(byte) >> shift_ : static_cast<std::uint64_t>(byte) / granule_;
  }

  // The first index from `at` on whose bit is `set`, or limit.
  std::uint64_t next(std::uint64_t at, std::uint64_t limit, bool set) const {
    while (at < limit) {
      std::uint64_t bits = words_[at / 64].load(std::memory_order_relaxed);
      if (!set) bits = ~bits;
      bits &= ~std::uint64_t{0} << (at % 64);
      if (bits != 0) return std::min(at / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)), limit);
      at = (at / 64 + 1) * 64;
    }
    return limit;
  }

  std::span<std::atomic<std::uint64_t>> words_;
  std::uint64_t granule_;
  int shift_;
};

}  // namespace iez::collective
