#include "lustre/host_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <fmt/format.h>

#include "input/stream_test_support.hpp"
#include "lustre/parser_test_support.hpp"

namespace iez::lustre {
namespace {

using testing::HasSubstr;

constexpr std::string_view kStat =
    "cpu  7233 10 4954 196185 831 3 80 2447 100 5\n"
    "cpu0 2462 5 2076 99980 85 1 9 1340 50 2\n"
    "cpu1 4770 5 2878 96205 745 2 71 1106 50 3\n"
    "intr 1483921 0 9 0 0 0\n"
    "ctxt 2864311\n"
    "btime 1794728000\n"
    "processes 13583\n";

constexpr std::string_view kMemory =
    "MemTotal:       24682416 kB\n"
    "MemFree:        24116020 kB\n"
    "MemAvailable:   24255464 kB\n"
    "Buffers:            7508 kB\n"
    "Cached:           315112 kB\n"
    "SwapCached:            0 kB\n"
    "HugePages_Total:       0\n";

TEST(HostLoad, ProcessorTimes) {
  input::ParseReport report;
  const auto load = parse_text(parse_cpu, kStat, &report);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->cores, 2U);
  EXPECT_EQ(load->times.total, 7233U + 10 + 4954 + 196185 + 831 + 3 + 80 + 2447);  // guests are in user and nice already
  EXPECT_EQ(load->times.busy, 7233U + 10 + 4954 + 3 + 80 + 2447);                  // iowait is idle
  EXPECT_EQ(report.rows, 1U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(HostLoad, ProcessorTimesOfAnOldKernel) {
  const auto load = parse_text(parse_cpu, "cpu 1 2 3 4\n");
  ASSERT_TRUE(load);
  EXPECT_EQ(*load, (CpuLoad{.times = {.busy = 6, .total = 10}, .cores = 0}));
}

TEST(HostLoad, BusyShare) {
  EXPECT_DOUBLE_EQ(busy_share({.busy = 100, .total = 1000}, {.busy = 130, .total = 1100}), 0.3);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 100, .total = 1000}, {.busy = 100, .total = 1100}), 0);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 100, .total = 1000}, {.busy = 200, .total = 1100}), 1);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 1, .total = 4}), 0.25);
  EXPECT_DOUBLE_EQ(busy_share(CpuTimes{}), 0);
}

TEST(HostLoad, BusyShareOfCountersThatGoBack) {
  const CpuTimes before{.busy = 900, .total = 1000};
  EXPECT_DOUBLE_EQ(busy_share(before, {.busy = 10, .total = 100}), 0.1);    // rebooted
  EXPECT_DOUBLE_EQ(busy_share(before, {.busy = 200, .total = 2000}), 0.1);  // rebooted, and longer ago than the boot before
  EXPECT_DOUBLE_EQ(busy_share(before, {.busy = 910, .total = 1005}), 1);    // some waiting for I/O was taken back
  EXPECT_DOUBLE_EQ(busy_share(before, before), 0.9);                        // no tick between
}

TEST(HostLoad, BusyShareOfExtremes) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_DOUBLE_EQ(busy_share({.busy = 0, .total = 0}, {.busy = kMax, .total = kMax}), 1);
  EXPECT_DOUBLE_EQ(busy_share({.busy = kMax, .total = kMax}, {.busy = 0, .total = 0}), 0);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 5, .total = 1}), 1);
}

TEST(HostLoad, MalformedProcessorTimes) {
  for (const std::string_view text :
       {"cpu 1 2 3\n", "cpu\n", "cpu 1 2 3 -4\n", "cpu 1 2 3 x\n", "cpu 1 2 3 18446744073709551616\n",
        "cpu 18446744073709551615 1 0 0\n", "cpu 1 2 3 4 5.5\n", "cpu 1 2 3 4"}) {
    input::ParseReport report;
    const auto load = parse_text(parse_cpu, text, &report);
    ASSERT_FALSE(load) << text;
    EXPECT_EQ(load.error().code, Errc::parse);
    EXPECT_THAT(load.error().message, HasSubstr("the/file: expected a line 'cpu "));
    EXPECT_EQ(report.skipped, 1U) << text;
  }
}

TEST(HostLoad, TheFirstUsableLineOfTimesCounts) {
  input::ParseReport report;
  const auto load = parse_text(parse_cpu, "cpu x\ncpu 1 2 3 4\ncpu 5 6 7 8\ncpufreq 1\ncpu-1 2\n", &report);
  ASSERT_TRUE(load);
  EXPECT_EQ(*load, (CpuLoad{.times = {.busy = 6, .total = 10}, .cores = 0}));
  EXPECT_EQ(report.skipped, 1U);
}

TEST(HostLoad, Memory) {
  input::ParseReport report;
  const auto memory = parse_text(parse_memory, kMemory, &report);
  ASSERT_TRUE(memory);
  EXPECT_EQ(*memory, (MemoryLoad{.total = Bytes::kib(24682416), .available = Bytes::kib(24255464)}));
  EXPECT_NEAR(used_share(*memory), 426952.0 / 24682416, 1e-12);
  EXPECT_EQ(report.rows, 5U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(HostLoad, MemoryOfAnOldKernel) {
  const auto memory = parse_text(parse_memory, "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\nCached: 30 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->available, Bytes::kib(150));
  EXPECT_DOUBLE_EQ(used_share(*memory), 0.85);
}

TEST(HostLoad, MemoryOfNoSizeOrMoreThanAllAvailable) {
  EXPECT_DOUBLE_EQ(used_share({}), 0);
  EXPECT_DOUBLE_EQ(used_share({.total = Bytes{1}, .available = Bytes{2}}), 0);
  EXPECT_DOUBLE_EQ(used_share({.total = Bytes{2}, .available = Bytes{0}}), 1);
}

TEST(HostLoad, MalformedMemory) {
  for (const std::string_view text : {"MemTotal: 1000 kB\n", "MemFree: 1000 kB\n", "MemTotal: 1000\nMemFree: 1 kB\n",
                                      "MemTotal: -1 kB\nMemFree: 1 kB\n", "MemTotal: 1000 MB\nMemFree: 1 kB\n",
                                      "MemTotal: 18446744073709551615 kB\nMemFree: 1 kB\n", "MemTotal: 1 kB\nMemFree: 1 k"}) {
    const auto memory = parse_text(parse_memory, text);
    ASSERT_FALSE(memory) << text;
    EXPECT_EQ(memory.error().code, Errc::parse);
    EXPECT_THAT(memory.error().message, HasSubstr("the/file: expected 'MemTotal:'"));
  }
}

TEST(HostLoad, AMalformedOrRepeatedLineOfMemoryIsSkipped) {
  input::ParseReport report;
  const auto memory =
      parse_text(parse_memory, "MemTotal: 9 kB\nMemTotal: 7 kB\nMemAvailable: many kB\nMemFree: 4 kB\nCached: 1 kB\n", &report);
  ASSERT_TRUE(memory);
  EXPECT_EQ(*memory, (MemoryLoad{.total = Bytes::kib(9), .available = Bytes::kib(5)}));
  EXPECT_EQ(report.skipped, 2U);
}

TEST(HostLoad, LoadAverages) {
  EXPECT_EQ(parse_text(parse_load_average, "0.39 0.18 0.09 2/86 13583\n").value(), (LoadAverage{0.39, 0.18, 0.09}));
  EXPECT_EQ(parse_text(parse_load_average, "1024.00 3 0.5\n").value(), (LoadAverage{1024, 3, 0.5}));
}

TEST(HostLoad, MalformedLoadAverages) {
  for (const std::string_view text : {"", "\n", "0.39 0.18\n", "0.39 0.18 -0.09 2/86 1\n", "0.39 0.18 nan 2/86 1\n", "inf 0 0\n",
                                      "1e5 0 0\n", "0.1.2 0 0\n", ".5 0 0\n", "0.39 0.18 0.0", "a b c\n"}) {
    const auto load = parse_text(parse_load_average, text);
    ASSERT_FALSE(load) << text;
    EXPECT_EQ(load.error().code, Errc::parse);
    EXPECT_THAT(load.error().message, HasSubstr("the/file: expected three load averages"));
  }
  EXPECT_FALSE(parse_text(parse_load_average, std::string(400, '9') + " 0 0\n"));  // not finite
}

TEST(HostLoad, TextCutAtAnyByteInventsNothing) {
  const CpuLoad cpu = parse_text(parse_cpu, kStat).value();
  for (std::size_t length = 0; length < kStat.size(); ++length) {
    const auto front = parse_text(parse_cpu, kStat.substr(0, length));
    if (!front) continue;
    EXPECT_EQ(front->times, cpu.times) << length;
    EXPECT_LE(front->cores, cpu.cores) << length;
  }
  const MemoryLoad memory = parse_text(parse_memory, kMemory).value();
  for (std::size_t length = 0; length < kMemory.size(); ++length) {
    const auto front = parse_text(parse_memory, kMemory.substr(0, length));
    if (!front) continue;
    EXPECT_EQ(front->total, memory.total) << length;
    EXPECT_LE(front->available, memory.available) << length;  // without MemAvailable, an estimate from what is there
  }
  constexpr std::string_view kAverages = "0.39 0.18 0.09 2/86 13583\n";
  for (std::size_t length = 0; length < kAverages.size(); ++length) {
    const auto front = parse_text(parse_load_average, kAverages.substr(0, length));
    if (!front) continue;
    EXPECT_EQ(*front, (LoadAverage{0.39, 0.18, 0.09})) << length;
  }
}

TEST(HostLoad, ErrorsOfTheStreamArePassedOn) {
  input::ParseReport report;
  input::BrokenStream stat(kStat);
  EXPECT_EQ(parse_cpu(stat, "the/file", report).error().message, "the device is gone");
  input::BrokenStream memory(kMemory);
  EXPECT_EQ(parse_memory(memory, "the/file", report).error().message, "the device is gone");
  input::BrokenStream averages("0.39");
  EXPECT_EQ(parse_load_average(averages, "the/file", report).error().message, "the device is gone");
}

TEST(HostLoad, LinesWithoutEndAndNulBytes) {
  for (const char byte : {'a', '\0', '1'}) {
    for (const auto bytes : {std::size_t{1'000'000}, std::size_t{10'000'000}}) {
      input::ParseReport report;
      input::EndlessStream stat(byte, bytes);
      EXPECT_FALSE(parse_cpu(stat, "the/file", report));
      input::EndlessStream memory(byte, bytes);
      EXPECT_FALSE(parse_memory(memory, "the/file", report));
      input::EndlessStream averages(byte, bytes);
      EXPECT_FALSE(parse_load_average(averages, "the/file", report));
    }
  }
  // The line of interrupts of a large machine may be very long; it is not ours.
  const auto load = parse_text(parse_cpu, fmt::format("cpu 1 2 3 4\nintr {}\ncpu0 1 2 3 4\n", std::string(1'000'000, '0')));
  ASSERT_TRUE(load);
  EXPECT_EQ(load->cores, 1U);
  EXPECT_FALSE(parse_text(parse_cpu, std::string_view("cpu 1\0 2 3 4\n", 13)));
}

}  // namespace
}  // namespace iez::lustre
