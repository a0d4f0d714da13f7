// Who writes what of a benchmark-like workload: names of files, offsets, lengths, and every byte. The patterns are those of IOR,
// HACC-IO, FLASH-IO and of CHIMERA's restart files; the program is our own.
//
// IOR: a file is `segments` times one block of every rank (of one rank, with a file per process); a block is written in pieces of
// `transfer` bytes. Files are NAME, or NAME.00000012 for rank 12.
//
// HACC-IO: a file is a header, then nine variables of all particles, one variable after the other: xx yy zz vx vy vz phi as
// 4-byte numbers, pid as 8, mask as 2; 38 bytes a particle. A rank writes each variable of its particles at once; the first rank
// of a file writes the header. Files are PREFIX-Part00000012-of-00000032.data.
//
// FLASH-IO: one checkpoint file PREFIX_chk_0001 of 24 unknowns, one behind the other; of each the blocks of all ranks, a cube of
// cells each. In memory the unknowns of a cell lie together, with guard cells around each block.
//
// CHIMERA: restart files PREFIX-restart-01 and so on, each of several arrays of three dimensions, which the ranks share in
// blocks.
//
// The last two, and IOR with a view, are described as parts of arrays: workload/arrays.hpp.
//
// Bytes follow from (seed, number of the file, offset) alone, so that whoever reads a byte can tell whether it is the right one.
//
// Thread safety: pure functions. Units: bytes; ranks and files count from 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::workload {

enum class Kind { ior, hacc, flash, chimera };
enum class Interface { posix, mpiio, hdf5 };

// How much the ranks differ. equal: not at all; uniform: evenly spread between 1 - spread and 1 + spread times the size that was
// asked for; lognormal: the logarithm of that factor is normal, with this deviation and a mean factor of 1.
enum class SizeLaw { equal, uniform, lognormal };

struct Pattern {
  Kind kind = Kind::ior;
  Interface interface = Interface::posix;
  std::string file;  // -o of IOR, the prefix of HACC-IO
  std::uint32_t ranks = 1;
  bool file_per_process = false;
  bool random_offsets = false;  // ior: pieces in random order
  bool reorder = false;         // a rank reads what its neighbour wrote
  // ior
  Bytes block = Bytes::mib(1);
  Bytes transfer = Bytes::kib(256);
  std::uint64_t segments = 1;
  bool view = false;  // all blocks of a rank by one call
  // hacc
  std::uint64_t particles = 0;  // of each rank
  Bytes header{25'165'824};
  // flash, chimera
  std::uint32_t arrays = 24;                      // of a file: unknowns
  std::uint64_t blocks = 10;                      // flash: of each rank
  std::uint64_t cells = 8;                        // flash: of a block in each dimension
  std::uint64_t guard = 4;                        // flash: cells of the neighbours on each side
  std::uint32_t files = 8;                        // chimera
  std::array<std::uint64_t, 3> grid{64, 64, 64};  // chimera: of all ranks
  // ior, hacc
  SizeLaw law = SizeLaw::equal;
  double spread = 0;
  std::uint64_t seed = 0;

  bool operator==(const Pattern&) const = default;
};

struct Access {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  bool operator==(const Access&) const = default;
};

inline constexpr std::uint32_t kMostRanks = 4096;

// Whether the pattern makes sense; says which option is to be changed. All functions below REQUIRE that it does.
[[nodiscard]] Result<void> check(const Pattern& pattern);

std::uint32_t file_count(const Pattern& pattern);
std::uint32_t file_of(const Pattern& pattern, std::uint32_t rank);
std::string file_name(const Pattern& pattern, std::uint32_t file);
Bytes file_size(const Pattern& pattern, std::uint32_t file);
Bytes bytes_of(const Pattern& pattern, std::uint32_t rank);
Bytes total_bytes(const Pattern& pattern);

// ior: the bytes of a rank in one segment of its file, those before it, and those of all.
struct BlockShare {
  std::uint64_t before = 0;
  std::uint64_t own = 0;
  std::uint64_t all = 0;
};
BlockShare block_share_of(const Pattern& pattern, std::uint32_t rank);

// Of one rank, in the order in which they are made. Together, those of all ranks of a file cover it once. REQUIRES: ior, hacc.
std::vector<Access> accesses(const Pattern& pattern, std::uint32_t rank);

// Whose data a rank reads.
std::uint32_t read_of(const Pattern& pattern, std::uint32_t rank);

// The bytes of a file from this offset on.
void fill(std::span<std::byte> data, std::uint64_t seed, std::uint32_t file, std::uint64_t offset);
// How many bytes differ from those, and where the first does.
struct Differences {
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // index in data
  std::byte expected{0};
};
Differences differences(std::span<const std::byte> data, std::uint64_t seed, std::uint32_t file, std::uint64_t offset);

std::string_view to_string(Kind kind);
std::string_view to_string(Interface interface);

// "equal", "uniform:0.5", "lognormal:1".
struct Sizes {
  SizeLaw law = SizeLaw::equal;
  double spread = 0;
};
[[nodiscard]] Result<Sizes> parse_sizes(std::string_view text);
// "64x64x128".
[[nodiscard]] Result<std::array<std::uint64_t, 3>> parse_grid(std::string_view text);
std::string to_string(const Sizes& sizes);

}  // namespace iez::workload
