// Compares the data of a log with its checksums: every byte is read.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

struct DataCheck {
  std::uint64_t records = 0;       // compared
  std::uint64_t bytes = 0;         // read
  std::uint64_t unchecked = 0;     // records without a checksum of their data
  std::uint64_t wrong = 0;         // records whose data is not what was written
  std::uint32_t first_rank = 0;    // of the first wrong one
  std::uint64_t first_record = 0;  // its number
};

// progress: bytes so far.
[[nodiscard]] Result<DataCheck> check_data(int folder, const LogPaths& paths, const std::function<void(std::uint64_t)>& progress);

}  // namespace iez::rank_log
