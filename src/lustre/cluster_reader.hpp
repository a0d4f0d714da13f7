// From parameters to model::Cluster: every OST that the given sources know of, once, with the server behind it.
//
// Who is believed about an OST's space, best first:
//   obdfilter   the server that has it: exact and free of side effects
//   osp         an MDS, which polls every OST; a few seconds old
//   osc         a client; reading wakes an idle connection, so it comes last
// A server seen only through osp or osc is named by the NID it answers at. Two sources of one server (a capture taken twice) are
// two servers: give each server once.
//
// Thread safety: pure but for reading the sources.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "lustre/host_load.hpp"
#include "lustre/param_source.hpp"
#include "lustre/version.hpp"
#include "model/cluster.hpp"

namespace iez::lustre {

struct HostState {
  std::string name;                   // the host's own, or the source's
  std::optional<Version> version;     // of Lustre
  std::optional<std::string> health;  // "healthy", or what is wrong
  std::optional<CpuLoad> cpu;         // since boot: two of them make a load
  std::optional<MemoryLoad> memory;
  std::optional<LoadAverage> load;
};

// Whatever of it can be read.
HostState read_host(const ParamSource& source, input::ParseReport& report);

enum class SpaceSource { obdfilter, osp, osc };
std::string_view to_string(SpaceSource source);

struct ClusterView {
  model::Cluster cluster;
  std::vector<SpaceSource> seen_by;    // one for each of cluster.osts
  std::optional<std::string> version;  // of Lustre on the first source that tells
  bool servers_known = true;           // false: an OST's server cannot be told, and sums by server mean nothing
};

struct ClusterReading {
  std::vector<ClusterView> file_systems;  // ascending by name
  std::vector<HostState> hosts;           // one for each source
};

// earlier: the hosts of the reading before this one, for CPU shares; empty the first time, and then there are none.
// A target that cannot be read (unmounted meanwhile, hostile) is left out and counted in report.
[[nodiscard]] Result<ClusterReading> read_clusters(std::span<const std::unique_ptr<ParamSource>> sources,
                                                   std::span<const HostState> earlier, input::ParseReport& report);

}  // namespace iez::lustre
