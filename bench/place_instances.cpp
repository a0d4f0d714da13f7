#include "place_instances.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "model/cluster.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kSeed = 20261115;
constexpr std::size_t kTargetsPerServer = 10;
constexpr std::uint32_t kObjectCount = 8;
constexpr std::uint64_t kMostStripes = 2000;  // Lustre's limit
constexpr double kBatchShare = 0.25;          // of the capacity, in the large instances

// 1 MiB to 1 GiB, log-uniform, in steps of 64 KiB.
Bytes object_size(Rng& rng) { return Bytes::kib(64 * static_cast<std::uint64_t>(16 * std::exp2(10 * rng.unit()))); }

model::Ost target(std::size_t index, std::size_t server, double capacity, double utilisation) {
  const auto total = static_cast<std::uint64_t>(capacity);
  const std::uint64_t free = total - static_cast<std::uint64_t>(capacity * utilisation);
  return {.index = {static_cast<std::uint32_t>(index)}, .oss = server, .total = {total}, .free = {free}, .available = {free}};
}

double bytes_of(const std::vector<placement::Demand>& demands) {
  double sum = 0;
  for (const placement::Demand& demand : demands) sum += static_cast<double>(demand.object_bytes.count) * demand.count;
  return sum;
}

Result<Instance> assemble(const model::Cluster& cluster, std::vector<placement::Demand> demands) {
  IEZ_TRY(placement::TargetTable table, placement::make_targets(cluster, {}));
  return Instance{.table = std::move(table), .demands = std::move(demands)};
}

std::vector<placement::Demand> random_files(Rng& rng, std::size_t targets) {
  const bool own_sizes = rng.chance(0.5);
  std::vector<placement::Demand> applications(rng.between(2, 12));
  for (std::size_t i = 0; i < applications.size(); ++i) {
    const std::uint64_t most = i % 2 == 0 ? std::min<std::uint64_t>(4, targets) : targets;
    applications[i] = {.object_bytes = object_size(rng), .count = static_cast<std::uint32_t>(rng.between(1, most))};
  }
  const std::uint64_t wanted = rng.between(50, 400);
  std::vector<placement::Demand> files;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t largest = 0;
  while (files.size() < wanted || objects < kObjectsPerTarget * targets || bytes < kObjectsPerTarget * targets * largest) {
    placement::Demand file = applications[rng.below(applications.size())];
    if (own_sizes) file.object_bytes = object_size(rng);
    objects += file.count;
    bytes += file.count * file.object_bytes.count;
    largest = std::max(largest, file.object_bytes.count);
    files.push_back(file);
  }
  return files;
}

// Of each target; the smallest is 1.
std::vector<double> random_capacities(Rng& rng, std::size_t targets) {
  std::vector<double> capacities(targets, 1.0);
  if (rng.chance(0.4)) return capacities;
  std::vector<double> kinds(rng.between(2, 4));
  for (double& kind : kinds) kind = 1 + 3 * rng.unit();
  for (double& capacity : capacities) capacity = kinds[rng.below(kinds.size())];
  const double smallest = std::ranges::min(capacities);
  for (double& capacity : capacities) capacity /= smallest;
  return capacities;
}

std::vector<double> random_use(Rng& rng, std::size_t targets) {
  constexpr double kMostUsed = 0.6;
  std::vector<double> use(targets, 0.0);
  if (rng.chance(0.3)) return use;
  const double spread = 0.3 * rng.unit();
  const double least = (kMostUsed - spread) * rng.unit();
  for (double& share : use) share = least + spread * rng.unit();
  return use;
}

model::Cluster large_machine(Rng& rng, std::size_t targets, double capacity) {
  model::Cluster cluster;
  for (std::size_t i = 0; i < targets; ++i) {
    if (i % kTargetsPerServer == 0) cluster.servers.push_back({.cpu = 0.3 * rng.unit(), .memory = 0.3 * rng.unit()});
    cluster.osts.push_back(target(i, i / kTargetsPerServer, capacity, 0.4 * rng.unit()));
  }
  return cluster;
}

}  // namespace

std::uint64_t Instance::objects() const {
  std::uint64_t sum = 0;
  for (const placement::Demand& demand : demands) sum += demand.count;
  return sum;
}

Result<Instance> random_instance(std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t targets = rng.between(8, 64);
  const std::size_t per_server = rng.between(4, 10);
  std::vector<placement::Demand> files = random_files(rng, targets);
  const std::vector<double> capacities = random_capacities(rng, targets);
  const std::vector<double> use = random_use(rng, targets);
  const double share = 0.05 + 0.3 * rng.unit();
  const double smallest = bytes_of(files) / (share * static_cast<double>(targets));
  model::Cluster cluster;
  cluster.servers.resize((targets + per_server - 1) / per_server);
  for (std::size_t i = 0; i < targets; ++i) cluster.osts.push_back(target(i, i / per_server, smallest * capacities[i], use[i]));
  return assemble(cluster, std::move(files));
}

Result<Instance> one_class(std::size_t files, std::size_t targets) {
  Rng rng(kSeed);
  std::vector<placement::Demand> demands(files, {.object_bytes = Bytes::gib(1), .count = kObjectCount});
  const double capacity = bytes_of(demands) / (kBatchShare * static_cast<double>(targets));
  return assemble(large_machine(rng, targets, capacity), std::move(demands));
}

Result<Instance> many_applications(std::size_t applications, std::size_t files, std::size_t targets) {
  Rng rng(kSeed);
  std::vector<placement::Demand> demands;
  const std::uint64_t most = std::min<std::uint64_t>(kMostStripes, targets);
  for (std::size_t i = 0; i < applications; ++i) {
    const auto count = static_cast<std::uint32_t>(rng.between(1, most));
    demands.insert(demands.end(), files, {.object_bytes = object_size(rng), .count = count});
  }
  const double capacity = bytes_of(demands) / (kBatchShare * static_cast<double>(targets));
  return assemble(large_machine(rng, targets, capacity), std::move(demands));
}

Result<std::vector<KnownCase>> parse_known_cases(std::string_view json) {
  std::vector<KnownCase> cases;
  try {
    for (const auto& entry : nlohmann::json::parse(json)) {
      KnownCase known{.name = entry.at("name"),
                      .optimum = entry.at("opt_max_util"),
                      .bound = std::max({entry.at("lb_lp_max_util").get<double>(), entry.at("lb_int_max_util").get<double>(),
                                         entry.at("opt_dual_bound").get<double>()}),
                      .proven = entry.at("opt_proven")};
      model::Cluster cluster{.servers = {{}}};
      const std::vector<std::uint64_t> capacities = entry.at("cap");
      const std::vector<std::uint64_t> used = entry.at("used");
      if (capacities.size() != used.size())
        return fail(Errc::parse, fmt::format("{}: cap and used differ in length", known.name));
      for (std::size_t i = 0; i < capacities.size(); ++i) {
        const Bytes free{capacities[i] - used[i]};
        cluster.osts.push_back(
            {.index = {static_cast<std::uint32_t>(i)}, .total = {capacities[i]}, .free = free, .available = free});
      }
      std::vector<placement::Demand> demands;
      for (const auto& file : entry.at("files")) {
        demands.push_back({.object_bytes = {file.at("obj_bytes")}, .count = file.at("stripe_count")});
      }
      IEZ_TRY(known.instance, assemble(cluster, std::move(demands)));
      cases.push_back(std::move(known));
    }
  } catch (const nlohmann::json::exception& problem) {
    return fail(Errc::parse, fmt::format("alloc_cases.json: {}", problem.what()));
  }
  return cases;
}

std::string to_text(const Instance& instance) {
  std::string text;
  for (const placement::Target& each : instance.table.targets) {
    fmt::format_to(std::back_inserter(text), "target {} {} {} {:.6f}\n", each.capacity.count, each.used.count,
                   each.available.count, instance.table.servers[each.server].load.value_or(0));
  }
  for (const placement::Demand& demand : instance.demands) {
    fmt::format_to(std::back_inserter(text), "file {} {}\n", demand.object_bytes.count, demand.count);
  }
  return text;
}

}  // namespace iez::bench
