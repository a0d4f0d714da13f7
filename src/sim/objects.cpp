#include "sim/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "model/cluster.hpp"
#include "placement/policy.hpp"
#include "planning/planner.hpp"
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

// A file of a job, and which step of it.
struct PlacedFile {
  std::size_t job = 0;
  std::uint64_t file = 0;  // of the job
  std::uint32_t step = 0;  // from 0, over all jobs
  placement::Demand demand;
};

// Steps of a job: for each of its files, which it belongs to. Those that a process has one after the other are steps.
std::vector<std::uint32_t> steps_of(const Job& job) {
  std::vector<std::uint32_t> steps(file_count(job));
  if (!is_replay(job)) {
    for (std::uint64_t file = 0; file < steps.size(); ++file) steps[file] = static_cast<std::uint32_t>(file % job.pattern.files);
    return steps;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> files_of_rank;
  for (std::size_t file = 0; file < steps.size(); ++file) steps[file] = files_of_rank[job.files[file].rank]++;
  return steps;
}

// All files in the order in which they are created: job after job, and of each step after step.
std::vector<PlacedFile> in_order_of_creation(const Scenario& scenario) {
  std::vector<PlacedFile> files;
  std::uint32_t steps = 0;
  for (const std::size_t number : in_order_of_start(scenario.jobs)) {
    const Job& job = scenario.jobs[number];
    const std::vector<std::uint32_t> of_file = steps_of(job);
    const std::size_t begin = files.size();
    std::uint32_t last = steps;
    for (std::uint64_t file = 0; file < of_file.size(); ++file) {
      const auto [bytes, striping] = file_of(job, file);
      files.push_back({.job = number,
                       .file = file,
                       .step = steps + of_file[file],
                       .demand = {.object_bytes = Bytes{object_bytes(bytes, striping, 0)}, .count = striping.count}});
      last = std::max(last, files.back().step + 1);
    }
    // What was recorded is created as recorded.
    if (!is_replay(job))
      std::stable_sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end(),
                       [](const PlacedFile& a, const PlacedFile& b) { return a.step < b.step; });
    steps = last;
  }
  return files;
}

// By what is written together.
Result<placement::Assignment> assign_by_phases(const placement::TargetTable& targets, std::span<const PlacedFile> placed) {
  std::vector<planning::File> files;
  std::uint32_t steps = 1;
  for (const PlacedFile& file : placed) {
    // Stripes of the size of an object, so that each gets one: also of files too small for as many as the job asks.
    const Bytes object = std::max(file.demand.object_bytes, Bytes{1});
    const Bytes bytes{object.count * file.demand.count};
    files.push_back({.bytes = bytes, .room = bytes, .phase = file.step, .stripes = file.demand.count, .stripe_size = object});
    steps = std::max(steps, file.step + 1);
  }
  const planning::Problem problem{
      .table = targets, .files = files, .phases = std::vector<planning::Phase>(steps), .speed = {}, .load = {}};
  IEZ_TRY(planning::Plan plan, planning::make_plan(problem, {.compare = false}));
  placement::Assignment out{.offsets = {0}};
  if (plan.verdict == planning::Verdict::no_room) {
    out.shortage = placement::Shortage{.demand = plan.short_of_room};
    return out;
  }
  for (const planning::Placed& file : plan.placement.files) {
    const auto chosen = plan.placement.of(file);
    out.targets.insert(out.targets.end(), chosen.begin(), chosen.end());
    out.offsets.push_back(out.targets.size());
  }
  return out;
}

Result<placement::Assignment> assign(const Scenario& scenario, const placement::TargetTable& targets,
                                     std::span<const PlacedFile> files, Rng& rng) {
  const std::uint64_t seed = rng.bits();
  if (scenario.placement == kByPhases) return assign_by_phases(targets, files);
  std::vector<placement::Demand> demands;
  demands.reserve(files.size());
  for (const PlacedFile& file : files) demands.push_back(file.demand);
  IEZ_TRY(const auto policy, placement::make_policy(scenario.placement, seed));
  return policy->assign(targets, demands);
}

}  // namespace

std::vector<std::string_view> placement_names() {
  std::vector<std::string_view> names(placement::policy_names().begin(), placement::policy_names().end());
  names.push_back(kByPhases);
  return names;
}

Result<ObjectTable> place_objects(const Scenario& scenario, Rng& rng) {
  const std::vector<PlacedFile> files = in_order_of_creation(scenario);
  const model::Cluster cluster = cluster_of(scenario.machine);
  IEZ_TRY(const auto targets, placement::make_targets(cluster, {}));
  IEZ_TRY(const auto assignment, assign(scenario, targets, files, rng));
  if (assignment.shortage)
    return fail(Errc::limit,
                fmt::format("policy {}: file {} of {} finds no room for its objects; give the jobs less data, or the "
                            "targets more capacity",
                            scenario.placement, assignment.shortage->demand, files.size()));

  // Objects are numbered job after job in the order of start, and of each file after file.
  ObjectTable table;
  table.first.resize(scenario.jobs.size());
  std::vector<std::vector<std::uint32_t>> first_of_file(scenario.jobs.size());
  std::uint32_t objects = 0;
  for (const std::size_t number : in_order_of_start(scenario.jobs)) {
    const Job& job = scenario.jobs[number];
    table.first[number] = objects;
    first_of_file[number].reserve(file_count(job));
    for (std::uint64_t file = 0; file < file_count(job); ++file) {
      first_of_file[number].push_back(objects);
      objects += file_of(job, file).striping.count;
    }
  }
  table.objects.resize(objects);
  std::vector<std::uint64_t> sizes(objects);
  for (std::size_t at = 0; at < files.size(); ++at) {
    const Job& job = scenario.jobs[files[at].job];
    const auto [bytes, striping] = file_of(job, files[at].file);
    const auto chosen = assignment.of(at);
    if (chosen.size() != striping.count)
      return fail(Errc::limit, fmt::format("policy {} gives file {} of job {} only {} of {} stripes", scenario.placement,
                                           files[at].file, job.name, chosen.size(), striping.count));
    const std::uint32_t first = first_of_file[files[at].job][files[at].file];
    for (std::uint32_t stripe = 0; stripe < striping.count; ++stripe) {
      table.objects[first + stripe].target = chosen[stripe];
      sizes[first + stripe] = object_bytes(bytes, striping, stripe);
    }
  }
  IEZ_CHECK(lay_out(scenario, cluster, sizes, table, rng));
  return table;
}

}  // namespace iez::sim
