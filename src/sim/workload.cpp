#include "sim/workload.hpp"

namespace iez::sim {

Bytes bytes_per_process(const Job& job) { return {job.pattern.block.count * job.pattern.segments * job.pattern.files}; }

Bytes total_bytes(const Job& job) { return {bytes_per_process(job).count * job.processes}; }

Bytes file_bytes(const Job& job) {
  const std::uint64_t own = job.pattern.block.count * job.pattern.segments;
  return {job.pattern.mode == FileMode::shared ? own * job.processes : own};
}

}  // namespace iez::sim
