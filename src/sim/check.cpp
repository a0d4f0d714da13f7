#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "placement/policy.hpp"
#include "sim/replay.hpp"
#include "sim/simulation.hpp"

namespace iez::sim {
namespace {

constexpr std::uint64_t kMostProcesses = 10'000'000;
constexpr std::uint64_t kMostObjects = 100'000'000;
constexpr std::uint64_t kMostTurns = 200'000'000;
constexpr std::uint64_t kMostSamples = 10'000'000;
constexpr double kSlowest = 1024;  // bytes a second
constexpr Duration kLongest = std::chrono::hours(100'000);
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;

std::unexpected<Error> wrong(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

// No limit, or so fast that the times that come of it stay far below the end of time.
bool is_rate(BytesPerSecond rate) { return rate.value == 0 || (std::isfinite(rate.value) && rate.value >= kSlowest); }

bool is_time(Duration time) { return time >= Duration::zero() && time <= kLongest; }

Result<void> check_client(const Machine& machine) {
  const ClientModel& client = machine.client;
  if (machine.nodes == 0) return wrong("machine.nodes is 0; a machine has at least one client node");
  if (client.processes_per_node == 0) return wrong("client.processes_per_node is 0; it is at least 1");
  if (client.rpc_size.count == 0 || client.rpc_size.count > Bytes::gib(1).count)
    return wrong(fmt::format("client.rpc_size is {}; it is from 1 B to 1 GiB", to_binary_string(client.rpc_size)));
  if (!is_rate(client.process_rate) || !is_rate(client.nic_rate) || !is_rate(client.import_rate))
    return wrong("a rate of [client] is neither 0 nor at least 1 KiB/s");
  if (!is_time(machine.network.latency)) return wrong("network.latency is negative, or longer than 100,000 hours");
  if (!is_time(machine.network.turnaround)) return wrong("network.turnaround is negative, or longer than 100,000 hours");
  if (!is_time(machine.locks.enqueue) || !is_time(machine.locks.revocation))
    return wrong("a time of [locks] is negative, or longer than 100,000 hours");
  if (!is_time(machine.metadata.create) || !is_time(machine.metadata.open))
    return wrong("a time of [metadata] is negative, or longer than 100,000 hours");
  if (machine.timeout && (!is_time(*machine.timeout) || *machine.timeout == Duration::zero()))
    return wrong("the timeout is not positive, or longer than 100,000 hours");
  return {};
}

Result<void> check_servers(const Machine& machine) {
  std::uint64_t targets = 0;
  for (const ServerGroup& group : machine.servers) {
    targets += std::uint64_t{group.count} * group.targets;
    if (group.server.threads == 0) return wrong("server.threads is 0; a server has at least one");
    if (group.server.cores == 0) return wrong("server.cores is 0; a server has at least one");
    if (!is_time(group.server.cpu_per_rpc)) return wrong("server.cpu_per_rpc is negative, or longer than 100,000 hours");
    if (!is_time(group.target.positioning)) return wrong("target.positioning is negative, or longer than 100,000 hours");
    if (!is_time(group.target.patience)) return wrong("target.patience is negative, or longer than 100,000 hours");
    if (!is_rate(group.server.nic_rate) || !is_rate(group.target.read_rate))
      return wrong("a rate of [[server]] is neither 0 nor at least 1 KiB/s");
    if (!is_rate(group.target.write_rate) || group.target.write_rate.value == 0)
      return wrong("target.write_rate is less than 1 KiB/s; a target moves data at some rate");
  }
  if (targets == 0) return wrong("the machine has no targets; give at least one [[server]] with targets");
  if (targets > placement::kMaxOstIndex)
    return wrong(fmt::format("the machine has {} targets; at most {}", targets, placement::kMaxOstIndex));
  return {};
}

Result<void> check_file(const ReplayedFile& file, const Job& job, std::uint32_t targets) {
  const auto of_file = [&](std::string_view rest) {
    return wrong(fmt::format("job '{}': file '{}': {}", job.name, text::printable(file.name), rest));
  };
  if (file.written.bytes.count == 0 && file.read.bytes.count == 0) return of_file("neither written nor read; leave it out");
  if (file.written.transfer.count == 0 || file.read.transfer.count == 0)
    return of_file("its transfer is 0 bytes; it is at least 1");
  if (file.striping.count == 0 || file.striping.size.count == 0)
    return of_file("its stripe count and stripe size are at least 1");
  if (file.striping.count > targets)
    return of_file(fmt::format("has {} stripes, but the machine has {} targets; state the stripe_count of the job",
                               file.striping.count, targets));
  if (file.striping.size.count > kMostBytes / file.striping.count) return of_file("its stripes are larger than 4 EiB together");
  if (file.ranks == 0) return of_file("no process uses it; at least one does");
  if (std::uint64_t{file.rank} + file.ranks > job.processes)
    return of_file(fmt::format("is used by rank {}, but the job has {} processes, the first of them rank 0",
                               std::uint64_t{file.rank} + file.ranks - 1, job.processes));
  if (!is_time(file.not_before)) return of_file("begins before the job, or more than 100,000 hours after it");
  return {};
}

Result<void> check_replay(const Job& job, const Machine& machine) {
  const auto of_job = [&job](std::string_view rest) { return wrong(fmt::format("job '{}': {}", job.name, rest)); };
  std::uint64_t turns = 0;
  for (const ReplayedFile& file : job.files) {
    IEZ_CHECK(check_file(file, job, target_count(machine)));
    turns = saturating_add(turns, most_turns(file));
  }
  if (total_bytes(job).count > kMostBytes) return of_job("moves more than 4 EiB");
  if (turns > kMostTurns) return of_job(fmt::format("its processes open files more than {} times", kMostTurns / 2));
  if (job.collective.writers > 0) return of_job("writers are for a pattern, not for recorded files");
  return {};
}

Result<void> check_pattern(const Job& job, const Machine& machine) {
  const auto of_job = [&job](std::string_view rest) { return wrong(fmt::format("job '{}': {}", job.name, rest)); };
  const Pattern& pattern = job.pattern;
  if (pattern.block.count == 0 || pattern.transfer.count == 0 || pattern.segments == 0 || pattern.files == 0)
    return of_job("block, transfer, segments and files are at least 1");
  const double bytes = static_cast<double>(pattern.block.count) * static_cast<double>(pattern.segments) *
                       static_cast<double>(pattern.files) * static_cast<double>(job.processes);
  if (bytes > static_cast<double>(kMostBytes)) return of_job("writes more than 4 EiB");
  if (job.striping.count == 0 || job.striping.size.count == 0) return of_job("stripe_count and stripe_size are at least 1");
  if (job.striping.count > target_count(machine))
    return of_job(fmt::format("stripe_count is {}, but the machine has {} targets", job.striping.count, target_count(machine)));
  if (job.collective.writers > 0 && pattern.mode != FileMode::shared) return of_job("writers are for a shared file");
  if (job.collective.writers > job.processes) return of_job("has more writers than processes");
  return {};
}

Result<void> check_job(const Job& job, const Machine& machine) {
  const auto of_job = [&job](std::string_view rest) { return wrong(fmt::format("job '{}': {}", job.name, rest)); };
  if (job.processes == 0) return of_job("processes is 0; a job has at least one");
  if (job.processes > kMostProcesses) return of_job(fmt::format("{} processes; at most {}", job.processes, kMostProcesses));
  IEZ_CHECK(is_replay(job) ? check_replay(job, machine) : check_pattern(job, machine));
  if (object_count(job) > kMostObjects) return of_job(fmt::format("has more than {} objects", kMostObjects));
  if (!is_time(job.start) || !is_time(job.start_spread))
    return of_job("start or start_spread is negative, or longer than 100,000 hours");
  if (!is_rate(job.collective.exchange)) return of_job("exchange is neither 0 nor at least 1 KiB/s");
  return {};
}

Result<void> check_law(const CongestionLaw& law) {
  if (const auto* fixed = std::get_if<FixedCredits>(&law)) {
    if (fixed->credits == 0) return wrong("congestion.fixed is 0; a client has at least one credit");
    return {};
  }
  if (const auto* rcc = std::get_if<congestion::RccParameters>(&law)) return congestion::check(*rcc);
  return congestion::check(std::get<congestion::LatencyGoal>(law));
}

Result<void> check_incident(const Incident& incident, const Machine& machine) {
  const bool target = incident.where == Incident::Where::target;
  const std::uint32_t count = target ? target_count(machine) : server_count(machine);
  if (incident.index >= count)
    return wrong(
        fmt::format("an incident names {} {}, but the machine has {}", target ? "target" : "server", incident.index, count));
  const bool is_speed = incident.speed == 0 || (std::isfinite(incident.speed) && incident.speed >= 1e-3);
  if (!is_speed) return wrong("the speed of an incident is neither 0 nor at least 0.001");
  if (!is_time(incident.at)) return wrong("an incident happens at a negative time, or after 100,000 hours");
  return {};
}

}  // namespace

Result<void> check(const Scenario& scenario) {
  IEZ_CHECK(check_client(scenario.machine));
  IEZ_CHECK(check_servers(scenario.machine));
  if (scenario.jobs.empty()) return wrong("the scenario has no jobs; give at least one [[job]]");
  for (const Job& job : scenario.jobs) IEZ_CHECK(check_job(job, scenario.machine));
  IEZ_CHECK(check_law(scenario.congestion));
  for (const Incident& incident : scenario.incidents) IEZ_CHECK(check_incident(incident, scenario.machine));
  const Background& background = scenario.background;
  if (!std::isfinite(background.requests_per_second) || background.requests_per_second < 0)
    return wrong("background.requests_per_second is negative or no number");
  if (background.requests_per_second > 0 && (background.size.count == 0 || background.size.count > Bytes::gib(1).count))
    return wrong("background.size is from 1 B to 1 GiB");
  if (!is_time(scenario.interval) || scenario.interval == Duration::zero())
    return wrong("interval is not positive, or longer than 100,000 hours");
  if (scenario.until && (!is_time(*scenario.until) || *scenario.until == Duration::zero()))
    return wrong("until is not positive, or longer than 100,000 hours");
  if (scenario.until && *scenario.until / scenario.interval > static_cast<Duration::rep>(kMostSamples))
    return wrong(fmt::format("until and interval make more than {} samples; lengthen the interval", kMostSamples));
  return {};
}

}  // namespace iez::sim
