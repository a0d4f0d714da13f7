// Datatypes as MPI defines them, described and expanded by our own code: what an oracle compares MPI with.
//
// A Type is a tree of constructors; each node holds its arguments, so that an MPI_Datatype can be made of it (mpi_types.hpp), and
// its meaning: the runs of bytes in the order of the type map, lower and upper bound. The meaning comes from the definitions of
// the standard, by listing every copy; nothing here is clever.
//
// A type for a file has runs that ascend and do not overlap, and bounds around them. One for memory may be in any order.
//
// Units: bytes. Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "kinds.hpp"

namespace iez::collective_test {

struct Run {
  std::int64_t at = 0;
  std::int64_t length = 0;
};

enum class Constructor {
  basic,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  resized,
  dup
};

// Basic types, in the order of their MPI names in mpi_types.cpp. The last ones are pairs, with a hole in them or not.
enum class Basic {
  byte,
  character,
  short_integer,
  integer,
  real,
  double_real,
  double_complex,
  two_integers,
  short_pair,
  double_pair
};
inline constexpr int kBasics = 10;

enum class Distribution { block, cyclic, none };

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Type {
  Constructor constructor = Constructor::basic;
  Basic basic = Basic::byte;
  std::vector<TypePtr> children;            // of a structure one for each block; else one
  std::int64_t count = 0;                   // contiguous, vector, hvector
  std::int64_t block = 0;                   // vector, hvector, *_block
  std::int64_t stride = 0;                  // vector: extents; hvector: bytes
  std::vector<std::int64_t> blocks;         // indexed, hindexed, structure
  std::vector<std::int64_t> displacements;  // extents for indexed and indexed_block; else bytes
  // subarray: sizes, subsizes, starts; darray: sizes, arguments of the distribution (0: default), processes
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> parts;
  std::vector<std::int64_t> starts;
  std::vector<Distribution> distributions;
  bool fortran_order = false;
  std::int64_t process = 0;    // darray
  std::int64_t processes = 1;  // darray

  // Its meaning. resized sets lower and upper by itself.
  std::vector<Run> runs;
  std::int64_t size = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  [[nodiscard]] std::int64_t extent() const { return upper - lower; }
  [[nodiscard]] std::int64_t first() const;  // where the lowest byte is
  [[nodiscard]] std::int64_t end() const;    // behind the highest byte
};

TypePtr basic_type(Basic basic);
bool is_pair(Basic basic);

TypePtr contiguous(TypePtr child, std::int64_t count);
TypePtr hindexed(TypePtr child, std::vector<std::int64_t> blocks, std::vector<std::int64_t> displacements);
TypePtr structure(std::vector<TypePtr> children, std::vector<std::int64_t> blocks, std::vector<std::int64_t> displacements);
TypePtr resized(TypePtr child, std::int64_t lower, std::int64_t extent);
TypePtr subarray(TypePtr child, std::vector<std::int64_t> sizes, std::vector<std::int64_t> parts,
                 std::vector<std::int64_t> starts, bool fortran_order);
struct Grid {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> arguments;
  std::vector<std::int64_t> processes;
  std::vector<Distribution> distributions;
};
TypePtr darray(TypePtr child, const Grid& grid, std::int64_t process, bool fortran_order);

struct Bounds {
  std::int64_t size = 4096;
  std::int64_t extent = 65536;
  std::size_t runs = 512;
  int depth = 3;
};

// A type for a file: made of `etype`, with displacements that are multiples of its extent.
TypePtr random_file_type(Rng& rng, const TypePtr& etype, const Kinds& kinds, const Bounds& bounds);
// Memory for exactly `copies` times `element`: `count` copies of a type in any order, displacements below zero, holes.
struct Memory {
  TypePtr type;
  std::int64_t count = 0;
};
Memory random_memory(Rng& rng, const TypePtr& element, std::int64_t copies, const Kinds& kinds);

// "hvector(3, 2, 48) of integer", short.
std::string to_string(const Type& type);

}  // namespace iez::collective_test
