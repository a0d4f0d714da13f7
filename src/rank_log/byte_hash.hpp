// A checksum of 64 bits over bytes that come in pieces, for records and data of logs: it finds torn and swapped bytes, and is no
// defence against somebody who wants the same sum.
//
// Four lanes take 8 bytes each in turn: exclusive or, rotate, multiply, fold. The multiplications of the lanes overlap, so that
// it runs at the speed of memory. The value depends on the bytes alone, not on how they were cut. Freestanding.
//
// Thread safety: none; a plain value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iez::rank_log {

class ByteHash {
 public:
  explicit ByteHash(std::uint64_t seed = 0) {
    for (std::uint64_t& lane : lanes_) lane ^= seed;
  }

  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    total_ += size;
    if (waiting_ > 0) {
      const std::size_t room = kBlock - waiting_;
      const std::size_t taken = size < room ? size : room;
      std::memcpy(block_ + waiting_, bytes, taken);
      waiting_ += taken;
      bytes += taken;
      size -= taken;
      if (waiting_ < kBlock) return;
      mix(block_, 1);
      waiting_ = 0;
    }
    const std::size_t blocks = size / kBlock;
    mix(bytes, blocks);
    waiting_ = size - blocks * kBlock;
    if (waiting_ > 0) std::memcpy(block_, bytes + blocks * kBlock, waiting_);
  }

  std::uint64_t value() const {
    ByteHash last = *this;
    if (waiting_ > 0) {
      std::memset(last.block_ + waiting_, 0, kBlock - waiting_);
      last.mix(last.block_, 1);
    }
    std::uint64_t sum = total_ * kFactor;
    for (const std::uint64_t lane : last.lanes_) sum = std::rotl(sum ^ lane, 29) * kFactor;
    sum ^= sum >> 32U;
    sum *= kFactor;
    return sum ^ (sum >> 29U);
  }

 private:
  static constexpr std::size_t kBlock = 32;
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;

  void mix(const unsigned char* bytes, std::size_t blocks) {
    std::uint64_t a = lanes_[0];
    std::uint64_t b = lanes_[1];
    std::uint64_t c = lanes_[2];
    std::uint64_t d = lanes_[3];
    for (std::size_t i = 0; i < blocks; ++i, bytes += kBlock) {
      a = step(a, word(bytes));
      b = step(b, word(bytes + 8));
      c = step(c, word(bytes + 16));
      d = step(d, word(bytes + 24));
    }
    lanes_[0] = a;
    lanes_[1] = b;
    lanes_[2] = c;
    lanes_[3] = d;
  }

  // The shift brings the highest bit down, which a multiplication leaves where it is: without it one flipped bit could take back
  // what another did.
  static std::uint64_t step(std::uint64_t lane, std::uint64_t word) {
    lane = std::rotl(lane ^ word, 31) * kFactor;
    return lane ^ (lane >> 32U);
  }

  static std::uint64_t word(const unsigned char* bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }

  std::uint64_t lanes_[4] = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  std::uint64_t total_ = 0;
  std::size_t waiting_ = 0;
  unsigned char block_[kBlock];  // its first waiting_ bytes
};

}  // namespace iez::rank_log
