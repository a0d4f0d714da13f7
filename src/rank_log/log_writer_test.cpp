#include "rank_log/log_writer.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rank_log/index_cursor.hpp"
#include "rank_log/log_test_support.hpp"

namespace iez::rank_log {
namespace {

using testing::ElementsAre;

std::vector<Record> records_of(const LogFolder& folder, std::uint32_t rank) {
  Descriptor fd;
  EXPECT_EQ(open_folder(folder.log().c_str(), fd), 0);
  IndexCursor cursor;
  EXPECT_FALSE(cursor.open(fd.get(), rank));
  std::vector<Record> all;
  Record record{};
  std::uint64_t number = 0;
  bool more = true;
  while (true) {
    EXPECT_FALSE(cursor.next(record, number, more));
    if (!more) return all;
    all.push_back(record);
  }
}

std::vector<Pattern> patterns_of(const LogFolder& folder, std::uint32_t rank) {
  std::vector<Pattern> all;
  for (const Record& record : records_of(folder, rank)) all.push_back(pattern_of(record));
  return all;
}

// Files may not grow beyond this, as on a full disk.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SizeLimit() {
    (void)::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, old_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t old_ = nullptr;
};

TEST(LogWriter, DataAndRecord) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 2, {}), 0);
  write_ok(writer, 5, {{.offset = 100, .block = 3, .stride = 10, .count = 2}}, "abcdef");
  write_ok(writer, 6, {{.offset = 7, .block = 1}}, "x");
  EXPECT_EQ(writer.sync(), 0);
  EXPECT_EQ(writer.bytes(), 7U);
  EXPECT_EQ(writer.records(), 2U);
  EXPECT_EQ(writer.last_sequence(), 6U);
  EXPECT_EQ(writer.close(), 0);
  EXPECT_EQ(content(folder.data(2)), "abcdefx");
  const auto records = records_of(folder, 2);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(pattern_of(records[0]), (Pattern{.offset = 100, .block = 3, .stride = 10, .count = 2}));
  EXPECT_EQ(records[0].sequence, 5U);
  EXPECT_EQ(records[0].flags, kFlagDataSum);
  EXPECT_EQ(pattern_of(records[1]), (Pattern{.offset = 7, .block = 1, .stride = 1, .count = 1}));
  EXPECT_EQ(records[1].log_offset, 6U);
}

TEST(LogWriter, AMillionEqualStepsAreOneRecord) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  std::vector<Pattern> pieces;
  pieces.reserve(1'000'000);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) pieces.push_back({.offset = 40 + i * 32, .block = 8});
  write_ok(writer, 1, pieces, std::string(8'000'000, 'z'));
  EXPECT_THAT(patterns_of(folder, 0), ElementsAre(Pattern{.offset = 40, .block = 8, .stride = 32, .count = 1'000'000}));
}

TEST(LogWriter, JoinsWhatBelongsTogether) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  // Two neighbours, three times; then a strided one that goes on the same way; then something else; nothing in between.
  write_ok(writer, 1,
           {{.offset = 0, .block = 2},
            {.offset = 2, .block = 2},
            {.offset = 10, .block = 1},
            {.offset = 11, .block = 3},
            {.offset = 20, .block = 4},
            {.offset = 30, .block = 4, .stride = 10, .count = 2},
            {.offset = 90, .block = 0},
            {.offset = 50, .block = 2, .stride = 2, .count = 2},
            {.offset = 91, .block = 5, .count = 0},
            {.offset = 5, .block = 1}},
           std::string(25, 'a'));
  EXPECT_THAT(patterns_of(folder, 0), ElementsAre(Pattern{.offset = 0, .block = 4, .stride = 10, .count = 6},
                                                  Pattern{.offset = 5, .block = 1, .stride = 1, .count = 1}));
}

TEST(LogWriter, ManyPiecesInManySegments) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const LogFolder folder;
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    std::vector<Pattern> patterns;
    std::size_t total = 0;
    for (std::uint64_t i = rng.below(500), at = 0; i > 0; --i) {
      at += rng.below(9);
      patterns.push_back({.offset = at, .block = rng.between(1, 9)});
      at += patterns.back().block;
      total += patterns.back().block;
    }
    std::string bytes = random_bytes(rng, total);
    std::vector<iovec> segments;
    for (std::size_t at = 0; at < total;) {
      const std::size_t size = rng.below(std::min<std::size_t>(total - at, 12) + 1);
      segments.push_back({.iov_base = bytes.data() + at, .iov_len = size});
      at += size;
    }
    const Appended done = writer.append(1, patterns, segments);
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, total);
    EXPECT_EQ(content(folder.data(0)), bytes);
    Oracle oracle;
    oracle.write(1, 0, patterns, bytes);
    EXPECT_EQ(folder.read_back(), oracle.over(""));
  }
}

TEST(LogWriter, RefusesWhatMakesNoSense) {
  const LogFolder folder;
  LogWriter writer;
  EXPECT_EQ(append(writer, 1, {}, "").error, EBADF);
  EXPECT_EQ(writer.set_size(1, 0), EBADF);
  EXPECT_EQ(writer.sync(), EBADF);
  EXPECT_EQ(writer.open(folder.log().c_str(), kMaxRank + 1, {}), EINVAL);
  EXPECT_EQ(writer.open((folder.file() + "/not/there").c_str(), 0, {}), ENOENT);
  EXPECT_FALSE(writer.is_open());
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {}), EALREADY);
  write_ok(writer, 5, {{.offset = 0, .block = 1}}, "a");
  EXPECT_EQ(append(writer, 4, {{.offset = 0, .block = 1}}, "a").error, EINVAL) << "the sequence falls";
  EXPECT_EQ(append(writer, 5, {{.offset = 0, .block = 2}}, "a").error, EINVAL);
  EXPECT_EQ(append(writer, 5, {{.offset = 0, .block = 1}}, "ab").error, EINVAL);
  EXPECT_EQ(append(writer, 5, {{.offset = 0, .block = 2, .stride = 1, .count = 2}}, "abcd").error, EINVAL);
  EXPECT_EQ(append(writer, 5, {{.offset = kMaxOffset, .block = 1}}, "a").error, EINVAL);
  EXPECT_EQ(writer.set_size(5, kMaxOffset + 1), EINVAL);
  EXPECT_EQ(writer.set_size(4, 1), EINVAL);
  EXPECT_EQ(writer.bytes(), 1U);
  EXPECT_EQ(writer.records(), 1U);
  write_ok(writer, 5, {}, "");
  EXPECT_EQ(writer.records(), 1U) << "nothing is no record";
}

TEST(LogWriter, GoesOnBehindWhatIsWhole) {
  const LogFolder folder;
  {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    write_ok(writer, 3, {{.offset = 0, .block = 4}}, "aaaa");
    write_ok(writer, 4, {{.offset = 4, .block = 4}}, "bbbb");
  }
  // As a killed writer leaves it: half a record, and data that no record tells of.
  put(folder.index(0), content(folder.index(0)) + std::string(40, 'q'));
  put(folder.data(0), content(folder.data(0)) + "orphans");
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  EXPECT_EQ(writer.records(), 2U);
  EXPECT_EQ(writer.bytes(), 8U);
  EXPECT_EQ(writer.last_sequence(), 4U);
  EXPECT_EQ(append(writer, 3, {{.offset = 0, .block = 1}}, "x").error, EINVAL);
  write_ok(writer, 4, {{.offset = 8, .block = 4}}, "cccc");
  EXPECT_EQ(folder.read_back(), "aaaabbbbcccc");
  EXPECT_EQ(folder.survey().torn, 0U);
}

TEST(LogWriter, AnUnfinishedHeaderIsWrittenAgain) {
  const LogFolder folder;
  std::filesystem::create_directory(folder.log());
  put(folder.index(0), std::string(64, '\0'));
  put(folder.data(0), "old");
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  write_ok(writer, 1, {{.offset = 0, .block = 1}}, "x");
  EXPECT_EQ(folder.read_back(), "x");
}

TEST(LogWriter, OneWriterForEachRank) {
  const LogFolder folder;
  LogWriter first;
  LogWriter second;
  ASSERT_EQ(first.open(folder.log().c_str(), 0, {}), 0);
  EXPECT_EQ(second.open(folder.log().c_str(), 0, {}), EBUSY);
  EXPECT_EQ(second.open(folder.log().c_str(), 1, {}), 0);
  EXPECT_EQ(first.close(), 0);
  EXPECT_EQ(second.close(), 0);
  EXPECT_EQ(second.open(folder.log().c_str(), 0, {}), 0);
  Descriptor fd;
  ASSERT_EQ(open_folder(folder.log().c_str(), fd), 0);
  EXPECT_EQ(lock_file(fd.get(), true), EBUSY) << "nobody flattens it meanwhile";
  EXPECT_EQ(second.close(), 0);
  EXPECT_EQ(lock_file(fd.get(), true), 0);
  EXPECT_EQ(first.open(folder.log().c_str(), 0, {}), EBUSY);
}

TEST(LogWriter, ALogOfAnotherFileOrFormatIsLeftAlone) {
  const LogFolder folder;
  {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {.file = {.inode = 11, .born_ns = 500}}), 0);
    write_ok(writer, 1, {{.offset = 0, .block = 1}}, "x");
  }
  LogWriter writer;
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {.file = {.inode = 12, .born_ns = 500}}), ESTALE);
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {.file = {.inode = 11, .born_ns = 501}}), ESTALE)
      << "an inode that is used again";
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {.file = {.inode = 11}}), 0) << "not known";
  EXPECT_EQ(writer.close(), 0);
  std::string bytes = content(folder.index(0));
  bytes[0] = 'X';
  put(folder.index(0), bytes);
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {}), EBADMSG);
  EXPECT_EQ(content(folder.index(0)), bytes);
}

TEST(LogWriter, ModeOfWhatIsMade) {
  const LogFolder folder;
  const mode_t mask = ::umask(0);
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {.mode = 0640}), 0);
  (void)::umask(mask);
  struct stat about{};
  ASSERT_EQ(::stat(folder.index(0).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0640U);
  ASSERT_EQ(::stat(folder.log().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0750U);
}

TEST(LogWriter, HighestSequence) {
  const LogFolder folder;
  std::uint64_t sequence = 99;
  EXPECT_EQ(highest_sequence(folder.log().c_str(), sequence), 0);
  EXPECT_EQ(sequence, 0U) << "no log at all";
  for (const std::uint32_t rank : {0U, 5U, 9U}) {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), rank, {}), 0);
    write_ok(writer, 10 - rank, {{.offset = 0, .block = 1}}, "x");
    EXPECT_EQ(writer.set_size(rank == 5 ? 40 : 11, 3), 0);
  }
  put(folder.index(9), content(folder.index(9)) + "torn");
  put(folder.log() + "/12.index", "");
  EXPECT_EQ(highest_sequence(folder.log().c_str(), sequence), 0);
  EXPECT_EQ(sequence, 40U);
  put(folder.log() + "/13.index", std::string(64, 'x'));
  EXPECT_EQ(highest_sequence(folder.log().c_str(), sequence), EBADMSG) << "who knows what it was";
}

// The data does not fit: what did is in the log, to the byte, and the log goes on when there is room.
TEST(LogWriter, FullWhileDataIsWritten) {
  for (const std::uint64_t limit : {0U, 1U, 2U, 3U, 5U, 29U, 30U, 31U, 59U}) {
    SCOPED_TRACE(limit);
    const LogFolder folder;
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    const std::vector<Pattern> first{{.offset = 0, .block = 300}};
    write_ok(writer, 1, first, std::string(300, 'f'));  // beyond the index: only the data meets the limit
    const std::vector<Pattern> patterns{{.offset = 500, .block = 3, .stride = 7, .count = 10}, {.offset = 700, .block = 30}};
    Rng rng(limit);
    const std::string bytes = random_bytes(rng, 60);
    Oracle oracle;
    oracle.write(1, 0, first, std::string(300, 'f'));
    {
      const SizeLimit full(300 + limit);
      const Appended done = append(writer, 2, patterns, bytes);
      EXPECT_EQ(done.error, EFBIG);
      EXPECT_EQ(done.bytes, limit);
    }
    oracle.write(2, 0, patterns, bytes.substr(0, limit));
    EXPECT_EQ(folder.read_back(), oracle.over(""));
    EXPECT_EQ(content(folder.data(0)).size(), 300 + limit);
    write_ok(writer, 3, patterns, bytes);
    oracle.write(3, 0, patterns, bytes);
    EXPECT_EQ(folder.read_back(), oracle.over(""));
    EXPECT_TRUE(folder.survey().sound());
    EXPECT_EQ(folder.survey().torn, 0U);
  }
}

// The index does not fit: only what it tells of counts.
TEST(LogWriter, FullWhileTheIndexIsWritten) {
  for (const std::uint64_t limit : {64U, 70U, 128U, 190U, 200U}) {
    SCOPED_TRACE(limit);
    const LogFolder folder;
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    const std::vector<Pattern> patterns{{.offset = 50, .block = 3}, {.offset = 10, .block = 4}, {.offset = 30, .block = 5}};
    const std::string bytes = "aaabbbbccccc";
    const std::uint64_t whole = (limit - 64) / 64;
    const std::uint64_t expected = whole == 0 ? 0 : whole == 1 ? 3 : 7;
    {
      const SizeLimit full(limit);
      const Appended done = append(writer, 1, patterns, bytes);
      EXPECT_EQ(done.error, EFBIG);
      EXPECT_EQ(done.bytes, expected);
      EXPECT_EQ(writer.set_size(2, 1000), limit - 64 - whole * 64 < 64 ? EFBIG : 0);
    }
    Oracle oracle;
    oracle.write(1, 0, patterns, bytes.substr(0, expected));
    EXPECT_EQ(folder.read_back(), oracle.over(""));
    EXPECT_EQ(folder.survey().torn, 0U) << "what did not fit was cut off";
    EXPECT_EQ(content(folder.data(0)).size(), expected);
    write_ok(writer, 3, patterns, bytes);
    oracle.write(3, 0, patterns, bytes);
    EXPECT_EQ(folder.read_back(), oracle.over(""));
  }
}

TEST(LogWriter, NoRoomForTheHeader) {
  const LogFolder folder;
  LogWriter writer;
  {
    const SizeLimit full(10);
    EXPECT_EQ(writer.open(folder.log().c_str(), 0, {}), EFBIG);
    EXPECT_FALSE(writer.is_open());
  }
  EXPECT_EQ(content(folder.index(0)), "");
  EXPECT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
}

}  // namespace
}  // namespace iez::rank_log
