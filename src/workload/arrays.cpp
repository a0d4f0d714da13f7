#include "workload/arrays.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>

#include <fmt/format.h>

namespace iez::workload {

namespace {

constexpr std::uint32_t kDouble = 8;

std::uint64_t product(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{1}, std::multiplies<>());
}

// Of `size` elements on `processes`, those of one: the first ones have one more if it does not divide.
std::pair<std::uint64_t, std::uint64_t> block_share(std::uint64_t size, std::uint64_t processes, std::uint64_t process) {
  const std::uint64_t less = size / processes;
  const std::uint64_t more = size % processes;
  return {(process * less) + std::min(process, more), less + (process < more ? 1 : 0)};
}

ArrayPart flash_part(const Pattern& pattern, std::uint32_t rank, std::uint32_t unknown) {
  const std::uint64_t cells = pattern.cells;
  const std::uint64_t guard = pattern.guard;
  const std::uint64_t with_guard = cells + (2 * guard);
  const std::uint64_t blocks = pattern.blocks;
  ArrayPart part{.array = unknown, .element = kDouble};
  part.file = {.sizes = {blocks * pattern.ranks, cells, cells, cells},
               .parts = {blocks, cells, cells, cells},
               .starts = {rank * blocks, 0, 0, 0}};
  // All unknowns of a cell lie together, and cells of the neighbours around those of a block.
  part.memory = {.sizes = {blocks, with_guard, with_guard, with_guard, pattern.arrays},
                 .parts = {blocks, cells, cells, cells, 1},
                 .starts = {0, guard, guard, guard, unknown}};
  return part;
}

ArrayPart chimera_part(const Pattern& pattern, std::uint32_t rank, std::uint32_t array) {
  const std::vector<std::uint64_t> sizes(pattern.grid.begin(), pattern.grid.end());
  const std::vector<std::uint64_t> processes = process_grid(pattern.ranks, sizes.size());
  ArrayPart part{.array = array, .element = kDouble, .buffer = array};
  part.file.sizes = sizes;
  part.file.parts.resize(sizes.size());
  part.file.starts.resize(sizes.size());
  std::uint64_t rest = rank;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const auto [start, count] = block_share(sizes[i], processes[i], rest % processes[i]);
    rest /= processes[i];
    part.file.starts[i] = start;
    part.file.parts[i] = count;
  }
  part.memory = {.sizes = part.file.parts, .parts = part.file.parts, .starts = std::vector<std::uint64_t>(sizes.size(), 0)};
  return part;
}

// The blocks of a process in all segments.
ArrayPart ior_part(const Pattern& pattern, std::uint32_t rank) {
  const BlockShare share = block_share_of(pattern, rank);
  ArrayPart part;
  part.file = {.sizes = {pattern.segments, share.all}, .parts = {pattern.segments, share.own}, .starts = {0, share.before}};
  part.memory = {.sizes = {pattern.segments, share.own}, .parts = {pattern.segments, share.own}, .starts = {0, 0}};
  return part;
}

}  // namespace

std::uint64_t Box::elements() const { return product(parts); }
std::uint64_t Box::all() const { return product(sizes); }

bool has_arrays(const Pattern& pattern) { return pattern.kind == Kind::flash || pattern.kind == Kind::chimera || pattern.view; }

std::vector<std::uint64_t> process_grid(std::uint64_t ranks, std::size_t dimensions) {
  std::vector<std::uint64_t> grid(dimensions, 1);
  std::vector<std::uint64_t> factors;
  for (std::uint64_t factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) factors.push_back(factor);
  }
  // The largest factor to the smallest side.
  for (const std::uint64_t factor : factors | std::views::reverse) *std::ranges::min_element(grid) *= factor;
  std::ranges::sort(grid, std::greater<>());
  return grid;
}

std::vector<Array> arrays_of(const Pattern& pattern) {
  std::vector<Array> arrays;
  for (const ArrayPart& part : array_parts(pattern, 0)) {
    std::string name = pattern.kind == Kind::flash ? fmt::format("unk{:02}", part.array) : fmt::format("field{:02}", part.array);
    if (pattern.kind == Kind::ior) name = "data";
    arrays.push_back({.name = std::move(name), .sizes = part.file.sizes, .element = part.element});
  }
  return arrays;
}

std::vector<ArrayPart> array_parts(const Pattern& pattern, std::uint32_t rank) {
  if (pattern.kind == Kind::ior) return {ior_part(pattern, rank)};
  std::vector<ArrayPart> parts;
  parts.reserve(pattern.arrays);
  std::uint64_t offset = 0;
  for (std::uint32_t array = 0; array < pattern.arrays; ++array) {
    parts.push_back(pattern.kind == Kind::flash ? flash_part(pattern, rank, array) : chimera_part(pattern, rank, array));
    parts.back().offset = offset;
    offset += parts.back().file.all() * kDouble;
  }
  return parts;
}

std::uint64_t bytes_of_arrays(const Pattern& pattern) {
  std::uint64_t sum = 0;
  for (const Array& array : arrays_of(pattern)) sum += product(array.sizes) * array.element;
  return sum;
}

BoxRuns::BoxRuns(const Box& box) : box_(box), outer_(box.sizes.size()), length_(1), index_(box.sizes.size(), 0) {
  // Dimensions from the last one on lie together as long as those behind them are whole.
  bool whole = true;
  while (outer_ > 0 && whole) {
    --outer_;
    length_ *= box.parts[outer_];
    whole = box.parts[outer_] == box.sizes[outer_];
  }
  left_ = length_ == 0 ? 0 : product(std::span(box.parts).first(outer_));
}

bool BoxRuns::next(std::uint64_t& at, std::uint64_t& length) {
  if (left_ == 0) return false;
  --left_;
  at = 0;
  for (std::size_t i = 0; i < index_.size(); ++i) at = (at * box_.sizes[i]) + box_.starts[i] + index_[i];
  length = length_;
  for (std::size_t i = outer_; i-- > 0;) {
    if (++index_[i] < box_.parts[i]) break;
    index_[i] = 0;
  }
  return true;
}

}  // namespace iez::workload
