// The samples of many agents, made into one view: which agents live, and what is known of every OST.
//
// A state machine without input or output: it is fed with bytes and the time, and asked with the time.
//
// Agents. A sample is new, a duplicate, or late (an older one arrives after a newer one: it fills the gap that was counted, and
// changes nothing else). Numbers are compared in a window of 64; what is older than the window counts as stale_samples and fills
// no gap. Another instance number is a restart; what still arrives of the instance before it is refused, unless the new one has
// fallen silent. An agent is
//   live   while its next sample is less than 1.5 intervals overdue (2.5 intervals and a second after the last)
//   late   after that
//   dead   10 intervals or 10 minutes after the last one, whichever is longer
//   left   since it said goodbye
// Its clock is off by the median of (received - sent) over the last 15 samples; the time on the way is part of that.
//
// Who is believed about an OST: obdfilter (its server) before osp (an MDS) before osc (a client); of equals, the newest. A claim
// is stale when its agent's next sample is overdue as above; a fresh claim of a lower kind is better than a stale one of a higher
// kind. An OST of which all claims are stale stays in the view with what was last known, and is listed as stale: to be planned
// around, not forgotten. Nothing that an agent says at a lower trust changes what a higher one says while that is fresh. Two
// agents that both claim to be an OST's server: the newest has it, and takeovers counts (a failover, or somebody who lies).
// The state (degraded, read-only, ...) of an OST is that of the believed claim, with `active` and `no_create` of a fresh osp
// claim in addition: only the MDS knows those.
//
// Servers. An OST that its server speaks for is on the host that the server names. Through osp or osc only a NID is known; if
// another OST behind that NID has a server that speaks, it is that host.
//
// Memory: bounded by Options, whatever is fed. Agents that are dead longest give way to new ones.
// Complexity: feed is O(n log N) in the OSTs n of the sample and N of all; view is O(N log N).
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "lustre/cluster_reader.hpp"
#include "model/cluster.hpp"
#include "telemetry/sample.hpp"

namespace iez::telemetry {

// Ages are told by `monotonic`, skews by `wall`.
struct Moment {
  Duration monotonic{0};
  WallTime wall;
};
Moment now(const Clock& clock);

enum class AgentState : std::uint8_t { live, late, dead, left };
std::string_view to_string(AgentState state);

struct AgentInfo {
  std::string name;
  Roles roles;
  AgentState state = AgentState::live;
  std::uint64_t instance = 0;
  std::uint64_t sequence = 0;  // the highest seen
  Duration interval{0};        // as it said last
  Duration age{0};             // of the last sample, since it arrived
  std::optional<Duration> skew;
  std::uint64_t samples = 0;  // taken, each once
  std::uint64_t missing = 0;  // numbers that never arrived
  std::uint64_t duplicates = 0;
  std::uint64_t reordered = 0;      // arrived late and filled a gap
  std::uint64_t stale_samples = 0;  // arrived too late to tell
  std::uint64_t restarts = 0;
  std::uint64_t refused = 0;  // of a retired instance: two agents of one name?
  std::uint64_t dropped = 0;  // by the agent itself, as it told
  std::uint64_t skipped = 0;  // parameters that it could not read, in its last sample
  std::size_t targets = 0;    // OSTs in its last sample
  HostLoad host;
};

struct OstInfo {
  lustre::SpaceSource seen_by{};
  std::string agent;  // who told
  Duration age{0};    // since that arrived
  bool stale = false;
  std::uint32_t takeovers = 0;
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::optional<std::uint32_t> jobs;
};

struct FileSystemView {
  model::Cluster cluster;       // with the stale targets
  std::vector<OstInfo> osts;    // one for each of cluster.osts
  std::vector<OstIndex> stale;  // ascending
  std::string version;
  bool servers_known = true;  // false: the server of an OST cannot be told, and sums by server mean nothing
};

struct View {
  std::vector<FileSystemView> file_systems;  // ascending by name
};

enum class Outcome : std::uint8_t {
  taken,      // the newest of its agent
  reordered,  // older than one that is known
  duplicate,
  stale,      // too old to tell
  malformed,  // no sample
  forged,     // the key does not belong to the agent it names
  retired,    // of an instance that another one has replaced
  refused,    // no room for another agent
};
inline constexpr std::size_t kOutcomes = 8;
std::string_view to_string(Outcome outcome);

struct CollectorCounters {
  std::uint64_t outcomes[kOutcomes] = {};  // NOLINT(*-avoid-c-arrays): a plain table by Outcome
  std::uint64_t targets_refused = 0;       // no room for another OST or server
  std::uint64_t takeovers = 0;
  std::uint64_t evicted = 0;  // dead agents that gave way

  std::uint64_t of(Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
};

class Collector {
 public:
  struct Options {
    std::size_t max_agents = 20'000;
    std::size_t max_osts = 50'000;  // of all file systems
    std::size_t max_servers = 20'000;
    std::size_t max_file_systems = 64;
    Duration forget_osts{std::chrono::hours{7 * 24}};  // of which nothing was heard for so long
    Limits sample;
  };

  Collector() : Collector(Options{}) {}
  explicit Collector(const Options& options);
  ~Collector();
  Collector(Collector&&) noexcept;
  Collector& operator=(Collector&&) noexcept;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // sender: the agent that the key of the connection belongs to (Subscriber tells); empty where there are no keys, or where
  // several agents share one. Once an agent has spoken with a key of its own, nobody else speaks in its name.
  // REQUIRES: at.monotonic never goes back, over all calls.
  Outcome feed(std::span<const std::byte> bytes, Moment at, std::string_view sender = {});
  Outcome feed(const Sample& sample, Moment at, std::string_view sender = {});

  View view(Moment at) const;
  std::vector<AgentInfo> agents(Moment at) const;  // ascending by name
  const CollectorCounters& counters() const;
  std::uint64_t revision() const;  // grows with every sample that changes the view

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::telemetry
