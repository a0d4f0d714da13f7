#include "planning_instances.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.hpp"
#include "model/cluster.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kMib = 1U << 20U;
constexpr std::size_t kTargetsPerServer = 10;
constexpr std::uint32_t kFewStripes = 8;

// From low to high MiB, log-uniform, in steps of 64 KiB.
Bytes size_between(Rng& rng, double low, double high) {
  return Bytes::kib(64 * static_cast<std::uint64_t>(16 * low * std::exp2(std::log2(high / low) * rng.unit())));
}

enum class Sizes : std::uint8_t { one, few, near, far, one_large };
constexpr std::uint64_t kKindsOfSizes = 5;

// The sizes of the files of a phase.
class SizeDraw {
 public:
  explicit SizeDraw(Rng& rng) : rng_(rng), kind_(static_cast<Sizes>(rng.below(kKindsOfSizes))), base_(size_between(rng, 2, 512)) {
    few_.resize(rng.between(2, 5));
    for (Bytes& size : few_) size = size_between(rng, 1, 1024);
  }
  Bytes next() {
    switch (kind_) {
      case Sizes::one:
        return base_;
      case Sizes::few:
        return few_[rng_.below(few_.size())];
      case Sizes::near:
        return {base_.count * 2 / 3 + rng_.below(base_.count * 2 / 3)};
      case Sizes::far:
        return size_between(rng_, 1, 1024);
      case Sizes::one_large:
        return std::exchange(first_, false) ? Bytes{base_.count * rng_.between(2, 40)}
                                            : Bytes{base_.count / 2 + rng_.below(base_.count / 2)};
    }
    return base_;
  }

 private:
  Rng& rng_;
  Sizes kind_;
  Bytes base_;
  std::vector<Bytes> few_;
  bool first_ = true;
};

// Files of phases 0 to phases - 1, and the bytes that they have.
std::vector<planning::File> random_files(Rng& rng, std::uint32_t phases, std::uint32_t targets) {
  std::vector<planning::File> files;
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    SizeDraw sizes(rng);
    const std::uint64_t count = rng.between(1, std::uint64_t{5} * targets);
    const auto most_stripes = static_cast<std::uint32_t>(rng.chance(0.25) ? std::min(targets, kFewStripes) : 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Bytes bytes = sizes.next();
      files.push_back({.bytes = bytes,
                       .room = Bytes{bytes.count + bytes.count / 10},
                       .phase = phase,
                       .stripes = static_cast<std::uint32_t>(rng.between(1, most_stripes))});
    }
  }
  return files;
}

// A restart: the files of one phase, or of some, are read together. The number of phases afterwards.
std::uint32_t read_together(Rng& rng, std::uint32_t phases, std::vector<planning::File>& files) {
  const std::uint64_t least = rng.below(phases);
  const std::uint64_t end = rng.chance(0.5) ? least + 1 : rng.between(least + 1, phases);
  for (planning::File& file : files) {
    if (file.phase >= least && file.phase < end) file.read_phase = phases;
  }
  return phases + 1;
}

std::vector<double> capacities_of(Rng& rng, std::size_t targets) {
  std::vector<double> capacities(targets, 1.0);
  if (rng.chance(0.6)) return capacities;
  const double other = 1 + 3 * rng.unit();
  for (double& capacity : capacities) capacity = rng.chance(0.5) ? 1 : other;
  return capacities;
}

model::Cluster cluster_of(Rng& rng, std::uint32_t servers, std::uint32_t per_server, double bytes, double largest) {
  model::Cluster cluster;
  const std::size_t targets = std::size_t{servers} * per_server;
  const bool slow_servers = servers > 1 && rng.chance(0.15);
  for (std::uint32_t k = 0; k < servers; ++k) {
    model::Oss server;
    if (slow_servers) server.bandwidth = BytesPerSecond{1e9 * (1 + rng.unit())};
    cluster.servers.push_back(server);
  }
  const std::vector<double> capacities = capacities_of(rng, targets);
  const double spread = rng.chance(0.5) ? 0.4 * rng.unit() : 0;
  const double nearly_full = rng.chance(0.2) ? 0.15 : 0;
  const double unit = 4 * bytes / static_cast<double>(targets) + 20 * largest;
  for (std::size_t j = 0; j < targets; ++j) {
    const auto total = static_cast<std::uint64_t>(unit * capacities[j]);
    auto free = static_cast<std::uint64_t>(unit * capacities[j] * (0.9 - spread * rng.unit()));
    if (rng.chance(nearly_full)) free = static_cast<std::uint64_t>(largest * 3 * rng.unit());  // room for a few objects
    cluster.osts.push_back(
        {.index = {static_cast<std::uint32_t>(j)}, .oss = j / per_server, .total = {total}, .free = {free}, .available = {free}});
  }
  return cluster;
}

}  // namespace

planning::Problem PhasesInstance::problem() const {
  return {.table = table, .files = files, .phases = phases, .speed = speed, .load = load};
}

Result<PhasesInstance> random_phases(std::uint64_t seed) {
  Rng rng(seed);
  const auto servers = static_cast<std::uint32_t>(rng.between(1, 8));
  const auto per_server = static_cast<std::uint32_t>(rng.between(servers == 1 ? 4 : 2, 12));
  const std::uint32_t targets = servers * per_server;
  auto phases = static_cast<std::uint32_t>(rng.between(1, 50));
  PhasesInstance out;
  out.files = random_files(rng, phases, targets);
  if (rng.chance(0.3)) phases = read_together(rng, phases, out.files);
  double bytes = 0;
  double largest = 0;
  for (const planning::File& file : out.files) {
    bytes += static_cast<double>(file.bytes.count);
    largest = std::max(largest, static_cast<double>(file.bytes.count));
  }
  IEZ_TRY(out.table, placement::make_targets(cluster_of(rng, servers, per_server, bytes, largest), {}));
  out.phases.resize(phases);
  if (rng.chance(0.2)) {
    const double fast = 1 + 2 * rng.unit();
    for (std::uint32_t j = 0; j < targets; ++j) out.speed.push_back(rng.chance(0.5) ? 1 : fast);
  }
  if (rng.chance(0.25)) {
    for (planning::Phase& phase : out.phases) phase.seconds = 1 + 9 * rng.unit();
    const double mean = bytes / targets / phases / 5;  // of the program's own, for a second of its phases
    const double share = rng.unit();
    for (std::uint32_t j = 0; j < targets; ++j) out.load.push_back(rng.chance(share) ? 2 * mean * rng.unit() : 0);
  }
  return out;
}

Result<PhasesInstance> large_phases(const LargePhases& size, std::uint64_t seed) {
  Rng rng(seed);
  PhasesInstance out;
  struct Application {
    Bytes base;
    std::uint32_t stripes = 1;
  };
  std::vector<Application> applications(size.applications);
  for (Application& application : applications) {
    application = {.base = size_between(rng, 16, 1024), .stripes = static_cast<std::uint32_t>(rng.chance(0.25) ? 2 : 1)};
  }
  out.files.reserve(size.files);
  double bytes = 0;
  double largest = 0;
  for (std::size_t i = 0; i < size.files; ++i) {
    // In the order of creation: phase after phase.
    const std::size_t phase = i * size.phases / size.files;
    const Application& application = applications[i % applications.size()];
    const Bytes own{application.base.count / 2 + rng.below(application.base.count)};
    out.files.push_back({.bytes = own,
                         .room = Bytes{own.count + own.count / 10},
                         .phase = static_cast<std::uint32_t>(phase),
                         .stripes = application.stripes});
    bytes += static_cast<double>(own.count);
    largest = std::max(largest, static_cast<double>(own.count));
  }
  model::Cluster cluster;
  const double capacity = 4 * bytes / static_cast<double>(size.targets) + 100 * largest;
  for (std::size_t j = 0; j < size.targets; ++j) {
    if (j % kTargetsPerServer == 0) cluster.servers.emplace_back();
    const auto free = static_cast<std::uint64_t>(capacity * (1 - 0.4 * rng.unit()));
    cluster.osts.push_back({.index = {static_cast<std::uint32_t>(j)},
                            .oss = j / kTargetsPerServer,
                            .total = {static_cast<std::uint64_t>(capacity)},
                            .free = {free},
                            .available = {free}});
    out.load.push_back(rng.chance(0.01) ? 100.0 * kMib * rng.unit() : 0);
  }
  IEZ_TRY(out.table, placement::make_targets(cluster, {}));
  out.phases.assign(size.phases, {.seconds = 10});
  return out;
}

}  // namespace iez::bench
