#include "rank_log/log_flatten.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rank_log/log_check.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/log_test_support.hpp"

namespace iez::rank_log {
namespace {

using testing::HasSubstr;

void log_once(const LogFolder& folder, std::uint32_t rank, std::uint64_t sequence, const std::vector<Pattern>& patterns,
              std::string_view bytes) {
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), rank, {}), 0);
  write_ok(writer, sequence, patterns, bytes);
}

TEST(Flatten, InterleavedRanksAreFewLargeWrites) {
  const LogFolder folder;
  constexpr std::uint64_t kBlock = 1024;
  constexpr std::uint64_t kBlocks = 1024;
  Rng rng(3);
  Oracle oracle;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const std::vector<Pattern> pattern{{.offset = rank * kBlock, .block = kBlock, .stride = 4 * kBlock, .count = kBlocks}};
    const std::string bytes = random_bytes(rng, kBlock * kBlocks);
    log_once(folder, rank, 1, pattern, bytes);
    oracle.write(1, rank, pattern, bytes);
  }
  FlattenedPart done;
  EXPECT_FALSE(folder.flatten({.window = std::size_t{1} << 20U}, 1, &done));
  EXPECT_EQ(content(folder.file()), oracle.over(""));
  EXPECT_EQ(done.writes, 4U);
  EXPECT_EQ(done.read, 4U << 20U);
  EXPECT_EQ(done.written, 4U << 20U);
  EXPECT_EQ(done.filled, 0U);
  EXPECT_FALSE(std::filesystem::exists(folder.log()));
}

TEST(Flatten, WhatIsNotCoveredStays) {
  const LogFolder folder;
  const std::string before(100'000, 'o');
  put(folder.file(), before);
  const std::vector<Pattern> patterns{{.offset = 10, .block = 5, .stride = 100, .count = 3}, {.offset = 90'000, .block = 3}};
  log_once(folder, 0, 1, patterns, "aaaaabbbbbcccccddd");
  FlattenedPart done;
  EXPECT_FALSE(folder.flatten({}, 1, &done));
  Oracle oracle;
  oracle.write(1, 0, patterns, "aaaaabbbbbcccccddd");
  EXPECT_EQ(content(folder.file()), oracle.over(before));
  EXPECT_EQ(done.writes, 2U) << "small gaps are filled, large ones left out";
  EXPECT_EQ(done.filled, 2U * 95);
}

TEST(Flatten, LaterCallsWinAndHigherRanksInOneCall) {
  const LogFolder folder;
  log_once(folder, 1, 2, {{.offset = 0, .block = 4}}, "1111");
  log_once(folder, 0, 2, {{.offset = 2, .block = 4}}, "0000");
  log_once(folder, 5, 1, {{.offset = 0, .block = 9}}, "555555555");
  EXPECT_EQ(folder.read_back(), "111100555");
  EXPECT_FALSE(folder.flatten());
  EXPECT_EQ(content(folder.file()), "111100555");
}

TEST(Flatten, ASizeTakesAwayWhatIsBehindIt) {
  const LogFolder folder;
  put(folder.file(), "oooooooooooooooooooo");
  {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    write_ok(writer, 1, {{.offset = 8, .block = 8}}, "aaaaaaaa");
    ASSERT_EQ(writer.set_size(2, 10), 0);
    write_ok(writer, 3, {{.offset = 14, .block = 1}}, "b");
    ASSERT_EQ(writer.set_size(4, 18), 0);
  }
  const std::string expected("ooooooooaa\0\0\0\0b\0\0\0", 18);
  EXPECT_EQ(folder.read_back(3), expected);
  EXPECT_FALSE(folder.flatten({}, 1, nullptr, false));
  EXPECT_EQ(content(folder.file()), expected);
  EXPECT_FALSE(folder.flatten()) << "and again";
  EXPECT_EQ(content(folder.file()), expected);
}

TEST(Flatten, ASizeAloneIsALog) {
  const LogFolder folder;
  put(folder.file(), "something");
  {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
    ASSERT_EQ(writer.set_size(1, 4), 0);
  }
  EXPECT_FALSE(folder.flatten());
  EXPECT_EQ(content(folder.file()), "some");
}

TEST(Flatten, AFileOfExabytesIsTwoWindows) {
  const LogFolder folder;
  const std::uint64_t far = std::uint64_t{1} << 43U;  // what the file system of a test takes
  log_once(folder, 0, 1, {{.offset = 5, .block = 1, .stride = far, .count = 2}}, "ab");
  FlattenedPart done;
  EXPECT_FALSE(folder.flatten({}, 3, &done));
  EXPECT_EQ(done.writes, 2U);
  const Descriptor fd(::open(folder.file().c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  EXPECT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(far + 5)), 1);
  EXPECT_EQ(byte, 'b');
  struct stat about{};
  ASSERT_EQ(::fstat(fd.get(), &about), 0);
  EXPECT_LT(about.st_blocks, 1000) << "holes stay holes";
}

TEST(Flatten, ABlockWrittenOverAndOverFitsIntoLittleMemory) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {.data_sums = false}), 0);
  for (std::uint64_t i = 1; i <= 5000; ++i) write_ok(writer, i, {{.offset = 3, .block = 4}}, i < 5000 ? "old!" : "new!");
  EXPECT_EQ(writer.close(), 0);
  FlattenedPart done;
  EXPECT_FALSE(folder.flatten({.memory = 100 * sizeof(Entry)}, 1, &done));
  EXPECT_EQ(content(folder.file()), std::string("\0\0\0new!", 7));
  EXPECT_LT(done.read, 400U) << "what is hidden for sure is not even read";
}

TEST(Flatten, TooManyWritesOfOnePlaceForTheMemory) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {.data_sums = false}), 0);
  const std::string bytes(300, 'x');
  for (std::uint64_t i = 1; i <= 200; ++i) write_ok(writer, i, {{.offset = 0, .block = i}}, bytes.substr(0, i));
  EXPECT_EQ(writer.close(), 0);
  const Problem problem = folder.flatten({.memory = 0});
  EXPECT_EQ(problem.error, ENOMEM);
  EXPECT_THAT(error_of(problem, log_paths(folder.file())).message, HasSubstr("at byte 0 of the file, for the memory allowed"));
  EXPECT_TRUE(std::filesystem::exists(folder.log()));
  EXPECT_FALSE(folder.flatten());
}

TEST(Flatten, StopsWhenToldTo) {
  const LogFolder folder;
  log_once(folder, 0, 1, {{.offset = 0, .block = 100'000}}, std::string(100'000, 'x'));
  std::uint64_t told = 0;
  FlattenOptions options{.window = 4096, .context = &told};
  options.progress = [](void* context, std::uint64_t bytes) {
    *static_cast<std::uint64_t*>(context) = bytes;
    return bytes < 20'000;
  };
  EXPECT_EQ(folder.flatten(options).error, ECANCELED);
  EXPECT_EQ(told, 5U * 4096);
  EXPECT_TRUE(std::filesystem::exists(folder.log()));
  EXPECT_FALSE(folder.flatten());
  EXPECT_EQ(content(folder.file()), std::string(100'000, 'x'));
}

TEST(Flatten, WrongArguments) {
  const LogFolder folder;
  log_once(folder, 0, 1, {{.offset = 0, .block = 1}}, "x");
  Descriptor fd;
  ASSERT_EQ(open_folder(folder.log().c_str(), fd), 0);
  FlattenedPart done;
  EXPECT_EQ(flatten_part(fd.get(), {}, -1, 0, 0, {}, done).error, EINVAL);
  EXPECT_EQ(flatten_part(fd.get(), {}, -1, 2, 2, {}, done).error, EINVAL);
  EXPECT_EQ(flatten_part(fd.get(), {}, -1, 0, 1, {.window = 100}, done).error, EINVAL);
  EXPECT_EQ(flatten_part(fd.get(), {}, -1, 0, 1, {.alignment = 0}, done).error, EINVAL);
}

// Written by version 1: what is on disks stays readable.
TEST(Flatten, AnOldLog) {
  const LogFolder folder;
  const std::string kept = IEZ_TEST_DATA "/../../examples/logs/out";
  std::filesystem::copy(kept, folder.file());
  std::filesystem::copy(kept + kFolderSuffix, folder.log());
  std::string expected;
  for (int i = 0; i < 64; ++i) {
    for (const char rank : {'0', '1', '2', '3'}) expected.append(16, rank);
  }
  expected.append(5000 - 4096, '\0');
  for (const char rank : {'a', 'b', 'c'}) expected.append(100, rank);
  expected.append(50, 'd');  // cut by the size that rank 0 set
  EXPECT_EQ(folder.survey().torn, 1U);
  EXPECT_EQ(folder.read_back(), expected);
  EXPECT_FALSE(folder.flatten());
  EXPECT_EQ(content(folder.file()), expected);
}

// ---- Damage -----------------------------------------------------------------------------------------------------------------

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder_.log().c_str(), 7, {}), 0);
    write_ok(writer, 1, {{.offset = 0, .block = 2}}, "aa");
    write_ok(writer, 2, {{.offset = 2, .block = 2}}, "bb");
    write_ok(writer, 3, {{.offset = 4, .block = 2}}, "cc");
  }

  void change_record(std::size_t number, const std::function<void(Record&)>& change, bool sum = true) {
    std::string bytes = content(folder_.index(7));
    Record record{};
    std::memcpy(&record, bytes.data() + 64 + number * 64, 64);
    change(record);
    if (sum) record.checksum = record_checksum(record, 7, number);
    std::memcpy(bytes.data() + 64 + number * 64, &record, 64);
    put(folder_.index(7), bytes);
  }

  std::string damage() const {
    Descriptor fd;
    EXPECT_EQ(open_folder(folder_.log().c_str(), fd), 0);
    LogSurvey survey;
    std::string text;
    const RankVisitor visitor{
        .take = [](void* context, const RankCounts& counts) { *static_cast<std::string*>(context) += damage_of(counts); },
        .context = &text};
    EXPECT_FALSE(survey_log(fd.get(), {}, survey, visitor));
    EXPECT_EQ(survey.sound(), text.empty());
    return text;
  }

  LogFolder folder_;
};

TEST_F(Damage, IsRefusedAndTakenOnRequest) {
  change_record(1, [](Record& record) { record.offset = 9; }, false);
  EXPECT_EQ(damage(), "7.index: record 1: its checksum is wrong");
  const Problem problem = folder_.flatten();
  EXPECT_EQ(problem.error, EBADMSG);
  EXPECT_THAT(error_of(problem, log_paths(folder_.file())).message, HasSubstr("the log is damaged"));
  EXPECT_EQ(content(folder_.file()), "") << "nothing was touched";
  EXPECT_FALSE(folder_.flatten({.skip_damaged = true}));
  EXPECT_EQ(content(folder_.file()), std::string("aa\0\0cc", 6));
  EXPECT_FALSE(std::filesystem::exists(folder_.log()));
  EXPECT_TRUE(std::filesystem::exists(folder_.log() + ".damaged/7.data")) << "what could not be used is not thrown away";
}

TEST_F(Damage, ASecondDamagedLogDoesNotReplaceTheFirst) {
  std::filesystem::create_directory(folder_.log() + ".damaged");
  put(folder_.log() + ".damaged/0.index", "evidence");
  change_record(0, [](Record& record) { record.kind = 9; });
  const Problem problem = folder_.flatten({.skip_damaged = true});
  EXPECT_EQ(problem.error, EEXIST);
  EXPECT_THAT(error_of(problem, log_paths(folder_.file())).message, HasSubstr(".damaged: move it away"));
  EXPECT_EQ(content(folder_.log() + ".damaged/0.index"), "evidence");
}

TEST_F(Damage, EveryKindIsTold) {
  change_record(2, [](Record& record) { record.kind = 3; });
  EXPECT_EQ(damage(), "7.index: record 2: is of a kind that this iez does not know: use the iez that wrote it");
  change_record(2, [](Record& record) {
    record.kind = kKindWrite, record.stride = 1;
    record.count = 2;
  });
  EXPECT_EQ(damage(), "7.index: record 2: has numbers that no write has");
  change_record(2, [](Record& record) {
    record.count = 1;
    record.log_offset = kMaxOffset;
  });
  EXPECT_EQ(damage(), "7.index: record 2: has numbers that no write has");
  change_record(2, [](Record& record) { record.log_offset = 5; });
  EXPECT_EQ(damage(), "7.index: record 2: its data is not there");
  change_record(2, [](Record& record) {
    record.log_offset = 4;
    record.sequence = 1;
  });
  EXPECT_EQ(damage(), "7.index: record 2: its sequence is below that of the one before");
  change_record(1, [](Record& record) { record.block = 0; });
  EXPECT_EQ(damage(), "7.index: record 1: has numbers that no write has") << "sequence 1 behind sequence 1 is in order again";
  change_record(0, [](Record& record) { record.block = 0; });
  EXPECT_EQ(damage(), "7.index: record 0: has numbers that no write has; 2 damaged in all");
}

TEST_F(Damage, DataThatIsGone) {
  std::filesystem::resize_file(folder_.data(7), 3);
  EXPECT_EQ(damage(), "7.index: record 1: its data is not there; 2 damaged in all");
  std::filesystem::remove(folder_.data(7));
  EXPECT_EQ(damage(), "7.index: record 0: its data is not there; 3 damaged in all");
}

TEST_F(Damage, TornRecordsAtTheEndAreNone) {
  change_record(2, [](Record& record) { record.checksum ^= 1U; }, false);
  put(folder_.index(7), content(folder_.index(7)) + "half a record");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(folder_.survey().torn, 2U);
  EXPECT_FALSE(folder_.flatten());
  EXPECT_EQ(content(folder_.file()), "aabb");
}

TEST_F(Damage, OfDataIsFoundByItsChecksum) {
  const LogPaths paths = log_paths(folder_.file());
  Descriptor fd;
  ASSERT_EQ(open_folder(paths.folder.c_str(), fd), 0);
  std::uint64_t told = 0;
  const auto progress = [&](std::uint64_t bytes) { told = bytes; };
  auto check = check_data(fd.get(), paths, progress);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->records, 3U);
  EXPECT_EQ(check->wrong, 0U);
  EXPECT_EQ(told, 6U);
  put(folder_.data(7), "aabXcX");
  check = check_data(fd.get(), paths, progress);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->wrong, 2U);
  EXPECT_EQ(check->first_rank, 7U);
  EXPECT_EQ(check->first_record, 1U);
}

// ---- The end of a log -------------------------------------------------------------------------------------------------------

TEST(Retire, AnOldRestIsRemovedAndAStrangerTold) {
  const LogFolder folder;
  log_once(folder, 0, 1, {{.offset = 0, .block = 1}}, "x");
  std::filesystem::create_directory(folder.log() + ".done");
  put(folder.log() + ".done/4.data", "of a removal that was killed");
  EXPECT_FALSE(folder.flatten());
  EXPECT_FALSE(std::filesystem::exists(folder.log() + ".done"));

  log_once(folder, 0, 1, {{.offset = 0, .block = 1}}, "y");
  put(folder.log() + "/notes", "mine");
  EXPECT_EQ(folder.survey().strangers, 1U);
  const Problem problem = folder.flatten();
  EXPECT_EQ(problem.error, ENOTEMPTY);
  EXPECT_EQ(problem.action, Action::remove);
  EXPECT_THAT(error_of(problem, log_paths(folder.file())).message,
              HasSubstr(".iezlog.done: cannot remove it; the file has all of it"));
  EXPECT_EQ(content(folder.file()), "y");
  EXPECT_FALSE(std::filesystem::exists(folder.log())) << "it would be brought in again";
  EXPECT_EQ(content(folder.log() + ".done/notes"), "mine");
}

TEST(Retire, Discard) {
  const LogFolder folder;
  log_once(folder, 0, 1, {{.offset = 0, .block = 1}}, "x");
  EXPECT_FALSE(discard_log(folder.log().c_str()));
  EXPECT_FALSE(std::filesystem::exists(folder.log()));
  EXPECT_FALSE(discard_log(folder.log().c_str())) << "nothing there is nothing to do";
}

}  // namespace
}  // namespace iez::rank_log
