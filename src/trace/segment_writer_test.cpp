#include "trace/segment_writer.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/segment_test_support.hpp"

namespace iez::trace {
namespace {

using testing::HasSubstr;

TEST(SegmentWriter, RoundTrip) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.ieztrace");
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    SegmentInfo info = random_info(rng, SegmentKind::run);
    auto writer = SegmentWriter::create(path, info);
    ASSERT_TRUE(writer);
    std::vector<TracedFile> files;
    std::vector<std::uint32_t> slots;
    std::vector<TracedCall> calls;
    for (std::uint64_t i = rng.below(100); i > 0; --i) {
      if (rng.chance(0.3)) {
        const TracedCall call{.operation = static_cast<CallOperation>(rng.between(1, 6)),
                              .file_slot = static_cast<std::uint32_t>(rng.below(100)),
                              .thread = static_cast<std::uint32_t>(rng.below(2)),
                              .offset = {rng.bits()},
                              .length = {rng.bits()},
                              .start_ns = info.start_ns + static_cast<std::int64_t>(rng.below(1'000'000)),
                              .duration = Duration(static_cast<std::int64_t>(rng.below(1'000'000)))};
        calls.push_back(call);
        ASSERT_TRUE(writer->add(call));
        continue;
      }
      const std::size_t size = rng.chance(0.1) ? rng.between(1, 8192) : rng.between(1, 200);
      files.push_back(random_file(rng, random_name(rng, size), info.start_ns));
      const auto slot = writer->add(files.back());
      ASSERT_TRUE(slot);
      slots.push_back(*slot);
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "not before it is whole";
    ASSERT_TRUE(writer->finish());
    EXPECT_EQ(folder.entries(), 1U);

    const ReadBack back = read_all(SegmentReader::open(path));
    info.slot_capacity = back.info.slot_capacity;
    info.slots_used = back.info.slot_capacity;
    EXPECT_EQ(back.info, info);
    EXPECT_EQ(std::filesystem::file_size(path), 512 + info.slot_capacity * 256);
    EXPECT_EQ(back.files, files);
    EXPECT_EQ(back.slots, slots);
    EXPECT_EQ(back.calls, calls);
    EXPECT_EQ(back.report.skipped, 0U);
    EXPECT_EQ(back.stats.unfinished, 0U);
    std::filesystem::remove(path);
  }
}

TEST(SegmentWriter, LongTextsAreCut) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.ieztrace");
  write_segment(path, {.host = std::string(100, 'h'), .job = std::string(64, 'j'), .program = std::string(127, 'p')}, {});
  const SegmentInfo info = read_all(SegmentReader::open(path)).info;
  EXPECT_EQ(info.host, std::string(63, 'h'));
  EXPECT_EQ(info.job, std::string(63, 'j'));
  EXPECT_EQ(info.program, std::string(127, 'p'));
}

TEST(SegmentWriter, RefusesNamesThatCannotBeRead) {
  const TemporaryFolder folder;
  auto writer = SegmentWriter::create(folder.path("x.ieztrace"), {});
  ASSERT_TRUE(writer);
  for (const std::string& name : {std::string(), std::string(8193, 'n'), std::string("a\0b", 3)}) {
    const auto added = writer->add(TracedFile{.name = name});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Errc::invalid_argument);
    if (!name.empty()) {
      EXPECT_FALSE(writer->add(TracedFile{.name = "/a", .renamed = name}));
    }
  }
  EXPECT_THAT(writer->add(TracedFile{}).error().message, HasSubstr("has 0 bytes, expected 1 to 8192"));
  ASSERT_TRUE(writer->add(TracedFile{.name = "/a"})) << "and goes on";
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(read_all(SegmentReader::open(folder.path("x.ieztrace"))).files.size(), 1U);
}

TEST(SegmentWriter, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.ieztrace");
  write_segment(path, {.host = "old"}, {});
  {
    auto writer = SegmentWriter::create(path, {.host = "new"});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add(TracedFile{.name = "/a"}));
    SegmentWriter moved = *std::move(writer);
    ASSERT_TRUE(moved.add(TracedFile{.name = "/b"}));
  }
  EXPECT_EQ(folder.entries(), 1U) << "given up: nothing is left";
  EXPECT_EQ(read_all(SegmentReader::open(path)).info.host, "old");
  write_segment(path, {.host = "new"}, {});
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(read_all(SegmentReader::open(path)).info.host, "new");
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

TEST(SegmentWriter, SaysWhyItCannotCreate) {
  const TemporaryFolder folder;
  const auto writer = SegmentWriter::create(folder.path("absent/x.ieztrace"), {});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Errc::not_found);
  EXPECT_THAT(writer.error().message, HasSubstr("absent/x.ieztrace: cannot create the trace file"));
}

// Limits the size of files, as a full disk would.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit now{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(SegmentWriter, LeavesNothingOnAFullDisk) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.ieztrace");
  for (const std::size_t rows : {10U, 5000U}) {  // found out by finish(), and by add()
    SCOPED_TRACE(rows);
    const SmallDisk disk(2000);
    auto writer = SegmentWriter::create(path, {});
    ASSERT_TRUE(writer);
    Result<std::uint32_t> added = 0U;
    for (std::size_t i = 0; i < rows && added; ++i) added = writer->add(TracedFile{.name = "/a"});
    EXPECT_EQ(added.has_value(), rows == 10);
    if (!added) {
      EXPECT_THAT(added.error().message,
                  HasSubstr(path + ": cannot write the trace file; nothing was kept of it: File too large"));
      EXPECT_FALSE(writer->add(TracedFile{.name = "/b"})) << "nothing more is taken";
    }
    const auto finished = writer->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(folder.entries(), 0U);
    if (added) {
      EXPECT_EQ(finished.error().os_errno, EFBIG);
    }
  }
}

}  // namespace
}  // namespace iez::trace
