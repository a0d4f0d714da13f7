// Client nodes and the processes on them: what they write or read, their cache and credits for each target, and how long they
// wait for a reply.
//
// A process makes its data at its own rate and hands it to the cache of its node for the target, as long as there is room. The
// node sends what the cache holds as fast as its credits allow, and a reply makes room. A process has finished when all of its
// data is acknowledged, as after an fsync. Reading works the same, with the cache as what is read ahead.
//
// Thread safety: none. The events start, produce, reply and time_out are to be handed to the functions of these names.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "sim/access_cursor.hpp"
#include "sim/events.hpp"
#include "sim/objects.hpp"
#include "sim/rpc_pool.hpp"
#include "sim/scenario.hpp"

namespace iez::sim {

class Clients {
 public:
  // The other side, and whoever watches.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Of a node that has sent nothing to this target so far.
    [[nodiscard]] virtual unsigned first_credits(std::uint32_t target) = 0;
    virtual void process_finished(std::uint32_t job) = 0;
  };

  Clients(const Scenario& scenario, ObjectTable objects, Events& events, RpcPool& rpcs, Listener& listener);

  // Puts the starts of all processes.
  void begin();

  // A process starts; its next piece is made. By the number of the process.
  void start(std::uint32_t number);
  void produce(std::uint32_t number);
  // A reply is there, by the number of the request. Gives the bytes that it acknowledges: 0 if the client had given up on it.
  std::uint64_t reply(std::uint32_t number);
  void time_out();

  // Processes of each job that do I/O.
  [[nodiscard]] std::vector<std::uint32_t> process_counts() const;
  [[nodiscard]] std::uint32_t clients_of(std::uint32_t target) const { return client_counts_[target]; }
  // Credits that the node of this request could use at once: what its cache holds or could hold.
  [[nodiscard]] unsigned wanted(std::uint32_t number);
  [[nodiscard]] std::uint64_t timeouts() const { return timeouts_; }

  // Hints: a reply to this import and process comes soon; then also what the record of the process leads to.
  void expect(std::uint32_t import, std::uint32_t process) const;
  void expect_object(std::uint32_t process) const;

 private:
  // One cache line.
  struct alignas(kCacheLine) Process {
    AccessCursor cursor;
    std::uint64_t place = 0;  // of the piece that is made, and waits for room: in its object
    std::uint32_t bytes = 0;  // of that piece: no more than a request
    std::uint32_t object = kNone;
    std::uint32_t import = kNone;  // to the target of that object; kNone: not looked up
    std::uint32_t job = 0;
    std::uint32_t node = 0;
    std::uint32_t pending = 0;  // requests cached or under way
    std::uint32_t next_blocked = kNone;
    bool read = false;      // what that piece is
    bool made_all = false;  // all there is, or all of a file that must be done before it goes on
  };

  // A node's connection to a target. One cache line.
  struct alignas(kCacheLine) Import {
    RpcQueue cached;
    std::uint64_t cached_bytes = 0;  // in the cache, and on the way
    std::uint32_t queued = 0;        // requests in the cache
    std::uint32_t node = 0;
    std::uint32_t target = 0;
    std::uint32_t client = 0;
    unsigned credits = 1;
    unsigned used = 0;
    Duration free{};                      // when it may send again
    std::uint32_t first_blocked = kNone;  // processes, in the order they came
    std::uint32_t last_blocked = kNone;
  };

  static_assert(sizeof(Process) == kCacheLine && sizeof(Import) == kCacheLine);

  struct JobState {
    AccessCursor::Shape shape;
    std::uint32_t processes = 0;  // that do the I/O
    double ns_per_byte = 0;       // at which a process makes data
    bool shared = false;
    std::uint32_t first_object = 0;
    Duration start{};
    bool barrier = false;
    std::vector<std::uint32_t> waiting;  // processes at the barrier
  };

  struct Deadline {
    Duration at{};
    std::uint32_t rpc = 0;
    std::uint32_t serial = 0;
  };

  void add_job(const Scenario& scenario, std::size_t number, std::uint32_t& first_node);
  [[nodiscard]] Duration opened(const Process& process, const JobState& job);
  void go_on(std::uint32_t number);
  void reach_barrier(std::uint32_t number);
  bool hand_over(std::uint32_t number);
  void make_piece(Process& process);
  void find_import(Process& process);
  void send(Import& import);
  void dispatch(std::uint32_t number, Import& import);
  void unblock(std::uint32_t import);
  [[nodiscard]] bool has_room(const Import& import, std::uint64_t bytes) const;
  void watch_deadlines();
  void finish_if_done(std::uint32_t number);

  const Scenario& scenario_;
  Events& events_;
  RpcPool& rpcs_;
  Listener& listener_;
  ObjectTable objects_;
  std::deque<Replay> replays_;  // stay where they are: jobs point to them
  std::vector<JobState> jobs_;
  std::vector<Process> processes_;
  std::vector<Duration> starts_;
  std::vector<Import> imports_;
  std::unordered_map<std::uint64_t, std::uint32_t> import_of_;  // node and target
  std::vector<std::uint32_t> client_counts_;                    // of each target
  std::vector<Duration> nic_free_;                              // of each node
  double nic_ns_per_byte_ = 0;
  double import_ns_per_byte_ = 0;
  Duration metadata_free_{};
  std::deque<Deadline> deadlines_;
  bool watching_ = false;  // an event is put for the first of them
  std::uint64_t timeouts_ = 0;
};

}  // namespace iez::sim
