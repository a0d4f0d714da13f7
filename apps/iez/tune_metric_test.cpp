#include "tune_metric.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

constexpr double kMib = 1 << 20;

TEST(FindRate, KnownOutput) {
  struct Case {
    const char* output;
    double rate;
  };
  for (const Case& one : {
           Case{"Max Write: 1018.27 MiB/sec (1067.73 MB/sec)\nMax Read:  2000.00 MiB/sec (2097.15 MB/sec)\n", 1018.27 * kMib},
           Case{
               "access    bw(MiB/s)  block(KiB)\n------\nwrite     512.5      4096.00    1024.00\nread      900.0      4096.00\n",
               512.5 * kMib},
           Case{"write     512.5      4096.00\nMax Write: 600 MiB/sec\n", 600 * kMib},
           Case{"1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s", 2.1e6},
           Case{"bandwidth: 12.5\n", 12.5e6},
           Case{"Bandwidth = 3 GiB/s\n", 3 * 1024 * kMib},
           Case{"wrote at 100 MB/s\nwrote at 200 MB/s\n", 200e6},
           Case{"rate 1.5e3 kB/s", 1.5e6},
       }) {
    SCOPED_TRACE(one.output);
    const auto found = find_rate(one.output);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->value, one.rate, one.rate * 1e-9);
    EXPECT_EQ(found->unit, MetricUnit::bytes_per_second);
  }
}

TEST(FindRate, NothingToFind) {
  for (const char* const output : {"", "done\n", "wrote 100 MB", "writes 12 x\n", "... MB/s"})
    EXPECT_FALSE(find_rate(output)) << output;
}

TEST(FindRate, LongLinesAreCut) {
  const std::string far = std::string(MetricPattern::kMaxLine, 'x') + " 5 MB/s\n";
  EXPECT_FALSE(find_rate(far));
  EXPECT_TRUE(find_rate(far + "6 MB/s\n"));
}

TEST(MetricPattern, RefusesWhatIsNone) {
  EXPECT_NE(MetricPattern::make("(").error().message.find("expected a POSIX extended regular expression"), std::string::npos);
  EXPECT_NE(MetricPattern::make("speed").error().message.find("without a group"), std::string::npos);
}

TEST(FindMetric, NumbersAndRates) {
  const auto pattern = MetricPattern::make("^result: (.*)$");
  ASSERT_TRUE(pattern);
  const auto plain = find_metric(*pattern, "result: 1\nresult: 2.5\nother\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->value, 2.5);
  EXPECT_EQ(plain->unit, MetricUnit::plain);
  const auto rate = find_metric(*pattern, "result: 2 GB/s");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->value, 2e9);
  EXPECT_EQ(rate->unit, MetricUnit::bytes_per_second);
  EXPECT_EQ(find_metric(*pattern, "x\n").error().message, "no line of its output matches --metric");
  EXPECT_EQ(find_metric(*pattern, "result: fast\n").error().message,
            "--metric found 'fast' in its output; expected a number of 0 or more, or a rate");
  EXPECT_FALSE(find_metric(*pattern, "result: -1\n"));
  EXPECT_FALSE(find_metric(*pattern, "result: nan\n"));
}

TEST(Measured, Text) {
  EXPECT_EQ(to_string(Measured{.value = 2e9, .unit = MetricUnit::bytes_per_second}), "2.00 GB/s");
  EXPECT_EQ(to_string(Measured{.value = 1.2345, .unit = MetricUnit::seconds}), "1.23 s");
  EXPECT_EQ(to_string(Measured{.value = 42, .unit = MetricUnit::plain}), "42");
}

}  // namespace
}  // namespace iez::cli
