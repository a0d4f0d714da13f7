// What darshan-parser printed for real logs. The figures were computed from the same text by a script that shares no code with
// the reader: a table of all counters by file, module and rank, summed as the header of darshan_text.hpp says.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "trace/darshan_test_support.hpp"

namespace iez::trace {
namespace {

using testing::ElementsAre;

// 2048 ranks write one file by MPI-IO and HDF5: 2 TiB, 24 stripes; 129 records of standard streams.
TEST(DarshanFixtures, SharedFileOf310) {
  const auto [trace, report] = parse_log(darshan_fixture("example-3.10.txt"));
  EXPECT_EQ(trace.version, "3.10");
  EXPECT_EQ(trace.run, (RunInfo{.program = "/global/project/projectdirs/m888/glock/tokio-abc-results/bin.edison/vpicio_uni",
                                .job = "4478544",
                                .processes = 2048,
                                .communicator = 2048,
                                .start_ns = 1490000867 * kSecond,
                                .end_ns = 1490000983 * kSecond}));
  EXPECT_THAT(trace.files, ElementsAre(TracedFile{.name = "/scratch2/scratchdirs/glock/tokioabc-s.4478544/vpicio/vpicio.hdf5",
                                                  .written = {2199023259968},
                                                  .write_calls = 16402,
                                                  .end = {2199023261832},
                                                  .opens = 2049,
                                                  .stripe_count = 24,
                                                  .stripe_size = {1048576},
                                                  .rank = 0,
                                                  .ranks = 2048,
                                                  .communicator = 2048,
                                                  .first_ns = 1490000870919141000,
                                                  .last_ns = 1490000982770358000}));
  EXPECT_EQ(trace.standard_streams, 129U);
  EXPECT_EQ(trace.records, 132U);
  EXPECT_EQ(report.skipped, 0U);
}

// 48 ranks write a file each, 128 calls of 8 MiB.
TEST(DarshanFixtures, FilePerProcessOf310) {
  const auto [trace, report] = parse_log(darshan_fixture("sample-goodost-3.10.txt"));
  ASSERT_EQ(trace.files.size(), 48U);
  for (std::size_t i = 0; i < trace.files.size(); ++i) {
    const TracedFile& file = trace.files[i];
    EXPECT_EQ(file.name, fmt::format("/scratch1/scratchdirs/glock/testFile.{:08}", i));
    EXPECT_EQ(file.rank, static_cast<std::int32_t>(i));
    EXPECT_EQ(file.ranks, 1U);
    EXPECT_FALSE(shared(file));
    EXPECT_EQ(file.written, Bytes::gib(1));
    EXPECT_EQ(file.end, Bytes::gib(1));
    EXPECT_EQ(file.write_calls, 128U);
    EXPECT_EQ(file.sequential_writes, 127U);
    EXPECT_EQ(file.largest_write, Bytes::mib(8));
    EXPECT_EQ(file.read_calls, 0U);
    EXPECT_EQ(file.opens, 1U);
    EXPECT_EQ(file.stripe_count, 1U);
    EXPECT_EQ(file.stripe_size, Bytes::mib(1));
    EXPECT_EQ(file.communicator, 48U);
  }
  EXPECT_EQ(trace.files[0].first_ns, 1501889272226397000);
  EXPECT_EQ(trace.files[0].last_ns, 1501889275565967000);
  EXPECT_EQ(trace.files[47].first_ns, 1501889272206561000);
  EXPECT_EQ(trace.files[47].last_ns, 1501889274650692000);
  EXPECT_EQ(trace.standard_streams, 2U);
  EXPECT_EQ(report.skipped, 0U);
}

// POSIX, MPI-IO, H5F, H5D and LUSTRE of one file: only POSIX counts.
TEST(DarshanFixtures, LayersOf321AreNotCountedTwice) {
  const auto [trace, report] = parse_log(darshan_fixture("ior_hdf5_example-3.21.txt"));
  EXPECT_THAT(trace.files, ElementsAre(TracedFile{.name = "/global/cscratch1/sd/ssnyder/test123.h5",
                                                  .written = {4195800},
                                                  .read = {4202504},
                                                  .write_calls = 23,
                                                  .read_calls = 36,
                                                  .sequential_writes = 13,
                                                  .sequential_reads = 14,
                                                  .end = {4196352},
                                                  .opens = 22,
                                                  .stripe_count = 1,
                                                  .stripe_size = {1048576},
                                                  .rank = 0,
                                                  .ranks = 4,
                                                  .communicator = 4,
                                                  .first_ns = 1594155460016643000,
                                                  .last_ns = 1594155460290802000}));
  EXPECT_EQ(trace.other_records, 3U) << "H5D";
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanFixtures, LargestCallsWhereAllSizesAreListed) {
  const auto [trace, report] = parse_log(darshan_fixture("macsio-3.21.txt"));
  ASSERT_EQ(trace.files.size(), 3U);
  EXPECT_EQ(trace.files[0], (TracedFile{.name = "/tmp/test/macsio-log.log",
                                        .written = {145664},
                                        .write_calls = 66,
                                        .sequential_writes = 49,
                                        .largest_write = {16384},
                                        .end = {139264},
                                        .opens = 17,
                                        .rank = 0,
                                        .ranks = 16,
                                        .communicator = 16,
                                        .first_ns = 1590156152096126000,
                                        .last_ns = 1590156155242320000}));
  EXPECT_EQ(trace.files[1].name, "/tmp/test/macsio-timings.log");
  EXPECT_EQ(trace.files[1].written, Bytes{12460});
  EXPECT_EQ(trace.files[1].largest_write, Bytes{890});
  EXPECT_EQ(trace.files[1].end, Bytes{6230});
  EXPECT_EQ(trace.files[2].name, "/tmp/test/macsio_hdf5_000.h5");
  EXPECT_EQ(trace.files[2].written, Bytes{54579416});
  EXPECT_EQ(trace.files[2].read, Bytes{39816960});
  EXPECT_EQ(trace.files[2].largest_write, Bytes{0}) << "sizes of reads and writes together tell neither";
  EXPECT_EQ(trace.run.job, "29959");
  EXPECT_EQ(report.skipped, 0U);
}

// Files read by some ranks only have a record for each of them.
TEST(DarshanFixtures, RecordsOfSeveralRanksAreOneFile) {
  const auto [trace, report] = parse_log(darshan_fixture("app_readAB_writeC-3.21.txt"));
  ASSERT_EQ(trace.files.size(), 8U);
  const TracedFile& a = trace.files[0];
  EXPECT_THAT(a.name, testing::EndsWith("/A"));
  EXPECT_EQ(a.read, Bytes{10000});
  EXPECT_EQ(a.read_calls, 20U);
  EXPECT_EQ(a.sequential_reads, 18U);
  EXPECT_EQ(a.largest_read, Bytes{500});
  EXPECT_EQ(a.rank, 1);
  EXPECT_EQ(a.ranks, 2U);
  EXPECT_EQ(a.first_ns, 1596152058003690000);
  EXPECT_EQ(a.last_ns, 1596152058015481000);
  EXPECT_EQ(trace.files[1].rank, 0);
  EXPECT_EQ(trace.files[2].opens, 8U);
  EXPECT_EQ(trace.files[2].ranks, 0U) << "neither read nor written";
  EXPECT_EQ(trace.files[2].rank, kNoRank);
  EXPECT_EQ(trace.files[7].written, Bytes{40});
  EXPECT_EQ(trace.files[7].largest_write, Bytes{40}) << "there was one call";
  EXPECT_EQ(trace.run.program, "./app_readAB_writeC");
  EXPECT_EQ(report.skipped, 0U);
}

TEST(DarshanFixtures, AnonymousLogsAreLeftOutUnlessAskedFor) {
  const std::string text = darshan_fixture("noposixopens-3.10.txt");
  const DarshanTrace without = parse_log(text).trace;
  EXPECT_TRUE(without.files.empty());
  EXPECT_EQ(without.anonymous_files, 2U);
  EXPECT_EQ(without.unnamed, 1U);

  const DarshanTrace with = parse_log(text, {.anonymous_names = true}).trace;
  ASSERT_EQ(with.files.size(), 3U);
  EXPECT_EQ(with.files[0], (TracedFile{.name = "/global/project/3706887080",
                                       .read = {603979776},
                                       .read_calls = 32,
                                       .opens = 1,
                                       .rank = 0,
                                       .ranks = 1,
                                       .communicator = 32,
                                       .first_ns = 1546562282215099000,
                                       .last_ns = 1546562284892600000}))
      << "POSIX saw it only by stat()";
  EXPECT_EQ(with.files[1].written, Bytes{3337301});
  EXPECT_EQ(with.files[1].write_calls, 217216U);
  EXPECT_EQ(with.files[1].end, Bytes{2772});
  EXPECT_EQ(with.files[1].ranks, 32U);
  EXPECT_EQ(with.files[2].name, "3710437467");
  EXPECT_EQ(with.files[2].written, Bytes{779748});
}

TEST(DarshanFixtures, CrLfGivesTheSame) {
  const std::string text = darshan_fixture("macsio-3.21.txt");
  std::string crlf;
  for (const char c : text) {
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  const ParsedLog parsed = parse_log(crlf);
  EXPECT_EQ(parsed.trace.files, files_of(text));
  EXPECT_EQ(parsed.trace.run, parse_log(text).trace.run);
  EXPECT_EQ(parsed.report.skipped, 0U);
}

// All but the size of the largest call, which needs a record in one piece.
TEST(DarshanFixtures, OrderOfRowsDoesNotMatter) {
  for (const char* const name : {"app_readAB_writeC-3.21.txt", "ior_hdf5_example-3.21.txt", "macsio-3.21.txt"}) {
    const std::string text = darshan_fixture(name);
    std::vector<std::string> header;
    std::vector<std::string> rows;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at) + 1;
      (text[at] == '#' || text[at] == '\n' ? header : rows).push_back(text.substr(at, end - at));
      at = end;
    }
    const std::uint64_t seed = 7;
    SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
    Rng rng(seed);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
    std::string shuffled;
    for (const std::string& line : header) shuffled += line;
    for (const std::string& line : rows) shuffled += line;
    auto expected = files_of(text);
    auto found = files_of(shuffled);
    for (TracedFile& file : expected) file.largest_read = file.largest_write = {};
    for (TracedFile& file : found) file.largest_read = file.largest_write = {};
    // Layouts have a component in several lines as well.
    for (TracedFile& file : expected) file.stripe_size = {};
    for (TracedFile& file : found) file.stripe_size = {};
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace iez::trace
