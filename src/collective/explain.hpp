// What collective I/O would do for a regular pattern, and what other ways would: worked out, not measured. Not part of preload
// libraries.
//
// Locks. A client of Lustre is a node. The lock of an object is taken to cover all of it, as Lustre grows locks while nobody else
// asks; who writes next without it takes it from its holder: a hand-over. Steps are what goes on at the same time: a block of
// every rank, or a round of the aggregators; within a step clients come in order. A real run has more of them where writers of
// one step alternate, and none on file systems without such locks.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "collective/choices.hpp"

namespace iez::collective {

// Every rank has `bytes`, in blocks of `block` bytes that lie together in the file, each followed by a `hole` that nobody writes.
struct Pattern {
  std::int64_t block = 64 << 10;
  std::int64_t hole = 0;
  std::int64_t bytes = 8 << 20;
  std::int64_t begin = 0;   // where the first block lies
  bool interleaved = true;  // blocks of all ranks take turns; else a rank's lie one behind the other
  bool write = true;
};

// The regular pattern that is nearest to what ranks asked for in a call: pieces as long as the shortest one, holes as long as
// those between pieces on average. REQUIRES: requests.bytes > 0.
Pattern nearest_pattern(const Requests& requests);

// Of one aggregator.
struct Work {
  std::vector<std::uint32_t> osts;  // in all components
  std::int64_t bytes = 0;
  std::int64_t windows = 0;  // with data
  std::int64_t calls = 0;    // writes or reads of the file
};

struct Figures {
  std::int64_t calls = 0;
  std::int64_t steps = 0;
  std::uint32_t clients_per_object = 0;  // at most
  std::int64_t hand_overs = 0;
};

struct Explanation {
  Requests requests;
  Choice<Way> way;
  FileChoices choices;
  std::vector<Work> work;     // by aggregator
  std::int64_t portions = 0;  // that hold data
  Figures independent;        // every rank by itself
  Figures contiguous;         // one contiguous part of the file for each aggregator, in rounds of cb_buffer_size
  Figures stripes;            // ours
};

// Errc::invalid_argument names the field of the pattern that makes no sense, or is too much to work out.
[[nodiscard]] Result<Explanation> explain(const Hints& hints, const FileLayout& layout, const Machine& machine,
                                          const Pattern& pattern);

}  // namespace iez::collective
