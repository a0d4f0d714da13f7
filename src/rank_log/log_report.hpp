// Sentences about logs, for people: what is wrong, where, and what to do.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rank_log/index_cursor.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

// The names that belong together.
struct LogPaths {
  std::string file;
  std::string folder;  // FILE.iezlog
};

// Of FILE or of FILE.iezlog, whichever was given; slashes at the end do not count.
LogPaths log_paths(std::string_view given);

// REQUIRES: there is a problem.
Error error_of(const Problem& problem, const LogPaths& paths);

// "7.index: record 12: ..."; empty if the index of this rank is sound.
std::string damage_of(const RankCounts& counts);

}  // namespace iez::rank_log
