// A file system's storage targets and the servers behind them, as last seen.
//
// Thread safety: plain values. Units: bytes; fractions are 0 to 1.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace iez::model {

struct OstState {
  bool active = true;     // the MDS creates objects there
  bool degraded = false;  // rebuilding: slow, avoided by default allocation
  bool read_only = false;
  bool no_create = false;  // no new objects by order of the administrator

  friend bool operator==(const OstState&, const OstState&) = default;
};

struct Ost {
  OstIndex index;
  std::string name;     // "lustre-OST0003"
  std::size_t oss = 0;  // index into Cluster::servers
  Bytes total;
  Bytes free;       // includes what is reserved for root
  Bytes available;  // to ordinary users
  OstState state;
};

struct Oss {
  std::string name;                 // host name, or the NID it was reached by
  std::optional<double> cpu;        // busy share of all cores
  std::optional<double> memory;     // used share
  std::optional<double> load_1min;  // run queue length
  std::optional<unsigned> cores;
  std::optional<BytesPerSecond> bandwidth;  // what it can serve; none: as much as the others
};

// OSTs that an administrator grouped under a name.
struct Pool {
  std::string name;  // without the file system's: "flash"
  std::vector<OstIndex> osts;
};

struct Cluster {
  std::string name;  // of the file system
  std::vector<Oss> servers;
  std::vector<Ost> osts;  // ascending by index
  std::vector<Pool> pools;
};

Bytes used(const Ost& ost);          // total - free; 0 if the counters disagree
double utilisation(const Ost& ost);  // used / total; 0 for a target of no size
bool full(const Ost& ost);           // has a size, and nothing is available

struct OssUsage {
  Bytes total;
  Bytes used;
  Bytes available;
  std::size_t osts = 0;
};

OssUsage usage(const Cluster& cluster, std::size_t oss);
OssUsage usage(const Cluster& cluster);

// max utilisation / mean utilisation over targets (servers); 1 is ideal, and what an empty file system has. The mean is total
// used / total size, so that it does not depend on where the bytes are when targets differ in size.
double ost_cost(const Cluster& cluster);
double oss_cost(const Cluster& cluster);

}  // namespace iez::model
