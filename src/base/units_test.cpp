#include "base/units.hpp"

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "base/binary_size.hpp"
#include "base/rng.hpp"

namespace iez {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct SizeCase {
  std::string_view text;
  std::uint64_t bytes;

  friend std::ostream& operator<<(std::ostream& out, const SizeCase& size) { return out << '"' << size.text << '"'; }
};

class Sizes : public testing::TestWithParam<SizeCase> {};

TEST_P(Sizes, ParsesWhatPeopleWrite) {
  const auto size = parse_bytes(GetParam().text);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(size->count, GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Units, Sizes,
                         testing::Values(SizeCase{"0", 0}, SizeCase{"17", 17}, SizeCase{"17B", 17}, SizeCase{"64KiB", 65536},
                                         SizeCase{"64k", 65536}, SizeCase{"64 K", 65536}, SizeCase{"64kB", 64000},
                                         SizeCase{"1.5 GB", 1'500'000'000}, SizeCase{"1.5GiB", 1'610'612'736},
                                         SizeCase{" 4M ", 4'194'304}, SizeCase{"2 TiB", 2'199'023'255'552},
                                         SizeCase{"0.1KiB", 102}, SizeCase{"1.1KiB", 1126},
                                         SizeCase{"7 EiB", 8'070'450'532'247'928'832U},
                                         SizeCase{"9223372036854775807", 9'223'372'036'854'775'807U}, SizeCase{"12 bytes", 12},
                                         SizeCase{".5K", 512}, SizeCase{"0.00000000000000000000000001 PB", 0}));

TEST(Units, RefusesSizesThatAreNone) {
  for (const std::string_view text : {"", " ", "KiB", "1.2.3", "-1", "1e9", "64Kib/s", "64 Q", "0x10", "1 2", "4Mi B", "."}) {
    const auto size = parse_bytes(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().message.find(text), std::string::npos) << size.error().message;
    EXPECT_EQ(size.error().code, Errc::invalid_argument);
  }
}

TEST(Units, SaysWhenASizeDoesNotFit) {
  for (const std::string_view text : {"8 EiB", "9223372036854775808", "100000000000 TB"}) {
    const auto size = parse_bytes(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, Errc::limit);
  }
  EXPECT_FALSE(parse_bytes("99999999999999999999999999"));
}

TEST(Units, PrintsSizesInThreeDigits) {
  EXPECT_EQ(to_string(Bytes{0}), "0 B");
  EXPECT_EQ(to_string(Bytes{999}), "999 B");
  EXPECT_EQ(to_string(Bytes{1000}), "1.00 kB");
  EXPECT_EQ(to_string(Bytes::kib(64)), "65.5 kB");
  EXPECT_EQ(to_string(Bytes{1'610'612'736}), "1.61 GB");
  EXPECT_EQ(to_string(Bytes{999'999}), "1.00 MB");
  EXPECT_EQ(to_string(Bytes{999'499}), "999 kB");
  EXPECT_EQ(to_string(Bytes{std::numeric_limits<std::uint64_t>::max()}), "18.4 EB");
}

// A size and a rate have one system of units: what moves in a second at a rate looks like the rate.
TEST(Units, SizesAndRatesHaveTheSameUnits) {
  for (const std::uint64_t count : {0ULL, 999ULL, 1000ULL, 65'536ULL, 1'610'612'736ULL, 999'499'999ULL, 3'000'000'000'000ULL}) {
    EXPECT_EQ(to_string(Bytes{count}) + "/s", to_string(BytesPerSecond{static_cast<double>(count)}));
  }
}

TEST(Units, PrintsWhatLustreCountsInPowersOfTwo) {
  EXPECT_EQ(to_binary_string(Bytes{0}), "0 B");
  EXPECT_EQ(to_binary_string(Bytes{1023}), "1023 B");
  EXPECT_EQ(to_binary_string(Bytes{1024}), "1.00 KiB");
  EXPECT_EQ(to_binary_string(Bytes::kib(64)), "64.0 KiB");
  EXPECT_EQ(to_binary_string(Bytes{1'610'612'736}), "1.50 GiB");
  EXPECT_EQ(to_binary_string(Bytes{(1U << 20U) - 1}), "1.00 MiB");
  EXPECT_EQ(to_binary_string(Bytes{999 * 1024}), "999 KiB");
  EXPECT_EQ(to_binary_string(Bytes{std::numeric_limits<std::uint64_t>::max()}), "16.0 EiB");
}

// What is printed parses back to within the digits shown.
TEST(Units, PrintedSizesParseBack) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const Bytes size{rng.bits() >> rng.between(2, 60)};
    for (const std::string& printed : {to_string(size), to_binary_string(size)}) {
      const auto back = parse_bytes(printed);
      ASSERT_TRUE(back) << printed;
      EXPECT_NEAR(static_cast<double>(back->count), static_cast<double>(size.count),
                  static_cast<double>(size.count) * 0.005 + 0.5);
    }
  }
}

TEST(Units, Rates) {
  EXPECT_EQ(parse_rate("40MB/s")->value, 40e6);
  EXPECT_EQ(parse_rate("1.5 GiB / s")->value, 1.5 * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_rate("0/s")->value, 0);
  for (const std::string_view text : {"40MB", "40MB/h", "/s", "40/s/s", "MB/s", ""}) EXPECT_FALSE(parse_rate(text)) << text;
  EXPECT_EQ(to_string(BytesPerSecond{40e6}), "40.0 MB/s");
  EXPECT_EQ(to_string(BytesPerSecond{0}), "0 B/s");
  EXPECT_EQ(to_string(BytesPerSecond{999.6e3}), "1.00 MB/s");
  EXPECT_EQ(to_string(BytesPerSecond{1.5e12}), "1.50 TB/s");
}

TEST(Units, Durations) {
  EXPECT_EQ(*parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(*parse_duration("2"), seconds(2));
  EXPECT_EQ(*parse_duration("1.5 s"), milliseconds(1500));
  EXPECT_EQ(*parse_duration("5min"), seconds(300));
  EXPECT_EQ(*parse_duration("1h"), seconds(3600));
  EXPECT_EQ(*parse_duration("7d"), seconds(7 * 86'400));
  EXPECT_EQ(*parse_duration("0"), seconds(0));
  for (const std::string_view text : {"", "s", "-1s", "5 parsecs", "1 1s"}) EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Units, DurationsBeyondTheClockAreRefused) {
  const auto duration = parse_duration("300000d");
  ASSERT_FALSE(duration);
  EXPECT_EQ(duration.error().code, Errc::limit);
}

TEST(Units, PrintsDurations) {
  EXPECT_EQ(to_string(Duration{0}), "0 ns");
  EXPECT_EQ(to_string(Duration{250'000'000}), "250 ms");
  EXPECT_EQ(to_string(Duration{1'500'000'000}), "1.50 s");
  EXPECT_EQ(to_string(Duration{seconds(125)}), "2 min 5 s");
  EXPECT_EQ(to_string(Duration{seconds(3700)}), "1 h 1 min");
  EXPECT_EQ(to_string(Duration{seconds(90'000)}), "1 d 1 h");
  EXPECT_EQ(to_string(Duration{-1'500}), "-1.50 us");
  EXPECT_EQ(to_string(Duration::min()).front(), '-');
}

TEST(Units, RateOfNoTimeIsZero) {
  EXPECT_EQ(rate_of(Bytes{100}, Duration::zero()).value, 0);
  EXPECT_EQ(rate_of(Bytes{100}, Duration{-5}).value, 0);
  EXPECT_DOUBLE_EQ(rate_of(Bytes{100}, milliseconds(500)).value, 200);
}

}  // namespace
}  // namespace iez
