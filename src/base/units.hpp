// Units as types: sizes, rates, durations and target indices never cross a module boundary as bare integers.
//
// Parsing accepts what people write: "64KiB", "64k", "1.5 GB", "40MB/s", "250ms", "2 min". KiB, MiB, ... are powers of 1024;
// kB, MB, ... are powers of 1000; a bare K, M, G, T, P, E is a power of 1024, as it is for `lfs`. Letters may be of either case.
// A fraction is rounded to the nearest whole unit; what does not fit is an error, never a wrapped number.
//
// Printing is for people: three significant digits and decimal units, "1.61 GB" as "40.0 MB/s". What Lustre counts in powers of
// two is printed so by base/binary_size.hpp. Anything a program reads is printed as a plain integer.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez {

// Stays at the largest number instead of wrapping: a sum of hostile counters must not look small.
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > ~std::uint64_t{0} - b ? ~std::uint64_t{0} : a + b;
}

// Sums saturate.
struct Bytes {
  std::uint64_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {saturating_add(a.count, b.count)}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }  // REQUIRES: a >= b
  constexpr Bytes& operator+=(Bytes other) {
    count = saturating_add(count, other.count);
    return *this;
  }
  static constexpr Bytes kib(std::uint64_t n) { return {n << 10U}; }
  static constexpr Bytes mib(std::uint64_t n) { return {n << 20U}; }
  static constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }
};

struct BytesPerSecond {
  double value = 0;

  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};

using Duration = std::chrono::nanoseconds;

// The number of an OST in its file system: 3 for lustre-OST0003.
struct OstIndex {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(OstIndex, OstIndex) = default;
};

[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] Result<BytesPerSecond> parse_rate(std::string_view text);
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

std::string to_string(Bytes size);           // "0 B", "999 B", "65.5 kB", "1.61 GB"
std::string to_string(BytesPerSecond rate);  // "40.0 MB/s"
std::string to_string(Duration duration);    // "250 ms", "1.50 s", "2 min 5 s"

// rate = bytes / time; zero when no time has passed.
BytesPerSecond rate_of(Bytes size, Duration elapsed);

}  // namespace iez

template <>
struct std::hash<iez::OstIndex> {
  std::size_t operator()(iez::OstIndex index) const noexcept { return std::hash<std::uint32_t>{}(index.value); }
};
