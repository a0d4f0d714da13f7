#include "trace/darshan_text.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "input/stream_test_support.hpp"
#include "trace/darshan_test_support.hpp"

namespace iez::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kHeader =
    "# darshan log version: 3.41\n# exe: /bin/app --steps 3\n# uid: 1\n# jobid: 42\n# start_time: 1000\n# end_time: 1010\n"
    "# nprocs: 8\n\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t<fs type>\n";

std::string row(std::string_view module, int rank, std::uint64_t id, std::string_view counter, std::string_view value,
                std::string_view name) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t/\tlustre\n", module, rank, id, counter, value, name);
}

std::string log(std::string_view rows) { return std::string(kHeader) + std::string(rows); }

TEST(DarshanText, MpiIoCountsOnlyWithoutPosix) {
  const std::string mpi =
      row("MPI-IO", -1, 7, "MPIIO_INDEP_OPENS", "1", "/a") + row("MPI-IO", -1, 7, "MPIIO_COLL_OPENS", "7", "/a") +
      row("MPI-IO", -1, 7, "MPIIO_INDEP_WRITES", "1", "/a") + row("MPI-IO", -1, 7, "MPIIO_COLL_WRITES", "2", "/a") +
      row("MPI-IO", -1, 7, "MPIIO_SPLIT_WRITES", "4", "/a") + row("MPI-IO", -1, 7, "MPIIO_NB_WRITES", "8", "/a") +
      row("MPI-IO", -1, 7, "MPIIO_BYTES_WRITTEN", "1500", "/a") + row("H5F", -1, 7, "H5F_OPENS", "9", "/a") +
      row("LUSTRE", -1, 7, "LUSTRE_STRIPE_SIZE", "65536", "/a") + row("LUSTRE", -1, 7, "LUSTRE_STRIPE_WIDTH", "4", "/a");
  const TracedFile expected{.name = "/a",
                            .written = {1500},
                            .write_calls = 15,
                            .opens = 8,
                            .stripe_count = 4,
                            .stripe_size = {65536},
                            .rank = 0,
                            .ranks = 8,
                            .communicator = 8};
  EXPECT_THAT(files_of(log(mpi)), ElementsAre(expected));
  // A record that saw nothing but stat() hides nothing.
  EXPECT_THAT(files_of(log(row("POSIX", 0, 7, "POSIX_OPENS", "0", "/a") + mpi)), ElementsAre(expected));
  const auto both =
      files_of(log(row("POSIX", 2, 7, "POSIX_WRITES", "1", "/a") + row("POSIX", 2, 7, "POSIX_BYTES_WRITTEN", "10", "/a") + mpi));
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(both[0].written, Bytes{10});
  EXPECT_EQ(both[0].rank, 2);
  EXPECT_EQ(both[0].ranks, 1U);
  const auto hdf5 = files_of(log(row("H5F", 1, 7, "H5F_OPENS", "9", "/a")));
  ASSERT_EQ(hdf5.size(), 1U);
  EXPECT_EQ(hdf5[0].opens, 9U);
}

TEST(DarshanText, StdioIsAddedToPosix) {
  const auto files =
      files_of(log(row("POSIX", 0, 7, "POSIX_WRITES", "2", "/a") + row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "20", "/a") +
                   row("POSIX", 0, 7, "POSIX_MAX_BYTE_WRITTEN", "99", "/a") + row("POSIX", 0, 7, "POSIX_OPENS", "3", "/a") +
                   row("POSIX", 0, 7, "POSIX_FILENOS", "1", "/a") + row("POSIX", 0, 7, "POSIX_DUPS", "1", "/a") +
                   row("STDIO", 0, 7, "STDIO_WRITES", "5", "/a") + row("STDIO", 0, 7, "STDIO_BYTES_WRITTEN", "50", "/a") +
                   row("STDIO", 0, 7, "STDIO_OPENS", "4", "/a") + row("STDIO", 0, 7, "STDIO_FDOPENS", "1", "/a") +
                   row("STDIO", 0, 7, "STDIO_MAX_BYTE_WRITTEN", "49", "/a")));
  EXPECT_THAT(
      files,
      ElementsAre(TracedFile{
          .name = "/a", .written = {70}, .write_calls = 7, .end = {100}, .opens = 4, .rank = 0, .ranks = 1, .communicator = 8}));
}

TEST(DarshanText, WritersCountBeforeReaders) {
  std::string rows;
  for (int rank = 7; rank >= 2; --rank) rows += row("POSIX", rank, 7, "POSIX_BYTES_READ", "1", "/a");
  EXPECT_EQ(files_of(log(rows))[0].ranks, 6U);
  EXPECT_EQ(files_of(log(rows))[0].rank, 2);
  rows += row("POSIX", 5, 7, "POSIX_BYTES_WRITTEN", "1", "/a") + row("STDIO", 3, 7, "STDIO_BYTES_WRITTEN", "1", "/a") +
          row("STDIO", 5, 7, "STDIO_BYTES_WRITTEN", "1", "/a");
  EXPECT_EQ(files_of(log(rows))[0].ranks, 2U);
  EXPECT_EQ(files_of(log(rows))[0].rank, 3);
  rows += row("STDIO", -1, 7, "STDIO_BYTES_WRITTEN", "1", "/a");
  EXPECT_EQ(files_of(log(rows))[0].ranks, 8U);
  EXPECT_EQ(files_of(log(rows))[0].rank, 0);
}

// From 3.4.5 on.
TEST(DarshanText, ComponentWithMostStripes) {
  const auto files = files_of(
      log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") + row("LUSTRE", 0, 7, "LUSTRE_NUM_COMPONENTS", "3", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_NUM_STRIPES", "13", "/a") + row("LUSTRE", 0, 7, "LUSTRE_COMP1_STRIPE_SIZE", "65536", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP1_STRIPE_COUNT", "1", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP1_STRIPE_PATTERN", "raid0", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP1_FLAGS", "init", "/a") + row("LUSTRE", 0, 7, "LUSTRE_COMP1_EXT_END", "-1", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP1_POOL_NAME", "N/A", "/a") + row("LUSTRE", 0, 7, "LUSTRE_COMP1_OST_ID_0", "3", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP2_STRIPE_SIZE", "1048576", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP2_STRIPE_COUNT", "8", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP3_STRIPE_SIZE", "4194304", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_COMP3_STRIPE_COUNT", "-1", "/a")));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].stripe_count, 8U);
  EXPECT_EQ(files[0].stripe_size, Bytes::mib(1));
}

TEST(DarshanText, StdioCountersWithinPosixOf30) {
  const auto files =
      files_of(log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") + row("POSIX", 0, 7, "POSIX_FOPENS", "2", "/a") +
                   row("POSIX", 0, 7, "POSIX_WRITES", "3", "/a") + row("POSIX", 0, 7, "POSIX_FWRITES", "4", "/a") +
                   row("POSIX", 0, 7, "POSIX_FREADS", "5", "/a") + row("POSIX", 0, 7, "POSIX_F_OPEN_TIMESTAMP", "1.5", "/a") +
                   row("POSIX", 0, 7, "POSIX_F_CLOSE_TIMESTAMP", "2.25", "/a")));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].opens, 3U);
  EXPECT_EQ(files[0].write_calls, 7U);
  EXPECT_EQ(files[0].read_calls, 5U);
  EXPECT_EQ(files[0].first_ns, 1001 * kSecond + kSecond / 2);
  EXPECT_EQ(files[0].last_ns, 1002 * kSecond + kSecond / 4);
}

// As darshan-parser 2.3.1 prints them.
TEST(DarshanText, Version2) {
  const auto old = [](int rank, std::uint64_t hash, std::string_view counter, std::string_view value, std::string_view suffix) {
    return fmt::format("{}\t{}\t{}\t{}\t...{}\t/scratch\tlustre\n", rank, hash, counter, value, suffix);
  };
  std::string text =
      "# darshan log version: 2.06\n# size of file statistics: 1328 bytes\n# exe: /home/u/app in.txt\n# jobid: 9\n"
      "# start_time: 100\n# end_time: 200\n# nprocs: 16\n\n# mount entry: -5\t/scratch\tlustre\n\n"
      "#<rank>\t<file>\t<counter>\t<value>\t<name suffix>\t<mount pt>\t<fs type>\n";
  for (const int rank : {3, 4}) {
    text +=
        old(rank, 77, "CP_INDEP_OPENS", "9", "run/ckpt.000001") + old(rank, 77, "CP_COLL_WRITES", "9", "run/ckpt.000001") +
        old(rank, 77, "CP_HDF5_OPENS", "9", "run/ckpt.000001") + old(rank, 77, "CP_POSIX_WRITES", "3", "run/ckpt.000001") +
        old(rank, 77, "CP_POSIX_FWRITES", "2", "run/ckpt.000001") + old(rank, 77, "CP_POSIX_OPENS", "1", "run/ckpt.000001") +
        old(rank, 77, "CP_POSIX_FOPENS", "1", "run/ckpt.000001") + old(rank, 77, "CP_BYTES_WRITTEN", "500", "run/ckpt.000001") +
        old(rank, 77, "CP_MAX_BYTE_WRITTEN", "999", "run/ckpt.000001") +
        old(rank, 77, "CP_CONSEC_WRITES", "4", "run/ckpt.000001") + old(rank, 77, "CP_ACCESS1_ACCESS", "100", "run/ckpt.000001") +
        old(rank, 77, "CP_ACCESS1_COUNT", "5", "run/ckpt.000001") +
        old(rank, 77, "CP_F_OPEN_TIMESTAMP", "0.500000", "run/ckpt.000001") +
        old(rank, 77, "CP_F_WRITE_END_TIMESTAMP", "7.000000", "run/ckpt.000001");
  }
  text += old(-1, 78, "CP_POSIX_READS", "1", "/a/in") + old(-1, 78, "CP_BYTES_READ", "10", "/a/in");
  text += old(5, 0, "CP_BYTES_READ", "10", "");
  text += "total_CP_BYTES_WRITTEN: 1000\n# <hash>\t<suffix>\t<type>\t<nprocs>\n77\t...run/ckpt.000001\tPOSIX\t2\n";
  const auto [trace, report] = parse_log(text);
  EXPECT_EQ(trace.version, "2.06");
  EXPECT_EQ(trace.run.job, "9");
  EXPECT_EQ(trace.run.program, "/home/u/app");
  EXPECT_THAT(
      trace.files,
      ElementsAre(
          TracedFile{.name = "...run/ckpt.000001",
                     .written = {1000},
                     .write_calls = 10,
                     .sequential_writes = 8,
                     .end = {1000},
                     .opens = 4,
                     .rank = 3,
                     .ranks = 2,
                     .communicator = 16,
                     .first_ns = 100 * kSecond + kSecond / 2,
                     .last_ns = 107 * kSecond},
          TracedFile{
              .name = "/a/in", .read = {10}, .read_calls = 1, .largest_read = {10}, .rank = 0, .ranks = 16, .communicator = 16}));
  EXPECT_EQ(trace.unnamed, 1U) << "record 0 is of many files";
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanText, OutputOfAllOptionsIsPassedOver) {
  const auto [trace, report] = parse_log(log(
      row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "5", "/a") +
      "total_POSIX_BYTES_WRITTEN: 5\n\n# Total file counts\n# total: 1 5 5\n# agg_perf_by_slowest: 3.0\n"
      "# <record_id>\t<file_name>\t<nprocs>\t<slowest>\t<avg>\n7\t/a\t1\t0.1\t0.1\n\n"
      "# *******************************************************\n# HEATMAP module data\n" +
      row("HEATMAP", 0, 16592106915301738621U, "HEATMAP_F_BIN_WIDTH_SECONDS", "0.1", "heatmap:POSIX") +
      row("BG/Q", 0, 5, "BGQ_CSJOBID", "1", "darshan-bgq-record") + row("PNETCDF_FILE", 0, 6, "PNETCDF_FILE_OPENS", "1", "/a") +
      row("APMPI", 0, 8, "X", "1", "/b") + "# DXT, file_id: 7, file_name: /a\n X_POSIX\t0\twrite\t0\t0\t5\t0.1\t0.2\n" +
      row("STDIO", 0, 7, "STDIO_BYTES_WRITTEN", "6", "/a")));
  ASSERT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(trace.files[0].written, Bytes{11});
  EXPECT_EQ(trace.other_records, 4U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanText, IncompleteModulesAreReported) {
  const auto [trace, report] =
      parse_log(log("\n# *WARNING*: The POSIX module contains incomplete data!\n#            This happens\n" +
                    row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "5", "/a")));
  EXPECT_EQ(trace.files.size(), 1U);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(input::to_string(report.problems[0]),
            "log.txt line 11: files are missing: Darshan ran out of memory for them: "
            "'*WARNING*: The POSIX module contains incomplete'");
}

TEST(DarshanText, NamesThatAreNoFiles) {
  const auto [trace, report] =
      parse_log(log(row("STDIO", 0, 1, "STDIO_WRITES", "1", "<STDIN>") + row("STDIO", 0, 2, "STDIO_WRITES", "1", "<STDOUT>") +
                    row("STDIO", 1, 3, "STDIO_WRITES", "1", "<STDERR>") + row("POSIX", 0, 4, "POSIX_WRITES", "1", "(null)") +
                    row("POSIX", 0, 5, "POSIX_WRITES", "1", "relative") +
                    row("POSIX", 0, 6, "POSIX_WRITES", "1", "/" + std::string(5000, 'x')) +
                    row("POSIX", 0, 8, "POSIX_STATS", "1", "/only/stat")));
  EXPECT_TRUE(trace.files.empty());
  EXPECT_EQ(trace.standard_streams, 3U);
  EXPECT_EQ(trace.unnamed, 3U);
  EXPECT_EQ(trace.idle_files, 1U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanText, NamesMayHoldTabs) {
  EXPECT_EQ(files_of(log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a\tb c")))[0].name, "/a\tb c");
}

TEST(DarshanText, CountersThatWereNotMonitored) {
  const auto [trace, report] = parse_log(
      log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") + row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "-1", "/a") +
          row("POSIX", 0, 7, "POSIX_WRITES", "-1", "/a") + row("POSIX", 0, 7, "POSIX_MAX_BYTE_WRITTEN", "-1", "/a") +
          row("POSIX", 0, 7, "POSIX_F_OPEN_START_TIMESTAMP", "-1.000000", "/a") +
          row("LUSTRE", 0, 7, "LUSTRE_STRIPE_SIZE", "-1", "/a") + row("LUSTRE", 0, 7, "LUSTRE_STRIPE_WIDTH", "-1", "/a")));
  EXPECT_THAT(trace.files, ElementsAre(TracedFile{.name = "/a", .opens = 1, .communicator = 8}));
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanText, ValuesThatAreNoNumbersAreSkipped) {
  for (const char* const value : {"18446744073709551616", "-9223372036854775809", "1.5", "", "nan", "x", "0x10", "1 2"}) {
    const auto [trace, report] =
        parse_log(log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") + row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", value, "/a")));
    ASSERT_EQ(trace.files.size(), 1U) << value;
    EXPECT_EQ(trace.files[0].written, Bytes{0}) << value;
    EXPECT_EQ(report.skipped, 1U) << value;
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_THAT(report.problems[0].message, HasSubstr("expected a number of at most 64 bits"));
  }
  for (const char* const value : {"nan", "inf", "-inf", "1e300", "x", ""}) {
    const auto [trace, report] = parse_log(
        log(row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") + row("POSIX", 0, 7, "POSIX_F_OPEN_START_TIMESTAMP", value, "/a")));
    EXPECT_EQ(trace.files.at(0).first_ns, std::nullopt) << value;
    EXPECT_EQ(report.skipped, 1U) << value;
  }
}

TEST(DarshanText, SumsDoNotWrap) {
  const auto files = files_of(log(row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "18446744073709551615", "/a") +
                                  row("POSIX", 0, 7, "POSIX_MAX_BYTE_WRITTEN", "18446744073709551615", "/a") +
                                  row("POSIX", 1, 7, "POSIX_BYTES_WRITTEN", "18446744073709551615", "/a")));
  EXPECT_EQ(files.at(0).written.count, ~std::uint64_t{0});
  EXPECT_EQ(files.at(0).end.count, ~std::uint64_t{0});
}

TEST(DarshanText, MalformedRowsAreSkippedAndCounted) {
  const auto [trace, report] =
      parse_log(log("POSIX\t0\t7\tPOSIX_OPENS\n"
                    "POSIX\t-2\t7\tPOSIX_OPENS\t1\t/a\t/\text4\n"
                    "POSIX\t0\t-7\tPOSIX_OPENS\t1\t/a\t/\text4\n"
                    "POSIX\t99999999999\t7\tPOSIX_OPENS\t1\t/a\t/\text4\n"
                    "0\t7\tPOSIX_OPENS\t1\t.../a\t/\text4\n"
                    "POSIX\t0\t7\tCP_OPENS\t1\t/a\t/\text4\n"
                    "hello\n" +
                    std::string(100'000, 'x') + "\n" + row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a")));
  EXPECT_EQ(trace.files.size(), 1U);
  EXPECT_EQ(report.skipped, 8U);
  EXPECT_EQ(report.problems.at(0).line, 10U);
}

TEST(DarshanText, MissingHeaderLeavesTimesAndRanksUnknown) {
  const auto files = files_of(row("POSIX", -1, 7, "POSIX_BYTES_WRITTEN", "5", "/a") +
                              row("POSIX", -1, 7, "POSIX_F_WRITE_START_TIMESTAMP", "5.0", "/a"));
  EXPECT_THAT(files, ElementsAre(TracedFile{.name = "/a", .written = {5}}));
}

TEST(DarshanText, BadHeaderValuesAreReported) {
  const auto [trace, report] =
      parse_log("# darshan log version: 3.41\n# start_time: 99999999999999999999\n# end_time: -5\n# nprocs: 5000000000\n");
  EXPECT_EQ(report.skipped, 3U);
  EXPECT_EQ(trace.run.start_ns, 0);
  EXPECT_EQ(trace.run.end_ns, 0);
  EXPECT_EQ(trace.run.communicator, 0U);
}

TEST(DarshanText, TimesNearTheEndOfTheirRange) {
  const auto files =
      files_of("# darshan log version: 3.41\n# start_time: 9223372036\n" + row("POSIX", 0, 7, "POSIX_OPENS", "1", "/a") +
               row("POSIX", 0, 7, "POSIX_F_OPEN_START_TIMESTAMP", "2000000000.0", "/a"));
  EXPECT_EQ(files.at(0).first_ns, std::nullopt);
}

TEST(DarshanText, RenamedFiles) {
  const std::string source =
      row("POSIX", 0, 7, "POSIX_BYTES_WRITTEN", "5", "/a.tmp") + row("POSIX", 0, 7, "POSIX_RENAME_SOURCES", "1", "/a.tmp");
  const auto target = [](std::string_view from) { return row("POSIX", 0, 8, "POSIX_RENAMED_FROM", from, "/a"); };
  const auto plain = files_of(log(source + target("7")));
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].name, "/a.tmp");
  EXPECT_EQ(final_name(plain[0]), "/a");
  const auto read = files_of(log(source + target("7") + row("POSIX", 3, 8, "POSIX_BYTES_READ", "9", "/a")));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].read, Bytes{9});
  EXPECT_EQ(read[0].written, Bytes{5});
  EXPECT_EQ(read[0].ranks, 1U);
  const auto written = files_of(log(source + target("7") + row("POSIX", 3, 8, "POSIX_BYTES_WRITTEN", "9", "/a")));
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0].name, "/a");
  EXPECT_EQ(written[1].renamed, "/a");
  // Of nobody, of itself, and in a circle.
  EXPECT_EQ(files_of(log(source + target("99"))).size(), 1U);
  EXPECT_EQ(files_of(log(source + row("POSIX", 0, 7, "POSIX_RENAMED_FROM", "7", "/a.tmp"))).at(0).renamed, "");
  EXPECT_FALSE(files_of(log(source + target("7") + row("POSIX", 0, 7, "POSIX_RENAMED_FROM", "8", "/a.tmp"))).empty());
}

TEST(DarshanText, TextOfAnotherKindIsAnError) {
  for (const char* const text : {"", "hello\nworld\n", "file_name,write_bytes\n/a,1\n"}) {
    input::ParseReport report;
    const auto stream = input::memory_stream(text);
    const auto trace = read_darshan_text(*stream, "x.log", report);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code, Errc::parse);
    EXPECT_EQ(trace.error().message,
              "x.log: found no counter and no header of Darshan, expected what 'darshan-parser LOG' prints");
  }
  EXPECT_TRUE(files_of("# darshan log version: 3.41\n# no files opened.\n").empty());
}

TEST(DarshanText, AStreamThatBreaksIsAnError) {
  input::BrokenStream stream(kHeader);
  input::ParseReport report;
  const auto trace = read_darshan_text(stream, "x", report);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().message, "the device is gone");
}

}  // namespace
}  // namespace iez::trace
