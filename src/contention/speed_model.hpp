// How fast a job writes on a shared file system, and what that costs the others: a small law with few, named parameters.
//
// Notation. D OSTs on S servers; an OST has w writers (streams of objects: a shared file has one on each of its OSTs, a file per
// process as many as files chose that OST). Sums run over the joint law of own and other writers of an OST (equations.hpp).
//
//   g(w)    = 1 / (1 + slope * max(0, w - (from - 1)))      what an OST still delivers: contention shows from `from` writers on
//   V(m)    = S * server_rate * min(m, 1 / (1 + spread_cost / sqrt(m)))     the servers, with m = stripes of all jobs per server
//             A few stripes at random leave servers unevenly loaded, and the busiest one sets the pace; its excess over the mean
//             falls with the square root of the mean.
//   clients = nodes * node rate
//   targets = sum over OSTs of ost_rate * g(w) * own share of the OST; writers share an OST equally, and what the others
//             do not want is left to us
//   servers = our fair share of V among jobs (max-min: who wants less leaves the rest) * mean g over own stripes
//             [* many_files_share for a file per process]
//   speed   = min(clients, targets, servers)
//
// The others' speed follows from the same law; their slowdown is that with us against that without.
//
// Limits. A mean-field law: no seeks, caches or stragglers beyond g and spread_cost. Servers are shared per job, not per stripe;
// a job that grabs more by sheer stripes is not modelled. Good for choosing between layouts, not for promising a speed: against
// the measurements that kLscratchc is fitted to, it is within 6 % (four jobs), 5 % (one job), 5 % (log-structured, 128 ranks up).
//
// Thread safety: pure functions, plain values. Units: bytes per second; shares are 0 to 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "contention/equations.hpp"
#include "contention/live.hpp"

namespace iez::contention {

struct Machine {
  std::uint32_t osts = 0;
  BytesPerSecond ost_rate;  // of one OST with one writer
  std::uint32_t servers = 0;
  BytesPerSecond server_rate;        // of one server
  BytesPerSecond node_rate;          // of one client node that writes to a shared file
  BytesPerSecond node_rate_files;    // of one client node whose processes write a file each
  std::uint32_t max_stripes = 2000;  // of one file
  Bytes rpc_size = Bytes::mib(4);    // the largest write request
  double contention_from = 3;        // writers of an OST
  double contention_slope = 0.27;    // 0: none
  double spread_cost = 1.6;          // 0: stripes are spread evenly over servers
  double many_files_share = 1;       // of the servers' rate that is left to a file per process
};

// The file system of the source: 480 OSTs, 32 servers, about 30 GB/s in theory, at most 160 stripes a file. Derivation:
// - ost_rate: best speed with 2 stripes, 395 MB/s, by 2.
// - node_rate: 8985.14 MB/s with 32 nodes, where neither targets nor servers limit, by 32.
// - node_rate_files: log-structured runs of 8 and 16 nodes: 3814.62 / 8 and 7126.88 / 16, about 460.
// - server_rate, spread_cost: fitted (least squares of logarithms, rounded) to the four jobs at 32 to 160 stripes and to
//   15,609 MB/s of one job at 160. 32 x 800 MB/s is below the theoretical 30 GB/s, as it should be.
// - contention_slope, many_files_share: fitted to the log-structured runs of 512 to 4,096 ranks (10,723 to 3,069 MB/s).
// Where it misses: the source loses 13.9 % from 160 to 64 stripes with four jobs, the law 8.7 %. The measured step from 128 to
// 160
// (+8.9 %) is larger than the two before (+3.4, +3.2), which no law with falling returns follows.
inline constexpr Machine kLscratchc{.osts = 480,
                                    .ost_rate = {197.5e6},
                                    .servers = 32,
                                    .server_rate = {800e6},
                                    .node_rate = {281e6},
                                    .node_rate_files = {460e6},
                                    .max_stripes = 160,
                                    .rpc_size = Bytes::mib(1),
                                    .contention_from = 3,
                                    .contention_slope = 0.27,
                                    .spread_cost = 1.6,
                                    .many_files_share = 0.69};

// What the other jobs do. Made by the functions below.
struct Load {
  std::uint64_t jobs = 0;
  std::vector<double> sharing;           // element k: OSTs that exactly k of their streams use; empty: all OSTs free
  std::optional<BytesPerSecond> demand;  // of all together; none: all they can get
};

// Expected, from what they asked for. Fails as expected_usage().
[[nodiscard]] Result<Load> load_of_requests(std::uint32_t osts, std::span<const std::uint32_t> requests,
                                            std::optional<BytesPerSecond> demand = std::nullopt);

// Measured, where only the sums are known: OSTs in use carry two neighbouring numbers of jobs, so that both sums are met.
// Fails unless 0 <= in_use <= osts and in_use <= requested <= in_use x jobs.
[[nodiscard]] Result<Load> load_of_usage(std::uint32_t osts, std::uint64_t jobs, double in_use, double requested,
                                         std::optional<BytesPerSecond> demand = std::nullopt);

// Measured, OST by OST. Their demand is taken to be what they move now. REQUIRES: the job to advise is not among them.
Load load_of(const LiveState& others);

enum class FileUse : std::uint8_t { shared, per_process };

struct JobShape {
  std::uint64_t ranks = 1;  // that write
  std::uint64_t nodes = 1;  // they run on
  FileUse files = FileUse::shared;
};

struct Prediction {
  BytesPerSecond speed;
  BytesPerSecond clients;  // the three limits; speed is the least
  BytesPerSecond targets;
  BytesPerSecond servers;
  Usage own;    // this job alone: a shared file has load 1
  Usage after;  // with everybody
  BytesPerSecond others_before;
  BytesPerSecond others_after;
  double slowdown = 0;  // of the others: 1 - after / before; 0 without others
};

// g(w). REQUIRES: a valid machine.
double ost_efficiency(const Machine& machine, double writers);

// Names the field that makes no sense.
[[nodiscard]] Result<void> validate(const Machine& machine);

// stripes: of the shared file, or of each process's file. Fails for a wrong machine, job, load (not of this machine) or count.
[[nodiscard]] Result<Prediction> predict(const Machine& machine, const Load& others, const JobShape& job, std::uint32_t stripes);

}  // namespace iez::contention
