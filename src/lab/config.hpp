// What a lab is made of, and where its processes find each other: `lab.json` in its folder, written by `iez lab up`.
//
//   DIR/lab.json                this
//   DIR/mds/                    metadata (SQLite); DIR/mds.sock, DIR/mds.lock, DIR/mds.log
//   DIR/oss0/ost0000/ ...       objects of an OST; DIR/oss0.sock, .lock, .log
//   DIR/client0/                identity of a mount; DIR/client0.lock, .log, .sock (describe and stop)
//   DIR/mnt/client0/            the mount
//   DIR/params/mds/, oss0/ ...  parameter tree of each node: proc/fs/lustre/..., sys/fs/lustre/..., as a real one has it
//
// A process holds an exclusive flock() on its .lock file as long as it lives, with its pid in it.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::lab {

struct Config {
  std::string name = "iez";  // of the file system: OSTs are NAME-OST0000; at most 8 characters, as Lustre has it
  std::string dir;           // absolute; where lab.json is
  std::uint32_t oss_count = 3;
  std::uint32_t osts_per_oss = 5;
  std::uint32_t clients = 1;
  Bytes ost_size = Bytes::gib(1);
  BytesPerSecond rate;         // of one OST; 0: as fast as the host
  Duration seek{};             // between two requests that are not neighbours
  std::uint32_t threads = 16;  // of one OST: requests in service at once
  Bytes rpc_size = Bytes::mib(1);
  std::uint32_t rpcs_in_flight = 8;
  Bytes dirty = Bytes::mib(8);  // per client and OST
  std::uint16_t stripe_count = 1;
  Bytes stripe_size = Bytes::mib(1);
  std::string law = "none";  // congestion: none, cc, goal
  Duration law_goal{};       // latency that cc and goal steer to
  std::string job_variable;  // environment variable with the job's id; empty: program name and uid
  std::uint64_t seed = 0;    // of the round robin's draws

  std::uint32_t ost_count() const { return oss_count * osts_per_oss; }
  std::uint32_t oss_of(std::uint32_t ost) const { return ost / osts_per_oss; }
};

// OST i is on OSS i / osts_per_oss. Errors name the field and the file.
[[nodiscard]] Result<Config> load_config(const std::string& dir);
[[nodiscard]] Result<void> save_config(const Config& config);  // atomically
[[nodiscard]] Result<void> check(const Config& config);

std::string socket_path(const Config& config, const std::string& node);  // "mds", "oss0", "client0"
std::string lock_path(const Config& config, const std::string& node);
std::string params_root(const Config& config, const std::string& node);

}  // namespace iez::lab
