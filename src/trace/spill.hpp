// Sorted runs of rows in one temporary file, and their merge: the part of a merge that does not fit into memory.
//
// The file has no name once it is open, so nothing is left behind however the process ends. Runs are merged at most kFanIn at a
// time; more of them are first merged to longer ones, which are appended, so that neither memory nor descriptors grow with their
// number.
//
// Complexity: O(n log kFanIn) comparisons of names a pass; one pass up to kFanIn runs. Disk: every row once a pass.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"
#include "trace/packed_row.hpp"

namespace iez::trace {

class Spill {
 public:
  static constexpr std::size_t kFanIn = 128;

  using Visitor = std::function<Result<void>(const PackedRow&)>;

  // Takes no file before the first run. `directory` empty: $TMPDIR, or /tmp.
  explicit Spill(std::string directory);

  // Rows in order of names, each name once.
  [[nodiscard]] Result<void> add_run(std::span<const PackedRow* const> rows);

  std::size_t runs() const { return runs_.size(); }

  // All rows in order of names, equal names added up. `memory` is for buffers; a few MiB are taken in any case. An error of the
  // visitor ends it. The runs are gone afterwards.
  [[nodiscard]] Result<void> merge(Bytes memory, const Visitor& visitor);

 private:
  struct Run {
    std::uint64_t begin = 0;  // in the file
    std::uint64_t end = 0;
  };
  class Cursor;

  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> put(const PackedRow& row);
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] Result<void> merge_runs(std::span<const Run> runs, Bytes memory, const Visitor& visitor) const;

  std::string directory_;
  input::UniqueFd fd_;
  std::vector<Run> runs_;
  std::uint64_t written_ = 0;      // bytes of the file
  std::vector<std::byte> buffer_;  // behind them
};

}  // namespace iez::trace
