#include "runs/gather.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/compile_plan.hpp"
#include "runs/ost_cost.hpp"
#include "trace/segment_test_support.hpp"

namespace iez::runs {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'700'000'000 * kSecond;
constexpr Bytes kSize = Bytes::mib(4);

// Created and written in one go, in seconds since the start.
trace::TracedFile written(const std::string& name, double from, double to, Bytes bytes = kSize) {
  const auto at = [](double seconds) { return kStart + static_cast<std::int64_t>(seconds * 1e9); };
  return {.name = name,
          .written = bytes,
          .write_calls = 1,
          .creates = 1,
          .opens = 1,
          .first_ns = at(from) - kSecond / 10,
          .last_ns = at(to),
          .first_write_ns = at(from),
          .last_write_ns = at(to),
          .opened_ns = at(from) - kSecond / 10};
}

trace::TracedFile was_read(const std::string& name, double from, double to, Bytes bytes = kSize) {
  trace::TracedFile file = written(name, from, to, bytes);
  std::swap(file.written, file.read);
  std::swap(file.write_calls, file.read_calls);
  std::swap(file.first_write_ns, file.first_read_ns);
  std::swap(file.last_write_ns, file.last_read_ns);
  file.creates = 0;
  return file;
}

class GatherTest : public testing::Test {
 protected:
  void segment(std::int32_t rank, const std::vector<trace::TracedFile>& files) {
    trace::write_segment(folder_.path(std::to_string(next_++) + ".ieztrace"),
                         {.rank = rank, .communicator = 2, .host = "n", .start_ns = kStart, .end_ns = kStart + 900 * kSecond},
                         files);
  }
  Gathered gathered(const std::string& below = "/s") {
    const std::vector folders{below};
    auto got = gather(folder_.root(), folders);
    EXPECT_TRUE(got) << got.error().message;
    return got ? *std::move(got) : Gathered{};
  }
  static std::map<std::string, std::int32_t> phases(const Gathered& got, bool reads = false) {
    std::map<std::string, std::int32_t> of;
    for (const store::FileRow& file : got.files) of[file.name] = reads ? file.read_phase : file.phase;
    return of;
  }

  trace::TemporaryFolder folder_;
  int next_ = 0;
};

using Phases = std::map<std::string, std::int32_t>;

TEST_F(GatherTest, StepsArePhases) {
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::string name = "/s/rank" + std::to_string(rank);
    segment(rank, {written(name + ".0", 1, 2 + rank), written(name + ".1", 10, 11)});
  }
  const Gathered got = gathered();
  EXPECT_EQ(phases(got), (Phases{{"/s/rank0.0", 0}, {"/s/rank0.1", 1}, {"/s/rank1.0", 0}, {"/s/rank1.1", 1}}));
  EXPECT_EQ(phases(got, true).at("/s/rank0.0"), -1);
  EXPECT_THAT(got.phases, ElementsAre(store::RunPhase{.seconds = 2, .bytes = Bytes::mib(8), .files = 2},
                                      store::RunPhase{.seconds = 1, .bytes = Bytes::mib(8), .files = 2}));
}

TEST_F(GatherTest, WhatNoPlanWouldBeForHasNoPhase) {
  trace::TracedFile removed = written("/s/removed", 1, 2);
  removed.removed_ns = kStart + 3 * kSecond;
  trace::TracedFile again = written("/s/again", 1, 2);
  again.removed_ns = *again.opened_ns - 1;
  trace::TracedFile timeless = written("/s/timeless", 1, 2);
  timeless.first_ns = timeless.last_ns = timeless.first_write_ns = timeless.last_write_ns = std::nullopt;
  segment(0, {removed, again, timeless, written("/s/small", 50, 51, Bytes::mib(1) - Bytes{1}), written("/s/x.locktest.0", 1, 2),
              written("/s/together", 1, 9, Bytes::kib(100)), written("/s/least", 1, 2, Bytes::mib(1)),
              written("/elsewhere/x", 1, 2)});
  const Gathered got = gathered();
  EXPECT_EQ(phases(got), (Phases{{"/s/again", 0},
                                 {"/s/least", 0},
                                 {"/s/removed", -1},
                                 {"/s/small", -1},
                                 {"/s/timeless", -1},
                                 {"/s/together", 0},
                                 {"/s/x.locktest.0", -1}}));
  EXPECT_THAT(got.phases, ElementsAre(store::RunPhase{.seconds = 1, .bytes = Bytes::mib(5), .files = 2}));
  for (const store::FileRow& file : got.files) EXPECT_EQ(file.removed, file.name == "/s/removed") << file.name;

  const std::vector<std::string> folders{"/s"};
  const auto all = gather(folder_.root(), folders, Bytes{1});
  ASSERT_TRUE(all);
  EXPECT_EQ(phases(*all).at("/s/small"), 1) << "the least size is the caller's";
}

TEST_F(GatherTest, ReadsAreNumberedApart) {
  trace::TracedFile both = was_read("/s/updated", 100, 101);
  both.written = kSize;
  both.first_write_ns = both.last_write_ns = kStart + 200 * kSecond;
  trace::TracedFile own = written("/s/own", 1, 2);
  own.read = kSize;
  own.first_read_ns = own.last_read_ns = kStart + 50 * kSecond;
  segment(0, {was_read("/s/in0", 0.5, 1), was_read("/s/tiny", 0.5, 1, Bytes{10}), own, both});
  segment(1, {was_read("/s/in1", 0.6, 2.5)});
  const Gathered got = gathered();
  EXPECT_EQ(phases(got), (Phases{{"/s/in0", -1}, {"/s/in1", -1}, {"/s/own", 0}, {"/s/tiny", -1}, {"/s/updated", 1}}));
  EXPECT_EQ(phases(got, true), (Phases{{"/s/in0", 0}, {"/s/in1", 0}, {"/s/own", -1}, {"/s/tiny", -1}, {"/s/updated", 1}}));
  EXPECT_THAT(got.phases, ElementsAre(store::RunPhase{.seconds = 1, .bytes = kSize, .files = 1},
                                      store::RunPhase{.seconds = 0, .bytes = kSize, .files = 1},
                                      store::RunPhase{.reads = true, .seconds = 2, .bytes = kSize + kSize, .files = 2},
                                      store::RunPhase{.reads = true, .seconds = 1, .bytes = kSize, .files = 1}));
}

// The header of a file was written by a call, its data through a mapping.
TEST_F(GatherTest, UnseenBytesWereWrittenFromOpenToClose) {
  trace::TracedFile mapped = written("/s/mapped", 1, 1, Bytes{100});
  mapped.last_ns = kStart + 5 * kSecond;
  mapped.size_after = kSize;
  segment(0, {mapped});
  const Gathered got = gathered();
  EXPECT_EQ(phases(got).at("/s/mapped"), 0);
  ASSERT_THAT(got.phases, SizeIs(1));
  EXPECT_DOUBLE_EQ(got.phases[0].seconds, 4.1);
  EXPECT_EQ(got.phases[0].bytes, kSize);
}

TEST_F(GatherTest, TheLastPhaseIsTheSumOfThoseBeyond) {
  std::vector<trace::TracedFile> files;
  for (int i = 0; i < 300; ++i) files.push_back(written("/s/w" + std::to_string(1000 + i), i * 2, i * 2 + 1));
  for (int i = 0; i < 200; ++i) files.push_back(was_read("/s/r" + std::to_string(1000 + i), i * 2, i * 2 + 1));
  segment(0, files);
  const Gathered got = gathered();
  ASSERT_THAT(got.phases, SizeIs(store::kMaxPhases));
  const auto of = phases(got);
  EXPECT_EQ(of.at("/s/w1126"), 126);
  EXPECT_EQ(of.at("/s/w1127"), 127);
  EXPECT_EQ(of.at("/s/w1299"), 127);
  EXPECT_EQ(got.phases[127], (store::RunPhase{.seconds = 173, .bytes = Bytes{kSize.count * 173}, .files = 173}));
  EXPECT_EQ(phases(got, true).at("/s/r1199"), 127);
  EXPECT_EQ(got.phases[255].files, 73U);
  EXPECT_TRUE(got.phases[255].reads);
}

TEST_F(GatherTest, RemovedByAnotherProcess) {
  trace::TracedFile renamed = written("/s/tmp", 1, 2);
  renamed.renamed = "/s/final";
  segment(0, {written("/s/direct", 1, 2), renamed, written("/s/kept", 5, 6)});
  segment(-1, {{.name = "/s/direct", .removed_ns = kStart + 3 * kSecond},
               {.name = "/s/final", .removed_ns = kStart + 3 * kSecond},
               {.name = "/s/kept", .removed_ns = kStart + 3 * kSecond}});
  const Gathered got = gathered();
  ASSERT_THAT(got.files, SizeIs(3));
  for (const store::FileRow& file : got.files) EXPECT_EQ(file.removed, file.name != "/s/kept") << file.name;
}

TEST_F(GatherTest, WritesOfPhasesKeepTheirTimes) {
  trace::TracedFile mapped = written("/s/mapped", 1, 2);
  mapped.size_after = Bytes{2 * kSize.count};  // half of it no call was seen for
  segment(0, {written("/s/plain", 1, 3), mapped, written("/s/small", 1, 2, Bytes{4096}), was_read("/s/input", 1, 2)});
  const Gathered got = gathered();
  ASSERT_THAT(got.writes, SizeIs(2));
  for (const GatheredWrite& write : got.writes) {
    const bool plain = got.files[write.row].name == "/s/plain";
    EXPECT_EQ(write.only_calls, plain);
    EXPECT_EQ(write.time.end - write.time.begin, plain ? 2 * kSecond : kSecond + (kSecond / 10));
    EXPECT_TRUE(write.osts.empty());  // it is not there
  }
}

TEST(CountOsts, OfPhasesWhoseFilesAreAllKnown) {
  Gathered got;
  got.phases = {{.files = 2}, {.files = 2}, {.reads = true}};
  for (const std::int32_t phase : {0, 0, 1, 1}) {
    got.writes.push_back({.row = static_cast<std::uint32_t>(got.files.size()), .osts = {OstIndex{3}, OstIndex{4}}});
    got.files.push_back({.phase = phase});
  }
  got.writes[1].osts = {OstIndex{4}, OstIndex{7}};
  got.writes[3].osts.clear();
  count_osts(got);
  EXPECT_EQ(got.phases[0].osts, 3U);
  EXPECT_EQ(got.phases[1].osts, 0U);
  EXPECT_EQ(got.phases[2].osts, 0U);
}

TEST_F(GatherTest, TheFullestOstIsOneOfAll) {
  segment(0, {written("/s/a", 0, 1, Bytes::mib(8)), written("/s/b", 0, 1, Bytes::mib(4)), written("/s/c", 0, 1, Bytes::kib(4))});
  Gathered got = gathered();
  EXPECT_EQ(got.called, Bytes::mib(12) + Bytes::kib(4));
  EXPECT_FALSE(ost_cost(got, 4)) << "nobody knows where they lie";
  ASSERT_EQ(got.writes.size(), 2U);  // the small one counts for nothing
  for (GatheredWrite& write : got.writes) write.osts = {OstIndex{write.row == 0 ? 0U : 2U}, OstIndex{3}};
  const auto cost = ost_cost(got, 4);
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(*cost, 6.0 / 3);
  EXPECT_FALSE(ost_cost(got, 2)) << "more than there are";
  EXPECT_FALSE(ost_cost(Gathered{}, 4));
}

// Mapped, and then written over by calls: the time of access alone tells.
TEST_F(GatherTest, WhatWasReadWithoutCallsIsKnownByItsTimeOfAccess) {
  std::map<std::string, std::uint64_t> expected;
  std::vector<trace::TracedFile> files;
  const auto add = [&](const std::string& word, std::int64_t accessed_s, std::uint64_t read, Bytes size = kSize,
                       bool created = false) {
    trace::TracedFile file = written(folder_.path(word), 10, 20, size);
    file.creates = created ? 1 : 0;
    std::ofstream(file.name) << "state";
    const timespec times[2] = {{.tv_sec = kStart / kSecond + accessed_s, .tv_nsec = 0},  // NOLINT(modernize-avoid-c-arrays)
                               {.tv_sec = kStart / kSecond + 20, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.name.c_str(), times, 0), 0);
    expected[file.name] = read;
    files.push_back(file);
  };
  add("mapped", 10, 1);
  add("whole_seconds", 9, 1);  // opened at 9.9
  add("unread", 8, 0);
  add("small", 10, 0, Bytes::kib(1));
  add("new", 15, 0, kSize, true);
  segment(0, files);
  std::map<std::string, std::uint64_t> got;
  for (const store::FileRow& file : gathered(folder_.root()).files) got[file.name] = file.read.count;
  EXPECT_EQ(got, expected);
}

TEST_F(GatherTest, OwnLayoutsAreTold) {
  trace::TracedFile own = written("/s/own", 1, 2);
  own.own_layout = true;
  segment(0, {own, written("/s/plain", 1, 2)});
  for (const store::FileRow& file : gathered().files) EXPECT_EQ(file.own_layout, file.name == "/s/own");
}

TEST_F(GatherTest, FoldersMayBeLinks) {
  std::filesystem::create_directory(folder_.path("real"));
  ASSERT_EQ(::symlink("real", folder_.path("link").c_str()), 0);
  const std::string real = std::filesystem::canonical(folder_.path("real")).string();
  segment(0, {written(real + "/f", 1, 2), written("/s/f", 1, 2)});
  const Gathered got = gathered(folder_.path("link"));
  ASSERT_THAT(got.files, SizeIs(1));
  EXPECT_EQ(got.files[0].name, real + "/f");
}

}  // namespace
}  // namespace iez::runs
