// What is in the logs of all ranks, in sums: enough to say how long FILE becomes, and whether anything is damaged.
//
// A survey is plain numbers: one process makes it and may send its bytes to others.
//
// Thread safety: none. Freestanding.
#pragma once

#include <cstdint>

#include "rank_log/growing_array.hpp"
#include "rank_log/index_cursor.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

struct LogSurvey {
  std::uint64_t ranks = 0;      // that have an index
  std::uint64_t strangers = 0;  // names in the folder that are no part of a log
  std::uint64_t writes = 0;     // records
  std::uint64_t sizes = 0;      // records that set the size of FILE
  std::uint64_t pieces = 0;
  std::uint64_t bytes = 0;            // of all writes, hidden ones as well
  std::uint64_t end = 0;              // of the furthest write
  std::uint64_t torn = 0;             // records that killed writers left
  std::uint64_t damaged = 0;          // others that cannot be used
  std::uint64_t damaged_indexes = 0;  // whose header cannot be used
  std::uint64_t other_files = 0;      // logs of another FILE, which had this name
  std::uint64_t last_sequence = 0;
  std::uint64_t sized = 0;       // 1: there is a new size, and the next two mean something
  std::uint64_t least_size = 0;  // of all new sizes: what FILE has behind it is gone
  std::uint64_t final_size = 0;  // of FILE, when all is in it

  bool sound() const { return damaged == 0 && damaged_indexes == 0; }
};

// Called with each rank, when its index was read.
struct RankVisitor {
  void (*take)(void* context, const RankCounts& counts) = nullptr;
  void* context = nullptr;
};

// `file`: which file FILE is; nothing known: that does not matter. Reads every index once; twice if there is a new size.
[[nodiscard]] Problem survey_log(int folder, const FileStamp& file, LogSurvey& survey, const RankVisitor& visitor = {});

}  // namespace iez::rank_log
