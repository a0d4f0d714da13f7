// Collective reading and writing: data of all ranks goes through the windows of aggregators.
//
// On a node nothing is sent. The file is worked through in portions. In each, a rank copies its bytes right to their places in
// the windows, which lie in memory that the node shares; when all have, the owner of a window writes what is there, while the
// others fill its second buffer. A window whose aggregator is on another node is sent there by its owner.
//
// A call costs every rank one arrival and one wait: who has seen the last call guesses what all will ask for in this one (what
// they asked for then, moved as far as its own part has moved), fills the first portion by that guess and arrives. Who comes last
// looks whether all guessed right. If not, the windows are taken back and nothing is lost but time.
//
// Not every call is better collected. What is said of choices.hpp decides where calls begin; where the program left it open, the
// times of calls do (contest.hpp): each rank tells at its next arrival how long the last call took it, and the largest number
// counts. So all ranks go over to the other way at the same call. A call that is passed is done by the MPI, whose own time is
// then taken. Where clients have caches, what was read before is read the same way again (cached_reads.hpp). Windows are made,
// and the file is opened by aggregators, when the first call is collected; until then there is next to nothing to pay for.
//
// An aggregator that fails stops writing and goes on serving; at the end all ranks know what failed, and each how many of its
// bytes are in the file.
//
// Cost: each byte is copied once on its node; a call of n ranks, w windows and p portions takes n * w * p counter updates.
// Memory: that of the arena, and for several nodes one more window a rank.
//
// Thread safety: none; one call at a time. All ranks make the same calls in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/cached_reads.hpp"
#include "collective/choices.hpp"
#include "collective/contest.hpp"
#include "collective/data_map.hpp"
#include "collective/hints.hpp"
#include "collective/links.hpp"
#include "collective/node_arena.hpp"
#include "collective/stopwatch.hpp"
#include "collective/storage.hpp"
#include "collective/windows.hpp"

namespace iez::collective {

// Who stands for an aggregator on each node.
struct Aggregator {
  std::uint32_t home = 0;             // node it is on
  std::vector<std::uint32_t> owners;  // on each node: a rank of the communicator
  std::uint32_t owner_here = 0;       // the one on this node, as a rank of the node
};

struct Team {
  std::uint32_t rank = 0;   // on this node
  std::uint32_t ranks = 1;  // of this node
  std::uint32_t node = 0;
  std::uint32_t nodes = 1;
  std::vector<Aggregator> aggregators;
};

struct EngineOptions {
  // What decides whether a call is collected; null: every one is.
  const Hints* hints = nullptr;
  const FileLayout* layout = nullptr;
  // What is known of both ways, which learns of each call; null: the MPI's own is never tried.
  Contest* contest = nullptr;
  // Gives this rank what it reads and writes the file by, before the first call that is collected; an errno if it cannot, and
  // then nothing is collected at all. Null: it has been given already.
  std::function<int(Storage*&)> open_file = nullptr;
  std::int64_t alignment = 4096;  // divides the bounds of all chunks
  bool fill_holes = false;        // hint ds_in_coll: a window with holes is read, changed and written as a whole
};

// What a rank gives, or wants: bytes [begin, end) of its view, in memory from position 0 of its map on.
struct Part {
  const DataMap* view = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const DataMap* buffer = nullptr;
  std::byte* memory = nullptr;
  std::int32_t refusal = 0;   // not 0: the caller's arguments are bad, and how; then nothing else counts
  bool must_collect = false;  // never Verdict::independent, and passed only if nothing can be collected; the same on all ranks
  bool timed = true;          // if it is passed, the MPI is through with it when it returns; the same on all ranks
};

struct Outcome {
  Verdict verdict = Verdict::fresh;
  std::int32_t refusal = 0;  // verdict refused: the largest of all ranks
  int error = 0;             // errno of an aggregator; the same on all ranks
  std::int64_t bytes = 0;    // of this rank, that are in the file or were read
};

// What a rank has done. Trivially copyable, so that one rank can gather those of all.
struct Counters {
  std::uint64_t calls = 0;        // of these:
  std::uint64_t writes = 0;       // collected
  std::uint64_t reads = 0;        // collected
  std::uint64_t independent = 0;  // better not collected
  std::uint64_t aside = 0;        // better left to the MPI
  std::uint64_t compared = 0;     // of these and of those collected, that were on trial
  std::uint64_t unasked = 0;      // left to the MPI besides, without asking anybody
  std::uint64_t guessed = 0;      // collected, and needed one arrival only
  std::uint64_t portions = 0;
  std::uint64_t written = 0;    // bytes of all ranks that were given to collected writes
  std::uint64_t bytes = 0;      // of this rank, in collected calls
  std::uint64_t shared = 0;     // of these, to or from windows of other ranks
  std::uint64_t sent = 0;       // to other nodes
  std::uint64_t transfers = 0;  // reads and writes of the file
  std::uint64_t transferred = 0;
  std::uint64_t whole = 0;  // of the transfers: as much as one RPC takes, or as a chunk has at least where that is less
  std::uint64_t copy_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t send_ns = 0;
  std::uint64_t file_ns = 0;

  Counters& operator+=(const Counters& other);
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members stand by what they are for, and a file has one engine
class Engine {
 public:
  // `storage` may be null on a rank that is no aggregator. All outlive the engine.
  Engine(NodeArena& arena, const Windows& windows, Team team, Links& links, Storage* storage, EngineOptions options);

  Outcome write(const Part& part) { return run(part, true); }
  Outcome read(const Part& part) { return run(part, false); }
  // Whether the next call, a write or a read, goes to the MPI without asking: then it counts as made, and all ranks are told the
  // same.
  bool passes(bool write);
  // After Verdict::passed, when the MPI is through with the call.
  void passed_through();
  // The last time that was taken is told to all, who may need it for other files. Collective.
  void settle();
  // Takes memory for windows and opens the file; false if a rank cannot. Collective, if is_ready() does not hold.
  bool prepare();
  bool is_ready() const { return ready_; }
  // All ranks together: the largest of their numbers, none of which is negative.
  std::int32_t agree(std::int32_t number);

  const Counters& counters() const { return counters_; }
  // What all ranks together gave to the largest write that was collected; without bytes: none was.
  const Requests& largest_write() const { return largest_write_; }

 private:
  // The use of a window in a portion.
  struct Use {
    std::int64_t portion = 0;
    std::uint32_t window = 0;
    std::uint32_t which = 0;        // buffer
    std::uint32_t number = 0;       // of uses of that buffer before, in this call
    bool here = false;              // ranks of this node may have bytes in it
    std::uint32_t here_before = 0;  // of the uses before, those of which that was so
    std::int64_t bytes = 0;         // of its chunks
  };
  // How far a rank is; all ranks of a node count the same.
  struct Walk {
    std::vector<std::uint32_t> uses;     // of each window
    std::vector<std::uint32_t> counted;  // of each buffer: uses at which ranks count themselves in
    std::vector<std::uint32_t> here;     // of each buffer: uses by ranks of this node
  };

  // Whose time is wanted.
  struct Timed {
    CallKind kind;
    Way way = Way::collect;
    std::int64_t bytes = 0;
  };

  // engine.cpp: the course of a call
  Outcome run(const Part& part, bool write);
  void meet(const Part& part, bool write);
  void post(const Part& part);
  bool believe(const Slot& slot, bool write);
  bool guess(const Part& part, bool write);
  void arrive();
  Asked sum_up(bool& right) const;
  Requests requests_of(const Asked& asked) const;
  void decide(Asked& asked, bool right);
  void route(Asked& asked, bool timed) const;
  void remember_read();
  void forget_reads();
  void learn(std::uint64_t spent_ns);
  void begin_way();
  void count(const Part& part);
  void join_nodes();
  void publish(const Asked& asked);
  void clean();

  // engine_portions.cpp: portions of a call
  void write_portions(const Part& part, bool filled);
  void read_portions(const Part& part, bool asked);
  void finish();
  void join_failures();
  std::int64_t moved(const Part& part, bool write);
  PortionSpan portions_of(const Asked& asked) const;
  Walk fresh_walk() const;
  std::int64_t look_at(std::int64_t portion, std::uint32_t window);
  void keep(const Use& use, std::vector<Use>& mine) const;
  bool next_use(Walk& walk, std::int64_t portion, std::uint32_t window, Use& use);
  bool touches(const FileRange& range) const;

  // engine_windows.cpp: what is done with a window
  void deposit(const Part& part, const Use& use);
  void ask(const Part& part, const Use& use);
  void take(const Part& part, const Use& use);
  void count_in(Walk& walk, const Use& use);
  void serve_write(const Walk& walk, const Use& use);
  void serve_read(const Walk& walk, const Use& use);
  void await_ranks(const Walk& walk, const Use& use);
  void write_window(const Use& use);
  void read_window(const Use& use);
  bool fill_holes(const Use& use, const Chunk& chunk, std::int64_t at);
  void fail(const Use& use, std::int64_t offset, int error);

  // engine_nodes.cpp: windows of aggregators on other nodes
  bool sends(std::uint32_t node, std::uint32_t window) const;
  void collect(const Use& use);
  void pass_on(const Use& use);
  void answer(const Use& use);
  void fetch(const Use& use);
  std::int64_t covered(const Use& use, std::vector<FileRange>& runs) const;
  void send_runs(std::uint32_t peer, const Use& use);
  void receive_runs(std::uint32_t peer, const Use& use);

  template <typename Done>
  void wait(const WaitWord& word, Done done) {
    if (done()) return;
    const Stopwatch watch(counters_.wait_ns);
    word.wait_until(done, &links_);
  }

  NodeArena& arena_;
  const Windows& windows_;
  Team team_;
  Links& links_;
  Storage* storage_;
  EngineOptions options_;
  std::vector<std::uint32_t> owned_;
  std::uint32_t call_ = 0;

  // The last call, from which the next is guessed.
  Asked last_;
  Slot last_mine_;
  bool last_write_ = false;
  bool last_known_ = false;
  bool first_ = true;
  std::uint32_t distrust_ = 0;  // calls to go without a guess, after a wrong one

  // Of the two ways. The same on all ranks, but for what this one has spent.
  bool ready_ = false;                   // windows are there, and the file is open
  bool unable_ = false;                  // and never will be
  std::array<std::uint32_t, 2> free_{};  // reads and writes to go to the MPI without asking
  std::uint64_t seen_ = 0;               // calls so far
  CachedReads reads_;                    // where clients have caches
  std::int64_t passed_to_ = 0;           // where the last read that went to the MPI ended, if calls after it went unasked
  std::uint32_t passed_calls_ = 0;       // so many
  std::optional<Timed> timed_;           // the last call, if its time is wanted
  bool passing_ = false;                 // the MPI is at it
  std::uint64_t before_ns_ = 0;          // of this rank, before it arrived at the call
  std::uint64_t spent_ns_ = 0;

  // The call that is under way.
  bool now_write_ = false;
  Asked now_;
  FileRange mine_;
  std::vector<Chunk> chunks_;  // of the use that was looked at last, within what all ask for
  std::vector<std::byte> scratch_;
  std::vector<std::uint64_t> bits_;                 // of a window, as it was sent
  std::vector<std::vector<std::uint64_t>> wanted_;  // by each node, of a window that is read
  Counters counters_;
  Requests largest_write_;
};

}  // namespace iez::collective
