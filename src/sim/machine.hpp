// The constants of a simulated machine: what its clients, network, servers and targets can do.
//
// Thread safety: plain values. A rate of 0 means without limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace iez::sim {

struct ClientModel {
  std::uint32_t processes_per_node = 1;
  BytesPerSecond process_rate;  // at which one process hands out or takes in data
  BytesPerSecond nic_rate;      // of a node
  BytesPerSecond import_rate;   // of a node to one target
  Bytes rpc_size = Bytes::mib(1);
  Bytes cache = Bytes::mib(32);  // dirty data of a node for one target, and what it reads ahead
};

struct NetworkModel {
  Duration latency{};  // of a message, one way, with an idle server
  // Of a reply and the request that follows: uniform from 0 up to this when all threads of the server are busy, less in
  // proportion when fewer are.
  Duration turnaround{};
};

struct ServerModel {
  std::uint32_t threads = 128;
  BytesPerSecond nic_rate;
  Duration cpu_per_rpc{};  // of one core
  std::uint32_t cores = 8;
};

struct TargetModel {
  BytesPerSecond write_rate;
  BytesPerSecond read_rate;  // 0: as for writing
  Duration positioning{};    // before a request that does not continue where the one before ended
  // A request that waits for longer is taken out of turn, so that a stream without end does not starve others.
  Duration patience = std::chrono::seconds(5);
  Bytes capacity;  // 0: without limit
};

struct LockModel {
  Duration enqueue{};     // of every request to an object that more than one node writes
  Duration revocation{};  // of the first request of another node to an object that one had for itself
};

struct MetadataModel {
  Duration create{};  // of a file, by one thread
  Duration open{};    // of a file that exists
  std::uint32_t threads = 16;
};

// A server and the targets behind it; several alike.
struct ServerGroup {
  std::uint32_t count = 1;
  std::uint32_t targets = 1;  // of each
  ServerModel server;
  TargetModel target;
};

struct Machine {
  std::string name;
  std::uint32_t nodes = 1;  // clients
  ClientModel client;
  NetworkModel network;
  std::vector<ServerGroup> servers;  // targets are numbered through them in order
  LockModel locks;
  MetadataModel metadata;
  std::optional<Duration> timeout;  // of a request; none: clients wait for ever
};

std::uint32_t server_count(const Machine& machine);
std::uint32_t target_count(const Machine& machine);

}  // namespace iez::sim
