#include "trace/segment_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/segment_test_support.hpp"

namespace iez::trace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_of(const ReadBack& back) {
  std::vector<std::string> names;
  names.reserve(back.files.size());
  for (const TracedFile& file : back.files) names.push_back(file.name);
  return names;
}

std::string why_not(std::span<const std::byte> bytes) {
  const auto reader = SegmentReader::from_memory(bytes, "x.ieztrace");
  return reader ? "" : reader.error().message;
}

std::string first_problem(const ReadBack& back) {
  return back.report.problems.empty() ? "" : to_string(back.report.problems.front());
}

Arena small_arena(std::uint32_t capacity = 16) {
  return Arena(capacity, {.pid = 7,
                          .parent_pid = 1,
                          .rank = 3,
                          .communicator = 8,
                          .host = "n1",
                          .job = "42",
                          .program = "/bin/app",
                          .start_ns = 1000,
                          .start_monotonic_ns = 5});
}

TEST(SegmentReader, GivesHeaderAndRows) {
  Arena arena = small_arena();
  const std::uint32_t slot = arena.add_file("/a", 4096);
  auto& file = arena.slot_as<abi::FileSlot>(slot);
  file.read = 1;
  file.read_calls = 2;
  file.sequential_writes = 3;
  file.sequential_reads = 4;
  file.largest_write = 5;
  file.largest_read = 6;
  file.end = 7;
  file.creates = 8;
  file.stripe_count = 9;
  file.stripe_size = 65536;
  file.rank = 77;  // that of the header holds
  file.ranks = 78;
  file.communicator = 79;
  const ReadBack back = read_all(arena.bytes());
  EXPECT_EQ(back.info, (SegmentInfo{.pid = 7,
                                    .parent_pid = 1,
                                    .rank = 3,
                                    .communicator = 8,
                                    .host = "n1",
                                    .job = "42",
                                    .program = "/bin/app",
                                    .start_ns = 1000,
                                    .start_monotonic_ns = 5,
                                    .closed = false,
                                    .slot_capacity = 16,
                                    .slots_used = 1}));
  EXPECT_THAT(back.files, ElementsAre(TracedFile{.name = "/a",
                                                 .written = {4096},
                                                 .read = {1},
                                                 .write_calls = 1,
                                                 .read_calls = 2,
                                                 .sequential_writes = 3,
                                                 .sequential_reads = 4,
                                                 .largest_write = {5},
                                                 .largest_read = {6},
                                                 .end = {7},
                                                 .creates = 8,
                                                 .opens = 1,
                                                 .stripe_count = 9,
                                                 .stripe_size = {65536},
                                                 .rank = 3,
                                                 .ranks = 1,
                                                 .communicator = 8,
                                                 .first_ns = 1010,
                                                 .last_ns = 1020}));
  EXPECT_EQ(back.report.rows, 1U);
  EXPECT_EQ(back.report.skipped, 0U);
}

TEST(SegmentReader, CountsNoProcessForAFileThatWasOnlyOpened) {
  Arena arena = small_arena();
  arena.add_file("/a");
  const ReadBack back = read_all(arena.bytes());
  ASSERT_EQ(back.files.size(), 1U);
  EXPECT_EQ(back.files[0].rank, kNoRank);
  EXPECT_EQ(back.files[0].ranks, 0U);
  EXPECT_EQ(back.files[0].communicator, 8U);
}

TEST(SegmentReader, PassesOverWhatIsNotFinished) {
  Arena arena = small_arena();
  arena.add_file("/a", 1);
  arena.add_file("/half", 2, false);
  arena.add_file("/" + std::string(500, 'h'), 3, false);  // its NAME slots are committed, itself not
  arena.add_file("/b", 4);
  const std::uint32_t given_up = abi::claim_slots(arena.header(), 1);
  abi::commit_slot(arena.slot(given_up).type, abi::kTypeSkip);
  const std::uint32_t later_type = abi::claim_slots(arena.header(), 1);
  abi::commit_slot(arena.slot(later_type).type, 4711);
  arena.add_file("/c", 5);
  const ReadBack back = read_all(arena.bytes());
  EXPECT_THAT(names_of(back), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(back.slots, ElementsAre(0U, 5U, 8U));
  EXPECT_EQ(back.stats, (SegmentStats{.files = 3, .unfinished = 2, .passed_over = 2}));
  EXPECT_EQ(back.report.skipped, 0U);
}

TEST(SegmentReader, JoinsLongNames) {
  for (const std::size_t size : {1U, 111U, 112U, 113U, 352U, 353U, 592U, 593U, 8192U}) {
    SCOPED_TRACE(size);
    Rng rng(size);
    Arena arena = small_arena(80);
    const std::string name = random_name(rng, size);
    const std::string renamed = random_name(rng, size) + 'x';
    const std::uint32_t slot = arena.add_file(name, 1);
    if (renamed.size() <= abi::kMaxNameSize) arena.add_rename(slot, renamed);
    const ReadBack back = read_all(arena.bytes());
    ASSERT_EQ(back.files.size(), 1U);
    EXPECT_EQ(back.files[0].name, name);
    EXPECT_EQ(back.files[0].renamed, renamed.size() <= abi::kMaxNameSize ? renamed : "");
    EXPECT_EQ(back.report.skipped, 0U);
  }
}

TEST(SegmentReader, TakesTheLastRename) {
  Arena arena = small_arena();
  const std::uint32_t slot = arena.add_file("/a", 1);
  arena.add_file("/b", 1);
  arena.add_rename(slot, "/c");
  arena.add_rename(slot, "/d");
  const ReadBack back = read_all(arena.bytes());
  EXPECT_EQ(back.files.at(0).renamed, "/d");
  EXPECT_EQ(back.files.at(1).renamed, "");
  EXPECT_EQ(back.stats.renames, 2U);

  arena.add_rename(slot, "/a");
  EXPECT_EQ(read_all(arena.bytes()).files.at(0).renamed, "") << "back to its own name";
}

TEST(SegmentReader, GivesTheRowWhenItsRenameIsBad) {
  Arena arena = small_arena();
  const std::uint32_t a = arena.add_file("/a", 1);
  const std::uint32_t b = arena.add_file("/b", 1);
  arena.add_rename(b, "/c");
  for (const std::uint32_t link : {2U, 3U, 16U, 17U, 0xFFFFFFFFU}) {
    SCOPED_TRACE(link);
    arena.slot_as<abi::FileSlot>(a).rename_slot = link;
    const ReadBack back = read_all(arena.bytes());
    EXPECT_THAT(names_of(back), ElementsAre("/a", "/b"));
    EXPECT_EQ(back.files.at(0).renamed, "");
    EXPECT_EQ(back.files.at(1).renamed, "/c");
    EXPECT_EQ(back.stats.bad, 1U);
    EXPECT_THAT(first_problem(back), HasSubstr("memory: slot 0: its new name is"));
  }
}

TEST(SegmentReader, GivesCalls) {
  Arena arena = small_arena();
  const std::uint32_t number = abi::claim_slots(arena.header(), 1);
  auto& block = arena.slot_as<abi::CallsSlot>(number);
  abi::commit_slot(block.type, abi::kTypeCalls);
  block.thread = 12;
  block.calls[0] = {
      .file = 3, .operation = abi::kCallWrite, .reserved = {}, .offset = 4, .length = 5, .start_ns = 6, .duration_ns = 7};
  block.calls[1] = {.file = 3, .operation = 99, .reserved = {}, .offset = 0, .length = 0, .start_ns = 0, .duration_ns = 0};
  block.calls[2] = {.file = 3,
                    .operation = abi::kCallTruncate,
                    .reserved = {},
                    .offset = 0,
                    .length = 0,
                    .start_ns = std::numeric_limits<std::int64_t>::max(),
                    .duration_ns = ~0ULL};
  EXPECT_THAT(read_all(arena.bytes()).calls, IsEmpty()) << "none is counted yet";
  block.count = 3;
  const ReadBack back = read_all(arena.bytes());
  EXPECT_THAT(back.calls, ElementsAre(TracedCall{.operation = CallOperation::write,
                                                 .file_slot = 3,
                                                 .thread = 12,
                                                 .offset = {4},
                                                 .length = {5},
                                                 .start_ns = 1006,
                                                 .duration = Duration(7)},
                                      TracedCall{.operation = CallOperation::truncate,
                                                 .file_slot = 3,
                                                 .thread = 12,
                                                 .start_ns = std::numeric_limits<std::int64_t>::max() - 1,
                                                 .duration = Duration(std::numeric_limits<std::int64_t>::max() - 1)}));
  EXPECT_EQ(back.stats, (SegmentStats{.calls = 2, .passed_over = 1}));

  block.count = 7;
  const ReadBack lying = read_all(arena.bytes());
  EXPECT_THAT(lying.calls, IsEmpty());
  EXPECT_EQ(first_problem(lying), "memory: slot 0: claims 7 calls, at most 6 fit");
}

TEST(SegmentReader, SkipsBadNamesAndGoesOn) {
  Arena arena = small_arena();
  const std::string long_name = "/" + std::string(300, 'n');
  for (const char* name : {"/none", "/huge", "/zero"}) arena.add_file(name, 1);
  for (int i = 0; i < 4; ++i) arena.add_file(long_name, 1);  // slots 3, 5, 7, 9
  arena.add_file("/last", 1);
  arena.slot_as<abi::FileSlot>(0).name_size = 0;
  arena.slot_as<abi::FileSlot>(1).name_size = 8193;
  arena.slot_as<abi::FileSlot>(2).name[2] = '\0';
  arena.slot_as<abi::NameSlot>(4).size = 10;
  arena.slot_as<abi::NameSlot>(6).owner = 1;
  arena.slot_as<abi::NameSlot>(8).type = abi::kTypeNone;
  const ReadBack back = read_all(arena.bytes());
  EXPECT_THAT(names_of(back), ElementsAre(long_name, "/last"));
  EXPECT_EQ(back.stats.bad, 6U);
  EXPECT_EQ(back.report.skipped, 6U);
  std::vector<std::string> problems;
  problems.reserve(back.report.problems.size());
  for (const auto& problem : back.report.problems) problems.push_back(to_string(problem));
  EXPECT_THAT(problems, ElementsAre("memory: slot 0: has no name", "memory: slot 1: has a name longer than 8192 bytes",
                                    "memory: slot 2: has a zero byte in its name", "memory: slot 3: its name is cut",
                                    "memory: slot 5: its name is cut", "memory: slot 7: its name is cut"));
}

TEST(SegmentReader, ClampsTimes) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Arena arena = small_arena();
  for (const char* name : {"/far", "/swapped", "/none", "/old"}) arena.add_file(name, 1);
  arena.slot_as<abi::FileSlot>(0).last_ns = kMax;
  arena.slot_as<abi::FileSlot>(1).first_ns = 50;
  arena.slot_as<abi::FileSlot>(1).last_ns = 40;
  arena.slot_as<abi::FileSlot>(2).first_ns = abi::kNoTime;
  arena.slot_as<abi::FileSlot>(2).last_ns = abi::kNoTime;
  arena.slot_as<abi::FileSlot>(3).first_ns = abi::kNoTime + 1;
  const auto files = read_all(arena.bytes()).files;
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[0].last_ns, kMax - 1);
  EXPECT_EQ(files[1].first_ns, 1040);
  EXPECT_EQ(files[1].last_ns, 1050);
  EXPECT_FALSE(files[2].first_ns);
  EXPECT_FALSE(files[2].last_ns);
  EXPECT_EQ(files[3].first_ns, abi::kNoTime + 1001);
}

TEST(SegmentReader, GivesTimes) {
  Arena arena = small_arena();
  std::vector<std::uint32_t> slots;
  for (const char* name : {"/a", "/b", "/c", "/d", "/e"}) slots.push_back(arena.add_file(name, 1));
  for (const std::uint32_t slot : slots) arena.add_times(slot).opened_ns = 100 + slot;  // the fifth is in a slot of its own
  abi::Times& times = arena.slot_as<abi::TimesSlot>(5).times[1];
  times.flags = abi::kFlagOwnLayout;
  times.first_write_ns = 200;
  times.last_write_ns = 150;  // two threads met
  times.first_read_ns = 300;
  times.last_read_ns = 310;
  times.removed_ns = 400;
  const ReadBack back = read_all(arena.bytes());
  ASSERT_EQ(back.files.size(), 5U);
  for (const std::uint32_t slot : slots) EXPECT_EQ(back.files[slot].opened_ns, 1100 + slot);
  const TracedFile& file = back.files[1];
  EXPECT_EQ(file.first_write_ns, 1150);
  EXPECT_EQ(file.last_write_ns, 1200);
  EXPECT_EQ(file.first_read_ns, 1300);
  EXPECT_EQ(file.last_read_ns, 1310);
  EXPECT_EQ(file.removed_ns, 1400);
  EXPECT_TRUE(file.own_layout);
  EXPECT_FALSE(back.files[0].first_write_ns || back.files[0].last_read_ns || back.files[0].removed_ns);
  EXPECT_FALSE(back.files[0].own_layout);
  EXPECT_EQ(back.stats, (SegmentStats{.files = 5}));

  arena.header().minor_version = 1;
  arena.header().checksum = abi::header_checksum(arena.header());
  EXPECT_FALSE(read_all(arena.bytes()).files.at(1).opened_ns) << "there that number is one of ranks";
}

TEST(SegmentReader, GivesTheRowWhenItsTimesAreBad) {
  Arena arena = small_arena();
  const std::uint32_t a = arena.add_file("/a", 1);
  const std::uint32_t b = arena.add_file("/b", 1);
  arena.add_times(b).opened_ns = 7;
  // A file, those of another file, one behind the end, and one far behind it.
  for (const std::uint32_t link : {1U, 9U, 16U * 4 + 1, 0xFFFFFFFFU}) {
    SCOPED_TRACE(link);
    arena.slot_as<abi::FileSlot>(a).times = link;
    const ReadBack back = read_all(arena.bytes());
    EXPECT_THAT(names_of(back), ElementsAre("/a", "/b"));
    EXPECT_FALSE(back.files.at(0).opened_ns);
    EXPECT_EQ(back.files.at(1).opened_ns, 1007);
    EXPECT_EQ(back.stats.bad, 1U);
    EXPECT_THAT(first_problem(back), HasSubstr("memory: slot 0: its times are"));
  }
}

TEST(SegmentReader, ReadsTheHeaderAlone) {
  const TemporaryFolder folder;
  Arena arena = small_arena();
  arena.add_file("/a", 1);
  const std::string path = folder.write("x.ieztrace", arena.bytes());
  const auto info = SegmentReader::read_info(path);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(*info, read_all(arena.bytes()).info);
  EXPECT_FALSE(SegmentReader::read_info(folder.path("absent")));
}

TEST(SegmentReader, CorrectsItsClock) {
  Arena arena = small_arena();
  arena.add_times(arena.add_file("/a", 1)).first_write_ns = 30;
  arena.header().end_ns = 500;
  const std::vector<std::byte> bytes = arena.bytes();
  auto reader = SegmentReader::from_memory(bytes, "memory");
  ASSERT_TRUE(reader);
  reader->correct_clock(600);
  EXPECT_EQ(reader->info().start_ns, 400);
  EXPECT_EQ(reader->info().end_ns, 900);
  const ReadBack back = read_all(std::move(reader));
  EXPECT_EQ(back.files.at(0).first_ns, 410);
  EXPECT_EQ(back.files.at(0).first_write_ns, 430);
}

TEST(SegmentReader, ToleratesAnArenaThatWasTooSmall) {
  Arena arena = small_arena(3);
  for (const char* name : {"/a", "/b"}) arena.add_file(name, 1);
  EXPECT_EQ(arena.add_file("/" + std::string(300, 'n'), 1), abi::kNoSlot);
  EXPECT_EQ(arena.add_file("/c", 1), abi::kNoSlot) << "what was claimed is gone, though it would fit";
  const ReadBack back = read_all(arena.bytes());
  EXPECT_THAT(names_of(back), ElementsAre("/a", "/b"));
  EXPECT_EQ(back.info.slots_used, 5U);
  EXPECT_EQ(back.info.dropped, 2U);
  EXPECT_EQ(back.stats.unfinished, 1U);
  EXPECT_EQ(back.report.skipped, 0U);
}

TEST(SegmentReader, DoesNotBelieveTheCountOfSlots) {
  Arena arena = small_arena();
  for (const char* name : {"/a", "/b", "/c"}) arena.add_file(name, 1);
  arena.header().slots_used = ~0ULL;
  EXPECT_THAT(names_of(read_all(arena.bytes())), ElementsAre("/a", "/b", "/c"));

  arena.header().slots_used = 1;
  const ReadBack lost = read_all(arena.bytes());
  EXPECT_THAT(names_of(lost), ElementsAre("/a", "/b", "/c"));
  EXPECT_EQ(first_problem(lost), "memory: claims 1 slots, but there are more; they were read");

  arena.header().slots_used = 3;
  auto bytes = arena.bytes();
  bytes.resize(512 + 2 * 256 + 255);
  const ReadBack cut = read_all(bytes);
  EXPECT_THAT(names_of(cut), ElementsAre("/a", "/b"));
  EXPECT_EQ(first_problem(cut), "memory: claims 3 slots, but has only 2: it was cut; copy it again");
}

TEST(SegmentReader, BelievesNoCapacity) {
  Arena arena = small_arena();
  arena.add_file("/a", 1);
  arena.header().slot_capacity = ~0ULL;
  arena.header().slots_used = ~0ULL;
  arena.header().checksum = abi::header_checksum(arena.header());
  const ReadBack back = read_all(arena.bytes());
  EXPECT_THAT(names_of(back), ElementsAre("/a"));
  EXPECT_EQ(back.report.skipped, 1U);
}

TEST(SegmentReader, SaysWhatIsForeign) {
  EXPECT_THAT(why_not({}), HasSubstr("x.ieztrace: is empty: its process ended before it began to trace"));
  const std::vector<std::byte> zeros(1024);
  EXPECT_THAT(why_not(zeros), HasSubstr("has no header: its process ended before"));
  const std::string text = "written,read\n" + std::string(600, '1');
  EXPECT_THAT(why_not(std::as_bytes(std::span(text))), AllOf(HasSubstr("is no trace segment"), HasSubstr("\"IEZTRACE\"")));
  EXPECT_THAT(why_not(std::as_bytes(std::span(text).first(511))), HasSubstr("has 511 bytes, a header takes 512"));

  const auto changed = [](auto change) {
    Arena arena = small_arena();
    change(arena.header());
    arena.header().checksum = abi::header_checksum(arena.header());
    return why_not(arena.bytes());
  };
  EXPECT_EQ(changed([](abi::Header&) {}), "");
  EXPECT_EQ(changed([](abi::Header& header) { header.version = 2; }),
            "x.ieztrace: is of format version 2, this iez reads version 1; read it with the iez that wrote it");
  EXPECT_THAT(changed([](abi::Header& header) { header.byte_order = 0x04030201; }), HasSubstr("big-endian machine"));
  EXPECT_THAT(changed([](abi::Header& header) { header.byte_order = 5; }),
              HasSubstr("byte-order mark 0x00000005, expected 0x01020304"));
  EXPECT_THAT(changed([](abi::Header& header) { header.slot_size = 128; }),
              HasSubstr("a header of 512 and slots of 128 bytes, expected 512 and 256"));
  EXPECT_THAT(changed([](abi::Header& header) { header.kind = 3; }), HasSubstr("is of kind 3"));
  EXPECT_EQ(changed([](abi::Header& header) { header.minor_version = 9; }), "") << "a minor version only adds";

  Arena damaged = small_arena();
  damaged.header().host[0] = 'x';
  EXPECT_THAT(why_not(damaged.bytes()), HasSubstr("header checksum"));
}

TEST(SegmentReader, SizesThatGrewUnseen) {
  Arena arena(8);
  arena.header().minor_version = 1;
  arena.header().layouts_applied = 7;
  arena.header().layouts_refused = 1;
  arena.header().layout_errno = 28;
  arena.header().checksum = abi::header_checksum(arena.header());
  const std::uint32_t grown = arena.add_file("/grown", 100);
  const std::uint32_t plain = arena.add_file("/plain", 100);
  const std::uint32_t wrong = arena.add_file("/wrong", 100);
  const std::uint32_t number = abi::claim_slots(arena.header(), 1);
  auto& size = arena.slot_as<abi::SizeSlot>(number);
  size.file = grown;
  size.before = 50;
  size.after = 5000;
  abi::commit_slot(size.type, abi::kTypeSize);
  arena.slot_as<abi::FileSlot>(grown).size_slot = number + 1;
  arena.slot_as<abi::FileSlot>(wrong).size_slot = number + 1;
  (void)plain;

  const auto bytes = arena.bytes();
  auto reader = SegmentReader::from_memory(bytes, "x.ieztrace").value();
  EXPECT_EQ(reader.info().layouts, (LayoutCounts{.applied = 7, .refused = 1, .last_errno = 28}));
  std::vector<std::pair<std::string, std::uint64_t>> found;
  input::ParseReport report;
  const auto stats = reader.read(
      {.file = [&](std::uint32_t, const TracedFile& file) { found.emplace_back(file.name, unseen(file).count); }, .call = {}},
      report);
  ASSERT_TRUE(stats);
  EXPECT_THAT(found, ElementsAre(::testing::Pair("/grown", 4850), ::testing::Pair("/plain", 0), ::testing::Pair("/wrong", 0)));
  EXPECT_EQ(stats->bad, 1U);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_THAT(input::to_string(report.problems[0]), HasSubstr("its size is not where it should be"));
}

TEST(SegmentReader, SaysWhatCannotBeOpened) {
  const TemporaryFolder folder;
  const auto absent = SegmentReader::open(folder.path("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
  EXPECT_THAT(absent.error().message, HasSubstr(folder.path("absent")));
  const auto directory = SegmentReader::open(folder.root());
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("is no regular file"));
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(SegmentReader::open(folder.path("fifo"))) << "and does not wait for a writer";
}

TEST(SegmentReader, GivesAPrefixOfTheRowsWhereverItIsCut) {
  Arena arena = small_arena(24);
  const std::uint32_t a = arena.add_file("/a", 1);
  arena.add_file("/half", 1, false);
  arena.add_file("/" + std::string(400, 'l'), 2);
  arena.add_rename(a, "/" + std::string(300, 'r'));
  arena.add_file("/z", 3);
  const auto bytes = arena.bytes();
  const ReadBack whole = read_all(bytes);
  ASSERT_EQ(whole.files.size(), 3U);
  const std::vector<std::size_t> ends = {512 + 256, 512 + 5 * 256, 512 + 8 * 256};  // of the rows
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const auto part = std::span(bytes).first(size);
    if (size < 512) {
      EXPECT_NE(why_not(part), "");
      continue;
    }
    const ReadBack back = read_all(part);
    const auto expected = static_cast<std::size_t>(std::ranges::count_if(ends, [&](std::size_t end) { return end <= size; }));
    ASSERT_EQ(back.files.size(), expected);
    for (std::size_t i = 0; i < expected; ++i) {
      TracedFile row = whole.files[i];
      if (i == 0 && size < 512 + 7 * 256) row.renamed.clear();
      EXPECT_EQ(back.files[i], row);
    }
    EXPECT_EQ(back.report.skipped > 0, size < 512 + 8 * 256);
  }
}

// Every byte of the header and the slots, with a few values each: no crash, no endless loop, no row out of bounds.
TEST(SegmentReader, SurvivesEveryChangedByte) {
  Arena arena = small_arena(6);
  const std::uint32_t a = arena.add_file("/" + std::string(200, 'a'), 1);
  arena.add_rename(a, "/b");
  abi::commit_slot(arena.slot(abi::claim_slots(arena.header(), 1)).type, abi::kTypeCalls);
  auto bytes = arena.bytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::byte kept = bytes[at];
    for (const unsigned value : {0U, 1U, 2U, 3U, 4U, 0x7FU, 0x80U, 0xFFU}) {
      bytes[at] = std::byte{static_cast<unsigned char>(value)};
      if (auto reader = SegmentReader::from_memory(bytes, "x")) {
        for (const TracedFile& file : read_all(std::move(reader)).files) {
          ASSERT_FALSE(file.name.empty());
          ASSERT_LE(file.name.size(), abi::kMaxNameSize);
        }
      }
    }
    bytes[at] = kept;
  }
}

// More slots than one window holds, from a file; long names cross the ends of windows.
TEST(SegmentReader, ReadsLargeFiles) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  Arena arena = small_arena(4000);
  std::vector<std::string> names;
  std::vector<std::uint32_t> slots;
  while (names.size() < 1000) {
    names.push_back(random_name(rng, rng.between(1, 700)));
    slots.push_back(arena.add_file(names.back(), names.size()));
  }
  arena.add_rename(slots[0], "/renamed");  // a thousand slots away
  const std::string path = folder.write("large.ieztrace", arena.bytes());
  const ReadBack back = read_all(SegmentReader::open(path));
  EXPECT_EQ(names_of(back), names);
  EXPECT_EQ(back.slots, slots);
  EXPECT_EQ(back.files.at(0).renamed, "/renamed");
  EXPECT_EQ(back.report.skipped, 0U);
}

// ---- A process that is killed while it writes through a mapping -------------------------------------------------------------

// Adds files for ever; tells by one byte that some are there.
[[noreturn]] void write_until_killed(abi::Header& header, abi::FileSlot* slots, int tell) {
  for (std::uint64_t i = 0;; ++i) {
    const std::uint32_t number = abi::claim_slots(header, 1);
    if (number == abi::kNoSlot) continue;
    abi::FileSlot& file = slots[number];
    file.name_size = 9;
    std::memcpy(file.name, "/file0000", 9);
    for (std::uint32_t digit = 8, rest = number; digit > 4; --digit, rest /= 10)
      file.name[digit] = static_cast<char>('0' + rest % 10);
    file.written = 1000 + number;
    file.write_calls = 1;
    abi::commit_slot(file.type, abi::kTypeFile);
    if (i == 20 && ::write(tell, "x", 1) != 1) std::_Exit(1);
  }
}

TEST(SegmentReader, ReadsWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  constexpr std::uint32_t kCapacity = 4096;
  const std::string path = folder.write("killed.ieztrace", small_arena(kCapacity).bytes());
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR);
    void* const at = ::mmap(nullptr, 512 + kCapacity * 256, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) std::_Exit(1);
    write_until_killed(*static_cast<abi::Header*>(at), reinterpret_cast<abi::FileSlot*>(static_cast<char*>(at) + 512), pipe[1]);
  }
  ::close(pipe[1]);
  char told = 0;
  EXPECT_EQ(::read(pipe[0], &told, 1), 1);
  ::close(pipe[0]);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));

  const ReadBack back = read_all(SegmentReader::open(path));
  EXPECT_FALSE(back.info.closed);
  EXPECT_FALSE(back.info.end_ns);
  EXPECT_GT(back.files.size(), 20U);
  EXPECT_LE(back.stats.unfinished, 1U);
  EXPECT_EQ(back.report.skipped, 0U);
  for (std::size_t i = 0; i < back.files.size(); ++i) {
    const std::string digits = std::to_string(back.slots[i]);
    EXPECT_EQ(back.files[i].name, "/file" + std::string(4 - digits.size(), '0') + digits);
    EXPECT_EQ(back.files[i].written, Bytes{1000 + back.slots[i]});
  }
}

}  // namespace
}  // namespace iez::trace
