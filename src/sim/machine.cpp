#include "sim/machine.hpp"

namespace iez::sim {

std::uint32_t server_count(const Machine& machine) {
  std::uint32_t count = 0;
  for (const ServerGroup& group : machine.servers) count += group.count;
  return count;
}

std::uint32_t target_count(const Machine& machine) {
  std::uint32_t count = 0;
  for (const ServerGroup& group : machine.servers) count += group.count * group.targets;
  return count;
}

}  // namespace iez::sim
