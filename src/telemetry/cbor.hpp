// The part of CBOR (RFC 8949) that samples need: unsigned and negative numbers, texts, byte strings, arrays, maps, floats, true,
// false and null, all of definite length. Anything else of definite length can be passed over.
//
// Why not a general parser: it builds a tree of whatever it is sent before anyone can look at the sizes. Here the caller walks
// the bytes, and nothing is allocated by the reader. bench/loop_agent.cpp compares the cost.
//
// Thread safety: none; a reader and a writer each belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace iez::telemetry {

class CborWriter {
 public:
  void number(std::uint64_t value) { head(0, value); }
  void integer(std::int64_t value);
  void text(std::string_view value);
  void array(std::uint64_t items) { head(4, items); }
  void map(std::uint64_t pairs) { head(5, pairs); }
  void boolean(bool value);
  void real(double value);  // as a float of four bytes where that loses nothing

  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void head(unsigned major, std::uint64_t value);
  void big_endian(std::uint64_t value, unsigned bytes);

  std::vector<std::byte> bytes_;
};

// Stops for good at the first thing that is not as asked for: good() is false from then on, and every value is empty.
class CborReader {
 public:
  // The bytes must outlive the reader and the texts it gives.
  explicit CborReader(std::span<const std::byte> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool good() const { return good_; }
  bool done() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  std::uint64_t number();
  std::int64_t integer();
  std::string_view text();
  bool boolean();
  double real();  // also of a whole number; finite

  // The count of items (pairs) that follow. More than there are bytes for is refused at once.
  std::uint64_t array();
  std::uint64_t map();

  // One value with all that is in it. Not deeper than kDepth.
  void skip();
  static constexpr unsigned kDepth = 16;

  void stop() { good_ = false; }  // the caller does not like what it got

 private:
  struct Head {
    unsigned major = 0;
    unsigned info = 0;
    std::uint64_t value = 0;
  };
  std::optional<Head> head();
  std::uint64_t expect(unsigned major);
  std::uint64_t counted(unsigned major, std::uint64_t bytes_each);

  const std::byte* at_;
  const std::byte* end_;
  bool good_ = true;
};

}  // namespace iez::telemetry
