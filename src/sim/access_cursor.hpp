// Where one process of a job reads or writes next.
//
// A process walks its blocks in order, those of a pattern or those of the files of a replayed run, and hands out pieces: as much
// as one request can carry, and no more than lies on one stripe. Transfers smaller than a request that follow each other in the
// file are sent together, as clients do.
//
// Thread safety: plain value.
#pragma once

#include <cstdint>

#include "sim/replay.hpp"
#include "sim/workload.hpp"

namespace iez::sim {

struct Piece {
  std::uint32_t file = 0;    // of the job's files: 0 to files - 1; each process has its own if they are per process
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint32_t stripe = 0;  // which object of the file
  bool read = false;
  std::uint64_t place = 0;  // in the object
};

class AccessCursor {
 public:
  // What each of `writers` processes does, of which this is `rank`.
  struct Shape {
    Pattern pattern;
    Striping striping;
    std::uint64_t request_bytes = 0;  // most of one piece
    std::uint64_t file_bytes = 0;     // where a file ends, be it within a block
    std::uint32_t writers = 1;
    const Replay* replay = nullptr;  // if any, pattern, striping, file_bytes and writers do not matter
  };

  AccessCursor(const Shape& shape, std::uint32_t rank);

  [[nodiscard]] bool done(const Shape& shape) const {
    return file_ == (shape.replay == nullptr ? shape.pattern.files : shape.replay->first_turn(rank_ + 1));
  }

  [[nodiscard]] std::uint32_t rank() const { return rank_; }

  // REQUIRES: not done().
  Piece next(const Shape& shape);

  // Of a replay: the turn that the next piece is of, and whether it is the first of that turn. REQUIRES: not done().
  [[nodiscard]] std::uint32_t turn() const { return file_; }
  [[nodiscard]] bool at_start_of_turn() const { return segment_ == 0 && within_ == 0; }

 private:
  // How processes divide a file, up to `end`: in blocks, of which each takes every `lanes`th from `lane` on.
  struct Division {
    std::uint64_t block;
    std::uint64_t end;
    std::uint64_t segments;
    std::uint32_t lane;
    std::uint32_t lanes;
  };
  [[nodiscard]] Division division(const Shape& shape) const;
  [[nodiscard]] std::uint64_t offset(const Division& division) const;
  void step(const Division& division, const Striping& striping, std::uint64_t request_bytes, Piece& piece);

  std::uint32_t rank_ = 0;
  std::uint32_t file_ = 0;  // or turn
  std::uint64_t segment_ = 0;
  std::uint64_t within_ = 0;  // the block
};

// Bytes of object `stripe` of a file of `size` bytes.
std::uint64_t object_bytes(std::uint64_t size, const Striping& striping, std::uint32_t stripe);

}  // namespace iez::sim
