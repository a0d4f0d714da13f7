// The storage targets as a placement policy sees them: who may take new objects, how full each is, which server it hangs on.
//
// Made once from a cluster's state, then read by every policy. Targets are known by their position in the table (0, 1, ...),
// which is the order of their OST indices; only the edge of the module speaks of OST indices.
//
// Thread safety: plain values. Units: bytes; shares are 0 to 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/cluster.hpp"

namespace iez::placement {

// Why a target takes no new objects.
enum class Exclusion : std::uint8_t {
  none,
  inactive,   // the MDS does not create objects there
  read_only,  //
  no_create,  // by order of the administrator
  full,       // nothing is available, or all that is has been reserved
  no_size,    // its capacity is unknown or zero
  excluded,   // the caller said so
};
std::string_view to_string(Exclusion exclusion);

struct Target {
  OstIndex ost;
  std::uint32_t server = 0;  // position in TargetTable::servers
  Bytes capacity;
  Bytes used;       // written, and reserved by others
  Bytes available;  // to new objects: what the target offers less what others have reserved
  Bytes reserved;   // of `used`: about to be written by others
  bool degraded = false;
  bool busy = false;  // its server is over a limit of CPU or memory
  Exclusion exclusion = Exclusion::none;

  // Taken only when the others do not suffice.
  bool second_choice() const { return degraded || busy; }
};

struct Server {
  std::string name;
  double share = 0;              // of all servers' bandwidth, lessened by their CPU and memory load; the shares sum to 1
  std::optional<double> load;    // cpu and memory, weighted; none: unknown
  bool bandwidth_known = false;  // the share is by what it can serve, not assumed
};

struct TargetPool {
  std::string name;
  std::vector<std::uint32_t> members;  // positions, ascending
};

inline constexpr std::uint32_t kAnyPool = 0;  // pools[0] is every target, and has no name

struct TargetTable {
  std::vector<Target> targets;  // ascending by OST index
  std::vector<Server> servers;
  std::vector<TargetPool> pools;

  std::optional<std::uint32_t> find_pool(std::string_view name) const;  // "" is kAnyPool

  // Element i is the position of OST i; meaningless where there is none.
  std::vector<std::uint32_t> positions() const;
};

struct Reservation {
  OstIndex ost;
  Bytes bytes;
};

struct TargetOptions {
  std::vector<OstIndex> excluded;
  std::vector<Reservation> reservations;  // of other applications; several for one OST add up
  double cpu_limit = 0.95;                // the targets of a server above it are second choice
  double memory_limit = 0.98;
  double cpu_weight = 0.5;  // of the load that lessens a server's share
  double memory_weight = 0.5;
};

inline constexpr std::uint32_t kMaxOstIndex = 999'999;  // far beyond what Lustre has

// Fails for an OST index that occurs twice or is absurd, a server that is not there, a pool with an unknown OST, an excluded or
// reserved OST that is unknown, or a limit that is no share.
[[nodiscard]] Result<TargetTable> make_targets(const model::Cluster& cluster, const TargetOptions& options);

// Members of the pool that take objects: the first choice, and what is taken when that is not enough.
struct Usable {
  std::vector<std::uint32_t> sound;
  std::vector<std::uint32_t> second;  // degraded, or on a busy server
};
Usable usable(const TargetTable& table, std::uint32_t pool);

// How even the targets are after `added[j]` more bytes on target j. Mean utilisation is total used / total capacity, over all
// targets with a size, taking objects or not.
struct Balance {
  double max_utilisation = 0;
  double mean_utilisation = 0;
  double ost_cost = 1;  // max / mean; 1 when empty
  double oss_cost = 1;
};
Balance balance(const TargetTable& table, std::span<const Bytes> added);

}  // namespace iez::placement
