#include "forecast/name_fields.hpp"

#include <gtest/gtest.h>

namespace iez::forecast {
namespace {

std::string written(const Field& field, std::int64_t value) {
  std::string out;
  write_field(field, {.number = value}, out);
  return out;
}

// The number read if the whole text is taken; -1 if not.
std::int64_t number_in(const Field& field, std::string_view text) {
  const auto read = read_field(field, text);
  return read && read->length == text.size() ? read->value.number : -1;
}

TEST(NameFields, PaddedNumbersFollowPrintf) {
  const Field padded{.width = 4};
  EXPECT_EQ(written(padded, 7), "0007");
  EXPECT_EQ(written(padded, 12345), "12345");
  EXPECT_EQ(number_in(padded, "0007"), 7);
  EXPECT_EQ(number_in(padded, "12345"), 12345);
  EXPECT_EQ(number_in(padded, "007"), -1);
  EXPECT_EQ(number_in(padded, "00012"), -1);
  const Field plain;
  EXPECT_EQ(number_in(plain, "0"), 0);
  EXPECT_EQ(number_in(plain, "10"), 10);
  EXPECT_EQ(number_in(plain, "01"), -1);
  EXPECT_EQ(number_in(plain, "9223372036854775807"), 9'223'372'036'854'775'807);
  EXPECT_EQ(number_in(plain, "9223372036854775808"), -1);
  EXPECT_FALSE(read_field(plain, ""));
  EXPECT_FALSE(read_field(plain, "x"));
}

TEST(NameFields, FractionsDropZeros) {
  const Field shortest{.kind = FieldKind::fraction, .decimals = 3};
  EXPECT_EQ(written(shortest, 50), "0.05");
  EXPECT_EQ(written(shortest, 10'000), "10");
  EXPECT_EQ(number_in(shortest, "0.05"), 50);
  EXPECT_EQ(number_in(shortest, "10"), 10'000);
  EXPECT_EQ(number_in(shortest, "0.050"), -1);
  EXPECT_EQ(number_in(shortest, "0.0005"), -1);
  EXPECT_EQ(number_in(shortest, "00.5"), -1);
  const Field fixed{.kind = FieldKind::fraction, .decimals = 2, .min_decimals = 2};
  EXPECT_EQ(written(fixed, 150), "1.50");
  EXPECT_EQ(number_in(fixed, "1.50"), 150);
  EXPECT_EQ(number_in(fixed, "1.5"), -1);
}

TEST(NameFields, Dates) {
  const auto format = recognise_date("2024-01-01_00:00:00");
  ASSERT_TRUE(format);
  EXPECT_EQ(*format, (DateFormat{'-', '_', ':', 6}));
  const Field field{.kind = FieldKind::date_time, .date = *format};
  EXPECT_EQ(number_in(field, "2024-01-01_00:00:00"), 1'704'067'200);
  EXPECT_EQ(written(field, 1'709'164'799), "2024-02-28_23:59:59");
  EXPECT_EQ(number_in(field, "2024-02-30_00:00:00"), -1);
  EXPECT_EQ(number_in(field, "2024-02-03_24:00:00"), -1);
  EXPECT_EQ(recognise_date("20240101T1200.nc"), (DateFormat{0, 'T', 0, 5}));
  EXPECT_EQ(recognise_date("2024-01-01"), (DateFormat{'-', 0, 0, 3}));
  EXPECT_EQ(recognise_date("20240101120000"), (DateFormat{0, 0, 0, 6}));
  EXPECT_FALSE(recognise_date("20241301"));
  EXPECT_FALSE(recognise_date("00000003"));
  EXPECT_FALSE(recognise_date("202401011"));
}

TEST(NameFields, SeriesGoOn) {
  EXPECT_EQ(make_series({0, 100, 200}, false).at(5), 500);
  EXPECT_EQ(make_series({7}, false).at(3), 7);
  const Series irregular = make_series({1, 2, 3, 10}, false);
  EXPECT_EQ(irregular.at(3), 10);
  EXPECT_EQ(irregular.at(5), 12) << "the median stride goes on";
  const std::int64_t january = 1'704'067'200;  // 2024
  const Series months = make_series({january, january + 31 * 86'400, january + 60 * 86'400}, true);
  EXPECT_TRUE(months.months);
  EXPECT_EQ(months.at(12), january + 366 * 86'400);
  EXPECT_GT(make_series({0, 1LL << 62}, false).at(100), 0) << "clamped, not wrapped";
}

TEST(NameFields, WordsByShape) {
  const Field uuid{.kind = FieldKind::word, .shape = WordShape::uuid};
  EXPECT_EQ(read_field(uuid, "550e8400-e29b-41d4-a716-446655440000.bin")->length, 36U);
  EXPECT_FALSE(read_field(uuid, "550e8400-e29b-41d4-a716-4466554400000"));
  const Field six{.kind = FieldKind::word, .shape = WordShape::alnum, .min_length = 6, .max_length = 6};
  EXPECT_EQ(read_field(six, "aB3dE9.tmp")->value.text, "aB3dE9");
  EXPECT_FALSE(read_field(six, "aB3dE9x"));
  EXPECT_EQ(read_field({.kind = FieldKind::word, .shape = WordShape::component}, "my run-3/x")->value.text, "my run-3");
}

}  // namespace
}  // namespace iez::forecast
