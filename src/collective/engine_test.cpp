// The engine with processes of its own for ranks, and sockets for the network between imagined nodes: what it writes and reads is
// compared with a plain copy of the file.
#include "collective/engine.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace iez::collective {
namespace {

using Random = std::mt19937_64;

std::int64_t draw(Random& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(random);
}

// What a rank does in a call, as every rank knows of every other.
struct Access {
  DataMap view = DataMap::contiguous(0);
  std::int64_t begin = 0;
  std::int64_t end = 0;
  DataMap buffer = DataMap::contiguous(0);
};

struct Step {
  bool write = true;
  std::uint64_t salt = 0;  // of the bytes that are written
  std::vector<Access> ranks;
};

struct Scene {
  std::uint32_t ranks = 1;
  std::uint32_t ranks_per_node = 1;
  FileLayout layout;
  WindowOptions windows;
  bool fill_holes = false;
  Hints hints{.mode = Mode::collective};
  bool compares = false;     // by their times, if hints leave it open
  bool caches = false;       // clients have them
  bool cannot_open = false;  // the file, by one rank
  std::vector<Step> steps;
  std::function<bool(const Counters&)> expects = nullptr;  // of each rank, at the end
};

std::byte value_at(std::int64_t offset, std::uint64_t salt) {
  return static_cast<std::byte>((static_cast<std::uint64_t>(offset) * 0x9E3779B97F4A7C15U + salt) >> 56U);
}

Tile random_tile(Random& random, std::int64_t most) {
  Tile tile;
  const std::int64_t runs = draw(random, 1, 4);
  std::int64_t at = draw(random, 0, 1) * draw(random, 0, most);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t length = draw(random, 1, most);
    tile.runs.push_back({.offset = at, .length = length});
    at += length + draw(random, 0, 1) * draw(random, 1, most);
  }
  std::int64_t span = at;
  const std::int64_t loops = draw(random, 0, 2);
  for (std::int64_t i = 0; i < loops; ++i) {
    const Loop loop{.count = draw(random, 1, 5), .stride = span + draw(random, 0, 1) * draw(random, 0, most)};
    tile.loops.insert(tile.loops.begin(), loop);
    span = loop.count * loop.stride;
  }
  tile.extent = span + draw(random, 0, 1) * draw(random, 0, most);
  return tile;
}

// Ranks that share a pattern: blocks dealt in turn, as most programs do; or everybody as they like.
Step random_step(Random& random, std::uint32_t ranks, bool write) {
  Step step{.write = write, .salt = random(), .ranks = std::vector<Access>(ranks)};
  const std::int64_t kind = draw(random, 0, 3);
  const std::int64_t block =
      std::array<std::int64_t, 6>{1, 7, 64, 1000, 1024, 4096}[static_cast<std::size_t>(draw(random, 0, 5))];
  const std::int64_t start = draw(random, 0, 1) * draw(random, 0, 20'000);
  const std::int64_t blocks = draw(random, 1, 20);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Access& access = step.ranks[rank];
    if (kind <= 1) {
      const Tile tile{.loops = {}, .runs = {{.offset = rank * block, .length = block}}, .extent = ranks * block};
      access.view = *DataMap::tiled(start, tile);
      access.begin = kind == 0 ? 0 : draw(random, 0, block);
      access.end = access.begin + (kind == 0 ? blocks * block : draw(random, 0, blocks * block));
    } else if (kind == 2) {
      access.view = *DataMap::tiled(draw(random, 0, 50'000), random_tile(random, 200));
      access.begin = draw(random, 0, 3000);
      access.end = access.begin + draw(random, 0, 1) * draw(random, 0, 20'000);
    } else {
      access.view = DataMap::contiguous(start + rank * block * blocks);
      access.end = block * blocks;
    }
    if (draw(random, 0, 2) == 0) access.buffer = *DataMap::tiled(0, random_tile(random, 50));
  }
  return step;
}

Scene random_scene(std::uint64_t seed) {
  Random random(seed);
  Scene scene;
  scene.ranks = static_cast<std::uint32_t>(draw(random, 1, 6));
  scene.ranks_per_node = draw(random, 0, 1) == 0 ? scene.ranks : static_cast<std::uint32_t>(draw(random, 1, scene.ranks));
  const std::int64_t stripe =
      std::array<std::int64_t, 4>{4096, 65536, 12'000, 1 << 20}[static_cast<std::size_t>(draw(random, 0, 3))];
  scene.layout = imagined_layout(stripe, static_cast<std::uint32_t>(draw(random, 1, 7)));
  scene.windows = {
      .aggregators = static_cast<std::uint32_t>(draw(random, 1, scene.ranks)),
      .clients_per_ost = static_cast<std::uint32_t>(draw(random, 1, 2)),
      .window_bytes = std::array<std::int64_t, 3>{4096, 50'000, 1 << 20}[static_cast<std::size_t>(draw(random, 0, 2))]};
  scene.fill_holes = draw(random, 0, 3) == 0;
  scene.caches = draw(random, 0, 1) == 0;
  // Some calls go as if there were no engine, every few of them.
  if (draw(random, 0, 2) == 0) {
    scene.hints.mode = Mode::automatic;
    scene.compares = draw(random, 0, 1) == 0;
    if (!scene.compares) scene.hints.switch_every = static_cast<std::uint32_t>(draw(random, 1, 4));
  }
  // True of some calls, and believed of all.
  scene.hints.same_io_size = draw(random, 0, 1) == 0;
  scene.hints.contiguous_data = scene.hints.same_io_size;
  const std::int64_t steps = draw(random, 1, 4);
  for (std::int64_t i = 0; i < steps; ++i) {
    Step step = random_step(random, scene.ranks, draw(random, 0, 2) > 0);
    scene.steps.push_back(step);
    // The same again, farther on: what calls in a loop do, and what the engine guesses.
    for (std::int64_t again = draw(random, 0, 3); again > 0; --again) {
      for (Access& access : step.ranks) {
        const std::int64_t moved = access.end - access.begin;
        access.begin += moved;
        access.end += moved;
      }
      if (scene.caches && draw(random, 0, 2) == 0) scene.steps.push_back(scene.steps.back());
      if (draw(random, 0, 4) == 0) step.ranks[0].end = step.ranks[0].begin;  // somebody does not do as before
      step.salt = random();
      scene.steps.push_back(step);
    }
  }
  return scene;
}

// Overlapping ranks write the same: a byte follows from its offset and the call.
void apply(const Step& step, std::vector<std::byte>& file) {
  for (const Access& access : step.ranks) {
    access.view.each_piece(access.begin, access.end, [&](std::int64_t, std::int64_t offset, std::int64_t length) {
      if (file.size() < static_cast<std::size_t>(offset + length)) file.resize(static_cast<std::size_t>(offset + length));
      for (std::int64_t i = 0; i < length; ++i) file[static_cast<std::size_t>(offset + i)] = value_at(offset + i, step.salt);
    });
  }
}

class SocketLinks final : public Links {
 public:
  SocketLinks(std::vector<std::array<int, 2>>& pairs, std::uint32_t ranks, std::uint32_t rank, std::vector<std::uint32_t> leaders)
      : pairs_(pairs), ranks_(ranks), rank_(rank), leaders_(std::move(leaders)) {}

  void poke() override {}
  void send(std::uint32_t rank, std::uint32_t tag, const void* data, std::size_t bytes) override {
    const std::array<std::uint64_t, 2> head{tag, bytes};
    put(rank, head.data(), sizeof head);
    put(rank, data, bytes);
  }
  void receive(std::uint32_t rank, std::uint32_t tag, void* data, std::size_t bytes) override {
    std::array<std::uint64_t, 2> head{};
    get(rank, head.data(), sizeof head);
    if (head[0] != tag || head[1] != bytes) ::_exit(90);
    get(rank, data, bytes);
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      if (leaders_[i] != rank_) send(leaders_[i], 1000, mine, bytes);
    }
    for (std::size_t i = 0; i < leaders_.size(); ++i) {
      auto* const place = static_cast<std::byte*>(all) + i * bytes;
      if (leaders_[i] == rank_) {
        std::copy_n(static_cast<const std::byte*>(mine), bytes, place);
      } else {
        receive(leaders_[i], 1000, place, bytes);
      }
    }
  }

 private:
  // From rank `from` to rank `to`: end 0 is written, end 1 is read.
  std::array<int, 2>& pair(std::uint32_t from, std::uint32_t to) { return pairs_[from * ranks_ + to]; }
  void put(std::uint32_t rank, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
      const ssize_t count = ::write(pair(rank_, rank)[0], from, bytes);
      if (count <= 0) ::_exit(91);
      from += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }
  void get(std::uint32_t rank, void* data, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(data);
    while (bytes > 0) {
      const ssize_t count = ::read(pair(rank, rank_)[1], to, bytes);
      if (count <= 0) ::_exit(92);
      to += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }

  std::vector<std::array<int, 2>>& pairs_;
  std::uint32_t ranks_;
  std::uint32_t rank_;
  std::vector<std::uint32_t> leaders_;
};

// Fails from an offset on, as a full disk does.
class FailingStorage final : public Storage {
 public:
  FailingStorage(Storage& real, std::int64_t limit, int error) : real_(real), limit_(limit), error_(error) {}

  Transferred write(std::int64_t offset, const std::byte* data, std::int64_t bytes) override {
    return limited(offset, bytes, [&](std::int64_t allowed) { return real_.write(offset, data, allowed); });
  }
  Transferred read(std::int64_t offset, std::byte* data, std::int64_t bytes) override {
    return limited(offset, bytes, [&](std::int64_t allowed) { return real_.read(offset, data, allowed); });
  }
  std::int64_t size() override { return real_.size(); }

 private:
  template <typename Call>
  Transferred limited(std::int64_t offset, std::int64_t bytes, Call call) {
    const std::int64_t allowed = std::clamp<std::int64_t>(limit_ - offset, 0, bytes);
    Transferred done = allowed > 0 ? call(allowed) : Transferred{};
    if (done.error == 0 && allowed < bytes) done.error = error_;
    return done;
  }

  Storage& real_;
  std::int64_t limit_;
  int error_;
};

struct Trouble {
  std::int64_t limit = -1;  // offset from which on the file fails
  int error = ENOSPC;
};

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "iez-engine-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string file() const { return folder_ + "/file"; }

  std::vector<std::byte> contents() const {
    std::ifstream in(file(), std::ios::binary);
    std::vector<char> text((std::istreambuf_iterator<char>(in)), {});
    std::vector<std::byte> bytes(text.size());
    std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    return bytes;
  }

  // Runs the scene; every rank checks what it reads. Empty if all went well, otherwise what did not.
  std::string play(const Scene& scene, const Trouble& trouble = {});

 private:
  std::string folder_;
};

// As the MPI does it where nothing is collected: each rank by itself.
Outcome by_itself(int fd, const Part& part, bool write) {
  Outcome outcome;
  part.view->each_piece(part.begin, part.end, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    const std::int64_t begin = position - part.begin;
    part.buffer->each_piece(begin, begin + length, [&](std::int64_t at, std::int64_t place, std::int64_t bytes) {
      std::byte* const data = part.memory + place;
      const std::int64_t from = offset + at - begin;
      const auto size = static_cast<std::size_t>(bytes);
      outcome.bytes += write ? ::pwrite(fd, data, size, from) : std::max<ssize_t>(0, ::pread(fd, data, size, from));
    });
  });
  return outcome;
}

struct Stage {
  const Scene& scene;
  std::string file;
  std::vector<NodeArena>& arenas;
  std::vector<std::vector<std::uint32_t>> nodes;
  const std::vector<std::vector<std::byte>>& before;  // the file at the beginning of each step
  Trouble trouble;
};

// One rank, in a process of its own. Returns its exit status.
int play_rank(const Stage& stage, std::vector<std::array<int, 2>>& pairs, std::uint32_t rank, std::string& problem) {
  const Scene& scene = stage.scene;
  const std::uint32_t node = rank / scene.ranks_per_node;
  std::vector<std::uint32_t> leaders;
  for (const auto& ranks : stage.nodes) leaders.push_back(ranks[0]);
  SocketLinks links(pairs, scene.ranks, rank, leaders);
  const Windows windows(scene.layout, scene.windows);
  Team team{.rank = rank - stage.nodes[node][0],
            .ranks = static_cast<std::uint32_t>(stage.nodes[node].size()),
            .node = node,
            .nodes = static_cast<std::uint32_t>(stage.nodes.size()),
            .aggregators = {}};
  for (std::uint32_t i = 0; i < windows.aggregators(); ++i) {
    Aggregator one{.home = static_cast<std::uint32_t>(i % stage.nodes.size()), .owners = {}, .owner_here = 0};
    for (std::uint32_t n = 0; n < stage.nodes.size(); ++n) {
      const auto on_node = static_cast<std::uint32_t>((i / stage.nodes.size()) % stage.nodes[n].size());
      one.owners.push_back(stage.nodes[n][on_node]);
      if (n == node) one.owner_here = on_node;
    }
    team.aggregators.push_back(one);
  }
  const int fd = ::open(stage.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  FileStorage real(fd, -1);
  std::unique_ptr<FailingStorage> failing;
  if (stage.trouble.limit >= 0) failing = std::make_unique<FailingStorage>(real, stage.trouble.limit, stage.trouble.error);
  Contest contest(scene.caches);
  Engine engine(stage.arenas[node], windows, team, links, failing ? static_cast<Storage*>(failing.get()) : &real,
                {.hints = &scene.hints,
                 .layout = &scene.layout,
                 .contest = scene.compares ? &contest : nullptr,
                 .open_file = [&scene, rank](Storage*&) { return scene.cannot_open && rank == 0 ? EACCES : 0; },
                 .alignment = windows.alignment(),
                 .fill_holes = scene.fill_holes});
  for (std::size_t number = 0; number < scene.steps.size(); ++number) {
    const Step& step = scene.steps[number];
    const Access& access = step.ranks[rank];
    const std::int64_t bytes = access.end - access.begin;
    std::int64_t top = 1;
    access.buffer.each_piece(
        0, bytes, [&top](std::int64_t, std::int64_t offset, std::int64_t length) { top = std::max(top, offset + length); });
    std::vector<std::byte> memory(static_cast<std::size_t>(top), std::byte{0x5A});
    const Part part{
        .view = &access.view, .begin = access.begin, .end = access.end, .buffer = &access.buffer, .memory = memory.data()};
    const auto each_byte = [&](auto take) {
      access.view.each_piece(access.begin, access.end, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
          take(memory[static_cast<std::size_t>(access.buffer.offset_of(position - access.begin + i))], offset + i);
        }
      });
    };
    std::int64_t expected = bytes;
    const std::vector<std::byte>& old = stage.before[number];
    const auto limit = static_cast<std::int64_t>(old.size());
    if (step.write) {
      each_byte([&](std::byte& place, std::int64_t offset) { place = value_at(offset, step.salt); });
    } else {
      expected = 0;
      each_byte([&](std::byte&, std::int64_t offset) { expected += offset < limit ? 1 : 0; });
    }
    Outcome outcome;
    if (engine.passes(step.write)) {
      // What the MPI would not promise either: that others see what is written before they meet again.
      engine.agree(0);
      outcome = by_itself(fd, part, step.write);
      engine.agree(0);
    } else {
      outcome = step.write ? engine.write(part) : engine.read(part);
      if (outcome.verdict == Verdict::passed || outcome.verdict == Verdict::independent)
        outcome = by_itself(fd, part, step.write);
      engine.passed_through();
      if (scene.cannot_open && engine.is_ready()) return 6;
    }
    if (stage.trouble.limit >= 0) {
      std::int64_t reached = 0;
      bool fails = false;
      each_byte([&](std::byte&, std::int64_t offset) { reached += offset < stage.trouble.limit ? 1 : 0; });
      for (const Access& other : step.ranks)
        fails = fails || (other.begin < other.end && other.view.offset_of(other.end - 1) >= stage.trouble.limit);
      if (outcome.error != (fails ? stage.trouble.error : 0)) problem = fmt::format("step {}: error {}", number, outcome.error);
      // What lies before the limit is there, unless an aggregator had stopped at a part behind it that came earlier.
      if (outcome.bytes > reached) problem = fmt::format("step {}: {} bytes of {} that fit", number, outcome.bytes, reached);
      if (!problem.empty()) return 1;
      continue;
    }
    if (outcome.error != 0 || outcome.bytes != expected) {
      problem = fmt::format("step {}: error {}, {} bytes, expected {}", number, outcome.error, outcome.bytes, expected);
      return 1;
    }
    if (step.write) continue;
    each_byte([&](std::byte& place, std::int64_t offset) {
      const std::byte wanted = offset < limit ? old[static_cast<std::size_t>(offset)] : std::byte{0x5A};
      if (place != wanted && problem.empty()) {
        problem = fmt::format("step {}: offset {} read as {}, expected {}", number, offset, std::to_integer<int>(place),
                              std::to_integer<int>(wanted));
      }
    });
    if (!problem.empty()) return 1;
  }
  if (scene.expects && !scene.expects(engine.counters())) return 7;
  if (engine.agree(static_cast<std::int32_t>(rank)) != static_cast<std::int32_t>(scene.ranks) - 1) return 3;
  return 0;
}

std::string EngineTest::play(const Scene& scene, const Trouble& trouble) {
  std::vector<std::vector<std::uint32_t>> nodes;
  for (std::uint32_t rank = 0; rank < scene.ranks; ++rank) {
    if (rank % scene.ranks_per_node == 0) nodes.emplace_back();
    nodes.back().push_back(rank);
  }
  const Windows windows(scene.layout, scene.windows);
  std::vector<NodeArena> arenas(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    std::string name;
    const ArenaShape shape{.ranks = static_cast<std::uint32_t>(nodes[node].size()),
                           .nodes = static_cast<std::uint32_t>(nodes.size()),
                           .windows = windows.aggregators(),
                           .window_bytes = windows.window_bytes()};
    if (const int error = NodeArena::create(shape, name, arenas[node]); error != 0) return fmt::format("arena: errno {}", error);
    NodeArena::unlink(name);
  }
  std::vector<std::array<int, 2>> pairs(std::size_t{scene.ranks} * scene.ranks);
  for (auto& pair : pairs) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return "socketpair";
  }
  std::vector<std::vector<std::byte>> before;
  std::vector<std::byte> file_now;
  for (const Step& step : scene.steps) {
    before.push_back(file_now);
    if (step.write) apply(step, file_now);
  }
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < scene.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      std::string problem;
      const int status = play_rank({scene, file(), arenas, nodes, before, trouble}, pairs, rank, problem);
      if (!problem.empty()) fmt::print(stderr, "rank {} of {}: {}\n", rank, scene.ranks, problem);
      ::_exit(status);
    }
    children.push_back(child);
  }
  std::string problem;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) problem = fmt::format("a rank ended with status {:#x}", status);
    if (status != 0) {
      for (const pid_t other : children) ::kill(other, SIGKILL);
    }
  }
  for (const auto& pair : pairs) {
    ::close(pair[0]);
    ::close(pair[1]);
  }
  if (!problem.empty() || trouble.limit >= 0) return problem;
  const std::vector<std::byte> found = contents();
  if (found.size() != file_now.size()) return fmt::format("the file has {} bytes, expected {}", found.size(), file_now.size());
  const auto wrong = std::ranges::mismatch(found, file_now);
  if (wrong.in1 != found.end()) return fmt::format("byte {} of the file is wrong", wrong.in1 - found.begin());
  return "";
}

TEST_F(EngineTest, FilesAreAsIfEveryRankHadWrittenByItself) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::filesystem::remove(file());
    const std::string problem = play(random_scene(seed));
    ASSERT_EQ(problem, "") << "seed " << seed;
  }
}

// Two ranks that alternate in pieces, with so much of each from its position `begin` on.
Step alternating(bool write, std::int64_t piece, std::int64_t begin, std::int64_t own) {
  Step step{.write = write, .salt = 7, .ranks = std::vector<Access>(2)};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto offset = static_cast<std::int64_t>(rank) * piece;
    step.ranks[rank] = {
        .view = *DataMap::tiled(0, {.loops = {}, .runs = {{.offset = offset, .length = piece}}, .extent = 2 * piece}),
        .begin = begin,
        .end = begin + own};
  }
  return step;
}

Scene two_ranks_with_caches() {
  return {.ranks = 2,
          .ranks_per_node = 2,
          .layout = imagined_layout(1 << 20, 2),
          .windows = {.aggregators = 2, .window_bytes = 1 << 20},
          .hints = {.mode = Mode::automatic},
          .compares = true,
          .caches = true};
}

// Calls of 8 MiB begin their trial at once. Those that read what was read before are no part of it.
TEST_F(EngineTest, WhereClientsHaveCachesWhatWasReadIsReadTheSameWayAgain) {
  constexpr std::int64_t kPiece = 32 << 10;
  constexpr std::int64_t kOwn = 4 << 20;
  constexpr int kCalls = 3;
  Scene scene = two_ranks_with_caches();
  for (int call = 0; call < kCalls; ++call) scene.steps.push_back(alternating(true, kPiece, call * kOwn, kOwn));
  for (int pass = 0; pass < 3; ++pass) {
    for (int call = 0; call < kCalls; ++call) scene.steps.push_back(alternating(false, kPiece, call * kOwn, kOwn));
  }
  scene.expects = [](const Counters& counters) {
    // Calls that nobody asks about are the MPI's, whatever they read.
    return counters.compared <= 2 * kCalls && counters.reads > 0 && (counters.reads % 3 == 0 || counters.unasked > 0);
  };
  EXPECT_EQ(play(scene), "");
}

// A write that nobody was asked about takes what was read out of caches, too: the next read is on trial like the first.
TEST_F(EngineTest, WhatWasWrittenWithoutAskingIsNoLongerInCaches) {
  const Step small_write = alternating(true, 1 << 10, 0, 4 << 10);
  const Step large_read = alternating(false, 32 << 10, 0, 4 << 20);
  Scene scene = two_ranks_with_caches();
  scene.steps = {small_write, large_read, small_write, large_read};
  scene.expects = [](const Counters& counters) { return counters.unasked == 1 && counters.compared == 3; };
  EXPECT_EQ(play(scene), "");
}

// One rank cannot open the file a second time: nothing is collected, nobody waits, and every byte is there.
TEST_F(EngineTest, WhereTheFileCannotBeOpenedCallsAreTheMpis) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scene scene = random_scene(seed);
    scene.cannot_open = true;
    std::filesystem::remove(file());
    const std::string problem = play(scene);
    ASSERT_EQ(problem, "") << "seed " << seed;
  }
}

// Whoever fails goes on serving: all ranks come back, with the same error, and each knows how much of its data fitted.
TEST_F(EngineTest, AFullDiskIsToldToAllAndNobodyHangs) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Scene scene = random_scene(seed);
    scene.fill_holes = false;
    scene.hints.mode = Mode::collective;
    std::erase_if(scene.steps, [](const Step& step) { return !step.write; });
    std::filesystem::remove(file());
    Random random(seed);
    const std::string problem = play(scene, {.limit = draw(random, 0, 60'000), .error = ENOSPC});
    ASSERT_EQ(problem, "") << "seed " << seed;
  }
}

TEST_F(EngineTest, AnErrorOfReadingIsToldToAll) {
  std::ofstream(file()) << std::string(200'000, 'x');
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scene scene = random_scene(seed);
    scene.hints.mode = Mode::collective;
    for (Step& step : scene.steps) step.write = false;
    Random random(seed);
    const std::string problem = play(scene, {.limit = draw(random, 0, 60'000), .error = EIO});
    ASSERT_EQ(problem, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace iez::collective
