#include "telemetry/cbor.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace iez::telemetry {

namespace {

constexpr unsigned kUnsigned = 0;
constexpr unsigned kNegative = 1;
constexpr unsigned kByteString = 2;
constexpr unsigned kText = 3;
constexpr unsigned kArray = 4;
constexpr unsigned kMap = 5;
constexpr unsigned kTag = 6;
constexpr unsigned kSimple = 7;

constexpr unsigned kFalse = 20;
constexpr unsigned kTrue = 21;
constexpr unsigned kOneByte = 24;  // of the value, behind the head; 25: two, 26: four, 27: eight
constexpr unsigned kHalf = 25;
constexpr unsigned kFloat = 26;
constexpr unsigned kDouble = 27;

double half_value(std::uint64_t bits) {
  const auto exponent = static_cast<int>((bits >> 10U) & 0x1fU);
  const auto mantissa = static_cast<double>(bits & 0x3ffU);
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else if (exponent != 31) {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  } else {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

}  // namespace

// ---- Writer ----

void CborWriter::big_endian(std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void CborWriter::head(unsigned major, std::uint64_t value) {
  const unsigned high = major << 5U;
  if (value < kOneByte) {
    bytes_.push_back(static_cast<std::byte>(high | value));
    return;
  }
  unsigned power = 0;  // the value takes 2^power bytes
  while (power < 3 && value >> (8U << power) != 0) ++power;
  bytes_.push_back(static_cast<std::byte>(high | (kOneByte + power)));
  big_endian(value, 1U << power);
}

void CborWriter::integer(std::int64_t value) {
  if (value >= 0) {
    head(kUnsigned, static_cast<std::uint64_t>(value));
  } else {
    head(kNegative, ~static_cast<std::uint64_t>(value));
  }
}

void CborWriter::text(std::string_view value) {
  head(kText, value.size());
  for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
}

void CborWriter::boolean(bool value) { head(kSimple, value ? kTrue : kFalse); }

void CborWriter::real(double value) {
  const auto small = static_cast<float>(value);
  const unsigned high = kSimple << 5U;
  if (static_cast<double>(small) == value) {
    bytes_.push_back(static_cast<std::byte>(high | kFloat));
    big_endian(std::bit_cast<std::uint32_t>(small), 4);
  } else {
    bytes_.push_back(static_cast<std::byte>(high | kDouble));
    big_endian(std::bit_cast<std::uint64_t>(value), 8);
  }
}

// ---- Reader ----

std::optional<CborReader::Head> CborReader::head() {
  if (!good_ || at_ == end_) {
    good_ = false;
    return std::nullopt;
  }
  const auto first = static_cast<unsigned>(*at_++);
  Head head{.major = first >> 5U, .info = first & 0x1fU};
  if (head.info < kOneByte) {
    head.value = head.info;
    return head;
  }
  if (head.info > kDouble) {  // reserved, or of indefinite length
    good_ = false;
    return std::nullopt;
  }
  const std::size_t bytes = std::size_t{1} << (head.info - kOneByte);
  if (left() < bytes) {
    good_ = false;
    return std::nullopt;
  }
  for (std::size_t i = 0; i < bytes; ++i) head.value = (head.value << 8U) | static_cast<std::uint64_t>(*at_++);
  return head;
}

std::uint64_t CborReader::expect(unsigned major) {
  const auto found = head();
  if (!found) return 0;
  if (found->major != major) good_ = false;
  return good_ ? found->value : 0;
}

std::uint64_t CborReader::number() { return expect(kUnsigned); }

std::int64_t CborReader::integer() {
  const auto found = head();
  if (!found) return 0;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (found->major > kNegative || found->value > kMost) {
    good_ = false;
    return 0;
  }
  const auto value = static_cast<std::int64_t>(found->value);
  return found->major == kUnsigned ? value : -1 - value;
}

std::uint64_t CborReader::counted(unsigned major, std::uint64_t bytes_each) {
  const std::uint64_t count = expect(major);
  if (count > left() / bytes_each) good_ = false;
  return good_ ? count : 0;
}

std::string_view CborReader::text() {
  const std::uint64_t size = counted(kText, 1);
  const std::string_view value(reinterpret_cast<const char*>(at_), size);
  at_ += size;
  return value;
}

std::uint64_t CborReader::array() { return counted(kArray, 1); }

std::uint64_t CborReader::map() { return counted(kMap, 2); }

bool CborReader::boolean() {
  const auto found = head();
  if (!found) return false;
  if (found->major != kSimple || (found->info != kTrue && found->info != kFalse)) good_ = false;
  return good_ && found->info == kTrue;
}

double CborReader::real() {
  const auto found = head();
  if (!found) return 0;
  double value = 0;
  if (found->major == kUnsigned) {
    value = static_cast<double>(found->value);
  } else if (found->major == kSimple && found->info == kHalf) {
    value = half_value(found->value);
  } else if (found->major == kSimple && found->info == kFloat) {
    value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(found->value)));
  } else if (found->major == kSimple && found->info == kDouble) {
    value = std::bit_cast<double>(found->value);
  } else {
    good_ = false;
  }
  if (!std::isfinite(value)) good_ = false;
  return good_ ? value : 0;
}

void CborReader::skip() {
  // Values still to be passed over, on each level. No recursion: the bytes decide the depth.
  std::array<std::uint64_t, kDepth> open{};
  std::size_t depth = 0;
  open[0] = 1;
  while (true) {
    while (open[depth] == 0) {
      if (depth == 0) return;
      --depth;
    }
    --open[depth];
    const auto found = head();
    if (!found) return;
    std::uint64_t inner = 0;
    switch (found->major) {
      case kByteString:
      case kText:
        if (found->value > left()) return stop();
        at_ += found->value;
        break;
      case kArray:
        if (found->value > left()) return stop();
        inner = found->value;
        break;
      case kMap:
        if (found->value > left() / 2) return stop();
        inner = 2 * found->value;
        break;
      case kTag:
        inner = 1;
        break;
      default:
        break;
    }
    if (inner == 0) continue;
    if (depth + 1 == kDepth) return stop();
    open[++depth] = inner;
  }
}

}  // namespace iez::telemetry
