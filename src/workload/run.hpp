// One process of a workload: opens, writes, reads, compares, and measures as IOR does. What it writes through (POSIX, MPI-IO,
// HDF5) and how it meets the other processes (forked, MPI) are given.
//
// Thread safety: none. Times are seconds since all processes met at the start of a phase, so that clocks need not agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "workload/arrays.hpp"
#include "workload/options.hpp"

namespace iez::workload {

class Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  // Returns when all have called it.
  [[nodiscard]] virtual Result<void> barrier() = 0;
  // The values of all, in the order of ranks, at rank 0; nothing elsewhere. All give the same number of values.
  [[nodiscard]] virtual Result<std::vector<double>> gather(std::span<const double> values) = 0;
};

class File {
 public:
  virtual ~File() = default;
  // An empty span takes part in a collective call, and moves nothing.
  [[nodiscard]] virtual Result<void> write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<std::byte> data) = 0;
  // Part of an array. Unless an interface knows better: a write() or read() for each run of bytes.
  [[nodiscard]] virtual Result<void> write_array(const ArrayPart& part, std::span<const std::byte> memory);
  [[nodiscard]] virtual Result<void> read_array(const ArrayPart& part, std::span<std::byte> memory);
  [[nodiscard]] virtual Result<void> sync() = 0;
  [[nodiscard]] virtual Result<void> close() = 0;
};

// What to open, and how.
struct Opening {
  std::string name;
  bool write = false;
  bool shared = false;  // by all processes
  bool create = true;   // with write: of HACC-IO's processes only the first creates
  std::uint64_t size = 0;
  bool drop_cache = false;
  std::vector<Array> arrays;  // that it holds, if it is written by arrays
};

class FileOpener {
 public:
  virtual ~FileOpener() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const Opening& opening) = 0;
};

// Of all processes: from the first open to the last close; each part is that of the slowest. Of arrays the making and comparing
// of bytes is not counted, and of several files the times are summed.
struct Phase {
  bool write = false;
  std::uint32_t repetition = 0;
  std::uint64_t bytes = 0;
  double open_s = 0;
  double transfer_s = 0;
  double close_s = 0;
  double total_s = 0;
  std::uint64_t wrong_bytes = 0;

  [[nodiscard]] double mb_s() const { return total_s > 0 ? static_cast<double>(bytes) / 1e6 / total_s : 0; }
};

// At rank 0: what was measured; elsewhere nothing. `talk` gets lines about wrong bytes. Every process of the workload calls it
// with the same options.
using Talk = void (*)(const std::string& line);
[[nodiscard]] Result<std::vector<Phase>> run_rank(const Options& options, Ranks& ranks, FileOpener& opener, Talk talk);

}  // namespace iez::workload
