// What one agent knew at one moment, and its bytes on the wire: docs/formats/telemetry.md has every key.
//
// A sample is one CBOR map with small numbers as keys. Who reads it passes over keys it does not know, and takes the defaults
// below for keys that are not there: agents and coordinators of different versions understand each other. The bytes are not
// trusted: decode() looks at each length before it makes room for anything, and keeps to the limits of Limits.
//
// Thread safety: plain values, pure functions. Units: bytes; shares are 0 to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "lustre/cluster_reader.hpp"
#include "model/cluster.hpp"

namespace iez::telemetry {

inline constexpr std::uint64_t kSampleVersion = 1;

// What a node is; one may be several.
struct Roles {
  bool oss = false;
  bool mds = false;
  bool client = false;

  friend bool operator==(const Roles&, const Roles&) = default;
};
std::string to_string(Roles roles);  // "oss", "oss+mds"; "none"

// Of the node that the agent runs on.
struct HostLoad {
  std::optional<double> cpu;     // busy share of all cores since the sample before
  std::optional<double> memory;  // used share
  std::optional<double> load_1min;
  std::optional<unsigned> cores;

  friend bool operator==(const HostLoad&, const HostLoad&) = default;
};

struct OstSample {
  OstIndex index;
  std::uint32_t server = 0;  // index into FileSystemSample::servers
  Bytes total;
  Bytes free;
  Bytes available;
  model::OstState state;
  lustre::SpaceSource seen_by = lustre::SpaceSource::osc;
  // Since the target was started, as its server counts: only from a server.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint32_t> jobs;  // in its job_stats when the agent last looked, which may be minutes ago

  friend bool operator==(const OstSample&, const OstSample&) = default;
};

struct ServerSample {
  std::string name;  // host name, or the NID it was reached by
  HostLoad load;     // of a server that the agent itself can look at

  friend bool operator==(const ServerSample&, const ServerSample&) = default;
};

struct FileSystemSample {
  std::string name;
  std::string version;  // of Lustre; empty: not known
  std::vector<ServerSample> servers;
  std::vector<OstSample> osts;      // ascending by index
  std::vector<std::uint32_t> mdts;  // indices of those on this node

  friend bool operator==(const FileSystemSample&, const FileSystemSample&) = default;
};

struct Sample {
  std::string agent;  // its name: that of the host, or what the administrator chose
  Roles roles;
  std::uint64_t instance = 0;  // drawn when the agent started
  std::uint64_t sequence = 0;  // 1, 2, ...: every sample that was made, also those that never left
  WallTime sent;
  Duration interval{0};       // until the next one
  std::uint64_t dropped = 0;  // samples of this instance that never left, because nobody was there to take them
  std::uint64_t skipped = 0;  // parameters that could not be read this time
  bool last = false;          // the agent ends, on purpose
  HostLoad host;
  std::vector<FileSystemSample> file_systems;  // ascending by name

  friend bool operator==(const Sample&, const Sample&) = default;
};

// "lustre-OST000a"
std::string ost_name(std::string_view file_system, OstIndex index);

struct Limits {
  std::size_t bytes = std::size_t{4} << 20U;
  std::size_t name = 255;  // bytes of an agent's name
  std::size_t file_systems = 64;
  std::size_t osts = 20'000;     // of one sample
  std::size_t servers = 20'000;  // of one sample
  std::size_t mdts = 1'000;      // of one sample
};

[[nodiscard]] std::vector<std::byte> encode(const Sample& sample);

// Fails with Errc::parse for what is no sample, Errc::limit for one that is too large, Errc::unsupported for one of another major
// version. Every name is printable, every server index is in range, and OSTs ascend, each once.
[[nodiscard]] Result<Sample> decode(std::span<const std::byte> bytes, const Limits& limits = {});

// What the coordinator asks agents for: samples more often, for a while. A request is a lease: whoever wants more renews it.
struct RateRequest {
  Duration every{0};               // agents take at least 1 s
  Duration lasting{0};             // from its arrival on; agents take at most an hour
  std::vector<std::string> names;  // of the agents that are meant; empty: all

  friend bool operator==(const RateRequest&, const RateRequest&) = default;
};

[[nodiscard]] std::vector<std::byte> encode(const RateRequest& request);
[[nodiscard]] Result<RateRequest> decode_request(std::span<const std::byte> bytes);

}  // namespace iez::telemetry
