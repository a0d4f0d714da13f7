#include "type_tree.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace iez::collective_test {

namespace {

struct ShortPair {
  short first;
  int second;
};
struct DoublePair {
  double first;
  int second;
};

constexpr std::array<std::string_view, kBasics> kBasicNames{"byte",   "char",    "short",    "int",        "float",
                                                            "double", "complex", "two ints", "short, int", "double, int"};

void append(std::vector<Run>& runs, Run run) {
  if (run.length == 0) return;
  if (!runs.empty() && runs.back().at + runs.back().length == run.at) {
    runs.back().length += run.length;
  } else {
    runs.push_back(run);
  }
}

// One copy of a child in its parent.
struct Copy {
  const Type* child;
  std::int64_t at;
};

// Gives a type the meaning that it is these copies, in this order.
void set_meaning(Type& type, const std::vector<Copy>& copies) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& [child, at] = copies[i];
    for (const Run& run : child->runs) append(type.runs, {.at = run.at + at, .length = run.length});
    type.size += child->size;
    type.lower = i == 0 ? at + child->lower : std::min(type.lower, at + child->lower);
    type.upper = i == 0 ? at + child->upper : std::max(type.upper, at + child->upper);
  }
}

void add_block(std::vector<Copy>& copies, const Type& child, std::int64_t at, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i) copies.push_back({.child = &child, .at = at + (i * child.extent())});
}

TypePtr finished(Type type) {
  std::vector<Copy> copies;
  const Type& child = *type.children.front();
  const std::int64_t extent = child.extent();
  switch (type.constructor) {
    case Constructor::contiguous:
      add_block(copies, child, 0, type.count);
      break;
    case Constructor::vector:
    case Constructor::hvector:
      for (std::int64_t i = 0; i < type.count; ++i) {
        add_block(copies, child, i * type.stride * (type.constructor == Constructor::vector ? extent : 1), type.block);
      }
      break;
    case Constructor::indexed:
    case Constructor::hindexed:
      for (std::size_t i = 0; i < type.blocks.size(); ++i) {
        add_block(copies, child, type.displacements[i] * (type.constructor == Constructor::indexed ? extent : 1), type.blocks[i]);
      }
      break;
    case Constructor::indexed_block:
    case Constructor::hindexed_block:
      for (const std::int64_t at : type.displacements) {
        add_block(copies, child, at * (type.constructor == Constructor::indexed_block ? extent : 1), type.block);
      }
      break;
    case Constructor::structure:
      for (std::size_t i = 0; i < type.blocks.size(); ++i) {
        add_block(copies, *type.children[i], type.displacements[i], type.blocks[i]);
      }
      break;
    case Constructor::dup:
    case Constructor::resized:
      copies.push_back({.child = &child, .at = 0});
      break;
    case Constructor::basic:
    case Constructor::subarray:
    case Constructor::darray:
      break;
  }
  const std::int64_t lower = type.lower;
  const std::int64_t upper = type.upper;
  set_meaning(type, copies);
  if (type.constructor == Constructor::resized) {
    type.lower = lower;
    type.upper = upper;
  }
  return std::make_shared<const Type>(std::move(type));
}

// Every element of an array that `wanted` takes, in the order in which they lie.
template <typename Wanted>
TypePtr of_array(Type type, const Wanted& wanted) {
  const Type& child = *type.children.front();
  const std::size_t dimensions = type.sizes.size();
  std::int64_t elements = 1;
  for (const std::int64_t size : type.sizes) elements *= size;
  std::vector<std::int64_t> index(dimensions, 0);
  std::vector<Copy> copies;
  for (std::int64_t element = 0; element < elements; ++element) {
    std::int64_t rest = element;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const std::size_t dimension = type.fortran_order ? i : dimensions - 1 - i;  // the fastest first
      index[dimension] = rest % type.sizes[dimension];
      rest /= type.sizes[dimension];
    }
    if (wanted(type, index)) copies.push_back({.child = &child, .at = element * child.extent()});
  }
  set_meaning(type, copies);
  type.lower = 0;
  type.upper = elements * child.extent();
  return std::make_shared<const Type>(std::move(type));
}

bool in_subarray(const Type& type, const std::vector<std::int64_t>& index) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < type.starts[i] || index[i] >= type.starts[i] + type.parts[i]) return false;
  }
  return true;
}

std::int64_t piece_of(const Type& type, std::size_t dimension) {
  const std::int64_t given = type.parts[dimension];
  if (given > 0) return given;
  if (type.distributions[dimension] == Distribution::cyclic) return 1;
  return (type.sizes[dimension] + type.starts[dimension] - 1) / type.starts[dimension];
}

// starts holds the processes of each dimension; they are numbered with the last dimension fastest, whatever the order of the
// array.
bool in_darray(const Type& type, const std::vector<std::int64_t>& index) {
  std::int64_t rest = type.process;
  for (std::size_t i = index.size(); i-- > 0;) {
    const std::int64_t own = rest % type.starts[i];
    rest /= type.starts[i];
    if (type.distributions[i] == Distribution::none) continue;
    if ((index[i] / piece_of(type, i)) % type.starts[i] != own) return false;
  }
  return true;
}

struct Drawing {
  Rng& rng;
  const Kinds& kinds;
  std::int64_t unit;  // displacements in bytes are multiples of it
  bool memory;        // any order

  [[nodiscard]] std::int64_t gap() const {
    if (rng.chance(0.4)) return 0;
    return static_cast<std::int64_t>(rng.chance(0.8) ? rng.between(1, 3) : rng.between(1, 40));
  }
  [[nodiscard]] std::int64_t few(std::uint64_t most) const { return static_cast<std::int64_t>(rng.between(1, most)); }
  [[nodiscard]] std::int64_t block() const { return kinds.has(Kind::nothing) && rng.chance(0.1) ? 0 : few(4); }
  [[nodiscard]] std::int64_t first_gap() const { return kinds.has(memory ? Kind::shifted : Kind::lower) ? gap() : 0; }
};

// Blocks one behind the other with gaps, in steps of `step` bytes; in memory in any order, and some below zero.
void place_blocks(const Drawing& draw, Type& type, std::int64_t step, bool same_length) {
  const std::int64_t count = draw.few(6);
  const std::int64_t extent = type.children.front()->extent();
  std::int64_t next = draw.first_gap();
  if (same_length) type.block = draw.few(4);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = same_length ? type.block : draw.block();
    type.displacements.push_back(next);
    if (!same_length) type.blocks.push_back(length);
    next += ((length * extent) + step - 1) / step + draw.gap();
  }
  if (draw.memory && draw.rng.chance(0.5)) {
    for (std::size_t i = type.displacements.size(); i > 1; --i) {
      const std::size_t other = draw.rng.below(i);
      std::swap(type.displacements[i - 1], type.displacements[other]);
      if (!same_length) std::swap(type.blocks[i - 1], type.blocks[other]);
    }
  }
  if (draw.memory && draw.kinds.has(Kind::shifted) && draw.rng.chance(0.3)) {
    const std::int64_t down = draw.few(20);
    for (std::int64_t& at : type.displacements) at -= down;
  }
}

void scale_displacements(Type& type, std::int64_t by) {
  for (std::int64_t& at : type.displacements) at *= by;
}

TypePtr drawn_structure(const Drawing& draw, const TypePtr& child, const TypePtr& element) {
  std::vector<TypePtr> children;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> displacements;
  std::int64_t next = draw.first_gap() * draw.unit;
  const std::int64_t count = draw.few(4);
  for (std::int64_t i = 0; i < count; ++i) {
    const TypePtr& one = draw.rng.chance(0.5) ? child : element;
    children.push_back(one);
    blocks.push_back(draw.block());
    displacements.push_back(next - one->lower);
    next += (blocks.back() * one->extent()) + (draw.gap() * draw.unit);
  }
  if (draw.memory && draw.rng.chance(0.5)) {
    std::ranges::reverse(children);
    std::ranges::reverse(blocks);
    std::ranges::reverse(displacements);
  }
  return structure(std::move(children), std::move(blocks), std::move(displacements));
}

TypePtr drawn_subarray(const Drawing& draw, const TypePtr& child) {
  const std::int64_t dimensions = draw.few(4);
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> parts;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    sizes.push_back(draw.few(dimensions > 2 ? 4 : 9));
    parts.push_back(draw.few(static_cast<std::uint64_t>(sizes.back())));
    starts.push_back(draw.few(static_cast<std::uint64_t>(sizes.back() - parts.back() + 1)) - 1);
  }
  return subarray(child, sizes, parts, starts, draw.rng.chance(0.5));
}

TypePtr drawn_darray(const Drawing& draw, const TypePtr& child) {
  Grid grid;
  std::int64_t processes = 1;
  const std::int64_t dimensions = draw.few(3);
  for (std::int64_t i = 0; i < dimensions; ++i) {
    grid.sizes.push_back(draw.few(dimensions > 1 ? 6 : 20));
    const auto how = static_cast<Distribution>(draw.rng.below(3));
    const std::int64_t across = how == Distribution::none ? 1 : draw.few(3);
    grid.distributions.push_back(how);
    grid.processes.push_back(across);
    processes *= across;
    std::int64_t argument = 0;
    if (how == Distribution::cyclic && draw.rng.chance(0.7)) argument = draw.few(3);
    if (how == Distribution::block && draw.rng.chance(0.3)) argument = ((grid.sizes.back() + across - 1) / across) + draw.gap();
    grid.arguments.push_back(argument);
  }
  return darray(child, grid, static_cast<std::int64_t>(draw.rng.below(static_cast<std::uint64_t>(processes))),
                draw.rng.chance(0.5));
}

TypePtr wrapped(const Drawing& draw, const TypePtr& child, const TypePtr& element) {
  constexpr std::array kChoices{Kind::contiguous, Kind::vector,        Kind::hvector,        Kind::indexed,
                                Kind::hindexed,   Kind::indexed_block, Kind::hindexed_block, Kind::structure,
                                Kind::subarray,   Kind::darray,        Kind::resized,        Kind::dup};
  const Kind choice = kChoices[draw.rng.below(kChoices.size())];
  if (!draw.kinds.has(choice)) return child;
  Type type;
  type.children = {child};
  const std::int64_t extent = child->extent();
  switch (choice) {
    case Kind::contiguous:
      return contiguous(child, draw.few(5));
    case Kind::vector:
    case Kind::hvector: {
      const std::int64_t step = choice == Kind::vector ? extent : draw.unit;
      type.constructor = choice == Kind::vector ? Constructor::vector : Constructor::hvector;
      type.count = draw.few(6);
      type.block = draw.few(4);
      type.stride = (((type.block * extent) + step - 1) / step + draw.gap()) * (choice == Kind::vector ? 1 : step);
      if (draw.memory && draw.kinds.has(Kind::shifted) && draw.rng.chance(0.3)) type.stride = -type.stride;
      return finished(std::move(type));
    }
    case Kind::indexed:
    case Kind::indexed_block:
      type.constructor = choice == Kind::indexed ? Constructor::indexed : Constructor::indexed_block;
      place_blocks(draw, type, extent, choice == Kind::indexed_block);
      return finished(std::move(type));
    case Kind::hindexed:
    case Kind::hindexed_block:
      type.constructor = choice == Kind::hindexed ? Constructor::hindexed : Constructor::hindexed_block;
      place_blocks(draw, type, draw.unit, choice == Kind::hindexed_block);
      scale_displacements(type, draw.unit);
      return finished(std::move(type));
    case Kind::structure:
      return drawn_structure(draw, child, element);
    case Kind::subarray:
      return drawn_subarray(draw, child);
    case Kind::darray:
      return drawn_darray(draw, child);
    case Kind::resized: {
      const std::int64_t lower =
          draw.kinds.has(Kind::lower) && draw.rng.chance(0.5) ? child->lower : std::min<std::int64_t>(0, child->lower);
      return resized(child, lower, child->upper - lower + (draw.gap() * draw.unit));
    }
    default:
      type.constructor = Constructor::dup;
      return finished(std::move(type));
  }
}

bool within(const Type& type, const Bounds& bounds) {
  return type.size > 0 && type.size <= bounds.size && std::max(type.extent(), type.upper) <= bounds.extent &&
         type.runs.size() <= bounds.runs;
}

// Whether a byte belongs to two places of consecutive copies. Children whose bytes lie outside of their bounds make such types.
bool overlaps(const Type& type, std::int64_t copies) {
  if (type.runs.empty()) return false;
  const std::int64_t span = type.end() - type.first();
  if (copies > 1 && type.extent() <= 0) return true;
  if (copies > 1) copies = std::min(copies, (span / type.extent()) + 2);  // others are too far apart to meet
  std::vector<Run> all;
  all.reserve(type.runs.size() * static_cast<std::size_t>(copies));
  for (std::int64_t i = 0; i < copies; ++i) {
    for (const Run& run : type.runs) all.push_back({.at = run.at + (i * type.extent()), .length = run.length});
  }
  std::ranges::sort(all, {}, &Run::at);
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].at < all[i - 1].at + all[i - 1].length) return true;
  }
  return false;
}

// As MPI demands of a file type: ascending, from one copy to the next as well.
bool ascends(const Type& type) {
  for (std::size_t i = 1; i < type.runs.size(); ++i) {
    if (type.runs[i].at < type.runs[i - 1].at) return false;
  }
  return !overlaps(type, 2);
}

}  // namespace

std::int64_t Type::first() const {
  std::int64_t lowest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) lowest = i == 0 ? runs[i].at : std::min(lowest, runs[i].at);
  return lowest;
}

std::int64_t Type::end() const {
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t behind = runs[i].at + runs[i].length;
    highest = i == 0 ? behind : std::max(highest, behind);
  }
  return highest;
}

TypePtr basic_type(Basic basic) {
  constexpr std::array<std::int64_t, 7> kSizes{
      1, 1, sizeof(short), sizeof(int), sizeof(float), sizeof(double), 2 * sizeof(double)};
  Type type;
  type.basic = basic;
  switch (basic) {
    case Basic::two_integers:
      type.runs = {{.at = 0, .length = 2 * sizeof(int)}};
      type.upper = 2 * sizeof(int);
      break;
    case Basic::short_pair:
      type.runs = {{.at = 0, .length = sizeof(short)}, {.at = offsetof(ShortPair, second), .length = sizeof(int)}};
      type.upper = sizeof(ShortPair);
      break;
    case Basic::double_pair:
      type.runs = {{.at = 0, .length = sizeof(double) + sizeof(int)}};
      type.upper = sizeof(DoublePair);
      break;
    default:
      type.runs = {{.at = 0, .length = kSizes[static_cast<std::size_t>(basic)]}};
      type.upper = type.runs[0].length;
  }
  for (const Run& run : type.runs) type.size += run.length;
  return std::make_shared<const Type>(std::move(type));
}

bool is_pair(Basic basic) { return basic >= Basic::two_integers; }

TypePtr contiguous(TypePtr child, std::int64_t count) {
  Type type{.constructor = Constructor::contiguous, .children = {std::move(child)}, .count = count};
  return finished(std::move(type));
}

TypePtr hindexed(TypePtr child, std::vector<std::int64_t> blocks, std::vector<std::int64_t> displacements) {
  Type type{.constructor = Constructor::hindexed,
            .children = {std::move(child)},
            .blocks = std::move(blocks),
            .displacements = std::move(displacements)};
  return finished(std::move(type));
}

TypePtr structure(std::vector<TypePtr> children, std::vector<std::int64_t> blocks, std::vector<std::int64_t> displacements) {
  Type type{.constructor = Constructor::structure,
            .children = std::move(children),
            .blocks = std::move(blocks),
            .displacements = std::move(displacements)};
  return finished(std::move(type));
}

TypePtr resized(TypePtr child, std::int64_t lower, std::int64_t extent) {
  Type type{.constructor = Constructor::resized, .children = {std::move(child)}, .lower = lower, .upper = lower + extent};
  return finished(std::move(type));
}

TypePtr subarray(TypePtr child, std::vector<std::int64_t> sizes, std::vector<std::int64_t> parts,
                 std::vector<std::int64_t> starts, bool fortran_order) {
  Type type{.constructor = Constructor::subarray,
            .children = {std::move(child)},
            .sizes = std::move(sizes),
            .parts = std::move(parts),
            .starts = std::move(starts),
            .fortran_order = fortran_order};
  return of_array(std::move(type), in_subarray);
}

TypePtr darray(TypePtr child, const Grid& grid, std::int64_t process, bool fortran_order) {
  std::int64_t processes = 1;
  for (const std::int64_t across : grid.processes) processes *= across;
  Type type{.constructor = Constructor::darray,
            .children = {std::move(child)},
            .sizes = grid.sizes,
            .parts = grid.arguments,
            .starts = grid.processes,
            .distributions = grid.distributions,
            .fortran_order = fortran_order,
            .process = process,
            .processes = processes};
  return of_array(std::move(type), in_darray);
}

TypePtr random_file_type(Rng& rng, const TypePtr& etype, const Kinds& kinds, const Bounds& bounds) {
  const Drawing draw{.rng = rng, .kinds = kinds, .unit = etype->extent(), .memory = false};
  TypePtr type = etype;
  const std::uint64_t levels = rng.below(static_cast<std::uint64_t>(bounds.depth) + 1);
  for (std::uint64_t level = 0; level < levels; ++level) {
    TypePtr larger = wrapped(draw, type, etype);
    if (within(*larger, bounds) && ascends(*larger)) type = std::move(larger);
  }
  return type;
}

Memory random_memory(Rng& rng, const TypePtr& element, std::int64_t copies, const Kinds& kinds) {
  if (copies == 0) {
    const bool empty = kinds.has(Kind::nothing) && rng.chance(0.3);
    return {.type = empty ? contiguous(element, 0) : element, .count = empty ? 2 : 0};
  }
  if (!kinds.has(Kind::memory) || rng.chance(0.3)) {
    if (rng.chance(0.5)) return {.type = element, .count = copies};
    return {.type = contiguous(element, copies), .count = 1};
  }
  const auto rows = static_cast<std::int64_t>(rng.between(2, 9));
  if (kinds.has(Kind::transpose) && kinds.has(Kind::vector) && kinds.has(Kind::resized) && copies % rows == 0 &&
      rng.chance(0.5)) {
    Type column{.constructor = Constructor::vector, .children = {element}, .count = rows, .block = 1, .stride = copies / rows};
    return {.type = resized(finished(std::move(column)), 0, element->extent()), .count = copies / rows};
  }
  const Bounds bounds{.size = copies * element->size, .extent = 1 << 20, .runs = 512, .depth = 3};
  const Drawing draw{.rng = rng, .kinds = kinds, .unit = element->extent(), .memory = true};
  TypePtr type = element;
  for (int level = 0; level < bounds.depth; ++level) {
    TypePtr larger = wrapped(draw, type, element);
    if (!within(*larger, bounds)) continue;
    const std::int64_t times = copies * element->size / larger->size;
    if (larger->extent() * times < (64 << 20) && !overlaps(*larger, times)) type = std::move(larger);
  }
  const std::int64_t times = copies * element->size / type->size;
  const std::int64_t rest = copies - (times * type->size / element->size);
  if (rest == 0) return {.type = type, .count = times};
  // Bytes may lie above the upper bound of a type, and those of an element below its lower one.
  const std::int64_t end = std::max(type->upper, type->end()) + ((times - 1) * type->extent());
  const std::int64_t behind = end - std::min(element->lower, element->first()) + (draw.gap() * draw.unit);
  return {.type = structure({type, element}, {times, rest}, {0, behind}), .count = 1};
}

std::string to_string(const Type& type) {
  constexpr std::array<std::string_view, 13> kNames{
      "basic",          "contiguous", "vector",   "hvector", "indexed", "hindexed", "indexed_block",
      "hindexed_block", "struct",     "subarray", "darray",  "resized", "dup"};
  if (type.constructor == Constructor::basic) return std::string(kBasicNames[static_cast<std::size_t>(type.basic)]);
  std::string text(kNames[static_cast<std::size_t>(type.constructor)]);
  if (type.count > 0) text += fmt::format(" {}x{} every {}", type.count, type.block, type.stride);
  if (!type.displacements.empty()) text += fmt::format(" {} blocks", type.displacements.size());
  for (const std::int64_t size : type.sizes) text += fmt::format(" {}", size);
  return fmt::format("{} [{} bytes in {} runs, {} to {}] of {}", text, type.size, type.runs.size(), type.lower, type.upper,
                     to_string(*type.children.front()));
}

}  // namespace iez::collective_test
