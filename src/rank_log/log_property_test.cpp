// Random programs against a file in memory: overlaps, holes, new sizes, torn ends, parts, little memory.
#include <cerrno>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "rank_log/log_test_support.hpp"

namespace iez::rank_log {
namespace {

Pattern random_pattern(Rng& rng, std::uint64_t room) {
  Pattern pattern{.offset = rng.below(room), .block = rng.between(1, rng.chance(0.2) ? 3000 : 40), .count = 1};
  pattern.stride = pattern.block;
  if (rng.chance(0.5)) {
    pattern.count = rng.between(2, 50);
    pattern.stride = pattern.block + rng.below(rng.chance(0.5) ? 5 : 200);
  }
  return pattern;
}

std::uint64_t bytes_of_all(const std::vector<Pattern>& patterns) {
  std::uint64_t sum = 0;
  for (const Pattern& pattern : patterns) sum += bytes_of(pattern);
  return sum;
}

struct Program {
  std::map<std::uint32_t, std::unique_ptr<LogWriter>> writers;
  std::uint64_t sequence = 1;

  LogWriter& writer(const LogFolder& folder, std::uint32_t rank) {
    auto& found = writers[rank];
    if (!found) {
      found = std::make_unique<LogWriter>();
      EXPECT_EQ(found->open(folder.log().c_str(), rank, {}), 0);
    }
    return *found;
  }
};

void play(Rng& rng, const LogFolder& folder, Oracle& oracle, Program& program, std::uint64_t calls) {
  const std::uint32_t ranks = static_cast<std::uint32_t>(rng.between(1, 6));
  const std::uint64_t room = rng.chance(0.5) ? 2000 : 60'000;
  for (std::uint64_t call = 0; call < calls; ++call, ++program.sequence) {
    if (rng.chance(0.12)) {
      const std::uint64_t size = rng.below(room * 2);
      const auto rank = static_cast<std::uint32_t>(rng.below(ranks));
      EXPECT_EQ(program.writer(folder, rank).set_size(program.sequence, size), 0);
      oracle.resize(program.sequence, rank, size);
      continue;
    }
    for (std::uint32_t rank = ranks; rank > 0; --rank) {  // in another order than that which counts
      for (std::uint64_t again = rng.below(3); again > 0; --again) {
        std::vector<Pattern> patterns;
        for (std::uint64_t i = rng.between(1, rng.chance(0.1) ? 150 : 4); i > 0; --i)
          patterns.push_back(random_pattern(rng, room));
        const std::string bytes = random_bytes(rng, bytes_of_all(patterns));
        write_ok(program.writer(folder, rank - 1), program.sequence, patterns, bytes);
        oracle.write(program.sequence, rank - 1, patterns, bytes);
      }
    }
  }
}

TEST(LogProperty, AViewAndAFlattenedFileAreWhatWasWritten) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const LogFolder folder;
    Oracle oracle;
    Program program;
    const std::string before = rng.chance(0.6) ? random_bytes(rng, rng.below(40'000)) : std::string{};
    put(folder.file(), before);
    play(rng, folder, oracle, program, rng.between(1, 12));
    if (program.writers.empty()) continue;
    const std::string expected = oracle.over(before);
    EXPECT_EQ(folder.read_back(rng.between(rng.chance(0.05) ? 1 : 300, 5000)), expected);
    program.writers.clear();
    FlattenOptions options{.window = rng.between(4096, 20'000), .alignment = rng.between(1, 9000)};
    if (rng.chance(0.5)) options.memory = rng.between(60, 200) * sizeof(Entry);
    // Once without its end, as if killed there; the view over what is half done is the same; then whole.
    const auto parts = static_cast<std::uint32_t>(rng.between(1, 9));
    const Problem problem = folder.flatten(options, parts, nullptr, false);
    if (problem.error == ENOMEM) options.memory = std::size_t{1} << 20U;
    EXPECT_EQ(folder.read_back(4000), expected);
    ASSERT_FALSE(folder.flatten(options, static_cast<std::uint32_t>(rng.between(1, 9))));
    EXPECT_EQ(content(folder.file()), expected);
    EXPECT_FALSE(std::filesystem::exists(folder.log()));
  }
}

// Stopped after any number of windows, and more written before it is done again.
TEST(LogProperty, FlattenCanStopAnywhereAndBeDoneAgain) {
  for (std::uint64_t seed = 1000; seed < 1050; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const LogFolder folder;
    Oracle oracle;
    Program program;
    const std::string before = random_bytes(rng, rng.below(30'000));
    put(folder.file(), before);
    play(rng, folder, oracle, program, rng.between(2, 8));
    if (program.writers.empty()) continue;
    for (int round = 0; round < 3; ++round) {
      std::uint64_t left = rng.below(6);
      FlattenOptions options{.window = 4096, .context = &left};
      options.progress = [](void* context, std::uint64_t) { return (*static_cast<std::uint64_t*>(context))-- > 0; };
      const Problem problem = folder.flatten(options, 3, nullptr, false);
      EXPECT_TRUE(problem.error == 0 || problem.error == ECANCELED) << problem.error;
      EXPECT_EQ(folder.read_back(3000), oracle.over(before));
      play(rng, folder, oracle, program, rng.below(3));
    }
    program.writers.clear();
    ASSERT_FALSE(folder.flatten({.window = 8192}));
    EXPECT_EQ(content(folder.file()), oracle.over(before));
  }
}

// Index and data cut at any byte, as a kill leaves them: a prefix of what this rank wrote, and no more.
TEST(LogProperty, ACutIndexIsAPrefix) {
  for (std::uint64_t seed = 2000; seed < 2010; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const LogFolder folder;
    std::vector<std::string> states{""};
    {
      Oracle oracle;
      LogWriter writer;
      ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
      for (std::uint64_t i = 1; i <= 6; ++i) {
        const std::vector<Pattern> patterns{random_pattern(rng, 500)};
        const std::string bytes = random_bytes(rng, bytes_of_all(patterns));
        write_ok(writer, i, patterns, bytes);
        oracle.write(i, 0, patterns, bytes);
        states.push_back(oracle.over(""));
      }
    }
    const std::string index = content(folder.index(0));
    ASSERT_EQ(index.size(), 64U * 7);
    for (std::size_t cut = 0; cut <= index.size(); ++cut) {
      std::string torn = index.substr(0, cut);
      const std::size_t whole = cut < 64 ? 0 : (cut - 64) / 64;
      // Sometimes the file has its length, and only zeros or rubbish in it.
      if (rng.chance(0.3) && cut > 64) torn += std::string(rng.below(200), rng.chance(0.5) ? '\0' : 'r');
      put(folder.index(0), torn);
      EXPECT_EQ(folder.read_back(7000), states[whole]) << cut;
      EXPECT_TRUE(folder.survey().sound());
      if (torn.size() > 64) {
        EXPECT_EQ(folder.survey().torn, (torn.size() - 64 + 63) / 64 - whole);
      }
    }
  }
}

// One bit of an index is wrong: that record is left out, or the header is refused; nothing else changes.
TEST(LogProperty, AnyFlippedBitIsFound) {
  const LogFolder folder;
  {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    for (std::uint64_t i = 0; i < 4; ++i) write_ok(writer, i, {{.offset = i * 2, .block = 2}}, "ab");
  }
  const std::string index = content(folder.index(0));
  for (std::size_t bit = 0; bit < index.size() * 8; ++bit) {
    std::string changed = index;
    flip(changed, bit);
    put(folder.index(0), changed);
    const LogSurvey survey = folder.survey();
    if (bit / 8 < 64) {
      EXPECT_EQ(survey.damaged_indexes, 1U) << bit;
      EXPECT_EQ(survey.writes, 0U);
    } else {
      EXPECT_EQ(survey.writes, 3U) << bit;
      const bool last = bit / 8 >= index.size() - 64;
      EXPECT_EQ(survey.damaged, last ? 0U : 1U) << bit;
      EXPECT_EQ(survey.torn, last ? 1U : 0U) << bit;
    }
  }
}

}  // namespace
}  // namespace iez::rank_log
