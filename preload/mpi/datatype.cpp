#include "preload/mpi/datatype.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace iez::preload {

namespace {

using collective::DataMap;
using collective::Loop;
using collective::Run;
using collective::Tile;

constexpr std::size_t kMostRuns = 4U << 20;
constexpr int kDeepest = 64;

// What MPI_Type_get_contents tells of a type; frees the types it holds.
class Contents {
 public:
  Contents(const MpiFunctions& mpi, MPI_Datatype type) : mpi_(mpi) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    if (mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner_) != MPI_SUCCESS) return;
    ok_ = true;
    if (combiner_ == MPI_COMBINER_NAMED || combiner_ == MPI_COMBINER_F90_INTEGER || combiner_ == MPI_COMBINER_F90_REAL ||
        combiner_ == MPI_COMBINER_F90_COMPLEX) {
      combiner_ = MPI_COMBINER_NAMED;
      return;
    }
    integers_.resize(static_cast<std::size_t>(integers));
    addresses_.resize(static_cast<std::size_t>(addresses));
    types_.resize(static_cast<std::size_t>(types));
    // Some implementations do not like null where there is nothing.
    integers_.push_back(0);
    addresses_.push_back(0);
    types_.push_back(MPI_DATATYPE_NULL);
    ok_ = mpi.Type_get_contents(type, integers, addresses, types, integers_.data(), addresses_.data(), types_.data()) ==
          MPI_SUCCESS;
    if (!ok_) types_.clear();
  }
  ~Contents() {
    for (MPI_Datatype& type : types_) {
      if (type == MPI_DATATYPE_NULL) continue;
      int integers = 0;
      int addresses = 0;
      int types = 0;
      int combiner = 0;
      // Named types are not ours to free.
      if (mpi_.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) continue;
      if (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
          combiner == MPI_COMBINER_F90_COMPLEX) {
        continue;
      }
      mpi_.Type_free(&type);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  explicit operator bool() const { return ok_; }
  int combiner() const { return combiner_; }
  std::int64_t integer(std::size_t at) const { return integers_[at]; }
  std::int64_t address(std::size_t at) const { return static_cast<std::int64_t>(addresses_[at]); }
  MPI_Datatype type(std::size_t at) const { return types_[at]; }

 private:
  const MpiFunctions& mpi_;
  bool ok_ = false;
  int combiner_ = 0;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

class Flattener {
 public:
  explicit Flattener(const MpiFunctions& mpi) : mpi_(mpi) {}

  // The bytes of one element; false if that is too much to tell.
  bool flatten(MPI_Datatype type, Tile& tile, int depth = 0) {
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    MPI_Count size = 0;
    if (depth > kDeepest || mpi_.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
        mpi_.Type_size_x(type, &size) != MPI_SUCCESS) {
      return false;
    }
    tile = {.loops = {}, .runs = {}, .extent = static_cast<std::int64_t>(extent)};
    if (size == 0) return true;
    const Contents contents(mpi_, type);
    if (!contents) return false;
    switch (contents.combiner()) {
      case MPI_COMBINER_NAMED:
        return named(type, static_cast<std::int64_t>(size), tile);
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        return inside(contents.type(0), tile, depth);
      case MPI_COMBINER_CONTIGUOUS: {
        Tile old;
        if (!flatten(contents.type(0), old, depth + 1)) return false;
        repeat(tile, {{.count = contents.integer(0), .stride = old.extent}}, std::move(old));
        return true;
      }
      case MPI_COMBINER_VECTOR:
      case MPI_COMBINER_HVECTOR: {
        Tile old;
        if (!flatten(contents.type(0), old, depth + 1)) return false;
        const std::int64_t stride =
            contents.combiner() == MPI_COMBINER_VECTOR ? contents.integer(2) * old.extent : contents.address(0);
        repeat(tile, {{.count = contents.integer(0), .stride = stride}, {.count = contents.integer(1), .stride = old.extent}},
               std::move(old));
        return true;
      }
      case MPI_COMBINER_INDEXED:
      case MPI_COMBINER_HINDEXED:
      case MPI_COMBINER_INDEXED_BLOCK:
      case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed(contents, tile, depth);
      case MPI_COMBINER_STRUCT:
        return structure(contents, tile, depth);
      case MPI_COMBINER_SUBARRAY:
        return subarray(contents, tile, depth);
      case MPI_COMBINER_DARRAY:
        return darray(contents, tile, depth);
      default:
        return false;
    }
  }

 private:
  // The pairs for MPI_MINLOC have gaps: of a short and an int between the two, of others behind them.
  static bool named(MPI_Datatype type, std::int64_t size, Tile& tile) {
    if (type == MPI_SHORT_INT && size != tile.extent) {
      constexpr std::int64_t kInt = sizeof(int);
      tile.runs.push_back({.offset = 0, .length = size - kInt});
      tile.runs.push_back({.offset = tile.extent - kInt, .length = kInt});
      return true;
    }
    tile.runs.push_back({.offset = 0, .length = size});
    return true;
  }

  bool inside(MPI_Datatype type, Tile& tile, int depth) {
    Tile old;
    if (!flatten(type, old, depth + 1)) return false;
    tile.loops = std::move(old.loops);
    tile.runs = std::move(old.runs);
    return true;
  }

  // Loops around an element; of one that is bytes without a gap, the innermost loop is a longer run.
  static void repeat(Tile& tile, std::vector<Loop> loops, Tile old) {
    tile.loops = std::move(loops);
    tile.loops.insert(tile.loops.end(), old.loops.begin(), old.loops.end());
    tile.runs = std::move(old.runs);
  }

  // The runs of an element without loops, so that it can stand in a list.
  static bool unroll(const Tile& tile, std::vector<Run>& runs) {
    std::vector<Run> all = tile.runs;
    for (auto loop = tile.loops.rbegin(); loop != tile.loops.rend(); ++loop) {
      if (loop->count <= 0) {
        all.clear();
        break;
      }
      if (all.size() > kMostRuns / static_cast<std::uint64_t>(loop->count)) return false;
      std::vector<Run> more;
      more.reserve(all.size() * static_cast<std::size_t>(loop->count));
      for (std::int64_t i = 0; i < loop->count; ++i) {
        for (const Run& run : all) append(more, {.offset = run.offset + i * loop->stride, .length = run.length});
      }
      all = std::move(more);
    }
    runs = std::move(all);
    return true;
  }

  static void append(std::vector<Run>& runs, Run run) {
    if (run.length == 0) return;
    if (!runs.empty() && runs.back().offset + runs.back().length == run.offset) {
      runs.back().length += run.length;
    } else {
      runs.push_back(run);
    }
  }

  // `count` elements, one behind the other, at `offset`.
  static bool place(std::vector<Run>& runs, const std::vector<Run>& element, std::int64_t extent, std::int64_t offset,
                    std::int64_t count) {
    if (count <= 0 || element.empty()) return true;
    if (element.size() == 1 && element[0].length == extent) {
      append(runs, {.offset = offset + element[0].offset, .length = extent * count});
      return runs.size() <= kMostRuns;
    }
    if (element.size() > kMostRuns / static_cast<std::uint64_t>(count)) return false;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Run& run : element) append(runs, {.offset = offset + i * extent + run.offset, .length = run.length});
    }
    return runs.size() <= kMostRuns;
  }

  bool indexed(const Contents& contents, Tile& tile, int depth) {
    Tile old;
    std::vector<Run> element;
    if (!flatten(contents.type(0), old, depth + 1) || !unroll(old, element)) return false;
    const auto count = static_cast<std::size_t>(contents.integer(0));
    const int combiner = contents.combiner();
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t length = 0;
      std::int64_t offset = 0;
      if (combiner == MPI_COMBINER_INDEXED) {
        length = contents.integer(1 + i);
        offset = contents.integer(1 + count + i) * old.extent;
      } else if (combiner == MPI_COMBINER_HINDEXED) {
        length = contents.integer(1 + i);
        offset = contents.address(i);
      } else if (combiner == MPI_COMBINER_INDEXED_BLOCK) {
        length = contents.integer(1);
        offset = contents.integer(2 + i) * old.extent;
      } else {
        length = contents.integer(1);
        offset = contents.address(i);
      }
      if (!place(tile.runs, element, old.extent, offset, length)) return false;
    }
    return true;
  }

  bool structure(const Contents& contents, Tile& tile, int depth) {
    const auto count = static_cast<std::size_t>(contents.integer(0));
    // One block is a loop, which may be long.
    if (count == 1) {
      Tile old;
      if (!flatten(contents.type(0), old, depth + 1)) return false;
      for (Run& run : old.runs) run.offset += contents.address(0);
      repeat(tile, {{.count = contents.integer(1), .stride = old.extent}}, std::move(old));
      return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      Tile old;
      std::vector<Run> element;
      if (contents.integer(1 + i) == 0) continue;
      if (!flatten(contents.type(i), old, depth + 1) || !unroll(old, element)) return false;
      if (!place(tile.runs, element, old.extent, contents.address(i), contents.integer(1 + i))) return false;
    }
    return true;
  }

  bool subarray(const Contents& contents, Tile& tile, int depth) {
    Tile old;
    if (!flatten(contents.type(0), old, depth + 1)) return false;
    const auto dims = static_cast<std::size_t>(contents.integer(0));
    const bool fortran = contents.integer(1 + 3 * dims) == MPI_ORDER_FORTRAN;
    // Outermost first, whatever the order.
    std::int64_t stride = old.extent;
    std::int64_t start = 0;
    std::vector<Loop> loops(dims);
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t dim = fortran ? k : dims - 1 - k;
      loops[dims - 1 - k] = {.count = contents.integer(1 + dims + dim), .stride = stride};
      start += contents.integer(1 + 2 * dims + dim) * stride;
      stride *= contents.integer(1 + dim);
    }
    for (Run& run : old.runs) run.offset += start;
    repeat(tile, std::move(loops), std::move(old));
    return true;
  }

  // Each dimension is a list of indices that are this process's; what one index of the fastest dimension is, the next one
  // repeats.
  bool darray(const Contents& contents, Tile& tile, int depth) {
    Tile old;
    std::vector<Run> runs;
    if (!flatten(contents.type(0), old, depth + 1) || !unroll(old, runs)) return false;
    const std::int64_t rank = contents.integer(1);
    const auto dims = static_cast<std::size_t>(contents.integer(2));
    const auto gsize = [&](std::size_t i) { return contents.integer(3 + i); };
    const auto distribution = [&](std::size_t i) { return contents.integer(3 + dims + i); };
    const auto argument = [&](std::size_t i) { return contents.integer(3 + 2 * dims + i); };
    const auto psize = [&](std::size_t i) { return contents.integer(3 + 3 * dims + i); };
    const bool fortran = contents.integer(3 + 4 * dims) == MPI_ORDER_FORTRAN;
    // Processes are always numbered with the last dimension fastest.
    std::vector<std::int64_t> coordinate(dims);
    std::int64_t rest = rank;
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t dim = dims - 1 - k;
      coordinate[dim] = rest % psize(dim);
      rest /= psize(dim);
    }
    std::int64_t stride = old.extent;
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t dim = fortran ? k : dims - 1 - k;
      std::int64_t block = gsize(dim);
      std::int64_t step = gsize(dim);
      std::int64_t first = 0;
      if (distribution(dim) != MPI_DISTRIBUTE_NONE) {
        if (distribution(dim) == MPI_DISTRIBUTE_BLOCK) {
          block = argument(dim) == MPI_DISTRIBUTE_DFLT_DARG ? (gsize(dim) + psize(dim) - 1) / psize(dim) : argument(dim);
        } else {
          block = argument(dim) == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument(dim);
        }
        if (block <= 0) return false;
        step = block * psize(dim);
        first = block * coordinate[dim];
      }
      std::vector<Run> outer;
      for (std::int64_t from = first; from < gsize(dim); from += step) {
        const std::int64_t to = std::min(from + block, gsize(dim));
        if (!place(outer, runs, stride, from * stride, to - from)) return false;
        if (distribution(dim) != MPI_DISTRIBUTE_CYCLIC) break;
      }
      runs = std::move(outer);
      stride *= gsize(dim);
    }
    tile.runs = std::move(runs);
    return true;
  }

  const MpiFunctions& mpi_;
};

}  // namespace

std::optional<DataMap> map_of(const MpiFunctions& mpi, MPI_Datatype type, std::int64_t start) {
  Tile tile;
  if (!Flattener(mpi).flatten(type, tile) || tile.runs.empty()) return std::nullopt;
  return DataMap::tiled(start, std::move(tile));
}

}  // namespace iez::preload
