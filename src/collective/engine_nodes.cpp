#include <algorithm>
#include <cstring>
#include <limits>

#include "collective/coverage.hpp"
#include "collective/engine.hpp"
#include "collective/stopwatch.hpp"

// A window of several nodes: the owner on each sends the bits of what it has (or wants) to the aggregator, and the bytes behind
// each other; the aggregator puts them into its own window, or answers with them. All go through windows in the same order,
// portion by portion, so nobody waits for somebody who waits for it.

namespace iez::collective {

bool Engine::sends(std::uint32_t node, std::uint32_t window) const {
  return node != team_.aggregators[window].home && touches(arena_.node_range(node));
}

// The runs of a window that bits_ tell of; returns their bytes.
std::int64_t Engine::covered(const Use& use, std::vector<FileRange>& runs) const {
  runs.clear();
  std::int64_t bytes = 0;
  std::vector<std::atomic<std::uint64_t>> copy(bits_.size());
  for (std::size_t i = 0; i < bits_.size(); ++i) copy[i].store(bits_[i], std::memory_order_relaxed);
  Coverage(copy, now_.granule).each_run(0, use.bytes, [&](std::int64_t begin, std::int64_t end) {
    runs.push_back({.begin = begin, .end = end});
    bytes += end - begin;
  });
  return bytes;
}

// The bytes that bits_ tell of: as they lie if they lie together, otherwise one behind the other.
void Engine::send_runs(std::uint32_t peer, const Use& use) {
  const std::byte* const data = arena_.data(use.window, use.which);
  std::vector<FileRange> runs;
  const std::int64_t bytes = covered(use, runs);
  if (bytes == 0) return;
  counters_.sent += static_cast<std::uint64_t>(bytes);
  if (runs.size() == 1) {
    links_.send(peer, use.window, data + runs[0].begin, static_cast<std::size_t>(bytes));
    return;
  }
  scratch_.resize(static_cast<std::size_t>(bytes));
  std::byte* to = scratch_.data();
  for (const FileRange& run : runs) {
    std::memcpy(to, data + run.begin, static_cast<std::size_t>(run.end - run.begin));
    to += run.end - run.begin;
  }
  links_.send(peer, use.window, scratch_.data(), scratch_.size());
}

void Engine::receive_runs(std::uint32_t peer, const Use& use) {
  std::byte* const data = arena_.data(use.window, use.which);
  std::vector<FileRange> runs;
  const std::int64_t bytes = covered(use, runs);
  if (bytes == 0) return;
  if (runs.size() == 1) {
    links_.receive(peer, use.window, data + runs[0].begin, static_cast<std::size_t>(bytes));
    return;
  }
  scratch_.resize(static_cast<std::size_t>(bytes));
  links_.receive(peer, use.window, scratch_.data(), scratch_.size());
  const std::byte* from = scratch_.data();
  for (const FileRange& run : runs) {
    std::memcpy(data + run.begin, from, static_cast<std::size_t>(run.end - run.begin));
    from += run.end - run.begin;
  }
}

// At the aggregator: what other nodes have, or want. Writing: their bytes come into the window.
void Engine::collect(const Use& use) {
  const Stopwatch watch(counters_.send_ns);
  const auto words = static_cast<std::size_t>(use.bytes / now_.granule / 64 + 1);
  const auto coverage = arena_.coverage(use.window, use.which);
  wanted_.resize(team_.nodes);
  for (std::uint32_t node = 0; node < team_.nodes; ++node) {
    wanted_[node].clear();
    if (!sends(node, use.window)) continue;
    const std::uint32_t peer = team_.aggregators[use.window].owners[node];
    bits_.resize(words);
    links_.receive(peer, use.window, bits_.data(), words * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < words; ++i) coverage[i].fetch_or(bits_[i], std::memory_order_relaxed);
    if (now_write_) {
      receive_runs(peer, use);
    } else {
      wanted_[node] = bits_;
    }
  }
}

// At another node: what its ranks have put into the window goes to the aggregator, or what they want of it.
void Engine::pass_on(const Use& use) {
  if (!use.here) return;
  const Stopwatch watch(counters_.send_ns);
  const Aggregator& aggregator = team_.aggregators[use.window];
  const std::uint32_t peer = aggregator.owners[aggregator.home];
  const auto words = static_cast<std::size_t>(use.bytes / now_.granule / 64 + 1);
  const auto coverage = arena_.coverage(use.window, use.which);
  bits_.resize(words);
  for (std::size_t i = 0; i < words; ++i) bits_[i] = coverage[i].load(std::memory_order_relaxed);
  links_.send(peer, use.window, bits_.data(), words * sizeof(std::uint64_t));
  if (now_write_) send_runs(peer, use);
}

// At the aggregator, after reading: to every node what it wants.
void Engine::answer(const Use& use) {
  const Stopwatch watch(counters_.send_ns);
  const std::int64_t valid_end = arena_.buffer(use.window, use.which).valid_end;
  for (std::uint32_t node = 0; node < team_.nodes; ++node) {
    if (wanted_[node].empty()) continue;
    const std::uint32_t peer = team_.aggregators[use.window].owners[node];
    links_.send(peer, use.window, &valid_end, sizeof valid_end);
    bits_ = wanted_[node];
    send_runs(peer, use);
  }
}

// At another node: asks the aggregator for what the ranks here want, and puts it into the window.
void Engine::fetch(const Use& use) {
  if (!use.here) return;
  pass_on(use);
  const Stopwatch watch(counters_.send_ns);
  const Aggregator& aggregator = team_.aggregators[use.window];
  const std::uint32_t peer = aggregator.owners[aggregator.home];
  links_.receive(peer, use.window, &arena_.buffer(use.window, use.which).valid_end, sizeof(std::int64_t));
  receive_runs(peer, use);
}

// By the first rank of the node, when all windows here are through: what failed at aggregators of any node, and where the file
// ends.
void Engine::join_failures() {
  struct Told {
    std::int64_t end_of_file = 0;
    std::int64_t failed = 0;
  };
  Control& control = arena_.control();
  const Stopwatch watch(counters_.send_ns);
  Told mine{.end_of_file = control.end_of_file.load(std::memory_order_relaxed)};
  const auto count = static_cast<std::uint32_t>(team_.aggregators.size());
  std::vector<Failure> failures(count);
  for (std::uint32_t window = 0; window < count; ++window) {
    if (team_.aggregators[window].home != team_.node) continue;
    failures[window] = arena_.failure(window);
    if (failures[window].error != 0) mine.failed = 1;
  }
  std::vector<Told> all(team_.nodes);
  links_.gather(&mine, all.data(), sizeof mine);
  bool failed = false;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const Told& one : all) {
    failed = failed || one.failed != 0;
    end = std::min(end, one.end_of_file);
  }
  control.end_of_file.store(end, std::memory_order_relaxed);
  if (!failed) return;
  std::vector<Failure> everywhere(std::size_t{count} * team_.nodes);
  links_.gather(failures.data(), everywhere.data(), sizeof(Failure) * count);
  for (std::uint32_t window = 0; window < count; ++window) {
    arena_.failure(window) = everywhere[std::size_t{team_.aggregators[window].home} * count + window];
  }
}

}  // namespace iez::collective
