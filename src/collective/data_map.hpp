// Where consecutive bytes of data lie: those of a file view in the file, those of a buffer in memory.
//
// A map is a tile that is repeated for ever. A tile is a list of runs inside nested loops, so that the regular patterns of
// programs (vectors, subarrays of any dimension, distributed arrays) are a few numbers however many pieces they have, and every
// question is answered by arithmetic: O(depth + log(runs)), no list of offsets is ever made.
//
// Positions count the bytes of data, from 0; offsets are where they lie. Both are bytes. Offsets may be negative (of a buffer).
//
// Thread safety: immutable after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace iez::collective {

// Consecutive bytes.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const Run&) const = default;
};

// What is inside is repeated `count` times, `stride` bytes apart.
struct Loop {
  std::int64_t count = 1;
  std::int64_t stride = 0;

  bool operator==(const Loop&) const = default;
};

// One period of a map. Offsets are from the start of the map; position order is: outermost loop slowest, then runs as listed.
struct Tile {
  std::vector<Loop> loops;  // outermost first
  std::vector<Run> runs;    // those without bytes are left out
  std::int64_t extent = 0;  // from one tile to the next

  bool operator==(const Tile&) const = default;
};

class DataMap {
 public:
  // Byte i lies at start + i.
  static DataMap contiguous(std::int64_t start);
  // None if the tile has no bytes, has a negative length or count, or its numbers leave the range of 63 bits. Simplifies:
  // neighbouring runs become one, a loop whose repetitions are adjacent becomes a longer run, runs that follow each other
  // regularly become a loop, a tile that fills its extent becomes contiguous(), loops that continue each other become one, and a
  // loop that the next tile continues becomes the tile.
  static std::optional<DataMap> tiled(std::int64_t start, Tile tile);

  // Offsets never fall as positions grow, and no two positions share an offset. Always so for file views that this library
  // serves.
  bool ascending() const { return ascending_; }
  bool is_contiguous() const { return runs_.empty(); }
  // Whether all positions below `end` have offsets within 63 bits. What follows REQUIRES it of the positions that are asked for.
  bool reaches(std::int64_t end) const;

  // REQUIRES: position >= 0.
  std::int64_t offset_of(std::int64_t position) const;
  // The first position whose offset is at least `offset`. REQUIRES: ascending().
  std::int64_t position_at(std::int64_t offset) const;
  // From `position` on: the longest run of bytes that lie together, at most until position `end`. REQUIRES: position < end.
  Run piece_at(std::int64_t position, std::int64_t end) const;

  // Calls take(position, offset, length) for all pieces of positions [begin, end), in order; neighbours are joined. Fast for the
  // simple case of one run a tile, which is most programs': two additions and a comparison a piece.
  template <typename Take>
  void each_piece(std::int64_t begin, std::int64_t end, Take take) const;

  // The largest number of bytes that divides the offset and the length of every run. What is read or written of the map from
  // position a to b is divided by gcd(granule(), a, b). Of a contiguous map: its start, or 2^62 if that is 0.
  std::int64_t granule() const;
  // The length of the shortest and of the longest run; that some are joined from one repetition to the next does not count. Of a
  // contiguous map: the largest number.
  std::int64_t shortest_piece() const;
  std::int64_t longest_piece() const;
  // Of the simplified tile; 1 of a contiguous map.
  std::int64_t tile_bytes() const { return tile_bytes_; }
  std::int64_t tile_extent() const { return extent_; }

  bool operator==(const DataMap&) const = default;

 private:
  // A loop, and what is inside of one repetition.
  struct Level {
    std::int64_t count = 1;
    std::int64_t stride = 0;
    std::int64_t bytes = 0;
    std::int64_t span = 0;  // from its first offset to its last; only if the map is ascending

    bool operator==(const Level&) const = default;
  };

  template <typename Take>
  class Walk;

  DataMap() = default;

  void measure();
  std::size_t run_at(std::int64_t position) const;  // the run that holds a position of the innermost repetition

  std::int64_t start_ = 0;  // of position 0
  std::vector<Level> levels_;
  std::vector<Run> runs_;             // the first at offset 0; none: contiguous
  std::vector<std::int64_t> before_;  // bytes of the runs before each, if there are several
  std::int64_t run_bytes_ = 1;
  std::int64_t tile_bytes_ = 1;
  std::int64_t extent_ = 1;
  std::int64_t low_ = 0;   // the lowest offset of a tile, from start_
  std::int64_t high_ = 1;  // behind the highest
  bool ascending_ = true;
};

// One pass over pieces. A piece that ends a row may continue in the next one, so it is held back until that is known.
template <typename Take>
class DataMap::Walk {
 public:
  Walk(const DataMap& map, std::int64_t begin, std::int64_t end, Take& take)
      : map_(map), take_(take), position_(begin), end_(end), held_position_(begin) {}

  void run() {
    const std::int64_t tile = position_ / map_.tile_bytes_;
    std::int64_t offset = map_.start_ + (tile * map_.extent_);
    level(0, offset, position_ % map_.tile_bytes_);
    while (position_ < end_) {
      offset += map_.extent_;
      level(0, offset, 0);
    }
    flush();
  }

 private:
  // From byte `skip` of this level on, which lies at `offset`.
  void level(std::size_t depth, std::int64_t offset, std::int64_t skip) {
    if (depth == map_.levels_.size()) return runs(offset, skip);
    const Level& loop = map_.levels_[depth];
    std::int64_t i = skip / loop.bytes;
    skip %= loop.bytes;
    if (depth + 1 == map_.levels_.size() && map_.runs_.size() == 1) return row(loop, i, offset + (i * loop.stride), skip);
    for (; i < loop.count && position_ < end_; ++i, skip = 0) level(depth + 1, offset + (i * loop.stride), skip);
  }

  // The innermost loop around a single run: repetitions are never adjacent.
  void row(const Level& loop, std::int64_t i, std::int64_t offset, std::int64_t skip) {
    add(offset + skip, loop.bytes - skip);
    const std::int64_t more = std::min(loop.count - i - 1, (end_ - position_) / loop.bytes);
    if (more > 0) {
      flush();
      for (std::int64_t k = 1; k < more; ++k) {
        offset += loop.stride;
        take_(position_, offset, loop.bytes);
        position_ += loop.bytes;
      }
      offset += loop.stride;
      add(offset, loop.bytes);
    }
    if (i + 1 + more < loop.count && position_ < end_) add(offset + loop.stride, loop.bytes);
  }

  void runs(std::int64_t offset, std::int64_t skip) {
    std::size_t i = map_.run_at(skip);
    if (i > 0) skip -= map_.before_[i];
    for (; i < map_.runs_.size() && position_ < end_; ++i, skip = 0) {
      add(offset + map_.runs_[i].offset + skip, map_.runs_[i].length - skip);
    }
  }

  void add(std::int64_t offset, std::int64_t length) {
    length = std::min(length, end_ - position_);
    if (held_length_ == 0 || held_offset_ + held_length_ != offset) {
      flush();
      held_position_ = position_;
      held_offset_ = offset;
    }
    held_length_ += length;
    position_ += length;
  }

  void flush() {
    if (held_length_ > 0) take_(held_position_, held_offset_, held_length_);
    held_length_ = 0;
  }

  const DataMap& map_;
  Take& take_;
  std::int64_t position_;
  std::int64_t end_;
  std::int64_t held_position_;
  std::int64_t held_offset_ = 0;
  std::int64_t held_length_ = 0;
};

template <typename Take>
void DataMap::each_piece(std::int64_t begin, std::int64_t end, Take take) const {
  if (begin >= end) return;
  if (is_contiguous()) {
    take(begin, start_ + begin, end - begin);
    return;
  }
  if (!levels_.empty() || runs_.size() > 1) {
    Walk<Take>(*this, begin, end, take).run();
    return;
  }
  const std::int64_t length = run_bytes_;
  const std::int64_t extent = extent_;
  const std::int64_t tile = begin / length;
  const std::int64_t skip = begin - (tile * length);
  std::int64_t offset = start_ + (tile * extent);
  std::int64_t position = begin;
  if (skip > 0) {
    const std::int64_t part = std::min(length - skip, end - position);
    take(position, offset + skip, part);
    position += part;
    if (position == end) return;
    offset += extent;
  }
  for (std::int64_t whole = (end - position) / length; whole > 0; --whole) {
    take(position, offset, length);
    position += length;
    if (position == end) return;
    offset += extent;
  }
  take(position, offset, end - position);
}

}  // namespace iez::collective
