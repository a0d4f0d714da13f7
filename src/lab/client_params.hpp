// The parameter tree of a client: osc.* and llite.*, as the captures of a real one show them.
//
// max_rpcs_in_flight (1 to 256) and max_dirty_mb may be written; what makes no sense is put back. As on Lustre, raising the first
// raises the second if need be, lowering it does not lower it.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "lab/config.hpp"
#include "lab/fs_client.hpp"
#include "lab/param_files.hpp"

namespace iez::lab {

class ClientParams {
 public:
  // Both must outlive it. client: the number of the mount, which stands where Lustre has an address.
  ClientParams(const Config& config, const std::string& node, std::uint64_t client, FsClient& files, const Clock& clock);

  // Reads what was written, and writes what changed. Once a second.
  void update();

 private:
  struct Osc {
    std::uint32_t rpcs_in_flight = 0;
    std::uint64_t dirty_mb = 0;
  };

  std::string osc(const std::string& home, std::uint32_t ost, const std::string& name) const;
  void take_settings(std::uint32_t ost);
  void put(const std::string& path, const std::string& text);
  std::string import_text(std::uint32_t ost) const;
  std::string rpc_stats_text(const OstTraffic& traffic) const;
  std::string stats_text() const;

  const Config config_;
  const std::string instance_;
  FsClient& files_;
  const Clock& clock_;
  const WallTime started_;
  ParamFiles params_;
  std::vector<Osc> oscs_;
};

}  // namespace iez::lab
