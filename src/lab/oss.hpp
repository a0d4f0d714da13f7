// An object storage server of a lab: stores objects of its OSTs, lets requests take the time that their disks would, and grants
// extent locks.
//
// Data is kept when it arrives: an answered write survives kill -9. Every operation may be repeated, so a client that lost an
// answer asks again. A request that is under way is known by its client's number; the same one again waits for the same answer,
// on whichever connection the client has then.
//
// With a rate, answers wait: reads for the disks, writes while the client has more than its dirty bytes on the way, sync for all
// of them. With rate 0 all are answered at once.
//
// Faults live as long as the process: `slow` (needs a rate), `full`, `drop` (requests and answers, half and half), `off`.
//
// A client whose connection is lost for 5 s while somebody waits for its locks loses them, and so does one that keeps a lock for
// 20 s after it was asked back; that one is disconnected too. A client that starts anew has nothing left.
//
// Thread safety: one thread; only stop() may be called from others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "lab/config.hpp"
#include "lab/job_counters.hpp"
#include "lab/lock_table.hpp"
#include "lab/object_store.hpp"
#include "lab/ost_queue.hpp"
#include "lab/param_files.hpp"
#include "lab/server_loop.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class Oss final : public ServerHandler {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Oss>> create(const Config& config, std::uint32_t index, Logger& log);
  ~Oss() override;

  [[nodiscard]] Result<void> run();  // until it is told to stop
  void stop();                       // from any thread

  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) override;
  void closed(ConnectionId connection) override;

 private:
  // A request that has no answer yet.
  struct Pending {
    Op op{};
    Duration since{};
    bool is_muted = false;      // its answer gets lost: a fault
    std::size_t remaining = 0;  // what a sync or a read still waits for
    std::uint32_t ost = 0;      // of the first object
    std::string job;
    ReadRequest read;
  };
  struct Client {
    std::uint64_t id = 0;
    std::uint64_t session = 0;
    std::string node;
    bool is_anonymous = false;  // spoke without `connect`: goes with its connection
    ConnectionId connection = 0;
    Duration lost_at{};
    std::uint32_t index = 0;  // for queues
    std::uint32_t rpcs_in_flight = 8;
    std::vector<std::uint64_t> dirty_bytes;  // of each OST
    std::unordered_map<std::uint64_t, Pending> pending;
  };
  struct HeldWrite {
    std::uint64_t number = 0;
    std::uint64_t brought = 0;  // by the client to this OST, with this write
  };
  struct Sync {
    std::uint32_t client = 0;
    std::uint64_t number = 0;
    std::uint64_t object = 0;
    std::uint64_t mark = 0;
  };
  struct Ost {
    explicit Ost(ObjectStore the_store) : store(std::move(the_store)), jobs(ost_job_operations()) {}

    std::uint32_t index = 0;  // of the file system
    std::string name;         // iez-OST0003
    ObjectStore store;
    std::unique_ptr<OstQueue> queue;  // with a rate
    std::optional<ServerLoop::TimerId> timer;
    Duration timer_at{};
    std::map<std::uint32_t, std::deque<HeldWrite>> held;  // by client
    std::vector<Sync> syncs;
    OperationCounters counters;
    WallTime shown;                                    // the last count that the parameter tree has
    std::map<std::string, OperationCounters> exports;  // by node
    JobCounters jobs;
    double speed = 1;
    bool is_full = false;
    bool is_off = false;
  };
  struct Read {
    std::uint32_t client = 0;
    std::uint64_t session = 0;
    std::uint64_t number = 0;
  };

  Oss(const Config& config, std::uint32_t index, Logger& log);
  [[nodiscard]] Result<void> prepare();

  // Connections and requests (oss.cpp).
  void connect(ConnectionId from, std::uint64_t number, FrameReader& reader);
  Client& client_of(ConnectionId connection);
  Client* client_by_id(std::uint64_t id);
  void forget(Client& client);
  void serve(Client& client, Op op, std::uint64_t number, FrameReader& reader);
  bool serve_anybody(ConnectionId from, Op op, std::uint64_t number, FrameReader& reader);
  int inject(const FaultRequest& fault);
  std::string describe() const;
  template <typename Message>
  void answer(Client& client, std::uint64_t number, int error, const Message& message, std::span<const std::byte> data = {});
  void refuse(Client& client, std::uint64_t number, int error);
  void tick();
  void look_after_clients();

  // Data (oss_data.cpp).
  Ost* ost(std::uint32_t index);
  void write(Client& client, std::uint64_t number, FrameReader& reader);
  void read(Client& client, std::uint64_t number, FrameReader& reader);
  void sync(Client& client, std::uint64_t number, FrameReader& reader);
  void glimpse(Client& client, std::uint64_t number, FrameReader& reader);
  void punch(Client& client, std::uint64_t number, FrameReader& reader);
  void destroy(Client& client, std::uint64_t number, FrameReader& reader);
  void space(Client& client, std::uint64_t number);
  void limits(Client& client, std::uint64_t number, FrameReader& reader);
  void finish_read(Client& client, std::uint64_t number);
  void pump(Ost& ost);
  void answer_held(Ost& ost);
  void answer_syncs(Ost& ost);
  void sync_done(Client& client, std::uint64_t number);
  void set_limits(Client& client, std::uint32_t rpcs_in_flight);
  unsigned credits(Ost& ost, const Client& client);
  std::uint32_t job_number(const std::string& job);
  void count(Ost& ost, const Client& client, const std::string& job, model::Operation operation, std::uint64_t value);
  std::uint64_t microseconds_since(Duration since) const;

  // Locks (oss_data.cpp).
  void send_lock_messages();
  void evict_overdue();

  // Parameters (oss_params.cpp).
  void write_params(Ost& ost);

  Config config_;
  std::uint32_t index_;
  std::string node_;
  Logger& log_;
  SystemClock clock_;
  Rng rng_;
  std::uint64_t boot_;
  WallTime started_;
  std::unique_ptr<ServerLoop> loop_;
  std::vector<std::unique_ptr<Ost>> osts_;
  std::map<std::uint64_t, std::unique_ptr<Client>> clients_;  // by id
  std::unordered_map<ConnectionId, std::uint64_t> client_of_connection_;
  std::vector<std::uint64_t> client_ids_;  // by index
  std::unordered_map<std::string, std::uint32_t> job_numbers_;
  std::unordered_map<std::uint64_t, Read> reads_;  // by tag
  std::uint64_t next_tag_ = 1;
  LockTable locks_;
  ParamFiles params_;
  double drop_share_ = 0;
  std::size_t next_shown_ = 0;  // OST whose parameters are due
  Duration pinged_{};           // for the laws
};

template <typename Message>
void Oss::answer(Client& client, std::uint64_t number, int error, const Message& message, std::span<const std::byte> data) {
  const auto pending = client.pending.find(number);
  if (pending == client.pending.end()) return;
  if (!pending->second.is_muted && client.connection != 0) {
    loop_->send(client.connection, answer_frame(pending->second.op, number, error, message, data));
  }
  client.pending.erase(pending);
}

// Serves OSS `index` of the lab in config.dir until SIGTERM, SIGINT or a stop request.
[[nodiscard]] Result<void> serve_oss(const Config& config, std::uint32_t index, Logger& log);

}  // namespace iez::lab
