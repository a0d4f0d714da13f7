#include "lustre/stats.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::lustre {
namespace {

struct Parsed {
  StatsTimes times;
  std::map<std::string, CounterRow> rows;  // views inside are not used after parsing
  input::ParseReport report;
};

Parsed parse(std::string_view text) {
  Parsed parsed;
  const auto stream = input::memory_stream(text);
  const auto times = parse_stats(*stream, "stats", parsed.report, [&](const CounterRow& row) {
    CounterRow copy = row;
    copy.name = copy.unit = {};
    EXPECT_TRUE(parsed.rows.emplace(std::string(row.name), copy).second);
  });
  EXPECT_TRUE(times);
  parsed.times = *times;
  return parsed;
}

constexpr std::string_view kOst217 =
    "snapshot_time             1794728864.962408475 secs.nsecs\n"
    "start_time                1794728285.285550044 secs.nsecs\n"
    "elapsed_time              579.676858431 secs.nsecs\n"
    "read_bytes                3 samples [bytes] 2097152 4194304 8388608 26388279066624\n"
    "ioctl                     910 samples [reqs]\n";

TEST(Stats, ServerOf217) {
  const Parsed parsed = parse(kOst217);
  EXPECT_EQ(parsed.times.snapshot->time_since_epoch().count(), 1794728864962408475);
  EXPECT_EQ(parsed.times.elapsed->count(), 579676858431);
  const CounterRow& read = parsed.rows.at("read_bytes");
  EXPECT_EQ(read.samples, 3U);
  EXPECT_EQ(read.min, 2097152U);
  EXPECT_EQ(read.sum, 8388608U);
  EXPECT_EQ(read.sum_of_squares, 26388279066624U);
  EXPECT_FALSE(parsed.rows.at("ioctl").sum);
  EXPECT_EQ(parsed.report.rows, 2U);
  EXPECT_EQ(parsed.report.skipped, 0U);
}

TEST(Stats, ClientOf210HasNoSquares) {
  const Parsed parsed = parse(
      "snapshot_time 1510950459.772792457 secs.nsecs\nwrite_bytes 89467810 samples [bytes] 4096 1048576 93813797294080\nopen 136 "
      "samples [regs]\n");
  EXPECT_EQ(parsed.rows.at("write_bytes").sum, 93813797294080U);
  EXPECT_FALSE(parsed.rows.at("write_bytes").sum_of_squares);
  EXPECT_FALSE(parsed.times.start);
}

TEST(Stats, BadRowsAreSkippedAndNamed) {
  const Parsed parsed = parse(
      "good 1 samples [reqs]\nbad x samples [reqs]\nworse\nopen 3 sample [reqs]\nneg -1 samples [reqs]\nmany 1 samples [b] 1 2 3 "
      "4 5\nsnapshot_time never\n");
  EXPECT_EQ(parsed.report.rows, 1U);
  EXPECT_EQ(parsed.report.skipped, 6U);
  EXPECT_EQ(to_string(parsed.report.problems[0]), "stats line 2: 'bad x samples [reqs]': expected 'name N samples [unit] ...'");
  EXPECT_EQ(parsed.report.problems[5].line, 7U);
}

// The kernel ends every row with a newline: one without was cut, and its last number may be shorter than it was.
TEST(Stats, NoPrefixInventsANumber) {
  const Parsed whole = parse(kOst217);
  for (std::size_t length = 0; length < kOst217.size(); ++length) {
    const Parsed part = parse(kOst217.substr(0, length));
    for (const auto& [name, row] : part.rows) {
      ASSERT_EQ(row.samples, whole.rows.at(name).samples) << length;
      ASSERT_EQ(row.sum, whole.rows.at(name).sum) << length;
    }
    if (part.times.snapshot) {
      ASSERT_EQ(part.times.snapshot, whole.times.snapshot) << length;
    }
  }
}

TEST(Stats, HostileTextIsBounded) {
  std::string text(300'000, 'a');
  text += '\n';
  for (int i = 0; i < 1000; ++i) text += "junk\n";
  const Parsed parsed = parse(text);
  EXPECT_EQ(parsed.report.skipped, 1001U);
  EXPECT_EQ(parsed.report.problems.size(), input::ParseReport::kKept);
  EXPECT_LT(parsed.report.problems[1].message.size(), 200U);
}

}  // namespace
}  // namespace iez::lustre
