#include "contention/speed_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace iez::contention {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

Result<void> check_positive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return fail(Errc::invalid_argument, fmt::format("machine: {} is {}; expected more than 0", field, value));
}

Result<void> check_demand(std::optional<BytesPerSecond> demand) {
  if (!demand || (std::isfinite(demand->value) && demand->value >= 0)) return {};
  return fail(Errc::invalid_argument, fmt::format("load: demand is {} bytes per second; expected 0 or more", demand->value));
}

// How many of the job's own streams an OST has: element j is its chance.
std::vector<double> own_law(const Machine& machine, const JobShape& job, std::uint32_t stripes) {
  const std::uint64_t files = job.files == FileUse::shared ? 1 : job.ranks;
  std::vector<double> law = *expected_sharing(machine.osts, stripes, files);  // checked by predict()
  for (double& chance : law) chance /= machine.osts;
  return law;
}

std::vector<double> others_law(const Machine& machine, const Load& others) {
  if (others.sharing.empty()) return {1.0};
  std::vector<double> law = others.sharing;
  for (double& chance : law) chance /= machine.osts;
  return law;
}

// Over all OSTs, own streams j and other streams k. Rates are sums over OSTs.
struct Targets {
  double own_rate = 0;
  double others_rate = 0;
  double own_streams = 0;
  double others_streams = 0;
  double own_efficiency = 1;  // mean g over streams
  double others_efficiency = 1;
  double in_use = 0;
};

Targets over_targets(const Machine& machine, std::span<const double> own, std::span<const double> others, double others_demand) {
  Targets sum;
  const double osts = machine.osts;
  for (std::size_t k = 0; k < others.size(); ++k) sum.others_streams += osts * static_cast<double>(k) * others[k];
  const double wanted = sum.others_streams > 0 ? others_demand / sum.others_streams : 0;  // per stream
  double own_efficiency = 0;
  double others_efficiency = 0;
  for (std::size_t j = 0; j < own.size(); ++j) {
    if (own[j] == 0) continue;
    for (std::size_t k = 0; k < others.size(); ++k) {
      if (others[k] == 0 || j + k == 0) continue;
      const double count = osts * own[j] * others[k];
      const auto mine = static_cast<double>(j);
      const auto theirs = static_cast<double>(k);
      const double efficiency = ost_efficiency(machine, mine + theirs);
      const double rate = machine.ost_rate.value * efficiency;
      const double left = k == 0 ? rate : rate - theirs * wanted;
      sum.in_use += count;
      sum.own_streams += count * mine;
      own_efficiency += count * mine * efficiency;
      others_efficiency += count * theirs * efficiency;
      if (j > 0) sum.own_rate += count * std::max(rate * mine / (mine + theirs), left);
      if (k > 0) sum.others_rate += count * std::min(rate * theirs / (mine + theirs), theirs * wanted);
    }
  }
  if (sum.own_streams > 0) sum.own_efficiency = own_efficiency / sum.own_streams;
  if (sum.others_streams > 0) sum.others_efficiency = others_efficiency / sum.others_streams;
  return sum;
}

// V.
double server_capacity(const Machine& machine, double stripes) {
  const double per_server = stripes / machine.servers;
  if (per_server == 0) return 0;
  return machine.servers * machine.server_rate.value *
         std::min(per_server, 1 / (1 + machine.spread_cost / std::sqrt(per_server)));
}

Result<void> check_job(const Machine& machine, const JobShape& job, std::uint32_t stripes) {
  if (job.ranks == 0 || job.nodes == 0) {
    return fail(Errc::invalid_argument,
                fmt::format("job: {} ranks on {} nodes; expected at least 1 of each", job.ranks, job.nodes));
  }
  const std::uint32_t most = std::min(machine.max_stripes, machine.osts);
  if (stripes == 0 || stripes > most) {
    return fail(Errc::invalid_argument, fmt::format("stripe count {}: expected 1 to {}", stripes, most));
  }
  return {};
}

Result<void> check_others(const Machine& machine, const Load& others) {
  IEZ_CHECK(check_demand(others.demand));
  if (others.sharing.empty()) return {};
  const double osts = std::accumulate(others.sharing.begin(), others.sharing.end(), 0.0);
  const bool negative = std::ranges::any_of(others.sharing, [](double count) { return !(count >= 0); });
  if (negative || std::abs(osts - machine.osts) > 1e-6 * machine.osts) {
    return fail(Errc::invalid_argument, fmt::format("load: it is of {} OSTs, but the machine has {}", osts, machine.osts));
  }
  const bool busy = usage_of_sharing(others.sharing).in_use > 0;
  if (busy && others.jobs == 0) return fail(Errc::invalid_argument, "load: OSTs are in use, but by 0 jobs");
  return {};
}

}  // namespace

Result<Load> load_of_requests(std::uint32_t osts, std::span<const std::uint32_t> requests, std::optional<BytesPerSecond> demand) {
  IEZ_CHECK(check_demand(demand));
  IEZ_TRY(auto sharing, expected_sharing(osts, requests));
  return Load{.jobs = requests.size(), .sharing = std::move(sharing), .demand = demand};
}

Result<Load> load_of_usage(std::uint32_t osts, std::uint64_t jobs, double in_use, double requested,
                           std::optional<BytesPerSecond> demand) {
  IEZ_CHECK(check_demand(demand));
  if (!(in_use >= 0) || in_use > osts) {
    return fail(Errc::invalid_argument, fmt::format("load: {} OSTs in use; expected 0 to {}", in_use, osts));
  }
  if (!(requested >= in_use) || requested > in_use * static_cast<double>(jobs)) {
    return fail(Errc::invalid_argument, fmt::format("load: {} stripes of {} jobs on {} OSTs; expected 1 to {} an OST in use",
                                                    requested, jobs, in_use, jobs));
  }
  Load load{.jobs = jobs, .sharing = {osts - in_use}, .demand = demand};
  if (in_use == 0) return load;
  const double mean = requested / in_use;
  const auto low = static_cast<std::size_t>(mean);
  load.sharing.resize(low + 2, 0.0);
  load.sharing[low + 1] = in_use * (mean - static_cast<double>(low));
  load.sharing[low] = in_use - load.sharing[low + 1];
  return load;
}

Load load_of(const LiveState& others) {
  Load load{.jobs = others.jobs.size(), .sharing = others.sharing, .demand = BytesPerSecond{0}};
  for (const JobContention& job : others.jobs) load.demand->value += job.rate.value;
  return load;
}

double ost_efficiency(const Machine& machine, double writers) {
  return 1 / (1 + machine.contention_slope * std::max(0.0, writers - (machine.contention_from - 1)));
}

Result<void> validate(const Machine& machine) {
  IEZ_CHECK(check_positive("osts", machine.osts));
  IEZ_CHECK(check_positive("servers", machine.servers));
  IEZ_CHECK(check_positive("max_stripes", machine.max_stripes));
  IEZ_CHECK(check_positive("rpc_size", static_cast<double>(machine.rpc_size.count)));
  IEZ_CHECK(check_positive("ost_rate", machine.ost_rate.value));
  IEZ_CHECK(check_positive("server_rate", machine.server_rate.value));
  IEZ_CHECK(check_positive("node_rate", machine.node_rate.value));
  IEZ_CHECK(check_positive("node_rate_files", machine.node_rate_files.value));
  IEZ_CHECK(check_positive("contention_from", machine.contention_from));
  IEZ_CHECK(check_positive("many_files_share", machine.many_files_share));
  if (!(machine.contention_slope >= 0) || !std::isfinite(machine.contention_slope)) {
    return fail(Errc::invalid_argument,
                fmt::format("machine: contention_slope is {}; expected 0 or more", machine.contention_slope));
  }
  if (!(machine.spread_cost >= 0) || !std::isfinite(machine.spread_cost)) {
    return fail(Errc::invalid_argument, fmt::format("machine: spread_cost is {}; expected 0 or more", machine.spread_cost));
  }
  return {};
}

Result<Prediction> predict(const Machine& machine, const Load& others, const JobShape& job, std::uint32_t stripes) {
  IEZ_CHECK(validate(machine));
  IEZ_CHECK(check_job(machine, job, stripes));
  IEZ_CHECK(check_others(machine, others));

  const std::vector<double> mine = own_law(machine, job, stripes);
  const std::vector<double> theirs = others_law(machine, others);
  const double demand = others.demand ? others.demand->value : kUnlimited;
  const Targets before = over_targets(machine, std::vector<double>{1.0}, theirs, demand);
  const Targets after = over_targets(machine, mine, theirs, demand);
  const double capacity = server_capacity(machine, after.own_streams + after.others_streams);
  const double fair = capacity / (static_cast<double>(others.jobs) + 1);
  const bool files = job.files == FileUse::per_process;

  Prediction result;
  const auto writing_nodes = static_cast<double>(std::min(job.nodes, job.ranks));
  result.clients = {writing_nodes * (files ? machine.node_rate_files : machine.node_rate).value};
  result.targets = {after.own_rate};
  result.servers = {std::max(fair, capacity - demand) * after.own_efficiency * (files ? machine.many_files_share : 1)};
  result.speed = std::min({result.clients, result.targets, result.servers});
  result.own = {machine.osts * (1 - mine[0]), after.own_streams, 0};
  result.own.load = result.own.requested / result.own.in_use;
  const double streams = after.own_streams + after.others_streams;
  result.after = {after.in_use, streams, streams / after.in_use};

  if (after.others_streams > 0) {
    const double alone = server_capacity(machine, before.others_streams) * before.others_efficiency;
    const double left = std::max(capacity - fair, capacity - result.speed.value) * after.others_efficiency;
    result.others_before = {std::min({demand, before.others_rate, alone})};
    result.others_after = {std::min({demand, after.others_rate, left})};
    // More stripes even out the servers in this law, which must not make us look like a benefit.
    if (result.others_before.value > 0) {
      result.slowdown = std::max(0.0, 1 - result.others_after.value / result.others_before.value);
    }
  }
  return result;
}

}  // namespace iez::contention
