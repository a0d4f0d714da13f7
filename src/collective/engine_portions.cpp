// The work of a call, portion by portion: what is put into windows and taken out of them, in which order, and how much of it is
// done.
#include <algorithm>
#include <limits>

#include "collective/engine.hpp"

namespace iez::collective {

namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

}  // namespace

// If this rank owns the window.
void Engine::keep(const Use& use, std::vector<Use>& mine) const {
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    if (owned_[i] == use.window) mine[i] = use;
  }
}

void Engine::write_portions(const Part& part, bool filled) {
  Walk walk = fresh_walk();
  const auto all = static_cast<std::uint32_t>(team_.aggregators.size());
  const auto [first, last] = portions_of(now_);
  std::vector<Use> mine(owned_.size());
  for (std::int64_t portion = first; portion <= last; ++portion) {
    ++counters_.portions;
    for (Use& use : mine) use.bytes = 0;
    for (std::uint32_t step = 0; step < all; ++step) {
      const std::uint32_t window = (team_.rank + step) % all;  // not all at the same one
      Use use;
      if (!next_use(walk, portion, window, use)) continue;
      if (use.here && (!filled || portion != first)) {
        Buffer& buffer = arena_.buffer(window, use.which);
        wait(buffer.served, [&buffer, &use] { return buffer.served.load() >= use.number; });
        deposit(part, use);
        count_in(walk, use);
      }
      keep(use, mine);
    }
    for (const Use& use : mine) {
      if (use.bytes > 0) serve_write(walk, use);
    }
  }
}

// A portion is taken out while the next one is read.
void Engine::read_portions(const Part& part, bool asked) {
  const auto all = static_cast<std::uint32_t>(team_.aggregators.size());
  const auto [first, last] = portions_of(now_);
  Walk walk = fresh_walk();
  Walk out = fresh_walk();
  std::vector<Use> mine(owned_.size());
  for (std::int64_t portion = first; portion <= last + 1; ++portion) {
    if (portion <= last) {
      ++counters_.portions;
      for (Use& use : mine) use.bytes = 0;
      for (std::uint32_t window = 0; window < all; ++window) {
        Use use;
        if (!next_use(walk, portion, window, use)) continue;
        if (use.here && (!asked || portion != first)) {
          Buffer& buffer = arena_.buffer(window, use.which);
          wait(buffer.served, [&buffer, &use] { return buffer.served.load() >= use.number; });
          ask(part, use);
          count_in(walk, use);
        }
        keep(use, mine);
      }
      for (const Use& use : mine) {
        if (use.bytes > 0) serve_read(walk, use);
      }
    }
    if (portion == last + 1) finish();
    if (portion == first) continue;
    for (std::uint32_t step = 0; step < all; ++step) {
      const std::uint32_t window = (team_.rank + step) % all;
      Use use;
      if (!next_use(out, portion - 1, window, use) || !use.here) continue;
      Buffer& buffer = arena_.buffer(window, use.which);
      wait(buffer.served, [&buffer, &use] { return buffer.served.load() > use.number; });
      take(part, use);
      if (buffer.taken.add(1) % team_.ranks == 0) buffer.taken.wake_all();
    }
  }
}

// This rank has served all of its windows; returns when all are through.
void Engine::finish() {
  Control& control = arena_.control();
  const auto all = static_cast<std::uint32_t>(team_.aggregators.size());
  const auto close = [&control, call = call_] {
    control.done.store(call, std::memory_order_release);
    control.epoch.add(1);
    control.epoch.wake_all();
  };
  if (!owned_.empty() && control.finished.add(static_cast<std::uint32_t>(owned_.size())) == all) {
    if (team_.nodes == 1) {
      close();
    } else {
      control.finished.wake_all();
    }
  }
  if (team_.nodes > 1 && team_.rank == 0) {
    wait(control.finished, [&control, all] { return control.finished.load() == all; });
    join_failures();
    close();
  }
  wait(control.epoch, [&control, call = call_] { return control.done.load(std::memory_order_acquire) == call; });
}

// How many bytes of this rank are where they should be.
std::int64_t Engine::moved(const Part& part, bool write) {
  if (mine_.begin == mine_.end) return 0;
  bool failed = false;
  for (std::uint32_t window = 0; window < team_.aggregators.size(); ++window)
    failed = failed || arena_.failure(window).error != 0;
  const std::int64_t end = write ? kEnd : arena_.control().end_of_file.load(std::memory_order_relaxed);
  const auto within = [&part](std::int64_t from, std::int64_t to) {
    const std::int64_t begin = std::max(part.begin, part.view->position_at(from));
    return std::max<std::int64_t>(0, std::min(part.end, part.view->position_at(to)) - begin);
  };
  if (!failed) return end >= mine_.end ? part.end - part.begin : within(mine_.begin, end);
  std::int64_t bytes = 0;
  const auto [first, last] = portions_of(now_);
  for (std::int64_t portion = first; portion <= last; ++portion) {
    for (std::uint32_t window = 0; window < team_.aggregators.size(); ++window) {
      const Failure& failure = arena_.failure(window);
      if (failure.error != 0 && portion > failure.portion) continue;
      const std::int64_t limit = failure.error != 0 && portion == failure.portion ? std::min(failure.offset, end) : end;
      windows_.chunks(portion, window, chunks_);
      for (const Chunk& chunk : chunks_) {
        const std::int64_t to = std::min(chunk.offset + chunk.length, limit);
        if (chunk.offset < to) bytes += within(chunk.offset, to);
      }
    }
  }
  return bytes;
}

PortionSpan Engine::portions_of(const Asked& asked) const {
  return asked.begin < asked.end ? windows_.portions(asked.begin, asked.end) : PortionSpan{};
}

Engine::Walk Engine::fresh_walk() const {
  return {.uses = std::vector<std::uint32_t>(team_.aggregators.size()),
          .counted = std::vector<std::uint32_t>(team_.aggregators.size() * kBuffers),
          .here = std::vector<std::uint32_t>(team_.aggregators.size() * kBuffers)};
}

// Afterwards chunks_ are those of the window, within what all ask for; returns their bytes.
std::int64_t Engine::look_at(std::int64_t portion, std::uint32_t window) {
  windows_.chunks(portion, window, chunks_);
  std::int64_t bytes = 0;
  std::size_t kept = 0;
  for (Chunk chunk : chunks_) {
    const std::int64_t end = std::min(chunk.offset + chunk.length, now_.end);
    chunk.offset = std::max(chunk.offset, now_.begin);
    chunk.length = end - chunk.offset;
    if (chunk.length <= 0) continue;
    chunks_[kept++] = chunk;
    bytes += chunk.length;
  }
  chunks_.resize(kept);
  return bytes;
}

// False if nobody has bytes in that window in that portion. Afterwards chunks_ are those of the window.
bool Engine::next_use(Walk& walk, std::int64_t portion, std::uint32_t window, Use& use) {
  use = {.portion = portion, .window = window, .bytes = look_at(portion, window)};
  if (use.bytes == 0) return false;
  if (team_.nodes == 1) {
    use.here = true;
  } else {
    use.here = touches(arena_.node_range(team_.node));
    bool any = use.here;
    if (team_.aggregators[window].home == team_.node) {
      for (std::uint32_t node = 0; node < team_.nodes && !any; ++node) any = touches(arena_.node_range(node));
    }
    if (!any) return false;
  }
  const std::uint32_t number = walk.uses[window]++;
  use.which = number % kBuffers;
  use.number = number / kBuffers;
  use.here_before = walk.here[window * kBuffers + use.which];
  if (use.here) ++walk.here[window * kBuffers + use.which];
  return true;
}

bool Engine::touches(const FileRange& range) const {
  return std::ranges::any_of(
      chunks_, [&range](const Chunk& chunk) { return chunk.offset < range.end && chunk.offset + chunk.length > range.begin; });
}

}  // namespace iez::collective
