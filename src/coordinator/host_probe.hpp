// How busy this node is, from /proc: the share of its cores since the last look, and of its memory.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>

#include "coordinator/service.hpp"
#include "lustre/host_load.hpp"

namespace iez::coordinator {

class HostProbe {
 public:
  explicit HostProbe(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // What cannot be read is 0: a gate that cannot see stays open.
  NodeLoad look();

 private:
  std::string proc_;
  std::optional<lustre::CpuTimes> before_;
};

}  // namespace iez::coordinator
