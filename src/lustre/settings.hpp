// Settings of a client that iez changes: how many requests each OSC may have in flight.
//
// Measured on Lustre: 1 to 256 is accepted and takes effect within two seconds. Raising max_rpcs_in_flight also raises
// max_dirty_mb, lowering it does not lower it again; so it is read before and put back after. On an MDS, osc.* also lists that
// server's own connections (-osc-MDT): they are never touched.
//
// Thread safety: none; one writer per node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "lustre/param_source.hpp"

namespace iez::lustre {

inline constexpr std::uint64_t kMinRpcsInFlight = 1;
inline constexpr std::uint64_t kMaxRpcsInFlight = 256;

struct RpcLimit {
  std::string device;  // "lustre-OST0000-osc-ffff888111310800"
  std::uint64_t max_rpcs_in_flight = 0;
  std::uint64_t max_dirty_mb = 0;
};

// Of every OSC of this client, ascending by device.
[[nodiscard]] Result<std::vector<RpcLimit>> read_rpc_limits(const ParamSource& source);

// Sets it, puts max_dirty_mb back, and returns what both then are. Fails, with what was there before restored as far as the
// kernel lets us, if the value is out of range, the device is unknown, or the kernel does not show the value it took.
[[nodiscard]] Result<RpcLimit> set_max_rpcs_in_flight(ParamSource& source, std::string_view device, std::uint64_t value);

}  // namespace iez::lustre
