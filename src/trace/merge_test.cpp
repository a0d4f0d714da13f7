#include "trace/merge.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/segment_test_support.hpp"

namespace iez::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Merged {
  MergeSummary summary;
  std::vector<TracedFile> files;
};

Merged merge(const std::vector<std::string>& inputs, const MergeOptions& options = {}) {
  Merged merged;
  auto summary = merge_segments(inputs, options, [&](const TracedFile& file) -> Result<void> {
    merged.files.push_back(file);
    return {};
  });
  EXPECT_TRUE(summary) << summary.error().message;
  if (summary) merged.summary = *std::move(summary);
  return merged;
}

// ---- By the definitions, without absorb() -----------------------------------------------------------------------------------

struct Use {
  std::size_t segment;
  TracedFile row;
};

bool wrote(const TracedFile& row) { return row.written.count > 0 || row.write_calls > 0; }
bool has_read(const TracedFile& row) { return row.read.count > 0 || row.read_calls > 0; }

void add_to(std::uint64_t& sum, std::uint64_t more) { sum = sum + more < sum ? ~0ULL : sum + more; }

TracedFile by_definition(const std::string& name, const std::vector<Use>& uses) {
  TracedFile all{.name = name};
  std::set<std::size_t> writers;
  std::set<std::size_t> readers;
  std::set<std::int32_t> writing_ranks;
  std::set<std::int32_t> reading_ranks;
  for (const auto& [segment, row] : uses) {
    add_to(all.written.count, row.written.count);
    add_to(all.read.count, row.read.count);
    add_to(all.write_calls, row.write_calls);
    add_to(all.read_calls, row.read_calls);
    add_to(all.sequential_writes, row.sequential_writes);
    add_to(all.sequential_reads, row.sequential_reads);
    add_to(all.creates, row.creates);
    add_to(all.opens, row.opens);
    all.largest_write = std::max(all.largest_write, row.largest_write);
    all.largest_read = std::max(all.largest_read, row.largest_read);
    all.end = std::max(all.end, row.end);
    if (row.size_after.count > 0) {
      all.size_before = all.size_after.count > 0 ? std::min(all.size_before, row.size_before) : row.size_before;
      all.size_after = std::max(all.size_after, row.size_after);
    }
    all.renamed = std::max(all.renamed, row.renamed);
    all.communicator = std::max(all.communicator, row.communicator);
    if (std::pair(row.stripe_count, row.stripe_size) > std::pair(all.stripe_count, all.stripe_size)) {
      all.stripe_count = row.stripe_count;
      all.stripe_size = row.stripe_size;
    }
    if (row.first_ns) all.first_ns = all.first_ns ? std::min(*all.first_ns, *row.first_ns) : row.first_ns;
    if (row.last_ns) all.last_ns = all.last_ns ? std::max(*all.last_ns, *row.last_ns) : row.last_ns;
    for (const auto time : {&TracedFile::first_write_ns, &TracedFile::first_read_ns}) {
      if (row.*time) all.*time = std::min((all.*time).value_or(*(row.*time)), *(row.*time));
    }
    for (const auto time :
         {&TracedFile::last_write_ns, &TracedFile::last_read_ns, &TracedFile::opened_ns, &TracedFile::removed_ns}) {
      if (row.*time) all.*time = std::max((all.*time).value_or(*(row.*time)), *(row.*time));
    }
    all.own_layout |= row.own_layout;
    if (wrote(row)) writers.insert(segment);
    if (has_read(row)) readers.insert(segment);
    if (wrote(row) && row.rank >= 0) writing_ranks.insert(row.rank);
    if (has_read(row) && row.rank >= 0) reading_ranks.insert(row.rank);
  }
  all.ranks = static_cast<std::uint32_t>(writers.empty() ? readers.size() : writers.size());
  const std::set<std::int32_t>& ranks = writers.empty() ? reading_ranks : writing_ranks;
  if (!ranks.empty()) all.rank = *ranks.begin();
  return all;
}

// Random segments of processes in a folder, with rows that share names, also within a segment, and what their merge must be.
struct RandomRun {
  TemporaryFolder folder;
  std::vector<std::string> paths;
  std::vector<TracedFile> expected;
  std::uint64_t rows = 0;

  explicit RandomRun(Rng& rng) {
    std::map<std::string, std::vector<Use>> uses;
    const std::uint64_t names = rng.between(1, 300);
    const std::uint64_t segments = rng.below(40);
    for (std::uint64_t segment = 0; segment < segments; ++segment) {
      const SegmentInfo info = random_info(rng, SegmentKind::process);
      std::vector<TracedFile> files;
      for (std::uint64_t i = rng.below(60); i > 0; --i) {
        const std::uint64_t number = rng.below(names);
        const std::string front = number % 7 == 0 ? "/" + std::string(200 + number, 'd') + "/f" : "/f";
        files.push_back(random_file(rng, front + std::to_string(number), info.start_ns));
      }
      paths.push_back(folder.path(std::to_string(segment) + ".ieztrace"));
      write_segment(paths.back(), info, files);
      for (const TracedFile& file : read_all(SegmentReader::open(paths.back())).files) {
        uses[file.name].push_back({segment, file});
        ++rows;
      }
    }
    for (const auto& [name, of_name] : uses) expected.push_back(by_definition(name, of_name));
  }
};

void shuffle(std::vector<std::string>& paths, Rng& rng) {
  for (std::size_t i = paths.size(); i > 1; --i) std::swap(paths[i - 1], paths[rng.below(i)]);
}

TEST(Merge, AgreesWithTheDefinitions) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    RandomRun run(rng);
    const TemporaryFolder spills;
    for (const std::uint64_t memory : {1ULL, 20'000ULL, 100'000ULL, 512ULL << 20U}) {
      SCOPED_TRACE(memory);
      const Merged merged = merge(run.paths, {.memory = {memory}, .temporary_directory = spills.root()});
      EXPECT_EQ(merged.files, run.expected);
      EXPECT_EQ(merged.summary.rows, run.rows);
      EXPECT_EQ(merged.summary.files, run.expected.size());
      EXPECT_EQ(merged.summary.segments, run.paths.size());
      EXPECT_EQ(merged.summary.run.processes, run.paths.size());
      EXPECT_EQ(merged.summary.bad_segments, 0U);
      EXPECT_EQ(spills.entries(), 0U);
      if (memory > 1'000'000) {
        EXPECT_EQ(merged.summary.spills, 0U);
      } else if (memory == 1) {
        EXPECT_EQ(merged.summary.spills > 0, !run.expected.empty());
      }
    }
  }
}

TEST(Merge, DoesNotDependOnTheOrder) {
  for (std::uint64_t seed = 101; seed <= 106; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    RandomRun run(rng);
    std::optional<RunInfo> info;
    for (int round = 0; round < 5; ++round) {
      shuffle(run.paths, rng);
      Merger merger({.memory = {rng.below(100'000)}});  // merge_segments() would sort them
      for (const std::string& path : run.paths) ASSERT_TRUE(merger.add_segment(path));
      std::vector<TracedFile> files;
      ASSERT_TRUE(merger.finish([&](const TracedFile& file) -> Result<void> {
        files.push_back(file);
        return {};
      }));
      EXPECT_EQ(files, run.expected);
      if (!info) info = merger.summary().run;
      EXPECT_EQ(merger.summary().run, *info);
    }
  }
}

TEST(Merge, Associates) {
  for (std::uint64_t seed = 201; seed <= 208; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    RandomRun run(rng);
    if (run.paths.empty()) continue;  // refused, see below
    const TemporaryFolder folder;
    const std::string direct = folder.path("direct.ieztrace");
    ASSERT_TRUE(merge_to_file(run.paths, direct, {}));

    // Merge some of them to runs, and those again with the rest.
    std::vector<std::string> left = run.paths;
    int number = 0;
    while (left.size() > 1) {
      shuffle(left, rng);
      const auto count = static_cast<std::ptrdiff_t>(rng.between(1, left.size()));
      const std::vector<std::string> group(left.end() - count, left.end());
      left.erase(left.end() - count, left.end());
      left.push_back(folder.path("step" + std::to_string(number++) + ".ieztrace"));
      const auto merged = merge_to_file(group, left.back(), {.memory = {rng.below(50'000)}});
      ASSERT_TRUE(merged) << merged.error().message;
    }
    const std::string stepwise = folder.path("stepwise.ieztrace");
    ASSERT_TRUE(merge_to_file(left, stepwise, {}));
    EXPECT_EQ(bytes_of(stepwise), bytes_of(direct));
    EXPECT_EQ(read_all(SegmentReader::open(direct)).files, run.expected);
  }
}

TEST(Merge, ToAFileNeedsASegment) {
  const TemporaryFolder folder;
  const std::string output = folder.path("run.ieztrace");
  for (const std::vector<std::string>& inputs : {std::vector<std::string>{}, {folder.path("absent")}, {folder.path("")}}) {
    const auto merged = merge_to_file(inputs, output, {});
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, Errc::not_found);
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST(Merge, MergesMoreRunsThanItReadsAtOnce) {
  const TemporaryFolder folder;
  constexpr int kSegments = 300;  // one spill each
  static_assert(kSegments > 2 * Spill::kFanIn);
  for (int i = 0; i < kSegments; ++i) {
    write_segment(folder.path(std::to_string(i) + ".ieztrace"), {.rank = i},
                  std::vector<TracedFile>{{.name = "/own" + std::to_string(1000 + i), .written = {1}},
                                          {.name = "/shared", .renamed = "/r" + std::to_string(100 + i), .written = {2}}});
  }
  const Merged merged = merge({folder.root()}, {.memory = {1}});
  EXPECT_EQ(merged.summary.spills, kSegments);
  ASSERT_EQ(merged.files.size(), kSegments + 1);
  EXPECT_EQ(merged.files[299].name, "/own1299");
  EXPECT_EQ(merged.files[299].rank, 299);
  EXPECT_EQ(merged.files.back(), (TracedFile{.name = "/shared", .renamed = "/r399", .written = {600}, .rank = 0, .ranks = 300}));
}

TEST(Merge, SpillsWithinARunThatDoesNotFit) {
  const TemporaryFolder folder;
  std::vector<TracedFile> files;
  files.reserve(5000);
  for (int i = 0; i < 5000; ++i) {
    files.push_back({.name = "/" + std::to_string(10'000 + i), .renamed = i % 3 == 0 ? std::string(8000, 'r') : "", .opens = 1});
  }
  const std::string path = folder.path("run.ieztrace");
  write_segment(path, {.kind = SegmentKind::run}, files);
  const Merged merged = merge({path}, {.memory = Bytes::mib(2)});
  EXPECT_GT(merged.summary.spills, 3U);
  EXPECT_EQ(merged.files, files);
}

TEST(Merge, TellsOfTheRun) {
  const TemporaryFolder folder;
  write_segment(folder.path("a.ieztrace"),
                {.host = "n0",
                 .job = "1",
                 .program = "sh",
                 .start_ns = 100,
                 .end_ns = 900,
                 .dropped = 2,
                 .layouts = {.applied = 3, .refused = 1, .last_errno = 28},
                 .unseen_descriptors = 4},
                {});
  write_segment(folder.path("b.ieztrace"),
                {.rank = 1,
                 .communicator = 2,
                 .host = "n1",
                 .job = "1",
                 .program = "app",
                 .start_ns = 150,
                 .end_ns = 500,
                 .layouts = {.applied = 2, .existing = 1},
                 .unseen_descriptors = 1},
                {});
  write_segment(
      folder.path("c.ieztrace"),
      {.rank = 0, .communicator = 2, .host = "n9", .job = "1", .program = "app", .start_ns = 200, .closed = false, .dropped = 3},
      std::vector<TracedFile>{{.name = "/a", .first_ns = 300, .last_ns = 1000}});
  const MergeSummary summary = merge({folder.root()}).summary;
  EXPECT_EQ(summary.run, (RunInfo{.program = "app",
                                  .job = "1",
                                  .host = "n9",
                                  .processes = 3,
                                  .communicator = 2,
                                  .start_ns = 100,
                                  .end_ns = 1000,
                                  .layouts = {.applied = 5, .refused = 1, .existing = 1, .last_errno = 28},
                                  .unseen_descriptors = 5}));
  EXPECT_EQ(summary.rank, 0);
  EXPECT_EQ(summary.unclosed, 1U);
  EXPECT_EQ(summary.dropped, 5U);
}

// Two hosts write at the same time; the clock of one of them is an hour off.
TEST(Merge, CorrectsClocks) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kHour = 3600 * kSecond;
  constexpr std::int64_t kStart = 1'700'000'000 * kSecond;
  for (const std::int64_t off : {kHour, -kHour}) {
    SCOPED_TRACE(off);
    const TemporaryFolder folder;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      const std::int64_t start = kStart + (rank == 1 ? off : 0);
      write_segment(
          folder.path(std::to_string(rank) + ".ieztrace"),
          {.rank = rank, .communicator = 3, .host = "n" + std::to_string(rank), .start_ns = start, .end_ns = start + 9 * kSecond},
          std::vector<TracedFile>{{.name = "/f" + std::to_string(rank),
                                   .written = {1},
                                   .first_ns = start + kSecond,
                                   .last_ns = start + 4 * kSecond,
                                   .first_write_ns = start + 2 * kSecond,
                                   .last_write_ns = start + 3 * kSecond}});
    }
    const Merged merged = merge({folder.root()});
    EXPECT_EQ(merged.summary.clocks_ahead, (std::map<std::string, std::int64_t>{{"n1", off}}));
    EXPECT_THAT(clock_notes(merged.summary),
                ElementsAre(off > 0 ? "the clock of n1 is 3600 s ahead of the others; its times were corrected"
                                    : "the clock of n1 is 3600 s behind the others; its times were corrected"));
    EXPECT_EQ(merged.summary.run.start_ns, kStart);
    EXPECT_EQ(merged.summary.run.end_ns, kStart + 9 * kSecond);
    ASSERT_EQ(merged.files.size(), 3U);
    for (const TracedFile& file : merged.files) {
      EXPECT_EQ(file.first_ns, kStart + kSecond) << file.name;
      EXPECT_EQ(file.first_write_ns, kStart + 2 * kSecond) << file.name;
      EXPECT_EQ(file.last_write_ns, kStart + 3 * kSecond) << file.name;
    }

    const std::string run = folder.path("run.ieztrace");
    ASSERT_TRUE(merge_to_file(std::vector{folder.root()}, run, {}));
    EXPECT_EQ(read_all(SegmentReader::open(run)).files, merged.files);
  }
}

TEST(Merge, SkipsBadSegmentsOnly) {
  const TemporaryFolder folder;
  Arena arena(4, {.rank = 2});
  arena.add_file("/a", 5);
  arena.add_file("/bad", 5);
  arena.slot_as<abi::FileSlot>(1).name_size = 9999;
  arena.add_file("/b", 5);
  folder.write("good.ieztrace", arena.bytes());
  folder.write("empty.ieztrace", {});
  folder.write("zeros.ieztrace", std::vector<std::byte>(4096));
  const std::string text(1000, 'x');
  folder.write("sub/text.ieztrace", std::as_bytes(std::span(text)));
  folder.write("other.csv", std::as_bytes(std::span(text)));
  ASSERT_EQ(::mkdir(folder.path("odd.ieztrace").c_str(), 0700), 0);
  folder.write("odd.ieztrace/inner.ieztrace", arena.bytes());

  const Merged merged = merge({folder.root(), folder.path("absent"), folder.root() + "/./good.ieztrace"});
  ASSERT_EQ(merged.files.size(), 2U);
  EXPECT_EQ(merged.files[0].name, "/a");
  EXPECT_EQ(merged.files[0].ranks, 2U);
  EXPECT_EQ(merged.files[1].name, "/b");
  EXPECT_EQ(merged.summary.segments, 2U) << "that which was named twice counts once";
  EXPECT_EQ(merged.summary.bad_segments, 4U);
  EXPECT_EQ(merged.summary.report.skipped, 6U) << "and two bad slots";
  EXPECT_EQ(merged.summary.report.rows, 4U);
  EXPECT_THAT(to_string(merged.summary.report.problems.front()), StartsWith(folder.path("absent")));
}

TEST(Merge, OfNothing) {
  const Merged merged = merge({});
  EXPECT_THAT(merged.files, IsEmpty());
  EXPECT_EQ(merged.summary.run, RunInfo{});
}

TEST(Merge, DropsUnusedFilesWhenAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.ieztrace");
  write_segment(path, {},
                std::vector<TracedFile>{{.name = "/created", .creates = 1},
                                        {.name = "/opened", .opens = 3},
                                        {.name = "/read", .read = {1}},
                                        {.name = "/written", .write_calls = 1}});
  EXPECT_EQ(merge({path}).files.size(), 4U);
  const Merged merged = merge({path}, {.drop_unused = true});
  ASSERT_EQ(merged.files.size(), 3U);
  EXPECT_EQ(merged.files[1].name, "/read");
  EXPECT_EQ(merged.summary.files, 3U);
}

TEST(Merge, TellsItsProgress) {
  const TemporaryFolder folder;
  for (const char* name : {"a.ieztrace", "b.ieztrace"}) write_segment(folder.path(name), {}, {});
  std::vector<std::pair<std::size_t, std::size_t>> told;
  merge({folder.root()}, {.progress = [&](std::size_t done, std::size_t of) { told.emplace_back(done, of); }});
  EXPECT_THAT(told, ElementsAre(std::pair(1, 2), std::pair(2, 2)));
}

TEST(Merge, TakesRowsFromElsewhere) {
  Merger merger({});
  ASSERT_TRUE(merger.add_row({.name = "/a", .written = {1}, .ranks = 1}));
  ASSERT_TRUE(merger.add_row({.name = "/a", .written = {2}, .ranks = 1}));
  for (const std::string& name : {std::string(), std::string(8193, 'n'), std::string("a\0b", 3)}) {
    ASSERT_TRUE(merger.add_row({.name = name}));
  }
  std::vector<TracedFile> files;
  ASSERT_TRUE(merger.finish([&](const TracedFile& file) -> Result<void> {
    files.push_back(file);
    return {};
  }));
  EXPECT_THAT(files, ElementsAre(TracedFile{.name = "/a", .written = {3}, .ranks = 2}));
  EXPECT_EQ(merger.summary().report.skipped, 3U);
}

TEST(Merge, EndsWithTheErrorOfTheVisitor) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths{folder.path("a.ieztrace"), folder.path("b.ieztrace")};
  for (const std::string& path : paths) write_segment(path, {}, std::vector<TracedFile>{{.name = path}});
  for (const std::uint64_t memory : {1ULL, 1ULL << 30U}) {
    int calls = 0;
    const auto merged = merge_segments(paths, {.memory = {memory}}, [&](const TracedFile&) -> Result<void> {
      ++calls;
      return fail(Errc::io, "no more");
    });
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().message, "no more");
    EXPECT_EQ(calls, 1);
  }
}

TEST(Merge, SaysWhenThereIsNoRoomToSpill) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.ieztrace");
  std::vector<TracedFile> files;
  files.reserve(100);
  for (int i = 0; i < 100; ++i) files.push_back({.name = "/" + std::to_string(i)});
  write_segment(path, {}, files);
  const std::vector<std::string> inputs{path};

  const auto absent = merge_to_file(inputs, folder.path("out"), {.memory = {1}, .temporary_directory = folder.path("absent")});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("absent: cannot create a temporary file; give a directory"));

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto full = merge_to_file(inputs, folder.path("out"), {.memory = {1}, .temporary_directory = folder.root()});
  const auto no_output = merge_to_file(inputs, folder.path("out"), {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr(folder.root() + ": cannot write a temporary file of the merge"));
  ASSERT_FALSE(no_output);
  EXPECT_THAT(no_output.error().message, HasSubstr(folder.path("out") + ": cannot write the trace file"));
  EXPECT_EQ(folder.entries(), 1U) << "only what was there";
}

}  // namespace
}  // namespace iez::trace
