#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collective/coverage.hpp"
#include "collective/engine.hpp"
#include "collective/stopwatch.hpp"

namespace iez::collective {

namespace {

constexpr std::int64_t kSieve = 64 << 10;  // two pieces that are no farther apart are read together
constexpr std::int64_t kRpc = 1 << 20;     // what a Lustre server takes at once, at least

// Calls copy(place in the window, position in the buffer, bytes) for all bytes of a part that lie in chunks, before `limit`.
template <typename Copy>
void each_copy(const Part& part, const FileRange& mine, const std::vector<Chunk>& chunks, std::int64_t limit, Copy copy) {
  std::int64_t at = 0;
  for (const Chunk& chunk : chunks) {
    const std::int64_t from = std::max(chunk.offset, mine.begin);
    const std::int64_t to = std::min({chunk.offset + chunk.length, mine.end, limit});
    if (from < to) {
      const std::int64_t begin = std::max(part.begin, part.view->position_at(from));
      const std::int64_t end = std::min(part.end, part.view->position_at(to));
      const std::int64_t shift = at - chunk.offset;
      if (begin < end) {
        part.view->each_piece(begin, end, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
          copy(offset + shift, position - part.begin, length);
        });
      }
    }
    at += chunk.length;
  }
}

}  // namespace

void Engine::deposit(const Part& part, const Use& use) {
  if (mine_.begin == mine_.end) return;
  const Stopwatch watch(counters_.copy_ns);
  std::byte* const window = arena_.data(use.window, use.which);
  const Coverage coverage(arena_.coverage(use.window, use.which), now_.granule);
  std::int64_t bytes = 0;
  const bool plain = part.buffer->is_contiguous();
  const std::byte* const memory = part.memory + (plain ? part.buffer->offset_of(0) : 0);
  each_copy(part, mine_, chunks_, now_.end, [&](std::int64_t place, std::int64_t position, std::int64_t length) {
    if (plain) {
      std::memcpy(window + place, memory + position, static_cast<std::size_t>(length));
    } else {
      part.buffer->each_piece(position, position + length, [&](std::int64_t at, std::int64_t offset, std::int64_t size) {
        std::memcpy(window + place + (at - position), memory + offset, static_cast<std::size_t>(size));
      });
    }
    coverage.mark(place, place + length);
    bytes += length;
  });
  if (team_.aggregators[use.window].owner_here != team_.rank) counters_.shared += static_cast<std::uint64_t>(bytes);
}

void Engine::ask(const Part& part, const Use& use) {
  if (mine_.begin == mine_.end) return;
  const Coverage coverage(arena_.coverage(use.window, use.which), now_.granule);
  each_copy(part, mine_, chunks_, now_.end,
            [&coverage](std::int64_t place, std::int64_t, std::int64_t length) { coverage.mark(place, place + length); });
}

void Engine::take(const Part& part, const Use& use) {
  if (mine_.begin == mine_.end) return;
  const Stopwatch watch(counters_.copy_ns);
  const std::byte* const window = arena_.data(use.window, use.which);
  const std::int64_t limit = arena_.buffer(use.window, use.which).valid_end;
  std::int64_t bytes = 0;
  const bool plain = part.buffer->is_contiguous();
  std::byte* const memory = part.memory + (plain ? part.buffer->offset_of(0) : 0);
  each_copy(part, mine_, chunks_, limit, [&](std::int64_t place, std::int64_t position, std::int64_t length) {
    if (plain) {
      std::memcpy(memory + position, window + place, static_cast<std::size_t>(length));
    } else {
      part.buffer->each_piece(position, position + length, [&](std::int64_t at, std::int64_t offset, std::int64_t size) {
        std::memcpy(memory + offset, window + place + (at - position), static_cast<std::size_t>(size));
      });
    }
    bytes += length;
  });
  if (team_.aggregators[use.window].owner_here != team_.rank) counters_.shared += static_cast<std::uint64_t>(bytes);
}

void Engine::count_in(Walk& walk, const Use& use) {
  const std::uint32_t times = ++walk.counted[use.window * kBuffers + use.which];
  Buffer& buffer = arena_.buffer(use.window, use.which);
  if (buffer.arrived.add(1) == times * team_.ranks) buffer.arrived.wake_all();
}

void Engine::await_ranks(const Walk& walk, const Use& use) {
  if (!use.here) return;
  Buffer& buffer = arena_.buffer(use.window, use.which);
  const std::uint32_t target = walk.counted[use.window * kBuffers + use.which] * team_.ranks;
  wait(buffer.arrived, [&buffer, target] { return buffer.arrived.load() == target; });
}

// Leaves the buffer empty.
void Engine::serve_write(const Walk& walk, const Use& use) {
  await_ranks(walk, use);
  const bool home = team_.aggregators[use.window].home == team_.node;
  look_at(use.portion, use.window);
  if (home) {
    if (team_.nodes > 1) collect(use);
    write_window(use);
  } else {
    pass_on(use);
  }
  Coverage(arena_.coverage(use.window, use.which), now_.granule).clear(use.bytes);
  Buffer& buffer = arena_.buffer(use.window, use.which);
  buffer.served.store(use.number + 1);
  buffer.served.wake_all();
}

void Engine::serve_read(const Walk& walk, const Use& use) {
  await_ranks(walk, use);
  Buffer& buffer = arena_.buffer(use.window, use.which);
  const std::uint32_t taken = use.here_before * team_.ranks;
  wait(buffer.taken, [&buffer, taken] { return buffer.taken.load() == taken; });
  look_at(use.portion, use.window);
  if (team_.aggregators[use.window].home == team_.node) {
    if (team_.nodes > 1) collect(use);
    read_window(use);
    if (team_.nodes > 1) answer(use);
  } else {
    fetch(use);
  }
  Coverage(arena_.coverage(use.window, use.which), now_.granule).clear(use.bytes);
  buffer.served.store(use.number + 1);
  buffer.served.wake_all();
}

void Engine::write_window(const Use& use) {
  if (arena_.failure(use.window).error != 0) return;
  const Stopwatch watch(counters_.file_ns);
  const Coverage coverage(arena_.coverage(use.window, use.which), now_.granule);
  const std::byte* const data = arena_.data(use.window, use.which);
  std::int64_t at = 0;
  for (const Chunk& chunk : chunks_) {
    if (options_.fill_holes && !fill_holes(use, chunk, at)) return;
    bool failed = false;
    coverage.each_run(at, at + chunk.length, [&](std::int64_t begin, std::int64_t end) {
      if (failed) return;
      const std::int64_t offset = chunk.offset + (begin - at);
      const Transferred done = storage_->write(offset, data + begin, end - begin);
      ++counters_.transfers;
      counters_.transferred += static_cast<std::uint64_t>(done.bytes);
      if (end - begin >= std::min(kRpc, options_.alignment)) ++counters_.whole;
      if (done.bytes == end - begin) return;
      fail(use, offset + done.bytes, done.error != 0 ? done.error : EIO);
      failed = true;
    });
    if (failed) return;
    at += chunk.length;
  }
}

// Reads what the file has between the runs of a chunk, and marks it, so that all is written at once. What lies behind the end of
// the file needs no reading: it is zeros, and stays that. False if that failed.
bool Engine::fill_holes(const Use& use, const Chunk& chunk, std::int64_t at) {
  const Coverage coverage(arena_.coverage(use.window, use.which), now_.granule);
  std::byte* const data = arena_.data(use.window, use.which);
  std::int64_t first = -1;
  std::int64_t last = 0;
  std::int64_t covered = 0;
  coverage.each_run(at, at + chunk.length, [&](std::int64_t begin, std::int64_t end) {
    if (first < 0) first = begin;
    last = end;
    covered += end - begin;
  });
  if (first < 0 || covered == last - first) return true;
  const std::int64_t size = storage_->size();
  std::int64_t hole = first;
  int error = size < 0 ? EIO : 0;
  std::int64_t where = chunk.offset;
  coverage.each_run(first, last, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t offset = chunk.offset + (hole - at);
    const std::int64_t length = begin - hole;
    const std::int64_t present = std::clamp<std::int64_t>(size - offset, 0, length);
    if (error == 0 && present > 0) {
      const Transferred done = storage_->read(offset, data + hole, present);
      ++counters_.transfers;
      if (done.bytes != present) {
        error = done.error != 0 ? done.error : EIO;
        where = offset;
      }
    }
    if (present < length) std::memset(data + hole + present, 0, static_cast<std::size_t>(length - present));
    hole = end;
  });
  if (error != 0) {
    fail(use, where, error);
    return false;
  }
  coverage.mark(first, last);
  return true;
}

void Engine::read_window(const Use& use) {
  Buffer& buffer = arena_.buffer(use.window, use.which);
  if (arena_.failure(use.window).error != 0) {
    buffer.valid_end = 0;
    return;
  }
  const Stopwatch watch(counters_.file_ns);
  const Coverage coverage(arena_.coverage(use.window, use.which), now_.granule);
  std::byte* const data = arena_.data(use.window, use.which);
  buffer.valid_end = now_.end;
  bool stopped = false;
  const auto read = [&](std::int64_t offset, std::int64_t begin, std::int64_t end) {
    if (stopped) return;
    const Transferred done = storage_->read(offset, data + begin, end - begin);
    ++counters_.transfers;
    counters_.transferred += static_cast<std::uint64_t>(done.bytes);
    if (end - begin >= std::min(kRpc, options_.alignment)) ++counters_.whole;
    if (done.bytes == end - begin) return;
    stopped = true;
    buffer.valid_end = offset + done.bytes;
    if (done.error != 0) {
      fail(use, buffer.valid_end, done.error);
      return;
    }
    std::atomic<std::int64_t>& known = arena_.control().end_of_file;
    std::int64_t before = known.load(std::memory_order_relaxed);
    while (before > buffer.valid_end && !known.compare_exchange_weak(before, buffer.valid_end)) {
    }
  };
  std::int64_t at = 0;
  for (const Chunk& chunk : chunks_) {
    std::int64_t from = -1;
    std::int64_t to = 0;
    coverage.each_run(at, at + chunk.length, [&](std::int64_t begin, std::int64_t end) {
      if (from >= 0 && begin - to > kSieve) {
        read(chunk.offset + (from - at), from, to);
        from = -1;
      }
      if (from < 0) from = begin;
      to = end;
    });
    if (from >= 0) read(chunk.offset + (from - at), from, to);
    at += chunk.length;
  }
}

void Engine::fail(const Use& use, std::int64_t offset, int error) {
  arena_.failure(use.window) = {.error = error, .portion = use.portion, .offset = offset};
}

}  // namespace iez::collective
