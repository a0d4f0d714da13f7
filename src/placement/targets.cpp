#include "placement/targets.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace iez::placement {

namespace {

// A loaded server still has this much of its bandwidth: a share of 0 would make its targets cost more than any number.
constexpr double kLeastBandwidth = 0.1;

Result<void> check_share(std::string_view option, double value) {
  if (value >= 0 && value <= 1) return {};
  return fail(Errc::invalid_argument, fmt::format("{} is {}: expected a share from 0 to 1", option, value));
}

Exclusion exclusion_of(const model::Ost& ost) {
  if (!ost.state.active) return Exclusion::inactive;
  if (ost.state.read_only) return Exclusion::read_only;
  if (ost.state.no_create) return Exclusion::no_create;
  if (ost.total.count == 0) return Exclusion::no_size;
  return Exclusion::none;
}

// Of the largest bandwidth of all servers, from 0 to 1; servers that do not tell have what the others have on average.
std::vector<double> bandwidths_of(const model::Cluster& cluster) {
  double largest = 0;
  for (const model::Oss& oss : cluster.servers) largest = std::max(largest, oss.bandwidth.value_or(BytesPerSecond{}).value);
  std::vector<double> bandwidths;
  bandwidths.reserve(cluster.servers.size());
  double known = 0;
  double count = 0;
  for (const model::Oss& oss : cluster.servers) {
    // Bounded: a share of next to nothing would make its targets cost more than any number.
    const double own = oss.bandwidth && oss.bandwidth->value > 0 ? std::max(oss.bandwidth->value / largest, 1e-6) : 0;
    bandwidths.push_back(own);
    known += own;
    if (own > 0) ++count;
  }
  for (double& own : bandwidths) {
    if (own == 0) own = count > 0 ? known / count : 1;
  }
  return bandwidths;
}

std::vector<Server> make_servers(const model::Cluster& cluster, const TargetOptions& options) {
  const std::vector<double> bandwidths = bandwidths_of(cluster);
  std::vector<Server> servers;
  double sum = 0;
  for (std::size_t o = 0; o < cluster.servers.size(); ++o) {
    const model::Oss& oss = cluster.servers[o];
    Server server{.name = oss.name};
    server.bandwidth_known = oss.bandwidth.has_value() && oss.bandwidth->value > 0;
    if (oss.cpu || oss.memory) {
      server.load = options.cpu_weight * oss.cpu.value_or(0) + options.memory_weight * oss.memory.value_or(0);
    }
    server.share = bandwidths[o] * std::clamp(1 - server.load.value_or(0), kLeastBandwidth, 1.0);
    sum += server.share;
    servers.push_back(std::move(server));
  }
  for (Server& server : servers) server.share /= sum;
  return servers;
}

bool over_limit(const model::Oss& oss, const TargetOptions& options) {
  return oss.cpu.value_or(0) > options.cpu_limit || oss.memory.value_or(0) > options.memory_limit;
}

}  // namespace

std::string_view to_string(Exclusion exclusion) {
  switch (exclusion) {
    case Exclusion::none:
      return "usable";
    case Exclusion::inactive:
      return "inactive";
    case Exclusion::read_only:
      return "read-only";
    case Exclusion::no_create:
      return "closed to new objects";
    case Exclusion::full:
      return "full";
    case Exclusion::no_size:
      return "of no size";
    case Exclusion::excluded:
      return "excluded";
  }
  return "unknown";
}

std::optional<std::uint32_t> TargetTable::find_pool(std::string_view name) const {
  for (std::uint32_t i = 0; i < pools.size(); ++i) {
    if (pools[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> TargetTable::positions() const {
  std::vector<std::uint32_t> result(targets.empty() ? 0 : std::size_t{targets.back().ost.value} + 1);
  for (std::uint32_t j = 0; j < targets.size(); ++j) result[targets[j].ost.value] = j;
  return result;
}

Result<TargetTable> make_targets(const model::Cluster& cluster, const TargetOptions& options) {
  IEZ_CHECK(check_share("the CPU limit", options.cpu_limit));
  IEZ_CHECK(check_share("the memory limit", options.memory_limit));
  IEZ_CHECK(check_share("the CPU weight", options.cpu_weight));
  IEZ_CHECK(check_share("the memory weight", options.memory_weight));

  TargetTable table;
  table.servers = make_servers(cluster, options);
  std::map<OstIndex, std::uint32_t> position;
  std::vector<const model::Ost*> osts;
  osts.reserve(cluster.osts.size());
  for (const model::Ost& ost : cluster.osts) osts.push_back(&ost);
  std::ranges::sort(osts, {}, &model::Ost::index);
  TargetPool everything;
  for (const model::Ost* ost : osts) {
    const auto at = static_cast<std::uint32_t>(table.targets.size());
    if (ost->index.value > kMaxOstIndex) {
      return fail(Errc::invalid_argument, fmt::format("OST index {}: expected at most {}", ost->index.value, kMaxOstIndex));
    }
    if (!position.emplace(ost->index, at).second) {
      return fail(Errc::invalid_argument, fmt::format("OST {} occurs twice in the cluster", ost->index.value));
    }
    if (ost->oss >= cluster.servers.size()) {
      return fail(Errc::invalid_argument, fmt::format("OST {} is on server {}, but there are {} servers", ost->index.value,
                                                      ost->oss, cluster.servers.size()));
    }
    Target target{.ost = ost->index, .server = static_cast<std::uint32_t>(ost->oss), .capacity = ost->total};
    target.used = model::used(*ost);
    target.available = std::min(ost->available, ost->total);
    target.degraded = ost->state.degraded;
    target.busy = over_limit(cluster.servers[ost->oss], options);
    target.exclusion = exclusion_of(*ost);
    table.targets.push_back(target);
    everything.members.push_back(at);
  }
  table.pools.push_back(std::move(everything));

  const auto find = [&](OstIndex ost, std::string_view what) -> Result<std::uint32_t> {
    const auto found = position.find(ost);
    if (found != position.end()) return found->second;
    return fail(Errc::invalid_argument, fmt::format("{} names OST {}, which the cluster does not have", what, ost.value));
  };
  for (const model::Pool& pool : cluster.pools) {
    if (pool.name.empty() || table.find_pool(pool.name)) {
      return fail(Errc::invalid_argument,
                  pool.name.empty() ? "a pool has no name" : fmt::format("pool '{}' occurs twice", pool.name));
    }
    TargetPool members{.name = pool.name};
    for (const OstIndex ost : pool.osts) {
      IEZ_TRY(const std::uint32_t at, find(ost, fmt::format("pool '{}'", pool.name)));
      members.members.push_back(at);
    }
    std::ranges::sort(members.members);
    members.members.erase(std::ranges::unique(members.members).begin(), members.members.end());
    table.pools.push_back(std::move(members));
  }
  for (const Reservation& reservation : options.reservations) {
    IEZ_TRY(const std::uint32_t at, find(reservation.ost, "a reservation"));
    Target& target = table.targets[at];
    target.reserved += reservation.bytes;
    target.used += reservation.bytes;
    target.available = target.available - std::min(target.available, reservation.bytes);
  }
  for (Target& target : table.targets) {
    if (target.exclusion == Exclusion::none && target.available.count == 0) target.exclusion = Exclusion::full;
  }
  for (const OstIndex ost : options.excluded) {
    IEZ_TRY(const std::uint32_t at, find(ost, "the list of excluded OSTs"));
    table.targets[at].exclusion = Exclusion::excluded;
  }
  return table;
}

Usable usable(const TargetTable& table, std::uint32_t pool) {
  Usable result;
  for (const std::uint32_t at : table.pools[pool].members) {
    const Target& target = table.targets[at];
    if (target.exclusion != Exclusion::none) continue;
    (target.second_choice() ? result.second : result.sound).push_back(at);
  }
  return result;
}

Balance balance(const TargetTable& table, std::span<const Bytes> added) {
  struct Sum {
    double used = 0;
    double capacity = 0;
  };
  std::vector<Sum> servers(table.servers.size());
  Sum all;
  Balance result;
  for (std::size_t j = 0; j < table.targets.size(); ++j) {
    const Target& target = table.targets[j];
    if (target.capacity.count == 0) continue;
    const auto used = static_cast<double>(target.used.count) + (added.empty() ? 0 : static_cast<double>(added[j].count));
    const auto capacity = static_cast<double>(target.capacity.count);
    result.max_utilisation = std::max(result.max_utilisation, used / capacity);
    servers[target.server].used += used;
    servers[target.server].capacity += capacity;
    all.used += used;
    all.capacity += capacity;
  }
  if (!(all.used > 0)) return result;
  result.mean_utilisation = all.used / all.capacity;
  result.ost_cost = result.max_utilisation / result.mean_utilisation;
  double worst = 0;
  for (const Sum& server : servers) {
    if (server.capacity > 0) worst = std::max(worst, server.used / server.capacity);
  }
  result.oss_cost = worst / result.mean_utilisation;
  return result;
}

}  // namespace iez::placement
