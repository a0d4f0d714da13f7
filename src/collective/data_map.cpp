#include "collective/data_map.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace iez::collective {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

bool fits(Wide value) { return value >= std::numeric_limits<std::int64_t>::min() && value <= kLargest; }

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

// Of all offsets of a tile, from its start.
struct Bounds {
  Wide low = 0;
  Wide high = 0;  // behind the last byte
  Wide bytes = 0;
};

std::optional<Bounds> bounds_of(const Tile& tile) {
  Bounds bounds{.low = kLargest, .high = std::numeric_limits<std::int64_t>::min()};
  for (const Run& run : tile.runs) {
    bounds.low = std::min(bounds.low, Wide{run.offset});
    bounds.high = std::max(bounds.high, Wide{run.offset} + run.length);
    bounds.bytes += run.length;
    if (!fits(bounds.bytes)) return std::nullopt;
  }
  for (const Loop& loop : tile.loops) {
    const Wide way = Wide{loop.stride} * (loop.count - 1);
    bounds.low += std::min(way, Wide{0});
    bounds.high += std::max(way, Wide{0});
    bounds.bytes *= loop.count;
    if (!fits(bounds.low) || !fits(bounds.high) || !fits(bounds.bytes)) return std::nullopt;
  }
  if (!fits(bounds.low) || !fits(bounds.high) || !fits(bounds.high - bounds.low)) return std::nullopt;
  return bounds;
}

void join_runs(std::vector<Run>& runs) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[last].offset + runs[last].length == runs[i].offset) {
      runs[last].length += runs[i].length;
    } else {
      runs[++last] = runs[i];
    }
  }
  runs.resize(last + 1);
}

// Two or more runs of one length, equally far apart: a loop around one of them.
void runs_to_loop(Tile& tile) {
  if (tile.runs.size() < 2) return;
  const Run first = tile.runs[0];
  const std::int64_t stride = tile.runs[1].offset - first.offset;
  for (std::size_t i = 1; i < tile.runs.size(); ++i) {
    if (tile.runs[i].length != first.length || tile.runs[i].offset - tile.runs[i - 1].offset != stride) return;
  }
  tile.loops.push_back({.count = static_cast<std::int64_t>(tile.runs.size()), .stride = stride});
  tile.runs.resize(1);
}

// Repetitions that are adjacent make one run.
void loops_to_run(Tile& tile) {
  while (tile.runs.size() == 1 && !tile.loops.empty() && tile.loops.back().stride == tile.runs[0].length) {
    tile.runs[0].length *= tile.loops.back().count;
    tile.loops.pop_back();
  }
}

bool continues(const Loop& inner, std::int64_t outer_stride) { return Wide{inner.count} * inner.stride == outer_stride; }

void join_loops(Tile& tile) {
  std::vector<Loop> joined;
  joined.reserve(tile.loops.size());
  for (const Loop& loop : tile.loops) {
    if (!joined.empty() && continues(loop, joined.back().stride)) {
      joined.back() = {.count = joined.back().count * loop.count, .stride = loop.stride};
    } else {
      joined.push_back(loop);
    }
  }
  tile.loops = std::move(joined);
  if (!tile.loops.empty() && continues(tile.loops[0], tile.extent)) {
    tile.extent = tile.loops[0].stride;
    tile.loops.erase(tile.loops.begin());
  }
}

}  // namespace

DataMap DataMap::contiguous(std::int64_t start) {
  DataMap map;
  map.start_ = start;
  return map;
}

std::optional<DataMap> DataMap::tiled(std::int64_t start, Tile tile) {
  for (const Loop& loop : tile.loops) {
    if (loop.count <= 0) return std::nullopt;
  }
  for (const Run& run : tile.runs) {
    if (run.length < 0) return std::nullopt;
  }
  std::erase_if(tile.loops, [](const Loop& loop) { return loop.count == 1; });
  std::erase_if(tile.runs, [](const Run& run) { return run.length == 0; });
  if (tile.runs.empty()) return std::nullopt;
  std::optional<Bounds> bounds = bounds_of(tile);
  if (!bounds || !fits(bounds->low + start) || !fits(bounds->high + start)) return std::nullopt;

  join_runs(tile.runs);
  runs_to_loop(tile);
  loops_to_run(tile);
  join_loops(tile);
  if (tile.loops.empty() && tile.runs.size() == 1 && tile.runs[0].length == tile.extent) {
    return contiguous(start + tile.runs[0].offset);
  }
  bounds = bounds_of(tile);  // the tile may be a part of what it was
  if (!bounds) return std::nullopt;
  DataMap map;
  const std::int64_t first = tile.runs[0].offset;
  for (Run& run : tile.runs) run.offset -= first;
  map.start_ = start + first;
  map.low_ = static_cast<std::int64_t>(bounds->low - first);
  map.high_ = static_cast<std::int64_t>(bounds->high - first);
  map.runs_ = std::move(tile.runs);
  map.extent_ = tile.extent;
  map.levels_.reserve(tile.loops.size());
  for (const Loop& loop : tile.loops) map.levels_.push_back({.count = loop.count, .stride = loop.stride});
  map.measure();
  return map;
}

// From the inside out: bytes and span of each level, and whether offsets rise.
void DataMap::measure() {
  std::int64_t bytes = 0;
  std::int64_t span = 0;
  if (runs_.size() > 1) before_.reserve(runs_.size());
  for (const Run& run : runs_) {
    ascending_ = ascending_ && run.offset >= span;
    if (runs_.size() > 1) before_.push_back(bytes);
    span = run.offset + run.length;
    bytes += run.length;
  }
  run_bytes_ = bytes;
  for (std::size_t i = levels_.size(); i-- > 0;) {
    Level& level = levels_[i];
    ascending_ = ascending_ && level.stride >= span;
    level.bytes = bytes;
    level.span = ascending_ ? span : 0;
    bytes *= level.count;
    if (ascending_) span += level.stride * (level.count - 1);
  }
  ascending_ = ascending_ && extent_ >= span;
  tile_bytes_ = bytes;
}

bool DataMap::reaches(std::int64_t end) const {
  if (end <= 0) return true;
  const Wide last_tile = Wide{start_} + (Wide{(end - 1) / tile_bytes_} * extent_);
  return fits(last_tile + low_) && fits(last_tile + high_);
}

std::size_t DataMap::run_at(std::int64_t position) const {
  if (runs_.size() == 1) return 0;
  return static_cast<std::size_t>(std::ranges::upper_bound(before_, position) - before_.begin()) - 1;
}

std::int64_t DataMap::offset_of(std::int64_t position) const {
  if (is_contiguous()) return start_ + position;
  std::int64_t offset = start_ + (position / tile_bytes_ * extent_);
  position %= tile_bytes_;
  for (const Level& level : levels_) {
    offset += position / level.bytes * level.stride;
    position %= level.bytes;
  }
  if (runs_.size() == 1) return offset + position;
  const std::size_t i = run_at(position);
  return offset + runs_[i].offset + (position - before_[i]);
}

std::int64_t DataMap::position_at(std::int64_t offset) const {
  if (offset <= start_) return 0;
  std::int64_t way = offset - start_;
  if (is_contiguous()) return way;
  const std::int64_t tile = way / extent_;
  std::int64_t position = tile * tile_bytes_;
  way -= tile * extent_;
  for (const Level& level : levels_) {
    const std::int64_t i = std::min(way / level.stride, level.count - 1);
    position += i * level.bytes;
    way -= i * level.stride;
    if (way >= level.span) return position + level.bytes;
  }
  if (runs_.size() == 1) return position + std::min(way, run_bytes_);
  const auto behind = std::ranges::upper_bound(runs_, way, {}, &Run::offset);  // never the first run, which is at 0
  const auto i = static_cast<std::size_t>(behind - runs_.begin()) - 1;
  return position + before_[i] + std::min(way - runs_[i].offset, runs_[i].length);
}

Run DataMap::piece_at(std::int64_t position, std::int64_t end) const {
  Run piece{.offset = offset_of(position)};
  if (is_contiguous()) return {.offset = piece.offset, .length = end - position};
  // At most two runs are joined: simplification left gaps inside of rows.
  while (position < end) {
    if (piece.length > 0 && offset_of(position) != piece.offset + piece.length) break;
    std::int64_t inside = position % run_bytes_;
    const std::size_t i = run_at(inside);
    if (i > 0) inside -= before_[i];
    const std::int64_t length = std::min(runs_[i].length - inside, end - position);
    piece.length += length;
    position += length;
  }
  return piece;
}

std::int64_t DataMap::granule() const {
  constexpr std::int64_t kAny = std::int64_t{1} << 62U;
  if (is_contiguous() && start_ == 0) return kAny;
  std::uint64_t common = magnitude(start_);
  if (!is_contiguous()) common = std::gcd(common, magnitude(extent_));
  for (const Level& level : levels_) common = std::gcd(common, magnitude(level.stride));
  for (const Run& run : runs_) common = std::gcd(std::gcd(common, magnitude(run.offset)), magnitude(run.length));
  return common > static_cast<std::uint64_t>(kLargest) ? kAny : static_cast<std::int64_t>(common);
}

std::int64_t DataMap::shortest_piece() const {
  std::int64_t shortest = kLargest;
  for (const Run& run : runs_) shortest = std::min(shortest, run.length);
  return shortest;
}

std::int64_t DataMap::longest_piece() const {
  if (is_contiguous()) return kLargest;
  std::int64_t longest = 0;
  for (const Run& run : runs_) longest = std::max(longest, run.length);
  return longest;
}

}  // namespace iez::collective
