#include "coordinator/busy_gate.hpp"

#include <fmt/format.h>

namespace iez::coordinator {

std::string why_closed(const NodeLoad& load, const NodeLoad& limit) {
  const bool memory = limit.memory < 1 && load.memory >= BusyGate::kOpens * limit.memory;
  const bool cpu = limit.cpu < 1 && (!memory || load.cpu >= limit.cpu);
  return cpu ? fmt::format("CPU {:.0f} % (serve.cpu_limit {})", 100 * load.cpu, limit.cpu)
             : fmt::format("memory {:.0f} % (serve.memory_limit {})", 100 * load.memory, limit.memory);
}

}  // namespace iez::coordinator
