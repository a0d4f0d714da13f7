#include "sim/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "sim/access_cursor.hpp"
#include "sim/sim_test_support.hpp"
#include "sim/simulation.hpp"

namespace iez::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Striping kOneStripe{.count = 1, .size = Bytes::gib(1)};

Job replay_of(std::uint32_t processes, std::vector<ReplayedFile> files) {
  return {.name = "job", .processes = processes, .files = std::move(files)};
}

std::vector<Piece> all_pieces(const Replay& replay, std::uint32_t rank, std::uint64_t request = 1U << 20U) {
  const AccessCursor::Shape shape{.request_bytes = request, .replay = &replay};
  std::vector<Piece> pieces;
  AccessCursor cursor(shape, rank);
  while (!cursor.done(shape)) pieces.push_back(cursor.next(shape));
  return pieces;
}

RunResult run(const Scenario& scenario) {
  const auto result = simulate(scenario);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : RunResult{};
}

RunResult run(std::uint32_t nodes, std::vector<ReplayedFile> files) {
  Scenario scenario = small_scenario(nodes, 1);
  scenario.jobs = {replay_of(nodes, std::move(files))};
  scenario.interval = milliseconds(100);
  return run(scenario);
}

ReplayedFile random_file(Rng& rng, std::uint32_t processes, std::uint32_t targets, std::uint64_t most_bytes,
                         std::uint64_t least_transfer = 1) {
  ReplayedFile file{.name = "f"};
  const bool writes = rng.chance(0.7);
  const bool reads = !writes || rng.chance(0.3);
  for (Movement* const moved : {&file.written, &file.read}) {
    if (moved == &file.written ? !writes : !reads) continue;
    *moved = {
        .bytes = {rng.between(1, most_bytes)}, .transfer = {rng.between(least_transfer, most_bytes)}, .strided = rng.chance(0.5)};
  }
  file.rank = static_cast<std::uint32_t>(rng.below(processes));
  if (rng.chance(0.5)) file.ranks = static_cast<std::uint32_t>(rng.between(1, processes - file.rank));
  file.striping = {.count = static_cast<std::uint32_t>(rng.between(1, targets)), .size = {rng.between(1, most_bytes)}};
  file.not_before = milliseconds(rng.below(2000));
  return file;
}

TEST(Replay, AProcessDoesItsOwnFilesInTheOrderOfTheList) {
  const Job job = replay_of(3, {{.name = "a", .written = {.bytes = {10}}, .rank = 1},
                                {.name = "b", .read = {.bytes = {20}}, .rank = 0},
                                {.name = "c", .written = {.bytes = {30}}, .read = {.bytes = {5}}, .rank = 1},
                                {.name = "d", .written = {.bytes = {6}}, .rank = 0, .ranks = 2}});
  const Replay replay(job);
  const auto first = all_pieces(replay, 0);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ((std::vector<std::uint32_t>{first[0].file, first[1].file}), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_TRUE(first[0].read);
  EXPECT_EQ(first[0].bytes, 20U);
  EXPECT_EQ(first[1].bytes, 3U);
  const auto second = all_pieces(replay, 1);
  ASSERT_EQ(second.size(), 4U);
  EXPECT_EQ(second[0].file, 0U);
  EXPECT_EQ(second[1].file, 2U);
  EXPECT_FALSE(second[1].read) << "what was written comes first";
  EXPECT_EQ(second[1].bytes, 30U);
  EXPECT_TRUE(second[2].read);
  EXPECT_EQ(second[2].file, 2U);
  EXPECT_EQ(second[2].bytes, 5U);
  EXPECT_EQ(second[2].offset, 0U);
  EXPECT_EQ(second[3].offset, 3U) << "the second half of the shared file";
  EXPECT_TRUE(all_pieces(replay, 2).empty());
  const std::uint32_t turn = replay.first_turn(1);
  EXPECT_TRUE(replay.opens(1, turn));
  EXPECT_TRUE(replay.opens(1, turn + 1));
  EXPECT_FALSE(replay.opens(1, turn + 2)) << "it has it open";
  EXPECT_TRUE(replay.opens(1, turn + 3));
}

TEST(Replay, SharesAFileInPartsOrInTurns) {
  Job job =
      replay_of(4, {{.name = "a", .written = {.bytes = {11}, .transfer = {2}}, .rank = 1, .ranks = 3, .striping = kOneStripe}});
  {
    const Replay parts(job);
    EXPECT_EQ(all_pieces(parts, 1)[0].bytes, 4U);
    EXPECT_EQ(all_pieces(parts, 2)[0].offset, 4U);
    EXPECT_EQ(all_pieces(parts, 3)[0].bytes, 3U) << "what is left";
    EXPECT_TRUE(all_pieces(parts, 0).empty());
  }
  job.files[0].written.strided = true;
  const Replay turns(job);
  const auto pieces = all_pieces(turns, 3);  // blocks 2 and 5
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].offset, 4U);
  EXPECT_EQ(pieces[1].offset, 10U);
  EXPECT_EQ(pieces[1].bytes, 1U);
  job.files[0].written.transfer = Bytes::mib(1);
  EXPECT_EQ(all_pieces(Replay(job), 3)[0].bytes, 3U) << "every process has a part";
}

TEST(Replay, LeavesOutProcessesForWhichNothingIsLeft) {
  const Replay replay(
      replay_of(4, {{.name = "a", .written = {.bytes = {2}}, .ranks = 4}, {.name = "b", .read = {.bytes = {5}}, .ranks = 4}}));
  std::vector<std::uint64_t> read;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    std::uint64_t sum = 0;
    for (const Piece& piece : all_pieces(replay, rank)) sum += piece.read ? piece.bytes : 0;
    read.push_back(sum);
  }
  EXPECT_EQ(read, (std::vector<std::uint64_t>{2, 2, 1, 0}));
  EXPECT_EQ(all_pieces(replay, 1).size(), 2U);
  EXPECT_EQ(all_pieces(replay, 2).size(), 1U);
}

// Every byte of every file in each direction is touched once, by a process that the file is of.
TEST(Replay, CoversEveryByteOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto processes = static_cast<std::uint32_t>(rng.between(1, 6));
    Job job = replay_of(processes, {});
    const auto files = rng.between(1, 5);
    for (std::uint64_t i = 0; i < files; ++i) job.files.push_back(random_file(rng, processes, 4, 60));
    const Replay replay(job);
    const std::uint64_t request = rng.between(1, 15);
    std::map<std::tuple<std::uint32_t, bool, std::uint32_t, std::uint64_t>, int> touched;
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
      std::uint32_t before = 0;
      for (const Piece& piece : all_pieces(replay, rank, request)) {
        ASSERT_LE(piece.bytes, request);
        ASSERT_GT(piece.bytes, 0U);
        ASSERT_GE(piece.file, before) << "in the order of the list";
        before = piece.file;
        const ReplayedFile& file = job.files[piece.file];
        ASSERT_GE(rank, file.rank);
        ASSERT_LT(rank, file.rank + file.ranks);
        for (std::uint64_t i = 0; i < piece.bytes; ++i) ++touched[{piece.file, piece.read, piece.stripe, piece.place + i}];
      }
    }
    for (const auto& [byte, times] : touched) ASSERT_EQ(times, 1);
    std::uint64_t expected = 0;
    for (std::uint32_t number = 0; number < job.files.size(); ++number) {
      const ReplayedFile& file = job.files[number];
      expected += file.written.bytes.count + file.read.bytes.count;
      for (const bool read : {false, true}) {
        for (std::uint32_t stripe = 0; stripe < file.striping.count; ++stripe) {
          const std::uint64_t size = object_bytes((read ? file.read : file.written).bytes.count, file.striping, stripe);
          if (size > 0) {
            EXPECT_TRUE(touched.contains({number, read, stripe, size - 1}));
          }
          EXPECT_FALSE(touched.contains({number, read, stripe, size}));
        }
      }
    }
    EXPECT_EQ(touched.size(), expected);
    EXPECT_EQ(total_bytes(job).count, expected);
  }
}

// A pattern written down file by file is the same run, to the last event.
TEST(Replay, IsThePatternThatItLists) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Scenario pattern = random_scenario(seed);
    Scenario replay = pattern;
    for (std::size_t i = 0; i < pattern.jobs.size(); ++i) {
      Job& job = pattern.jobs[i];
      job.collective = {};
      job.pattern.files = 1;
      replay.jobs[i] = job;
      const bool shared = job.pattern.mode == FileMode::shared;
      for (std::uint32_t rank = 0; rank < (shared ? 1 : job.processes); ++rank) {
        ReplayedFile file{.name = "f", .rank = rank, .striping = job.striping};
        (job.pattern.access == Access::read ? file.read : file.written) = {
            .bytes = file_bytes(job), .transfer = job.pattern.block, .strided = true};
        if (shared) file.ranks = job.processes;
        replay.jobs[i].files.push_back(file);
      }
      EXPECT_EQ(total_bytes(job), total_bytes(replay.jobs[i]));
      EXPECT_EQ(file_count(job), file_count(replay.jobs[i]));
      EXPECT_EQ(object_count(job), object_count(replay.jobs[i]));
    }
    EXPECT_EQ(everything(run(replay)), everything(run(pattern)));
  }
}

TEST(Replay, ConservesBytesInBothDirections) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Scenario scenario = random_scenario(seed);
    std::vector<Bytes> read(scenario.jobs.size());
    std::uint64_t objects = 0;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      Job& job = scenario.jobs[i];
      job.collective = {};
      const auto files = rng.between(1, 20);
      for (std::uint64_t j = 0; j < files; ++j) {
        job.files.push_back(random_file(rng, job.processes, target_count(scenario.machine), 3'000'000, 10'000));
        job.files.back().striping.size = Bytes::kib(64 * rng.between(1, 32));
        read[i] += job.files.back().read.bytes;
        objects += job.files.back().striping.count;
      }
    }
    const RunResult result = run(scenario);
    std::uint64_t on_targets = 0;
    for (const TargetResult& target : result.targets) on_targets += target.objects;
    EXPECT_EQ(on_targets, objects);
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      EXPECT_EQ(result.jobs[i].bytes, total_bytes(scenario.jobs[i]));
      EXPECT_EQ(result.jobs[i].read, read[i]);
      EXPECT_EQ(result.jobs[i].replayed_files, scenario.jobs[i].files.size());
      ASSERT_TRUE(result.jobs[i].finished);
      for (const ReplayedFile& file : scenario.jobs[i].files) {
        EXPECT_GT(*result.jobs[i].finished, scenario.jobs[i].start + file.not_before);
      }
    }
    EXPECT_EQ(everything(run(scenario)), everything(result));
  }
}

TEST(Replay, WaitsForTheTimeOfAFile) {
  const Duration alone = run(1, {{.name = "a", .written = {.bytes = Bytes::mib(4)}}}).end;
  const RunResult late = run(1, {{.name = "a", .written = {.bytes = Bytes::mib(4)}, .not_before = seconds(3)}});
  EXPECT_EQ(late.end, alone + seconds(3));
  const RunResult both = run(1, {{.name = "a", .written = {.bytes = Bytes::mib(4)}},
                                 {.name = "b", .written = {.bytes = Bytes::mib(2)}, .not_before = seconds(5)}});
  EXPECT_GT(both.end, seconds(5));
  Bytes early;
  for (const Sample& sample : both.samples) {
    if (sample.at <= seconds(5)) early += sample.bytes;
  }
  EXPECT_EQ(early, Bytes::mib(4));
  // The time of a file is the earliest, not an appointment: a process that is late goes on at once.
  const RunResult busy = run(1, {{.name = "a", .written = {.bytes = Bytes::mib(400)}},
                                 {.name = "b", .written = {.bytes = Bytes::mib(100)}, .not_before = milliseconds(1)}});
  EXPECT_LT(busy.end, seconds(3));
}

TEST(Replay, CountsFromTheStartOfTheJob) {
  Scenario scenario = small_scenario(1, 1);
  scenario.jobs = {replay_of(1, {{.name = "a", .written = {.bytes = Bytes::mib(4)}, .not_before = seconds(3)}})};
  const Duration end = run(scenario).end;
  scenario.jobs[0].start = seconds(7);
  EXPECT_EQ(run(scenario).end, end + seconds(7));
}

// With a cache for all of it, a process writes on while it is sent. What it reads it has to have.
TEST(Replay, ReadsAreThereBeforeTheNextFile) {
  const auto deepest = [](bool read) {
    std::vector<ReplayedFile> files(8, {.name = "f", .striping = kOneStripe});
    for (ReplayedFile& file : files) (read ? file.read : file.written).bytes = Bytes::kib(64);
    return run(1, files).deepest;
  };
  EXPECT_EQ(deepest(false), 8U);
  EXPECT_EQ(deepest(true), 1U);
}

TEST(Replay, EveryFileIsOpenedOnce) {
  Scenario scenario = small_scenario(1, 1);
  scenario.jobs = {replay_of(1, {})};
  scenario.machine.metadata = {.create = seconds(10), .open = seconds(1), .threads = 1};
  scenario.jobs[0].files = {{.name = "a", .written = {.bytes = {1000}}, .read = {.bytes = {1000}}},
                            {.name = "b", .read = {.bytes = {1000}}}};
  const Duration end = run(scenario).end;
  EXPECT_GT(end, seconds(11));
  EXPECT_LT(end, seconds(12)) << "a is created and b is opened; a is not opened again to be read";
}

// The target of the one large file has most of the load. In files of the mean size nobody would see it.
TEST(Replay, OneLargeFileIsTheLoadOfItsTarget) {
  Scenario scenario = small_scenario(8, 1);
  scenario.machine.servers[0].targets = 8;
  Job& job = scenario.jobs[0];
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    job.files.push_back({.name = "f", .written = {.bytes = rank == 5 ? Bytes::mib(57) : Bytes::mib(1)}, .rank = rank});
  }
  const RunResult result = run(scenario);
  Bytes most;
  for (const TargetResult& target : result.targets) {
    EXPECT_EQ(target.objects, 1U);
    most = std::max(most, target.bytes);
  }
  EXPECT_EQ(most, Bytes::mib(57));
  Scenario mean = small_scenario(8, 8);
  mean.machine = scenario.machine;
  EXPECT_EQ(total_bytes(mean.jobs[0]), total_bytes(job));
  EXPECT_EQ(result.end, 57 * milliseconds(4) + std::chrono::microseconds(200));
  EXPECT_GT(result.end, 2 * run(mean).end);
}

// Processes that did no I/O do not hold up the rest, nor the stable phase.
TEST(Replay, IdleProcessesAreLeftOut) {
  std::vector<ReplayedFile> files;
  files.reserve(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    files.push_back({.name = "f", .written = {.bytes = Bytes::mib(100)}, .rank = 2 * rank});
  }
  const RunResult result = run(8, files);
  EXPECT_EQ(result.bytes, Bytes::mib(400));
  ASSERT_TRUE(result.stable);
  EXPECT_GT(result.stable->to - result.stable->from, result.end / 2);
}

}  // namespace
}  // namespace iez::sim
