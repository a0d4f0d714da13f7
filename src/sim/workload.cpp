#include "sim/workload.hpp"

#include <algorithm>

namespace iez::sim {

Bytes bytes_per_process(const Job& job) { return {job.pattern.block.count * job.pattern.segments * job.pattern.files}; }

Bytes total_bytes(const Job& job) {
  if (!is_replay(job)) return {bytes_per_process(job).count * job.processes};
  Bytes sum;
  for (const ReplayedFile& file : job.files) sum += file.written.bytes + file.read.bytes;
  return sum;
}

std::uint64_t file_count(const Job& job) {
  if (is_replay(job)) return job.files.size();
  return job.pattern.mode == FileMode::shared ? job.pattern.files : std::uint64_t{job.pattern.files} * job.processes;
}

std::uint64_t object_count(const Job& job) {
  std::uint64_t sum = 0;
  if (is_replay(job)) {
    for (const ReplayedFile& file : job.files) sum = saturating_add(sum, file.striping.count);
    return sum;
  }
  const std::uint64_t files = file_count(job);
  const std::uint64_t stripes = job.striping.count;
  return stripes > 0 && files > ~std::uint64_t{0} / stripes ? ~std::uint64_t{0} : files * stripes;
}

Bytes file_bytes(const Job& job) {
  const std::uint64_t own = job.pattern.block.count * job.pattern.segments;
  return {job.pattern.mode == FileMode::shared ? own * job.processes : own};
}

Bytes file_bytes(const ReplayedFile& file) { return std::max(file.written.bytes, file.read.bytes); }

}  // namespace iez::sim
