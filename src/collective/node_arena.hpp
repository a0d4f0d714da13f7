// Memory that the ranks of one node share for the collective calls of one file: what each of them asks for, the windows through
// which data goes, and the counters by which they wait for each other.
//
// An aggregator has a window on every node. Its owner there is the aggregator itself, or, on other nodes, a rank that stands in
// for it. Every window has two buffers: one is written or read while the other one is filled or emptied.
//
// Thread safety: the memory is shared between processes; who may touch what and when is the protocol of node_engine.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "collective/wait_word.hpp"

namespace iez::collective {

inline constexpr std::uint32_t kBuffers = 2;

struct ArenaShape {
  std::uint32_t ranks = 1;  // of this node
  std::uint32_t nodes = 1;
  std::uint32_t windows = 1;  // aggregators, of all nodes
  std::int64_t window_bytes = 1 << 20;

  bool operator==(const ArenaShape&) const = default;
};

// What a rank asks for in a call.
struct alignas(64) Slot {
  std::int64_t begin = 0;  // of its bytes in the file; begin == end: none
  std::int64_t end = 0;
  std::int64_t bytes = 0;
  std::int64_t granule = 0;   // divides the start and the end of every piece; 0: no bytes
  std::int64_t shortest = 0;  // piece
  std::int64_t longest = 0;
  std::int64_t guess_begin = 0;  // what it believed all ranks together ask for, when it put bytes into windows already
  std::int64_t guess_end = 0;    // 0: it did not
  std::int64_t guess_granule = 0;
  std::uint64_t spent_ns = 0;     // in the last call whose time is wanted
  std::int32_t refusal = 0;       // not 0: it cannot take part, and why
  std::int32_t must_collect = 0;  // whatever advice says
  std::int32_t timed = 0;         // the call is over when it returns
};

// A part of the file.
struct FileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

enum class Verdict : std::uint32_t {
  fresh,        // nobody put anything into windows yet, or it was taken out again
  continued,    // what was put into windows of the first portion is right, and all have done so
  independent,  // better not collected: every rank on its own
  passed,       // better left to the MPI
  refused,
};

// What all ranks together ask for; the same on every rank when it is published.
struct Asked {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t granule = 1;
  std::int64_t bytes = 0;
  std::int64_t shortest = 0;  // piece; 0: no bytes
  std::int64_t longest = 0;
  std::uint32_t with_data = 0;  // ranks
  bool interleaved = false;     // one's bytes begin before those of a lower rank end
  Verdict verdict = Verdict::fresh;
  std::int32_t refusal = 0;
  bool spoilt = false;         // windows hold what somebody put into them by a wrong belief
  bool aside = false;          // passed, and that needed no trial
  bool compared = false;       // its way is one of two that are compared by their times
  std::uint32_t unasked = 0;   // passed: so many calls more go to the MPI without being asked about
  std::uint64_t spent_ns = 0;  // by the slowest rank, in the last call whose time is wanted
};

// How far an aggregator came that failed.
struct Failure {
  std::int32_t error = 0;    // errno; 0: it did not
  std::int64_t portion = 0;  // portions before this one are done
  std::int64_t offset = 0;   // and of this one what lies before this offset of the file
};

struct alignas(64) Buffer {
  WaitWord arrived;            // ranks that have filled it (or asked for their part), since the call began
  WaitWord served;             // times it was written (or read) since then
  WaitWord taken;              // ranks that have taken their part of what was read
  std::int64_t valid_end = 0;  // reading: nothing is known of the file from here on
};

struct alignas(64) Control {
  WaitWord gate;                       // arrivals of ranks at calls, ever
  WaitWord opened;                     // the call that all have arrived at
  WaitWord epoch;                      // changes when there is news for all
  WaitWord finished;                   // windows that are through, since the call began
  WaitWord cleaned;                    // windows that were taken back, since then
  std::atomic<std::uint32_t> done{0};  // the last call that is through
  Asked asked;
  std::uint64_t opened_ns = 0;               // when, by the node's clock
  std::atomic<std::int64_t> end_of_file{0};  // reading: the least offset at which the file was found to end
};

class NodeArena {
 public:
  NodeArena() = default;
  ~NodeArena();
  NodeArena(NodeArena&& other) noexcept;
  NodeArena& operator=(NodeArena&& other) noexcept;
  NodeArena(const NodeArena&) = delete;
  NodeArena& operator=(const NodeArena&) = delete;

  // Makes it, and a name by which the other ranks of the node find it. Room for windows is not taken yet: who never collects does
  // not pay for it. What else there is has its pages when this returns: a full /dev/shm is an error here (errno), not a signal
  // later. Returns 0 or an errno.
  static int create(const ArenaShape& shape, std::string& name, NodeArena& arena);
  static int attach(const ArenaShape& shape, const std::string& name, NodeArena& arena);
  // When all have attached: it vanishes with its last process.
  static void unlink(const std::string& name);

  // Takes room for the windows; by one rank of the node. 0 or an errno.
  int reserve();
  // When that has been done: this process has all pages at hand, and windows may be used. References to what is in the arena end.
  void populate();
  bool has_windows() const { return populated_; }

  explicit operator bool() const { return base_ != nullptr; }
  const ArenaShape& shape() const { return shape_; }

  Control& control() const;
  Slot& slot(std::uint32_t rank) const;
  // What the ranks of each node ask for in this call.
  FileRange& node_range(std::uint32_t node) const;
  Failure& failure(std::uint32_t window) const;
  Buffer& buffer(std::uint32_t window, std::uint32_t which) const;
  // Bits, one for a granule of the window.
  std::span<std::atomic<std::uint64_t>> coverage(std::uint32_t window, std::uint32_t which) const;
  std::byte* data(std::uint32_t window, std::uint32_t which) const;

 private:
  struct Places;
  static std::size_t size_of(const ArenaShape& shape);
  int map(int fd, const ArenaShape& shape);
  void let_go();

  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;  // until there are windows
  bool populated_ = false;
  ArenaShape shape_;
};

}  // namespace iez::collective
