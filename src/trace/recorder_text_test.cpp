// The lines follow tools/recorder2text.c and lib/recorder-posix.c of Recorder 2.1 to 2.4; the figures are computed by hand.
#include "trace/recorder_text.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Collected {
  RecorderTrace trace;
  input::ParseReport report;
};

Collected collect(const std::vector<std::string>& ranks, const RecorderOptions& options = {}) {
  Collected collected;
  RecorderCollector collector(options);
  std::int32_t rank = 0;
  for (const std::string& text : ranks) {
    const auto stream = input::memory_stream(text);
    const auto added = collector.add(*stream, rank, fmt::format("{}.txt", rank), collected.report);
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    ++rank;
  }
  collected.trace = collector.finish();
  return collected;
}

// Lines with names, as 2.3 and later print them: each call takes a millisecond.
std::string named(const std::vector<std::string>& calls) {
  std::string text;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::size_t space = calls[i].find(' ');
    text += fmt::format("{}.{:03} {}.{:03} {} 0 0 ({} )\n", i / 1000, i % 1000, (i + 1) / 1000, (i + 1) % 1000,
                        calls[i].substr(0, space), calls[i].substr(space));
  }
  return text;
}

TracedFile only_file(const std::vector<std::string>& calls) {
  const auto [trace, report] = collect({named(calls)});
  EXPECT_EQ(report.skipped, 0U) << (report.problems.empty() ? "" : report.problems[0].message);
  EXPECT_EQ(trace.files.size(), 1U);
  return trace.files.empty() ? TracedFile{} : trace.files[0];
}

TEST(RecorderText, LinesWithNames) {
  const auto [trace, report] = collect({"0.000010 0.000020 MPI_Init 0 2 ( (nil) (nil) )\n"
                                        "0.001000 0.001500 open 0 0 ( /s/ckpt.0 66 420 )\n"
                                        "0.002000 0.003000 write 0 0 ( /s/ckpt.0 0x55d0c8e0 1000 )\n"
                                        "0.003000 0.004000 write 0 0 ( /s/ckpt.0 0x55d0c8e0 500 )\n"
                                        "0.004000 0.005000 pwrite 0 0 ( /s/ckpt.0 0x55d0c8e0 100 9000 )\n"
                                        "0.005000 0.006000 lseek 0 0 ( /s/ckpt.0 0 0 )\n"
                                        "0.006000 0.007000 read 0 0 ( /s/ckpt.0 0x55d0c8e0 300 )\n"
                                        "0.007000 0.007500 close 0 0 ( /s/ckpt.0 )\n"},
                                       {.start_ns = 1'000'000'000});
  EXPECT_THAT(trace.files, ElementsAre(TracedFile{.name = "/s/ckpt.0",
                                                  .written = {1600},
                                                  .read = {300},
                                                  .write_calls = 3,
                                                  .read_calls = 1,
                                                  .sequential_writes = 1,
                                                  .largest_write = {1000},
                                                  .largest_read = {300},
                                                  .end = {9100},
                                                  .creates = 1,
                                                  .opens = 1,
                                                  .rank = 0,
                                                  .ranks = 1,
                                                  .communicator = 1,
                                                  .first_ns = 1'001'000'000,
                                                  .last_ns = 1'007'500'000}));
  EXPECT_EQ(trace.run, (RunInfo{.processes = 1, .communicator = 1, .start_ns = 1'000'000'000, .end_ns = 1'007'500'000}));
  EXPECT_EQ(trace.calls, 7U);
  EXPECT_EQ(trace.other_calls, 1U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(RecorderText, LinesWithDescriptorsOf21And22) {
  const auto [trace, report] =
      collect({"0.001000 0.001500 17 open64 ( /s/a 577 420 )\r\n"
               "0.001000 0.001500 18 fopen ( /s/b w )\r\n"
               "0.002000 0.003000 0 write ( 17 0x55d0c8e0 1000 )\r\n"
               "0.002500 0.003000 19 dup ( 17 )\r\n"
               "0.003000 0.004000 0 write ( 19 0x55d0c8e0 500 )\r\n"
               "0.004000 0.005000 0 fwrite ( 0x55d0c8e0 8 16 18 )\r\n"
               "0.004000 0.005000 0 vfprintf ( 18 11 )\r\n"
               "0.005000 0.006000 0 close ( 17 )\r\n"
               "0.006000 0.007000 0 write ( 17 0x55d0c8e0 7 )\r\n"
               "0.006000 0.007000 0 writev ( 19 40 4 )\r\n"
               "0.007000 0.008000 -1 open ( /s/missing 0 )\r\n"
               "0.007000 0.008000 20 open ( /s/c 0 )\r\n"
               "0.008000 0.009000 21 dup2 ( 20 21 )\r\n"
               "0.009000 0.010000 0 readv ( 21 64 2 )\r\n"
               "0.010000 0.011000 0 pread64 ( 20 0x5 10 64 )\r\n"
               "0.011000 0.012000 0 write ( 1 0x5 10 )\r\n"
               "0.012000 0.013000 18 fdopen ( 20 0x7ffc )\r\n"
               "0.013000 0.014000 0 fread ( 0x5 1 6 18 )\r\n"
               "0.014000 0.015000 0 fclose ( 18 )\r\n"});
  EXPECT_THAT(trace.files, ElementsAre(TracedFile{.name = "/s/a",
                                                  .written = {1540},
                                                  .write_calls = 3,
                                                  .sequential_writes = 2,
                                                  .largest_write = {1000},
                                                  .end = {1540},
                                                  .creates = 1,
                                                  .opens = 1,
                                                  .rank = 0,
                                                  .ranks = 1,
                                                  .communicator = 1},
                                       TracedFile{.name = "/s/b",
                                                  .written = {138},
                                                  .write_calls = 2,
                                                  .sequential_writes = 1,
                                                  .largest_write = {128},
                                                  .end = {138},
                                                  .creates = 1,
                                                  .opens = 1,
                                                  .rank = 0,
                                                  .ranks = 1,
                                                  .communicator = 1},
                                       TracedFile{.name = "/s/c",
                                                  .read = {80},
                                                  .read_calls = 3,
                                                  .sequential_reads = 1,
                                                  .largest_read = {64},
                                                  .opens = 1,
                                                  .rank = 0,
                                                  .ranks = 1,
                                                  .communicator = 1}));
  EXPECT_EQ(trace.unknown_files, 2U) << "a closed descriptor, and standard output";
  EXPECT_EQ(report.skipped, 0U);
}

TEST(RecorderText, SeveralRanksOfOneFile) {
  const auto writer = [](int rank) {
    return named({"open /s/all 66 420", fmt::format("pwrite /s/all 0x1 100 {}", 100 * rank), "close /s/all"});
  };
  const auto [trace, report] =
      collect({named({"open /s/all 0", "read /s/all 0x1 5"}), writer(1), writer(2), named({"open /s/other 0"}), ""});
  ASSERT_EQ(trace.files.size(), 2U);
  EXPECT_EQ(trace.files[0], (TracedFile{.name = "/s/all",
                                        .written = {200},
                                        .read = {5},
                                        .write_calls = 2,
                                        .read_calls = 1,
                                        .largest_write = {100},
                                        .largest_read = {5},
                                        .end = {300},
                                        .creates = 2,
                                        .opens = 3,
                                        .rank = 1,
                                        .ranks = 2,
                                        .communicator = 5}));
  EXPECT_EQ(trace.files[1], (TracedFile{.name = "/s/other", .opens = 1, .communicator = 5}));
  EXPECT_EQ(trace.run.processes, 5U);
  EXPECT_EQ(trace.run.communicator, 5U);
}

TEST(RecorderText, OffsetsFollowSeeks) {
  const TracedFile set =
      only_file({"open /a 66 420", "lseek /a 4096 0", "write /a 0x1 10", "lseek64 /a 90 1", "write /a 0x1 10"});
  EXPECT_EQ(set.end, Bytes{4206});
  EXPECT_EQ(set.sequential_writes, 0U);
  const TracedFile end = only_file({"open /a 66 420", "write /a 0x1 10", "fseek /a 0 2", "write /a 0x1 10", "write /a 0x1 10"});
  EXPECT_EQ(end.end, Bytes{10}) << "where the end was is not known";
  EXPECT_EQ(end.written, Bytes{30});
  EXPECT_EQ(end.sequential_writes, 1U);
  const TracedFile back = only_file({"open /a 66 420", "lseek /a -5 0", "lseek /a -5 1", "write /a 0x1 10"});
  EXPECT_EQ(back.end, Bytes{10}) << "seeks that failed";
  const TracedFile again = only_file({"open /a 66 420", "write /a 0x1 10", "lseek /a 10 0", "write /a 0x1 10", "fseeko /a 0 0",
                                      "write /a 0x1 10", "open /a 2", "write /a 0x1 5"});
  EXPECT_EQ(again.end, Bytes{20});
  EXPECT_EQ(again.sequential_writes, 1U);
  EXPECT_EQ(again.opens, 2U);
  EXPECT_EQ(again.creates, 1U);
}

TEST(RecorderText, AppendedBytesHaveNoKnownPlace) {
  const TracedFile flag = only_file({"open /a 1089 420", "write /a 0x1 10", "lseek /a 0 0", "write /a 0x1 10"});
  EXPECT_EQ(flag.written, Bytes{20});
  EXPECT_EQ(flag.end, Bytes{0});
  const TracedFile mode = only_file({"fopen /a a+", "fwrite 0x1 1 10 /a", "fwrite 0x1 1 10 /a", "pwrite /a 0x1 5 20"});
  EXPECT_EQ(mode.creates, 1U);
  EXPECT_EQ(mode.sequential_writes, 1U) << "an offset from the start cannot be compared with one from an unknown place";
  EXPECT_EQ(mode.end, Bytes{25});
}

TEST(RecorderText, OpensAndCreations) {
  EXPECT_EQ(only_file({"creat64 /a 420"}).creates, 1U);
  EXPECT_EQ(only_file({"fopen /a r+"}).creates, 0U);
  EXPECT_EQ(only_file({"fopen64 /a w"}).creates, 1U);
  EXPECT_EQ(only_file({"open /a 2"}).creates, 0U);
  EXPECT_EQ(only_file({"open /a 2"}).rank, kNoRank) << "neither read nor written";
}

TEST(RecorderText, NamesWithSpaces) {
  EXPECT_EQ(only_file({"open /a b 66 420", "write /a b 0x1 10", "fwrite 0x1 2 3 /a b", "writev /a b 4 2", "close /a b"}),
            (TracedFile{.name = "/a b",
                        .written = {20},
                        .write_calls = 3,
                        .sequential_writes = 2,
                        .largest_write = {10},
                        .end = {20},
                        .creates = 1,
                        .opens = 1,
                        .rank = 0,
                        .ranks = 1,
                        .communicator = 1}));
  EXPECT_EQ(only_file({"open /a 7 0"}).name, "/a 7");
}

TEST(RecorderText, WritesWithoutTheirOpen) {
  const TracedFile file = only_file({"write /a 0x1 10", "write /a 0x1 10", "pwrite64 /a 0x1 10 50"});
  EXPECT_EQ(file.opens, 0U);
  EXPECT_EQ(file.written, Bytes{30});
  EXPECT_EQ(file.end, Bytes{60});
}

TEST(RecorderText, RenamedFiles) {
  // A checkpoint is written under another name, three times, and renamed twice.
  const auto [trace, report] =
      collect({named({"open /tmp 66 420", "write /tmp 0x1 10", "rename /tmp /ckpt.1", "write /ckpt.1 0x1 1", "open /tmp 66 420",
                      "write /tmp 0x1 20", "rename /tmp /ckpt.2", "open /tmp 66 420", "write /tmp 0x1 30"})});
  ASSERT_EQ(trace.files.size(), 3U);
  EXPECT_EQ(final_name(trace.files[0]), "/tmp");
  EXPECT_EQ(trace.files[0].written, Bytes{30});
  EXPECT_EQ(final_name(trace.files[1]), "/ckpt.1");
  EXPECT_EQ(trace.files[1].name, "/tmp");
  EXPECT_EQ(trace.files[1].written, Bytes{11});
  EXPECT_EQ(final_name(trace.files[2]), "/ckpt.2");
  EXPECT_EQ(trace.files[2].written, Bytes{20});
  EXPECT_EQ(report.skipped, 0U);
}

TEST(RecorderText, ARenameOfOneRankIsOneOfAll) {
  const auto [trace, report] = collect(
      {named({"open /tmp 66 420", "write /tmp 0x1 10", "rename /tmp /out"}), named({"open /tmp 1", "pwrite /tmp 0x1 10 10"})});
  ASSERT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(trace.files[0].renamed, "/out");
  EXPECT_EQ(trace.files[0].written, Bytes{20});
  EXPECT_EQ(trace.files[0].ranks, 2U);
}

TEST(RecorderText, ANameUsedTwiceByOneRankIsOneProcess) {
  const auto [trace, report] = collect({named({"open /tmp 66 420", "write /tmp 0x1 10", "rename /tmp /out", "open /tmp 66 420",
                                               "write /tmp 0x1 20", "rename /tmp /out"})});
  ASSERT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(trace.files[0].written, Bytes{30});
  EXPECT_EQ(trace.files[0].ranks, 1U);
}

TEST(RecorderText, RenamesThatChangeNothing) {
  EXPECT_EQ(only_file({"open /a 66 420", "rename /a /a"}).renamed, "");
  EXPECT_EQ(only_file({"open /a 66 420", "rename /a /b", "rename /b /a"}).renamed, "");
  EXPECT_EQ(only_file({"open /a 66 420", "rename /x /y"}).renamed, "");
  const auto [trace, report] = collect({named({"open /a 66 420", "rename /a /b /c", "rename /a b"})});
  EXPECT_EQ(report.skipped, 2U);
}

TEST(RecorderText, OtherLayersAreNotCounted) {
  const auto [trace, report] =
      collect({"0.1 0.2 MPI_File_open 0 1 ( MPI_COMM_WORLD /a 5 0x1 1 )\n"
               "0.11 0.12 open 1 0 ( /a 66 420 )\n"
               "0.2 0.5 MPI_File_write_at_all 0 1 ( 1 0 0x1 100 MPI_DOUBLE [0_0] )\n"
               "0.3 0.4 pwrite 1 0 ( /a 0x1 800 0 )\n"
               "0.5 0.6 H5Fclose 0 3 ( 1 )\n"
               "0.5 0.6 main 0 4 ( )\n"});
  ASSERT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(trace.files[0].written, Bytes{800});
  EXPECT_EQ(trace.other_calls, 4U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(RecorderText, UnusableNamesAreCounted) {
  const auto [trace, report] =
      collect({named({"open ?\?\?/a 66 420", "write ?\?\?/a 0x1 10", "open /" + std::string(5000, 'x') + " 0", "close /never",
                      "lseek /never 0 0", "fdopen /never r"})});
  EXPECT_TRUE(trace.files.empty());
  EXPECT_EQ(trace.unknown_files, 6U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(RecorderText, OddArgumentsAreSkipped) {
  const std::vector<std::string> odd{"write /a 0x1",
                                     "write /a 0x1 -1",
                                     "write 10",
                                     "write /a 0x1 1e3",
                                     "pwrite /a 0x1 10",
                                     "pwrite /a 0x1 10 -1",
                                     "fwrite 0x1 -1 1 /a",
                                     "fwrite 0x1 9223372036854775807 2 /a",
                                     "fwrite 0x1 1 1",
                                     "vfprintf /a 0",
                                     "lseek /a 0 7",
                                     "lseek /a x 0",
                                     "open /a",
                                     "open 66",
                                     "writev /a 10",
                                     "write /a 0x1 9223372036854775808"};
  for (const std::string& call : odd) {
    const auto [trace, report] = collect({named({"open /a 66 420", call})});
    EXPECT_EQ(report.skipped, 1U) << call;
    ASSERT_EQ(trace.files.size(), 1U) << call;
    EXPECT_EQ(trace.files[0].written, Bytes{0}) << call;
  }
}

TEST(RecorderText, MalformedLinesAreSkippedAndCounted) {
  const auto [trace, report] =
      collect({"0.1 0.2 open 0 0 ( /a 66 420 )\n"
               "0.1 0.2 write 0 0 ( /a 0x1 10\n"
               "0.1 write 0 0 ( /a 0x1 10 )\n"
               "0.2 0.1 write 0 0 ( /a 0x1 10 )\n"
               "nan inf write 0 0 ( /a 0x1 10 )\n"
               "-0.1 0.2 write 0 0 ( /a 0x1 10 )\n"
               "0.1 0.2 write 0 ( /a 0x1 10 )\n"
               "0.1 0.2 write 0 0 (\n"
               "0.1 0.2\n"
               "\n" +
               std::string(100'000, '1') + "\n0.1 0.2 write 0 0 ( /a 0x1 10 )"});
  ASSERT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(trace.files[0].written, Bytes{10});
  EXPECT_EQ(report.skipped, 9U);
  EXPECT_THAT(input::to_string(report.problems.at(0)), HasSubstr("0.txt line 2: expected 'START END FUNCTION"));
}

TEST(RecorderText, SumsDoNotWrap) {
  const TracedFile file = only_file({"open /a 66 420", "write /a 0x1 9223372036854775807", "write /a 0x1 9223372036854775807",
                                     "write /a 0x1 9223372036854775807", "lseek /a 5 1", "lseek /a -5 1"});
  EXPECT_EQ(file.written.count, ~std::uint64_t{0});
  EXPECT_EQ(file.end.count, ~std::uint64_t{0});
}

TEST(RecorderText, TextOfAnotherKindIsAnError) {
  RecorderCollector collector;
  input::ParseReport report;
  const auto stream = input::memory_stream("file_name,write_bytes\n/a,1\n");
  const auto added = collector.add(*stream, 0, "x.csv", report);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::parse);
  EXPECT_EQ(added.error().message,
            "x.csv: found no call of Recorder, expected what 'recorder2text FOLDER' puts into FOLDER/_text");
  const auto empty = collector.finish();
  EXPECT_TRUE(empty.files.empty());
  EXPECT_EQ(empty.run.communicator, 0U);
}

TEST(RecorderText, ACollectorStartsAnewAfterFinish) {
  RecorderCollector collector;
  input::ParseReport report;
  for (int round = 0; round < 2; ++round) {
    const std::string text = named({"open /a 66 420", "write /a 0x1 10"});
    const auto stream = input::memory_stream(text);
    ASSERT_TRUE(collector.add(*stream, 3, "3.txt", report));
    const RecorderTrace trace = collector.finish();
    ASSERT_EQ(trace.files.size(), 1U);
    EXPECT_EQ(trace.files[0].written, Bytes{10});
    EXPECT_EQ(trace.run.communicator, 4U);
    EXPECT_EQ(trace.calls, 2U);
  }
}

TEST(RecorderText, RanksOfFileNames) {
  EXPECT_EQ(recorder_rank("0.txt"), 0);
  EXPECT_EQ(recorder_rank("00012.txt"), 12);
  EXPECT_EQ(recorder_rank("2147483646.txt"), 2147483646);
  for (const char* const name : {"", ".txt", "a.txt", "-1.txt", "1.csv", "1", "2147483647.txt", "99999999999999999999.txt"}) {
    EXPECT_EQ(recorder_rank(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace iez::trace
