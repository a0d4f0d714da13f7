#include "input/line_reader.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::input {
namespace {

std::vector<std::string> lines_of(ByteStream& stream) {
  LineReader reader(stream);
  std::vector<std::string> lines;
  while (true) {
    auto line = reader.next();
    EXPECT_TRUE(line);
    if (!*line) return lines;
    lines.emplace_back((*line)->text);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  const auto stream = memory_stream(text);
  return lines_of(*stream);
}

// Delivers pieces of random size.
class Pieces final : public ByteStream {
 public:
  Pieces(std::string_view bytes, Rng rng, std::size_t most) : rest_(bytes), rng_(rng), most_(most) {}
  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::min({rest_.size(), buffer.size(), static_cast<std::size_t>(rng_.between(1, most_))});
    rest_.copy(buffer.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
  Rng rng_;
  std::size_t most_;
};

// Works for a while, then the target is gone.
class Failing final : public ByteStream {
 public:
  Result<std::size_t> read(std::span<char> buffer) override {
    if (done_) return fail_errno(ENODEV, "job_stats");
    done_ = true;
    buffer[0] = 'a';
    buffer[1] = '\n';
    return std::size_t{2};
  }

 private:
  bool done_ = false;
};

TEST(LineReader, SplitsAtNewlines) {
  EXPECT_EQ(lines_of("a\nbc\n\nd"), (std::vector<std::string>{"a", "bc", "", "d"}));
  EXPECT_EQ(lines_of(""), std::vector<std::string>{});
  EXPECT_EQ(lines_of("\n"), std::vector<std::string>{""});
  EXPECT_EQ(lines_of("dos\r\n"), std::vector<std::string>{"dos"});
}

TEST(LineReader, KnowsNumbersAndCutEnds) {
  const auto stream = memory_stream("one\ntwo");
  LineReader reader(*stream);
  const auto first = **reader.next();
  EXPECT_EQ(first.number, 1U);
  EXPECT_TRUE(first.ended);
  const auto second = **reader.next();
  EXPECT_EQ(second.number, 2U);
  EXPECT_FALSE(second.ended);
  EXPECT_EQ(reader.bytes(), 7U);
  EXPECT_FALSE(reader.next()->has_value());
  EXPECT_FALSE(reader.next()->has_value()) << "and stays at the end";
}

TEST(LineReader, CutsALineWithoutEnd) {
  for (const std::size_t length : {LineReader::kMaxLine + 1, 2 * LineReader::kMaxLine, 50 * LineReader::kMaxLine + 17}) {
    const std::string text = std::string(length, 'x') + "\nnext\n";
    const auto stream = memory_stream(text);
    LineReader reader(*stream);
    const auto line = **reader.next();
    EXPECT_TRUE(line.cut);
    EXPECT_TRUE(line.ended);
    EXPECT_EQ(line.text.size(), LineReader::kMaxLine);
    EXPECT_EQ(line.text.find_first_not_of('x'), std::string_view::npos);
    EXPECT_EQ((**reader.next()).text, "next");
    EXPECT_EQ(reader.bytes(), text.size());
  }
}

TEST(LineReader, ALineOfTheGreatestLengthIsWhole) {
  const std::string text = std::string(LineReader::kMaxLine, 'x') + "\n";
  const auto stream = memory_stream(text);
  LineReader reader(*stream);
  const auto line = **reader.next();
  EXPECT_FALSE(line.cut);
  EXPECT_EQ(line.text.size(), LineReader::kMaxLine);
}

TEST(LineReader, PassesErrorsOn) {
  Failing stream;
  LineReader reader(stream);
  EXPECT_EQ((**reader.next()).text, "a");
  const auto failed = reader.next();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().os_errno, ENODEV);
}

TEST(LineReader, SameLinesHoweverTheBytesArrive) {
  constexpr std::uint64_t kSeed = 99;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (std::uint64_t n = rng.below(200); n > 0; --n) {
      const bool long_line = rng.chance(0.03);
      text.append(rng.below(long_line ? 200'000 : 100), 'y');
      if (rng.chance(0.9)) text += '\n';
    }
    const auto expected = lines_of(text);
    Pieces pieces(text, rng.split(), round % 2 == 0 ? 50 : 300'000);
    ASSERT_EQ(lines_of(pieces), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace iez::input
