#include "workload/pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "workload/arrays.hpp"

namespace iez::workload {

namespace {

constexpr std::array<std::uint64_t, 9> kVariables{4, 4, 4, 4, 4, 4, 4, 8, 2};  // bytes a particle: xx yy zz vx vy vz phi pid mask
constexpr std::uint64_t kParticle = 38;
constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 24U;  // of one rank
constexpr std::uint64_t kMostLength = std::uint64_t{1} << 30U;  // of one call
constexpr std::uint64_t kMostFactor = 1000;                     // that a law may give
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;   // of a rank
constexpr double kMostDeviation = 3;
constexpr std::uint32_t kMostArrays = 1000;
constexpr std::uint64_t kMostBlocks = 1'000'000;
constexpr std::uint64_t kMostCells = 256;
constexpr std::uint64_t kMostGrid = 65'536;

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// The eight bytes of a file that word `index` holds.
class Words {
 public:
  Words(std::uint64_t seed, std::uint32_t file) : key_(mixed(mixed(seed) ^ file)) {}
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const { return (index + key_) * 0x9e3779b97f4a7c15U ^ (key_ >> 7U); }

 private:
  std::uint64_t key_;
};

// Hands out runs of bytes that lie in one word: visit(index in data, bytes).
template <typename Visit>
void for_words(std::size_t size, std::uint64_t seed, std::uint32_t file, std::uint64_t offset, const Visit& visit) {
  const Words words(seed, file);
  std::size_t done = 0;
  while (done < size) {
    const std::uint64_t at = offset + done;
    const std::uint64_t word = words.at(at / 8);
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &word, bytes.size());
    const std::size_t skip = at % 8;
    const std::size_t length = std::min<std::size_t>(8 - skip, size - done);
    visit(done, std::span<const std::byte>(bytes).subspan(skip, length));
    done += length;
  }
}

double factor_of(const Pattern& pattern, std::uint32_t rank) {
  if (pattern.law == SizeLaw::equal) return 1;
  Rng rng(mixed(mixed(pattern.seed) + rank));
  const double first = rng.unit();
  if (pattern.law == SizeLaw::uniform) return 1 + (pattern.spread * ((2 * first) - 1));
  const double normal = std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * std::numbers::pi * rng.unit());
  const double factor = std::exp((pattern.spread * normal) - (pattern.spread * pattern.spread / 2));
  return std::min(factor, static_cast<double>(kMostFactor));
}

std::uint64_t scaled(const Pattern& pattern, std::uint32_t rank, std::uint64_t count) {
  if (pattern.law == SizeLaw::equal) return count;
  return std::max<std::uint64_t>(1,
                                 static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * factor_of(pattern, rank))));
}

std::uint64_t block_of(const Pattern& pattern, std::uint32_t rank) {
  return scaled(pattern, rank, pattern.block.count / pattern.transfer.count) * pattern.transfer.count;
}

std::uint64_t particles_of(const Pattern& pattern, std::uint32_t rank) { return scaled(pattern, rank, pattern.particles); }

// Those before a rank in its file, and all of the file.
using Share = BlockShare;

template <typename Of>
Share share_of(const Pattern& pattern, std::uint32_t rank, const Of& of) {
  if (pattern.file_per_process) return {.before = 0, .own = of(pattern, rank), .all = of(pattern, rank)};
  Share share;
  for (std::uint32_t other = 0; other < pattern.ranks; ++other) {
    const std::uint64_t size = of(pattern, other);
    if (other < rank) share.before += size;
    if (other == rank) share.own = size;
    share.all += size;
  }
  return share;
}

std::vector<Access> ior_accesses(const Pattern& pattern, std::uint32_t rank) {
  const Share share = share_of(pattern, rank, block_of);
  const std::uint64_t transfer = pattern.transfer.count;
  std::vector<Access> all;
  all.reserve(pattern.segments * (share.own / transfer));
  for (std::uint64_t segment = 0; segment < pattern.segments; ++segment) {
    const std::uint64_t start = (segment * share.all) + share.before;
    for (std::uint64_t at = 0; at < share.own; at += transfer) all.push_back({.offset = start + at, .length = transfer});
  }
  if (pattern.random_offsets) {
    Rng rng(mixed(pattern.seed ^ 0x7a) + rank);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  }
  return all;
}

std::vector<Access> hacc_accesses(const Pattern& pattern, std::uint32_t rank) {
  const Share share = share_of(pattern, rank, particles_of);
  std::vector<Access> all;
  all.reserve(kVariables.size() + 1);
  if (pattern.header.count > 0 && (pattern.file_per_process || rank == 0))
    all.push_back({.offset = 0, .length = pattern.header.count});
  std::uint64_t start = pattern.header.count;
  for (const std::uint64_t size : kVariables) {
    all.push_back({.offset = start + (share.before * size), .length = share.own * size});
    start += share.all * size;
  }
  return all;
}

Result<void> check_ior(const Pattern& pattern) {
  if (pattern.transfer.count == 0 || pattern.transfer.count > kMostLength) {
    return fail(Errc::invalid_argument, fmt::format("-t {}: expected 1 to {} bytes", pattern.transfer.count, kMostLength));
  }
  if (pattern.block.count == 0 || pattern.block.count % pattern.transfer.count != 0) {
    return fail(Errc::invalid_argument,
                fmt::format("-b {}: expected a multiple of the {} bytes of -t", pattern.block.count, pattern.transfer.count));
  }
  if (pattern.segments == 0) return fail(Errc::invalid_argument, "-s 0: expected at least 1 segment");
  const std::uint64_t pieces = pattern.block.count / pattern.transfer.count;
  if (pattern.block.count > kMostBytes || pieces > kMostPieces || pattern.segments > kMostPieces / pieces) {
    return fail(Errc::limit, fmt::format("-b {} -s {} in pieces of {} bytes: more than {} calls a process", pattern.block.count,
                                         pattern.segments, pattern.transfer.count, kMostPieces));
  }
  if (pattern.random_offsets && pattern.interface == Interface::hdf5) {
    return fail(Errc::invalid_argument, "-z: not with -a HDF5");
  }
  if (!pattern.view) return {};
  if (pattern.random_offsets) return fail(Errc::invalid_argument, "--view: not with -z; a view is in order");
  if (pattern.file_per_process) return fail(Errc::invalid_argument, "--view: not with -F; a file of its own needs none");
  const Share share = block_share_of(pattern, 0);
  if (share.all > kMostLength || pattern.segments > kMostLength / share.own) {
    return fail(Errc::limit,
                fmt::format("--view: a segment of {} bytes, {} segments: expected at most {} bytes of a segment, and of "
                            "a process",
                            share.all, pattern.segments, kMostLength));
  }
  return {};
}

// What both kinds of arrays have in common.
Result<void> check_arrays(const Pattern& pattern) {
  if (pattern.law != SizeLaw::equal) return fail(Errc::invalid_argument, "--sizes: only with ior and hacc");
  if (pattern.arrays == 0 || pattern.arrays > kMostArrays) {
    return fail(Errc::invalid_argument, fmt::format("{} arrays: expected 1 to {}", pattern.arrays, kMostArrays));
  }
  return {};
}

Result<void> check_flash(const Pattern& pattern) {
  IEZ_CHECK(check_arrays(pattern));
  if (pattern.blocks == 0 || pattern.blocks > kMostBlocks) {
    return fail(Errc::invalid_argument, fmt::format("--blocks {}: expected 1 to {}", pattern.blocks, kMostBlocks));
  }
  if (pattern.cells == 0 || pattern.cells > kMostCells || pattern.guard > kMostCells) {
    return fail(Errc::invalid_argument, fmt::format("--cells {} --guard {}: expected 1 to {}, and 0 to {}", pattern.cells,
                                                    pattern.guard, kMostCells, kMostCells));
  }
  const std::uint64_t with_guard = pattern.cells + (2 * pattern.guard);
  if (with_guard * with_guard * with_guard * pattern.arrays > kMostLength / 8 / pattern.blocks) {
    return fail(Errc::limit, fmt::format("--blocks {}: more than {} bytes of memory a process", pattern.blocks, kMostLength));
  }
  return {};
}

Result<void> check_chimera(const Pattern& pattern) {
  IEZ_CHECK(check_arrays(pattern));
  if (pattern.files == 0 || pattern.files > kMostArrays) {
    return fail(Errc::invalid_argument, fmt::format("--files {}: expected 1 to {}", pattern.files, kMostArrays));
  }
  std::uint64_t elements = 1;
  const std::vector<std::uint64_t> processes = process_grid(pattern.ranks, pattern.grid.size());
  for (std::size_t i = 0; i < pattern.grid.size(); ++i) {
    if (pattern.grid[i] < processes[i] || pattern.grid[i] > kMostGrid) {
      return fail(Errc::invalid_argument,
                  fmt::format("--grid: {} elements on {} processes in dimension {}: expected at least one each, and at most {}",
                              pattern.grid[i], processes[i], i + 1, kMostGrid));
    }
    elements *= pattern.grid[i];
  }
  if (elements / pattern.ranks > kMostLength / 8) {
    return fail(Errc::limit, fmt::format("--grid: more than {} bytes of an array a process", kMostLength));
  }
  return {};
}

Result<void> check_hacc(const Pattern& pattern) {
  if (pattern.particles == 0 || pattern.particles > kMostLength / 8) {
    return fail(Errc::invalid_argument, fmt::format("{} particles: expected 1 to {}", pattern.particles, kMostLength / 8));
  }
  if (pattern.header.count > kMostLength) {
    return fail(Errc::invalid_argument, fmt::format("--header {}: expected at most {} bytes", pattern.header.count, kMostLength));
  }
  if (pattern.interface == Interface::hdf5) return fail(Errc::invalid_argument, "-a HDF5: HACC-IO has POSIX and MPIIO");
  return {};
}

}  // namespace

Result<void> check(const Pattern& pattern) {
  if (pattern.file.empty()) return fail(Errc::invalid_argument, "no name of a file");
  if (pattern.ranks == 0 || pattern.ranks > kMostRanks) {
    return fail(Errc::invalid_argument, fmt::format("{} processes: expected 1 to {}", pattern.ranks, kMostRanks));
  }
  const double most = pattern.law == SizeLaw::uniform ? 1 : kMostDeviation;
  if (!(pattern.spread >= 0 && pattern.spread <= most)) {
    return fail(Errc::invalid_argument, fmt::format("--sizes: spread {}: expected 0 to {}", pattern.spread, most));
  }
  switch (pattern.kind) {
    case Kind::ior:
      return check_ior(pattern);
    case Kind::hacc:
      return check_hacc(pattern);
    case Kind::flash:
      return check_flash(pattern);
    case Kind::chimera:
      return check_chimera(pattern);
  }
  return {};
}

std::uint32_t file_count(const Pattern& pattern) {
  if (pattern.kind == Kind::chimera) return pattern.files;
  return pattern.file_per_process ? pattern.ranks : 1;
}

std::uint32_t file_of(const Pattern& pattern, std::uint32_t rank) { return pattern.file_per_process ? rank : 0; }

std::string file_name(const Pattern& pattern, std::uint32_t file) {
  if (pattern.kind == Kind::flash) return pattern.file + "_chk_0001";
  if (pattern.kind == Kind::chimera) return fmt::format("{}-restart-{:02}", pattern.file, file + 1);
  if (pattern.kind == Kind::hacc) return fmt::format("{}-Part{:08}-of-{:08}.data", pattern.file, file, file_count(pattern));
  return pattern.file_per_process ? fmt::format("{}.{:08}", pattern.file, file) : pattern.file;
}

Bytes file_size(const Pattern& pattern, std::uint32_t file) {
  if (has_arrays(pattern)) return {bytes_of_arrays(pattern)};
  if (pattern.file_per_process) return bytes_of(pattern, file);
  return total_bytes(pattern);
}

BlockShare block_share_of(const Pattern& pattern, std::uint32_t rank) { return share_of(pattern, rank, block_of); }

Bytes bytes_of(const Pattern& pattern, std::uint32_t rank) {
  if (has_arrays(pattern)) {
    std::uint64_t sum = 0;
    for (const ArrayPart& part : array_parts(pattern, rank)) sum += part.bytes();
    return {sum * file_count(pattern)};
  }
  if (pattern.kind == Kind::ior) return {block_of(pattern, rank) * pattern.segments};
  const bool header = pattern.file_per_process || rank == 0;
  return {(particles_of(pattern, rank) * kParticle) + (header ? pattern.header.count : 0)};
}

Bytes total_bytes(const Pattern& pattern) {
  Bytes sum;
  for (std::uint32_t rank = 0; rank < pattern.ranks; ++rank) sum += bytes_of(pattern, rank);
  return sum;
}

std::vector<Access> accesses(const Pattern& pattern, std::uint32_t rank) {
  return pattern.kind == Kind::ior ? ior_accesses(pattern, rank) : hacc_accesses(pattern, rank);
}

std::uint32_t read_of(const Pattern& pattern, std::uint32_t rank) { return pattern.reorder ? (rank + 1) % pattern.ranks : rank; }

void fill(std::span<std::byte> data, std::uint64_t seed, std::uint32_t file, std::uint64_t offset) {
  for_words(data.size(), seed, file, offset, [data](std::size_t at, std::span<const std::byte> bytes) {
    std::memcpy(data.data() + at, bytes.data(), bytes.size());
  });
}

Differences differences(std::span<const std::byte> data, std::uint64_t seed, std::uint32_t file, std::uint64_t offset) {
  Differences found;
  for_words(data.size(), seed, file, offset, [data, &found](std::size_t at, std::span<const std::byte> bytes) {
    if (std::memcmp(data.data() + at, bytes.data(), bytes.size()) == 0) return;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (data[at + i] == bytes[i]) continue;
      if (found.count == 0) {
        found.first = at + i;
        found.expected = bytes[i];
      }
      ++found.count;
    }
  });
  return found;
}

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, 4> kNames{"ior", "hacc", "flash", "chimera"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Interface interface) {
  switch (interface) {
    case Interface::posix:
      return "POSIX";
    case Interface::mpiio:
      return "MPIIO";
    case Interface::hdf5:
      return "HDF5";
  }
  return "";
}

Result<Sizes> parse_sizes(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view law = text.substr(0, colon);
  const double spread = colon == std::string_view::npos ? -1 : text::parse_double(text.substr(colon + 1)).value_or(-1);
  if (text == "equal") return Sizes{};
  if (law == "uniform" && spread >= 0 && spread <= 1) return Sizes{.law = SizeLaw::uniform, .spread = spread};
  if (law == "lognormal" && spread >= 0 && spread <= kMostDeviation) {
    return Sizes{.law = SizeLaw::lognormal, .spread = spread};
  }
  return fail(Errc::invalid_argument,
              fmt::format("'{}': expected equal, uniform:SPREAD with 0 to 1, or lognormal:DEVIATION with 0 to {}",
                          text::printable(text), kMostDeviation));
}

Result<std::array<std::uint64_t, 3>> parse_grid(std::string_view text) {
  std::array<std::uint64_t, 3> grid{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::size_t cross = i + 1 < grid.size() ? rest.find('x') : rest.size();
    const auto number = cross == std::string_view::npos ? std::nullopt : text::parse_u64(rest.substr(0, cross));
    if (!number || *number == 0) {
      return fail(Errc::invalid_argument, fmt::format("'{}': expected three numbers like 64x64x128", text::printable(text)));
    }
    grid[i] = *number;
    rest.remove_prefix(std::min(rest.size(), cross + 1));
  }
  return grid;
}

std::string to_string(const Sizes& sizes) {
  if (sizes.law == SizeLaw::equal) return "equal";
  return fmt::format("{}:{}", sizes.law == SizeLaw::uniform ? "uniform" : "lognormal", sizes.spread);
}

}  // namespace iez::workload
