// The way of requests through one OST in modelled time: gates of the clients, the queue, the disks, and the law of credits.
//
// Problem: an OST with a rate takes time for what it stores, and clients wait for it as they would for a real one. Nothing here
// touches data: the caller stores at once and asks when the disks would have.
//
// Time is what the caller says, and does not go back. A request that a finished one lets in arrives at the end of that one,
// however late the caller looks: lateness does not add up (disk_model.hpp).
//
// Clients and jobs are small numbers that the caller deals out, from 0 on.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "congestion/credit_policy.hpp"
#include "lab/client_gate.hpp"
#include "lab/disk_model.hpp"

namespace iez::lab {

class OstQueue {
 public:
  struct Options {
    DiskOptions disk;
    Bytes rpc_size = Bytes::mib(1);
    unsigned rpcs_in_flight = 8;  // of clients that said nothing else
  };
  struct Finished {
    std::uint32_t client = 0;
    ClientGate::Rpc rpc;
    Duration start{};  // on the disks
    Duration end{};
  };

  // law: none for fixed limits. With one, its credits take the place of the clients' own limits.
  OstQueue(const Options& options, std::unique_ptr<congestion::CreditPolicy> law);

  void set_limit(std::uint32_t client, unsigned rpcs_in_flight);

  // REQUIRES: start < end.
  void write(std::uint32_t client, std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint32_t job, Duration now);
  // Gives the number of requests that it takes, each of which finishes with `tag`.
  std::size_t read(std::uint32_t client, std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint64_t tag,
                   std::uint32_t job, Duration now);

  // The object is gone: what waits in the gates for it goes too.
  void discard(std::uint64_t object);
  // The client lives, though it may do nothing. Some laws forget idle clients only then.
  void ping(std::uint32_t client, Duration now);

  // What has finished by `now` and was not given before, in order of its end.
  std::vector<Finished> advance(Duration now);
  // When to call advance() again, as of the last call of write(), read() or advance(); nothing if all is idle.
  [[nodiscard]] std::optional<Duration> next() const { return disk_.next(); }

  [[nodiscard]] const ClientGate& gate(std::uint32_t client);
  // Some client's writes of the whole range are still on their way: it need not come from the disks.
  [[nodiscard]] bool holds(std::uint64_t object, std::uint64_t start, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t waiting() const;  // in the gates
  [[nodiscard]] DiskModel& disk() { return disk_; }
  [[nodiscard]] const DiskModel& disk() const { return disk_; }

 private:
  struct Sent {
    std::uint32_t client = 0;
    ClientGate::Rpc rpc;
    Duration arrived{};
  };
  ClientGate& gate_of(std::uint32_t client);
  void send(std::uint32_t client, Duration when);
  void settle(Duration now);

  Options options_;
  std::unique_ptr<congestion::CreditPolicy> law_;
  DiskModel disk_;
  std::map<std::uint32_t, ClientGate> gates_;
  std::unordered_map<std::uint64_t, Sent> sent_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  std::vector<Finished> finished_;
};

}  // namespace iez::lab
