#include "trace/trace_csv.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader = "file_name,write_bytes,stripe_count,mpi_rank,communicator_size\n";

std::vector<TracedFile> accepted(std::string_view text) {
  auto files = parse_trace_csv(text, "t.csv");
  EXPECT_TRUE(files) << (files ? "" : files.error().message);
  return files ? *std::move(files) : std::vector<TracedFile>{};
}

std::string refusal(std::string_view text) {
  const auto files = parse_trace_csv(text, "t.csv");
  if (files) return "accepted";
  EXPECT_EQ(files.error().code, Errc::parse);
  return files.error().message;
}

std::string with_header(std::string_view rows) { return std::string(kHeader) + std::string(rows); }

TracedFile every_field() {
  return {.name = "/a/b",
          .renamed = "/a/c",
          .written = {1},
          .read = {2},
          .write_calls = 3,
          .read_calls = 4,
          .sequential_writes = 5,
          .sequential_reads = 6,
          .largest_write = {7},
          .largest_read = {8},
          .end = {9},
          .creates = 10,
          .opens = 11,
          .stripe_count = 12,
          .stripe_size = {13},
          .rank = 14,
          .ranks = 15,
          .communicator = 16,
          .first_ns = 17,
          .last_ns = 18,
          .first_write_ns = 19,
          .last_write_ns = 20,
          .first_read_ns = 21,
          .last_read_ns = 22,
          .opened_ns = 23,
          .removed_ns = 24,
          .own_layout = true};
}

TEST(TraceCsv, ColumnsOfThePaper) {
  const auto files = accepted(with_header("/scratch/part.0,803405824,8,0,32\n/scratch/log,0,,,\n/scratch/x,1,0,-1,0\n"));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0],
            (TracedFile{.name = "/scratch/part.0", .written = {803405824}, .stripe_count = 8, .rank = 0, .communicator = 32}));
  EXPECT_EQ(files[1], (TracedFile{.name = "/scratch/log"}));
  EXPECT_EQ(files[2], (TracedFile{.name = "/scratch/x", .written = {1}}));
}

TEST(TraceCsv, WrittenText) {
  EXPECT_EQ(to_csv(std::vector{every_field(), TracedFile{.name = "a,\"b\""}}),
            "file_name,write_bytes,stripe_count,mpi_rank,communicator_size,renamed_to,read_bytes,write_calls,read_calls,"
            "sequential_writes,sequential_reads,largest_write,largest_read,end_offset,creates,opens,stripe_size,ranks,first_ns,"
            "last_ns,first_write_ns,last_write_ns,first_read_ns,last_read_ns,opened_ns,removed_ns,own_layout\n"
            "/a/b,1,12,14,16,/a/c,2,3,4,5,6,7,8,9,10,11,13,15,17,18,19,20,21,22,23,24,1\n"
            "\"a,\"\"b\"\"\",0,0,-1,0,,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,\n");
  EXPECT_EQ(to_csv({}).find('\n'), to_csv({}).size() - 1);
}

TEST(TraceCsv, EveryFieldIsReadFromItsColumn) {
  EXPECT_THAT(accepted(to_csv(std::vector{every_field()})), testing::ElementsAre(every_field()));
}

TEST(TraceCsv, ColumnsInAnyOrderWithCrLfAndByteOrderMark) {
  const auto files = accepted(
      "\xEF\xBB\xBF last_ns , mpi_rank,write_bytes,file_name,communicator_size,stripe_count\r\n"
      "5, 3 ,70, x y ,4,2\r\n\r\n,,7,\"a\r\nb\",,\r\n");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0],
            (TracedFile{.name = " x y ", .written = {70}, .stripe_count = 2, .rank = 3, .communicator = 4, .last_ns = 5}));
  EXPECT_EQ(files[1], (TracedFile{.name = "a\r\nb", .written = {7}}));
}

TEST(TraceCsv, NoRowsAndTheLastLineWithoutItsEnd) {
  EXPECT_TRUE(accepted(kHeader).empty());
  EXPECT_EQ(accepted(with_header("a,1,,,")).size(), 1U);
}

TEST(TraceCsv, ABadHeaderIsRefused) {
  EXPECT_EQ(refusal(""),
            "t.csv: found an empty file, expected a header line: "
            "file_name,write_bytes,stripe_count,mpi_rank,communicator_size");
  EXPECT_THAT(refusal("file_name,write_byte\n"), HasSubstr("t.csv:1: unknown column 'write_byte': expected file_name, "));
  EXPECT_THAT(refusal("file_name,write_byte\n"), HasSubstr("; did you mean 'write_bytes'?"));
  EXPECT_THAT(refusal("file_name," + std::string(5000, 'x') + "\n"), testing::Not(HasSubstr("did you mean")));
  EXPECT_EQ(refusal("file_name,write_bytes,file_name\n"), "t.csv:1: column file_name: found twice in the header, expected once");
  EXPECT_EQ(refusal("file_name,write_bytes,stripe_count,mpi_rank\n/a,1,1,1\n"),
            "t.csv:1: column communicator_size: missing in the header, expected "
            "file_name,write_bytes,stripe_count,mpi_rank,communicator_size; its fields may be empty where not known");
}

TEST(TraceCsv, ABadRowIsRefusedWithLineAndColumn) {
  EXPECT_EQ(refusal(with_header("/a,1,1,1,1\n/b,1,1\n")),
            "t.csv:3: found 3 fields, expected 5, one for each column of the header");
  EXPECT_EQ(refusal(with_header("/a,12x,1,1,1\n")),
            "t.csv:2: column write_bytes: found '12x', expected a whole number from 0 to 2^64-1, without a unit");
  EXPECT_THAT(refusal(with_header("/a,,1,1,1\n")), HasSubstr("column write_bytes: found '', expected a whole number"));
  EXPECT_THAT(refusal(with_header(",1,1,1,1\n")), HasSubstr("column file_name: found '', expected a path of 1 to 4096 bytes"));
  EXPECT_THAT(refusal(with_header(std::string(4097, 'x') + ",1,1,1,1\n")), HasSubstr("at most 4096 bytes"));
  EXPECT_THAT(refusal(with_header(std::string("a\0b,1,1,1,1\n", 12))), HasSubstr("a path without a zero byte"));
  EXPECT_THAT(refusal(with_header("/a,1,4294967296,1,1\n")), HasSubstr("column stripe_count: found '4294967296'"));
  EXPECT_THAT(refusal(with_header("/a,1,1,-2,1\n")), HasSubstr("column mpi_rank: found '-2', expected a rank from 0 to 2^31-1"));
  EXPECT_THAT(refusal(with_header("/a,1,1,2147483648,1\n")), HasSubstr("column mpi_rank"));
  EXPECT_THAT(refusal(with_header("/a,18446744073709551616,1,1,1\n")), HasSubstr("column write_bytes"));
  EXPECT_THAT(refusal(with_header("/a,-1,1,1,1\n")), HasSubstr("column write_bytes"));
  EXPECT_THAT(refusal(with_header("/a,1e3,1,1,1\n")), HasSubstr("column write_bytes"));
  EXPECT_THAT(refusal(with_header("\"/a,1,1,1,1\n")), HasSubstr("t.csv:2: found a quote that opens a field"));
  EXPECT_THAT(refusal(with_header("\"/a\"x,1,1,1,1\n")), HasSubstr("expected a comma"));
  EXPECT_THAT(refusal(with_header("/\"a,1,1,1,1\n")), HasSubstr("the whole field in quotes"));
}

TEST(TraceCsv, TimesAreFrom1970OnAndInOrder) {
  const auto row = [](std::string_view first, std::string_view last) {
    return refusal("file_name,write_bytes,stripe_count,mpi_rank,communicator_size,first_ns,last_ns\n/a,1,,,," +
                   std::string(first) + "," + std::string(last) + "\n");
  };
  EXPECT_EQ(row("5", "5"), "accepted");
  EXPECT_EQ(row("", "9223372036854775807"), "accepted");
  EXPECT_THAT(row("-1", "5"), HasSubstr("column first_ns: found '-1', expected nanoseconds since 1970"));
  EXPECT_THAT(row("", "9223372036854775808"), HasSubstr("column last_ns"));
  EXPECT_THAT(row("6", "5"), HasSubstr("column last_ns: found '5', expected no time before first_ns"));
}

TEST(TraceCsv, TimesOfWritesAndReadsAreInOrderToo) {
  const auto row = [](std::string_view columns, std::string_view fields) {
    return refusal("file_name,write_bytes,stripe_count,mpi_rank,communicator_size," + std::string(columns) + "\n/a,1,,,," +
                   std::string(fields) + "\n");
  };
  EXPECT_EQ(row("first_write_ns,last_write_ns,removed_ns,opened_ns", "5,6,1,2"), "accepted");
  EXPECT_THAT(row("first_write_ns,last_write_ns", "6,5"),
              HasSubstr("last_write_ns: found '5', expected no time before first_write"));
  EXPECT_THAT(row("first_read_ns,last_read_ns", "6,5"), HasSubstr("last_read_ns: found '5', expected no time before first_read"));
  EXPECT_THAT(row("removed_ns", "soon"), HasSubstr("column removed_ns: found 'soon', expected nanoseconds since 1970"));
  EXPECT_EQ(row("own_layout", "0"), "accepted");
  EXPECT_THAT(row("own_layout", "yes"), HasSubstr("column own_layout: found 'yes', expected 1 if the program chose"));
}

TEST(TraceCsv, RowsBeforeABadOneAreVisited) {
  std::vector<std::string> names;
  const auto rows = read_trace_csv(with_header("/a,1,,,\n/b,1,,,\n/c,x,,,\n"), "t",
                                   [&](const TracedFile& file) { names.push_back(file.name); });
  EXPECT_FALSE(rows);
  EXPECT_THAT(names, testing::ElementsAre("/a", "/b"));
}

TEST(TraceCsv, WriterGivesTheSameTextInPieces) {
  std::vector<TracedFile> files;
  files.reserve(5000);
  for (int i = 0; i < 5000; ++i) files.push_back({.name = "/scratch/out." + std::to_string(i), .written = {1U << 20U}});
  std::string text;
  std::size_t pieces = 0;
  CsvWriter writer([&](std::string_view piece) -> Result<void> {
    text += piece;
    ++pieces;
    return {};
  });
  for (const TracedFile& file : files) ASSERT_TRUE(writer.add(file));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(writer.finish()) << "nothing is written twice";
  EXPECT_EQ(text, to_csv(files));
  EXPECT_GT(pieces, 2U);
  EXPECT_LT(pieces, 20U);

  CsvWriter refused([](std::string_view) -> Result<void> { return fail(Errc::io, "the disk is full"); });
  ASSERT_TRUE(refused.add(files[0]));
  const auto end = refused.finish();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "the disk is full");
}

std::uint64_t any_number(Rng& rng) { return rng.bits() >> rng.below(64); }

std::string any_path(Rng& rng, std::size_t least) {
  constexpr std::string_view kNasty = ",\"\r\n \t/.\\#'\xEF\xBB\xBF\xC3\x28\xFF";
  std::string path;
  const std::size_t length = rng.chance(0.02) ? kMaxPath : rng.between(least, 12);
  while (path.size() < length) {
    path += rng.chance(0.7) ? kNasty[rng.below(kNasty.size())] : static_cast<char>(rng.between(1, 255));
  }
  return path;
}

TEST(TraceCsv, RoundTripIsExactForAnyBytes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<TracedFile> files(rng.below(6));
    for (TracedFile& file : files) {
      file = {.name = any_path(rng, 1),
              .renamed = rng.chance(0.5) ? any_path(rng, 0) : "",
              .written = {any_number(rng)},
              .read = {any_number(rng)},
              .write_calls = any_number(rng),
              .read_calls = any_number(rng),
              .sequential_writes = any_number(rng),
              .sequential_reads = any_number(rng),
              .largest_write = {any_number(rng)},
              .largest_read = {any_number(rng)},
              .end = {any_number(rng)},
              .creates = any_number(rng),
              .opens = any_number(rng),
              .stripe_count = static_cast<std::uint32_t>(any_number(rng)),
              .stripe_size = {any_number(rng)},
              .rank = static_cast<std::int32_t>(rng.below(1ULL << 31U)) - (rng.chance(0.5) ? 0 : 1),
              .ranks = static_cast<std::uint32_t>(any_number(rng)),
              .communicator = static_cast<std::uint32_t>(any_number(rng))};
      if (rng.chance(0.5)) file.first_ns = static_cast<std::int64_t>(any_number(rng) >> 2U);
      if (rng.chance(0.5)) file.last_ns = file.first_ns.value_or(0) + static_cast<std::int64_t>(any_number(rng) >> 2U);
      if (rng.chance(0.5)) file.first_write_ns = static_cast<std::int64_t>(any_number(rng) >> 2U);
      if (rng.chance(0.5)) file.last_read_ns = static_cast<std::int64_t>(any_number(rng) >> 2U);
      if (rng.chance(0.5)) file.removed_ns = static_cast<std::int64_t>(any_number(rng) >> 2U);
      file.own_layout = rng.chance(0.5);
    }
    const std::string text = to_csv(files);
    EXPECT_EQ(accepted(text), files);
    std::string crlf;  // but within quotes, where a line end is part of a name
    bool quoted = false;
    for (const char c : text) {
      if (c == '"') quoted = !quoted;
      if (c == '\n' && !quoted) crlf += '\r';
      crlf += c;
    }
    EXPECT_EQ(accepted(crlf), files);
  }
}

}  // namespace
}  // namespace iez::trace
