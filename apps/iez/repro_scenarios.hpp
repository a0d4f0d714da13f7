// The scenarios of the reproduction, as values: the machines that come with the program (examples/machines), and what ran on
// them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/scenario.hpp"

namespace iez::cli {

inline constexpr double kMib = 1048576;  // the congestion study's MB is the size of its RPC
inline constexpr double kMb = 1e6;

// Other constants for the target of Tianhe-1. The three hang together: those of another turnaround are refitted.
struct TianheConstants {
  double transfer_ms = 0;  // of 1 MiB
  double positioning_ms = 0;
  double turnaround_s = 0;
};

// `total` over all clients; they start within 450 s for each 1024. One job; credits to be set.
sim::Scenario tianhe_clients(std::uint32_t clients, const std::optional<TianheConstants>& constants = std::nullopt);
sim::Scenario tianhe_fixed(unsigned credits, std::uint32_t clients,
                           const std::optional<TianheConstants>& constants = std::nullopt);
sim::Scenario tianhe_credits(unsigned bound_s, std::uint32_t clients,
                             const std::optional<TianheConstants>& constants = std::nullopt);

// One client, which writes `total` to a file of its own.
sim::Scenario tianhe_single(Bytes total);

// 1024 clients, one shared file over 32 servers, 512 MiB each, started within 10 s.
sim::Scenario tianhe_shared_file();

// 64 clients all the time; 960 more from kJumpAt on, until they have written 160 MiB each.
inline constexpr Duration kJumpAt = std::chrono::seconds(300);
inline constexpr Duration kJumpEnd = std::chrono::seconds(2400);
sim::Scenario tianhe_jump();

// Two jobs without end: 1000 clients, which start within 450 s, and 10.
sim::Scenario tianhe_two_jobs(Duration until);

// lscratchc and Cab.
inline constexpr double kExchangeMb = 476;   // of one collective writer, MB/s
inline constexpr double kRankPairUs = 29.2;  // PLFS: of each pair of ranks, microseconds; see repro_contention.cpp
sim::Scenario lscratchc_driver(std::uint32_t processes, std::uint32_t stripes, Bytes stripe_size, std::uint64_t seed);
sim::Scenario lscratchc_plfs(std::uint32_t processes, std::uint64_t seed);
sim::Scenario lscratchc_four_jobs(std::uint32_t stripes, std::uint64_t seed);

// The placement study's testbed: IOR, 64 processes, a file of 1 GiB each.
sim::Scenario testbed_ior(std::uint32_t stripes, bool read, const std::string& policy, std::uint64_t seed);

// FLASH-IO with small blocks on Jaguar: all processes for themselves, or through writers.
sim::Scenario jaguar_flash(std::uint32_t processes, bool collective);

}  // namespace iez::cli
