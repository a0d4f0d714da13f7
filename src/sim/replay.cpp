#include "sim/replay.hpp"

#include <algorithm>
#include <numeric>

namespace iez::sim {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Processes that have a block of it: more than blocks would have nothing to do.
std::uint32_t busy_ranks(const Replay::Access& access) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(access.ranks, divide_up(access.bytes, access.block)));
}

}  // namespace

Replay::Replay(const Job& job) {
  accesses_.reserve(job.files.size());
  first_object_.reserve(job.files.size());
  std::uint32_t objects = 0;
  for (std::uint32_t number = 0; number < job.files.size(); ++number) {
    const ReplayedFile& file = job.files[number];
    first_object_.push_back(objects);
    objects += file.striping.count;
    add(file, number, false);
    add(file, number, true);
  }
  deal_turns(job.processes);
}

void Replay::add(const ReplayedFile& file, std::uint32_t number, bool read) {
  const Movement& moved = read ? file.read : file.written;
  const std::uint64_t bytes = moved.bytes.count;
  if (bytes == 0) return;
  // No process had nothing, so a transfer that is larger than an equal part was not one of all processes.
  const std::uint64_t part = divide_up(bytes, file.ranks);
  accesses_.push_back({.bytes = bytes,
                       .block = moved.strided ? std::min(moved.transfer.count, part) : part,
                       .striping = file.striping,
                       .not_before = file.not_before,
                       .file = number,
                       .first_rank = file.rank,
                       .ranks = file.ranks,
                       .read = read});
}

// Counts the turns of each process, and then fills them in: a counting sort by rank, which keeps the order of files.
void Replay::deal_turns(std::uint32_t processes) {
  first_turn_.assign(std::size_t{processes} + 1, 0);
  for (const Access& access : accesses_) {
    for (std::uint32_t i = 0; i < busy_ranks(access); ++i) ++first_turn_[access.first_rank + i + 1];
  }
  std::partial_sum(first_turn_.begin(), first_turn_.end(), first_turn_.begin());
  turns_.resize(first_turn_.back());
  std::vector<std::uint32_t> next(first_turn_.begin(), first_turn_.end() - 1);
  for (std::uint32_t number = 0; number < accesses_.size(); ++number) {
    const Access& access = accesses_[number];
    for (std::uint32_t i = 0; i < busy_ranks(access); ++i) turns_[next[access.first_rank + i]++] = number;
  }
}

}  // namespace iez::sim
