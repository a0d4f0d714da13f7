// `iez advise`: how many stripes, and of which size, for a job that shares the file system with others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "command.hpp"
#include "contention/advice.hpp"
#include "model/cluster.hpp"

namespace iez::cli {

// What is assumed of a machine that nobody described. A file system of disks of about 2020; give the real rates where they count.
inline constexpr BytesPerSecond kAssumedOstRate{500e6};
inline constexpr BytesPerSecond kAssumedNodeRate{1e9};

inline constexpr std::string_view kLscratchcName = "lscratchc";  // the machine that is known by name

struct AdviseOptions {
  std::string cluster;  // TOML; "-": standard input
  std::string machine;  // by name
  SourceOptions source;
  std::optional<BytesPerSecond> ost_rate;
  std::optional<BytesPerSecond> server_rate;
  std::optional<BytesPerSecond> node_rate;
  std::optional<std::uint32_t> max_stripes;

  std::uint64_t ranks = 0;
  std::uint64_t ranks_per_node = 1;
  Bytes bytes;          // of all ranks
  bool shared = false;  // the default, said aloud
  bool per_process = false;
  std::optional<Bytes> transfer;
  std::optional<Bytes> block;
  std::string accept = "10%";
  std::string others;  // "160,160,160"
  std::optional<std::uint64_t> others_follow;
  std::optional<Bytes> min_bytes;  // of live jobs
  bool plot = false;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_advise(const AdviseOptions& options, Context& context);

struct AdviseMachine {
  std::string name;
  contention::Machine machine;
  std::string assumed;  // what was not told, for people; empty: nothing
};

// OSTs that take new objects, and the servers they are on. Server rate: the option, else the mean of the cluster's bandwidths,
// else as much as its OSTs. Fails if there is no such OST.
[[nodiscard]] Result<AdviseMachine> machine_of(const model::Cluster& cluster, bool servers_known, const AdviseOptions& options);

// By name: "lscratchc". Fails for another, with those that are known.
[[nodiscard]] Result<AdviseMachine> machine_named(const AdviseOptions& options);

}  // namespace iez::cli
