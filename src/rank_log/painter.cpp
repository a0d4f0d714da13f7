#include "rank_log/painter.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace iez::rank_log {

// ---- Coverage ---------------------------------------------------------------------------------------------------------------

bool Coverage::reset(std::size_t bytes) {
  if (!words_.assign_zeros((bytes + 63) / 64)) return false;
  bytes_ = bytes;
  return true;
}

template <typename Change>
void Coverage::change(std::size_t begin, std::size_t end, Change change) {
  if (begin >= end) return;
  const std::size_t first = begin / 64;
  const std::size_t last = (end - 1) / 64;
  const std::uint64_t front = ~std::uint64_t{0} << (begin % 64);
  const std::uint64_t back = ~std::uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    change(words_[first], front & back);
    return;
  }
  change(words_[first], front);
  for (std::size_t i = first + 1; i < last; ++i) change(words_[i], ~std::uint64_t{0});
  change(words_[last], back);
}

void Coverage::set(std::size_t begin, std::size_t end) {
  change(begin, end, [](std::uint64_t& word, std::uint64_t bits) { word |= bits; });
}

void Coverage::clear(std::size_t begin, std::size_t end) {
  change(begin, end, [](std::uint64_t& word, std::uint64_t bits) { word &= ~bits; });
}

std::size_t Coverage::next(std::size_t from, bool painted) const {
  if (from >= bytes_) return bytes_;
  const auto bits_of = [&](std::size_t i) { return painted ? words_[i] : ~words_[i]; };
  std::size_t i = from / 64;
  std::uint64_t bits = bits_of(i) & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++i == words_.size()) return bytes_;
    bits = bits_of(i);
  }
  return std::min(bytes_, i * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
}

// ---- Painting ---------------------------------------------------------------------------------------------------------------

Problem Painter::paint(const LogIndex& index, std::uint64_t begin, std::size_t size, unsigned char* buffer, Coverage* coverage,
                       std::uint64_t& bytes) {
  const std::uint64_t end = begin + size;
  const Problem no_memory{.error = ENOMEM, .place = Place::folder, .action = Action::allocate, .offset = begin};
  hits_.clear();
  bool enough = true;
  index.visit(begin, end, [&](const Entry& entry) { enough = enough && hits_.add({&entry}); });
  if (!enough) return no_memory;
  std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) { return before(*a.entry, *b.entry); });
  for (const Hit& hit : hits_) {
    const Entry& entry = *hit.entry;
    if (entry.is_size()) {
      const std::size_t from = static_cast<std::size_t>(std::max(entry.pattern.offset, begin) - begin);
      std::memset(buffer + from, 0, size - from);
      if (coverage != nullptr) coverage->clear(from, size);
    } else if (const Problem problem = paint_write(entry, begin, size, buffer, coverage, bytes)) {
      return problem;
    }
  }
  return {};
}

Problem Painter::paint_write(const Entry& entry, std::uint64_t begin, std::size_t size, unsigned char* buffer, Coverage* coverage,
                             std::uint64_t& bytes) {
  const Pattern& pattern = entry.pattern;
  const Part part = part_of(pattern, begin, begin + size);
  if (part.size == 0) return {};
  bytes += part.size;
  const std::uint64_t log_offset = entry.log_offset + part.data;
  const auto total = static_cast<std::size_t>(part.size);
  auto at = static_cast<std::size_t>(pattern.offset + part.first * (pattern.count > 1 ? pattern.stride : 0) + part.skip - begin);
  if (part.first == part.last) {
    if (coverage != nullptr) coverage->set(at, at + total);
    return data_.read(entry.rank(), log_offset, buffer + at, total);
  }
  unsigned char* const from = scratch(total);
  if (from == nullptr) return {.error = ENOMEM, .place = Place::folder, .action = Action::allocate, .offset = begin};
  if (const Problem problem = data_.read(entry.rank(), log_offset, from, total)) return problem;
  const auto gap = static_cast<std::size_t>(pattern.stride - pattern.block);
  std::size_t done = 0;
  auto length = static_cast<std::size_t>(pattern.block - part.skip);
  while (done < total) {
    std::memcpy(buffer + at, from + done, length);
    if (coverage != nullptr) coverage->set(at, at + length);
    done += length;
    at += length + gap;
    length = static_cast<std::size_t>(std::min<std::uint64_t>(pattern.block, total - done));
  }
  return {};
}

}  // namespace iez::rank_log
