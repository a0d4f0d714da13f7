// A cluster described by hand, in TOML: for planning without a file system at hand, and for machines that are yet to be bought.
//
//     name = "testbed"
//     [[server]]                # three servers: oss0, oss1, oss2
//     count = 3
//     osts = 5                  # of each: OSTs 0-4, 5-9, 10-14
//     ost_size = "10GiB"
//     [[ost]]                   # one OST that differs
//     index = 7
//     used = "35 %"
//     state = ["degraded"]
//     [pools]
//     flash = "0-4,7"
//
// docs/formats/cluster.md tells every key. A message names the file, the line and the key, what was found and what is expected.
//
// Thread safety: pure functions. Memory: a constant times the length of the text; all counts are limited as below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/cluster.hpp"

namespace iez::config {

inline constexpr std::size_t kMaxClusterText = std::size_t{64} << 20U;  // bytes
inline constexpr std::size_t kMaxServers = 100'000;
inline constexpr std::size_t kMaxOsts = 100'000;
inline constexpr std::uint32_t kMaxOstIndex = 999'999;
inline constexpr std::size_t kMaxPools = 10'000;
inline constexpr std::size_t kMaxPoolMembers = 10'000'000;  // of all pools
inline constexpr std::size_t kMaxNameLength = 255;          // bytes, of a file system, server or OST

// file_name is for messages only. OSTs come ascending by index, pools ascending by name, their members ascending.
[[nodiscard]] Result<model::Cluster> parse_cluster(std::string_view text, std::string_view file_name);

// The inverse: parse_cluster() of it gives an equal cluster, for every cluster that parse_cluster() can give.
// For another one, free and available space are cut to the size, a value that is no number is left out, and names are made
// printable; names that are empty or occur twice are written as they are, and will be refused.
// REQUIRES: every Ost::oss is an index into servers.
std::string to_toml(const model::Cluster& cluster);

}  // namespace iez::config
