// What this process knows of the two ways of collective calls (collective/contest.hpp), file system by file system: a program
// that makes a file for each step tries them on the first files, not on each.
//
// Only what the first rank of a file knows is used, and told to the others; so it does not matter who else knows what.
//
// Thread safety: any thread may call these.
#pragma once

#include <cstdint>

#include "collective/contest.hpp"

namespace iez::preload {

// Files that are alike: on one file system, with as many ranks, laid out and chosen for in the same way.
struct FileKind {
  std::uint64_t device = 0;
  std::uint32_t ranks = 0;
  std::uint32_t stripes = 0;
  std::int64_t stripe_size = 0;
  std::uint32_t aggregators = 0;
  std::int64_t window_bytes = 0;

  bool operator==(const FileKind&) const = default;
};

// Nothing is known: a contest without standings.
collective::Contest known_ways(const FileKind& kind, bool clients_have_caches);
// The latest kinds of files are remembered.
void remember_ways(const FileKind& kind, const collective::Contest& contest);

}  // namespace iez::preload
