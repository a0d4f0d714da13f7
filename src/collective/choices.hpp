// What is chosen where the program said nothing, and why.
//
// Of a file, once: aggregators, windows, direct I/O. Of a call: whether data are collected. Every rank chooses the same from the
// same numbers. Each choice names its reason; choice_text.hpp has the words.
//
// Aggregators. On Lustre: one for each OST, times CO. A node has one page cache and one set of locks however many aggregators it
// has, so that more of them than CPUs gain nothing; twice as many are taken where that gives every OST its own. Elsewhere: one
// for each CPU. Never more than ranks. cb_nodes, if given, is the limit in place of CPUs.
//
// Windows. 1 MiB, or a stripe if that is larger; as much for each OST of an aggregator that has several. Larger ones gain little,
// since a client makes large requests of what is in its cache, and the first collected call waits until each rank has all pages
// of all windows. With direct I/O 4 MiB, the size of a large request of Lustre. Where there are no OSTs, 2 MiB: what was copied
// there is still in the processor's cache when it is written, and the first call does not wait for much memory. There are two
// buffers for a window, so that one is filled while the other is written; together they stay within cb_buffer_size. None is
// smaller than 4 KiB.
//
// Collecting. By request size, interleaved or not: pieces shorter than a stripe are collected, larger ones are left to the MPI.
// On Lustre, interleaved pieces are collected up to four stripes: writers that alternate in a stripe's object take its lock from
// each other. That is where calls begin; which way is kept is found out by trial, where the program said nothing (contest.hpp).
//
// Compiled into preload libraries, too. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "collective/file_layout.hpp"
#include "collective/hints.hpp"
#include "collective/windows.hpp"

namespace iez::collective {

inline constexpr std::int64_t kRequestBytes = 4 << 20;    // of a large RPC
inline constexpr std::int64_t kWindowBytes = 1 << 20;     // of an OST
inline constexpr std::int64_t kCachedBytes = 2 << 20;     // of a window where there is no Lustre
inline constexpr std::int64_t kImaginedStripe = 1 << 20;  // where there is no Lustre
inline constexpr std::int64_t kInterleavedStripes = 4;    // pieces longer than this are not collected though interleaved
inline constexpr std::uint32_t kAggregatorsPerCpu = 2;    // where every OST gets its own by it
inline constexpr std::int64_t kDirectAlignment = 4 << 10;

// Who is there. Numbers that are not known are 0, and taken for 1.
struct Machine {
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
  std::uint32_t cpus_per_node = 1;
};

enum class Because : std::uint8_t {
  // of the way of a call
  mode_hint,     // iez_mode
  collect_hint,  // romio_cb_write, romio_cb_read
  nothing_to_move,
  one_rank,      // only one has data
  big_requests,  // all pieces are larger than big_req_size
  long_pieces,   // a stripe or more: collecting gains nothing, and the MPI does it
  short_pieces,  // less than a stripe
  interleaved,   // stripes or more, but ranks alternate in them
  // of aggregators
  every_ost,  // CO for each
  every_cpu,
  every_node,  // where there is no Lustre
  every_rank,  // there are no more
  nodes_hint,  // cb_nodes
  // of windows
  request_size,     // 4 MiB, with direct I/O
  short_start,      // 1 MiB
  stripe_size,      // larger than that
  osts_of_one,      // an aggregator has several OSTs
  processor_cache,  // 2 MiB, where there are no OSTs
  buffer_hint,      // cb_buffer_size
  // of direct I/O
  not_asked,
  asked,
  not_aligned,  // stripes are no multiple of 4 KiB
};

template <typename T>
struct Choice {
  T value{};
  Because because{};

  bool operator==(const Choice&) const = default;
};

struct FileChoices {
  Choice<std::uint32_t> aggregators;
  Choice<std::int64_t> window_bytes;
  Choice<bool> direct_writes;
  Choice<bool> direct_reads;
  std::uint32_t clients_per_ost = 1;
  bool exchange_requests = true;  // false: same_io_size and contiguous_data tell what all ranks do

  WindowOptions windows() const {
    return {.aggregators = aggregators.value, .clients_per_ost = clients_per_ost, .window_bytes = window_bytes.value};
  }
  bool operator==(const FileChoices&) const = default;
};

// For file systems without stripes: striping_unit or 1 MiB, over as many as there will be aggregators.
FileLayout layout_without_stripes(const Hints& hints, const Machine& machine);

// The aggregators are those that Windows will really use.
FileChoices choose_for_file(const Hints& hints, const FileLayout& layout, const Machine& machine);

// Of all ranks of a call together.
struct Requests {
  bool write = true;
  bool interleaved = false;  // a rank's data begin before those of a lower rank end
  std::uint32_t ranks_with_data = 0;
  std::int64_t bytes = 0;
  std::int64_t shortest_piece = 0;  // that lies together in the file
  std::int64_t longest_piece = 0;
  std::int64_t begin = 0;  // of the file range that holds all
  std::int64_t end = 0;
};

enum class Way : std::uint8_t {
  collect,
  independent,  // every rank moves its own data
  log,          // every rank appends to its log
  pass,         // the MPI does it
};

// Where calls begin.
Choice<Way> choose_way(const Hints& hints, const FileLayout& layout, const Requests& requests);
// Whether such a choice is a guess of ours, so that the MPI's own way may be tried, too.
bool may_compare(const Hints& hints, const Choice<Way>& choice);

// What MPI_File_get_info should tell: the hints with what was chosen where they left it to us.
Hints hints_in_force(const Hints& hints, const FileLayout& layout, const FileChoices& choices);

}  // namespace iez::collective
