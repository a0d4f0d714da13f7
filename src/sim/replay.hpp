// The files of a replayed job, as its processes go through them: what each does, in which order, and not before when.
//
// Thread safety: immutable once made. Memory: four bytes for each file of each process.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload.hpp"

namespace iez::sim {

class Replay {
 public:
  // One direction of one file. Block k of it, of `block` bytes or what is left, is of process first_rank + k % ranks.
  struct Access {
    std::uint64_t bytes = 0;
    std::uint64_t block = 0;
    Striping striping;
    Duration not_before{};   // after the start of the job
    std::uint32_t file = 0;  // of the job's
    std::uint32_t first_rank = 0;
    std::uint32_t ranks = 1;
    bool read = false;
  };

  // REQUIRES: a job that check() takes, and that is_replay().
  explicit Replay(const Job& job);

  // Turns of a process: from first_turn(rank) up to, not including, first_turn(rank + 1). Empty: it does nothing.
  [[nodiscard]] std::uint32_t first_turn(std::uint32_t rank) const { return first_turn_[rank]; }
  [[nodiscard]] const Access& at(std::uint32_t turn) const { return accesses_[turns_[turn]]; }

  // Whether the process opens the file of this turn: it did not have it in the turn before.
  [[nodiscard]] bool opens(std::uint32_t rank, std::uint32_t turn) const {
    return turn == first_turn_[rank] || at(turn - 1).file != at(turn).file;
  }

  [[nodiscard]] std::uint32_t first_object(std::uint32_t file) const { return first_object_[file]; }

 private:
  void add(const ReplayedFile& file, std::uint32_t number, bool read);
  void deal_turns(std::uint32_t processes);

  std::vector<Access> accesses_;  // in the order of the files
  std::vector<std::uint32_t> turns_;
  std::vector<std::uint32_t> first_turn_;  // of each process, and the end
  std::vector<std::uint32_t> first_object_;
};

// Most turns of all processes of a replayed file, in both directions.
inline std::uint64_t most_turns(const ReplayedFile& file) { return 2 * std::uint64_t{file.ranks}; }

}  // namespace iez::sim
