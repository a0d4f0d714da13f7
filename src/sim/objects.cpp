#include "sim/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/cluster.hpp"
#include "placement/policy.hpp"
#include "sim/access_cursor.hpp"

namespace iez::sim {
namespace {

constexpr Bytes kUnlimited{std::uint64_t{1} << 55U};
constexpr std::uint64_t kGap = 1;  // between objects: the end of one is not the start of the next

struct FileShape {
  std::uint64_t bytes = 0;
  Striping striping;
};

FileShape file_of(const Job& job, std::uint64_t number) {
  if (!is_replay(job)) return {.bytes = file_bytes(job).count, .striping = job.striping};
  const ReplayedFile& file = job.files[number];
  return {.bytes = file_bytes(file).count, .striping = file.striping};
}

Bytes capacity_of(const ServerGroup& group) { return group.target.capacity.count > 0 ? group.target.capacity : kUnlimited; }

model::Cluster cluster_of(const Machine& machine) {
  model::Cluster cluster{.name = machine.name};
  cluster.servers.reserve(server_count(machine));
  cluster.osts.reserve(target_count(machine));
  for (const ServerGroup& group : machine.servers) {
    const Bytes capacity = capacity_of(group);
    for (std::uint32_t server = 0; server < group.count; ++server) {
      const std::size_t number = cluster.servers.size();
      cluster.servers.push_back({.name = fmt::format("oss{}", number)});
      for (std::uint32_t target = 0; target < group.targets; ++target) {
        const auto index = static_cast<std::uint32_t>(cluster.osts.size());
        cluster.osts.push_back({.index = {index},
                                .name = fmt::format("OST{:04x}", index),
                                .oss = number,
                                .total = capacity,
                                .free = capacity,
                                .available = capacity});
      }
    }
  }
  return cluster;
}

// Positions of the jobs, by when they start.
std::vector<std::size_t> in_order_of_start(const std::vector<Job>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&jobs](std::size_t a, std::size_t b) { return std::pair(jobs[a].start, a) < std::pair(jobs[b].start, b); });
  return order;
}

// Lays the objects onto their targets, side by side in an order that is drawn. Fails where they do not fit.
Result<void> lay_out(const Scenario& scenario, const model::Cluster& cluster, const std::vector<std::uint64_t>& sizes,
                     ObjectTable& table, Rng& rng) {
  std::vector<std::uint32_t> order(table.objects.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<std::uint64_t> used(cluster.osts.size());
  std::vector<std::uint64_t> end(cluster.osts.size());
  table.on_target.assign(cluster.osts.size(), 0);
  for (const std::uint32_t number : order) {
    Object& object = table.objects[number];
    object.base = end[object.target];
    end[object.target] += sizes[number] + kGap;
    used[object.target] += sizes[number];
    ++table.on_target[object.target];
  }
  for (std::size_t target = 0; target < used.size(); ++target) {
    if (used[target] <= cluster.osts[target].total.count) continue;
    return fail(Errc::limit,
                fmt::format("policy {} puts {} on target {}, which holds {}; give the jobs less data, or the targets "
                            "more capacity",
                            scenario.placement, to_string(Bytes{used[target]}), target, to_string(cluster.osts[target].total)));
  }
  return {};
}

}  // namespace

Result<ObjectTable> place_objects(const Scenario& scenario, Rng& rng) {
  const auto order = in_order_of_start(scenario.jobs);
  std::vector<placement::Demand> demands;
  std::uint64_t files = 0;
  for (const Job& job : scenario.jobs) files += file_count(job);
  demands.reserve(files);
  for (const std::size_t number : order) {
    const Job& job = scenario.jobs[number];
    for (std::uint64_t file = 0; file < file_count(job); ++file) {
      const auto [bytes, striping] = file_of(job, file);
      demands.push_back({.object_bytes = Bytes{object_bytes(bytes, striping, 0)}, .count = striping.count});
    }
  }
  const model::Cluster cluster = cluster_of(scenario.machine);
  IEZ_TRY(const auto targets, placement::make_targets(cluster, {}));
  IEZ_TRY(const auto policy, placement::make_policy(scenario.placement, rng.bits()));
  IEZ_TRY(const auto assignment, policy->assign(targets, demands));
  if (assignment.shortage)
    return fail(Errc::limit,
                fmt::format("policy {}: file {} of {} finds no room for its objects; give the jobs less data, or the "
                            "targets more capacity",
                            scenario.placement, assignment.shortage->demand, demands.size()));

  ObjectTable table;
  table.first.resize(scenario.jobs.size());
  table.objects.reserve(assignment.targets.size());
  std::vector<std::uint64_t> sizes;
  sizes.reserve(assignment.targets.size());
  std::size_t demand = 0;
  for (const std::size_t number : order) {
    const Job& job = scenario.jobs[number];
    table.first[number] = static_cast<std::uint32_t>(table.objects.size());
    for (std::uint64_t file = 0; file < file_count(job); ++file, ++demand) {
      const auto [bytes, striping] = file_of(job, file);
      const auto chosen = assignment.of(demand);
      if (chosen.size() != striping.count)
        return fail(Errc::limit, fmt::format("policy {} gives file {} of job {} only {} of {} stripes", scenario.placement, file,
                                             job.name, chosen.size(), striping.count));
      for (std::uint32_t stripe = 0; stripe < striping.count; ++stripe) {
        table.objects.push_back({.target = chosen[stripe]});
        sizes.push_back(object_bytes(bytes, striping, stripe));
      }
    }
  }
  IEZ_CHECK(lay_out(scenario, cluster, sizes, table, rng));
  return table;
}

}  // namespace iez::sim
