#include "telemetry/cbor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/rng.hpp"

namespace iez::telemetry {
namespace {

nlohmann::json peer(const std::vector<std::byte>& bytes) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return nlohmann::json::from_cbor(first, first + bytes.size());
}

// What a library of others reads and writes is what we write and read.
TEST(Cbor, AgreesWithAnotherImplementation) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t number = rng.bits() >> rng.below(64);
    const auto integer = static_cast<std::int64_t>(rng.bits()) >> rng.below(63);
    const double real = std::ldexp(rng.unit() - 0.5, static_cast<int>(rng.below(100)) - 50);
    const std::string text(rng.below(300), 'x');
    CborWriter out;
    out.array(6);
    out.number(number), out.integer(integer), out.real(real), out.text(text), out.boolean(round % 2 == 0), out.real(0.5);
    const auto bytes = out.take();
    const nlohmann::json expected{number, integer, real, text, round % 2 == 0, 0.5};
    EXPECT_EQ(peer(bytes), expected);
    const auto theirs = nlohmann::json::to_cbor(expected);
    for (const auto& one : {std::span(bytes), std::as_bytes(std::span(theirs))}) {
      CborReader in(one);
      EXPECT_EQ(in.array(), 6U);
      EXPECT_EQ(in.number(), number);
      EXPECT_EQ(in.integer(), integer);
      EXPECT_EQ(in.real(), real);
      EXPECT_EQ(in.text(), text);
      EXPECT_EQ(in.boolean(), round % 2 == 0);
      EXPECT_EQ(in.real(), 0.5);
      EXPECT_TRUE(in.good() && in.done());
      CborReader skipping(one);
      skipping.skip();
      EXPECT_TRUE(skipping.good() && skipping.done());
    }
  }
}

bool skips(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> all;
  for (const unsigned byte : bytes) all.push_back(static_cast<std::byte>(byte));
  CborReader in(all);
  in.skip();
  return in.good() && in.done();
}

TEST(Cbor, LengthsAreBelievedOnlyIfTheBytesAreThere) {
  EXPECT_FALSE(skips({0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));  // an array of 2^63 - 1
  EXPECT_FALSE(skips({0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));  // a map: twice as many would wrap
  EXPECT_FALSE(skips({0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  EXPECT_FALSE(skips({0x61}));
  EXPECT_FALSE(skips({0x9f, 0xff}));  // of indefinite length
  EXPECT_FALSE(skips({0x1c}));        // reserved
  EXPECT_FALSE(skips({}));
  EXPECT_TRUE(skips({0xc1, 0x1a, 0, 0, 0, 1}));  // tagged
  EXPECT_TRUE(skips({0xf6}));                    // null
  EXPECT_TRUE(skips({0x42, 1, 2}));              // bytes
}

TEST(Cbor, DepthIsBounded) {
  for (const unsigned open : {0x81U, 0xc1U}) {
    std::vector<std::byte> deep(CborReader::kDepth - 1, static_cast<std::byte>(open));
    deep.push_back(std::byte{0});
    CborReader fits(deep);
    fits.skip();
    EXPECT_TRUE(fits.good());
    deep.insert(deep.begin(), static_cast<std::byte>(open));
    CborReader too_deep(deep);
    too_deep.skip();
    EXPECT_FALSE(too_deep.good());
  }
}

TEST(Cbor, HalfFloatsAndWhatIsNoNumber) {
  const auto real = [](std::initializer_list<unsigned> bytes) {
    std::vector<std::byte> all;
    for (const unsigned byte : bytes) all.push_back(static_cast<std::byte>(byte));
    CborReader in(all);
    const double value = in.real();
    return in.good() ? value : std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_EQ(real({0xf9, 0x3c, 0x00}), 1.0);
  EXPECT_EQ(real({0xf9, 0xc4, 0x00}), -4.0);
  EXPECT_EQ(real({0xf9, 0x00, 0x01}), 5.960464477539063e-8);
  EXPECT_TRUE(std::isnan(real({0xf9, 0x7c, 0x00})));  // infinite
  EXPECT_TRUE(std::isnan(real({0xfa, 0x7f, 0xc0, 0, 0})));
}

TEST(Cbor, AfterTheFirstMistakeEverythingIsEmpty) {
  CborWriter out;
  out.text("a"), out.number(5);
  const auto bytes = out.take();
  CborReader in(bytes);
  EXPECT_EQ(in.number(), 0U);
  EXPECT_FALSE(in.good());
  EXPECT_EQ(in.number(), 0U);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.map(), 0U);
}

}  // namespace
}  // namespace iez::telemetry
