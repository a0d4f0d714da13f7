#include "repro_scenarios.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "config/scenario_toml.hpp"
#include "sim_input.hpp"
#include "sim_shipped.hpp"

namespace iez::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTianheMib = 524288;  // of all clients together

Duration from_ms(double ms) { return Duration(static_cast<Duration::rep>(std::llround(ms * 1e6))); }

// A machine that comes with the program; tests read every one of them.
sim::Machine machine_of(std::string_view name) {
  const auto load = [](std::string_view wanted, std::string_view) -> Result<std::string> {
    const ShippedFile* const file = find_shipped(shipped_machines(), wanted);
    if (file == nullptr) return fail(Errc::not_found, fmt::format("no machine {}", wanted));
    return std::string(file->text);
  };
  config::ScenarioSources sources{.load = load};
  for (const ShippedFile& file : shipped_machines()) sources.machines.emplace_back(file.name);
  const auto text = load(name, "");
  IEZ_ASSERT(text.has_value());
  auto machine = config::parse_machine(*text, name, sources);
  IEZ_ASSERT(machine.has_value());
  return *std::move(machine);
}

sim::Machine tianhe(std::uint32_t clients, std::uint32_t servers, const std::optional<TianheConstants>& constants) {
  sim::Machine machine = machine_of("tianhe-1");
  machine.nodes = clients;
  machine.servers[0].count = servers;
  if (constants) {
    machine.network.turnaround = from_ms(constants->turnaround_s * 1e3);
    machine.servers[0].target.write_rate = {kMib / (constants->transfer_ms * 1e-3)};
    machine.servers[0].target.positioning = from_ms(constants->positioning_ms);
  }
  return machine;
}

// IOR as that study ran it: 100 segments of 4 MB for each process.
sim::Job lscratchc_job(std::uint32_t processes) {
  sim::Job job{.name = "ior", .processes = processes};
  job.pattern.block = Bytes::mib(4);
  job.pattern.segments = 100;
  return job;
}

// A collective call carries 1 MB of each rank out of blocks of 4 MB: it spans 4 MB x processes. Stripes of 128 MB let so many
// writers work at once, and no more, however many there are.
sim::Collective driver_writers(std::uint32_t processes, Bytes stripe_size) {
  const std::uint64_t span = Bytes::mib(4).count * processes;
  const std::uint32_t nodes = (processes + 15) / 16;
  const auto at_once = static_cast<std::uint32_t>(std::max<std::uint64_t>(span / stripe_size.count, 1));
  return {.writers = std::min(at_once, nodes), .exchange = {kExchangeMb * kMb}};
}

sim::Scenario lscratchc_scenario(std::string name, std::uint64_t seed) {
  sim::Scenario scenario{.name = std::move(name), .machine = machine_of("lscratchc"), .placement = "random", .seed = seed};
  scenario.interval = seconds(10);
  return scenario;
}

}  // namespace

sim::Scenario tianhe_clients(std::uint32_t clients, const std::optional<TianheConstants>& constants) {
  sim::Scenario scenario{.machine = tianhe(clients, 1, constants)};
  sim::Job job{.name = "ior", .processes = clients};
  job.pattern.block = Bytes::mib(kTianheMib / clients);
  job.start_spread = milliseconds(std::int64_t{450'000} * clients / 1024);
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_fixed(unsigned credits, std::uint32_t clients, const std::optional<TianheConstants>& constants) {
  sim::Scenario scenario = tianhe_clients(clients, constants);
  scenario.name = fmt::format("FIX({},{})", credits, clients);
  scenario.congestion = sim::FixedCredits{credits};
  return scenario;
}

sim::Scenario tianhe_credits(unsigned bound_s, std::uint32_t clients, const std::optional<TianheConstants>& constants) {
  sim::Scenario scenario = tianhe_clients(clients, constants);
  scenario.name = fmt::format("CC({},{})", bound_s, clients);
  scenario.congestion = congestion::RccParameters{.l_max = seconds(bound_s)};
  return scenario;
}

sim::Scenario tianhe_single(Bytes total) {
  sim::Scenario scenario{.name = "one client", .machine = tianhe(1, 1, std::nullopt)};
  sim::Job job{.name = "ior"};
  job.pattern.block = total;
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_shared_file() {
  sim::Scenario scenario{.name = "32 servers", .machine = tianhe(1024, 32, std::nullopt)};
  sim::Job job{.name = "ior", .processes = 1024};
  job.pattern.mode = sim::FileMode::shared;
  job.pattern.block = Bytes::mib(512);
  job.striping.count = 32;
  job.start_spread = seconds(10);
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_jump() {
  sim::Scenario scenario{.name = "64, 1024, 64 clients", .machine = tianhe(1024, 1, std::nullopt)};
  sim::Job steady{.name = "steady", .processes = 64};
  steady.pattern.block = Bytes::gib(64);
  sim::Job burst{.name = "burst", .processes = 960, .start = kJumpAt};
  burst.pattern.block = Bytes::mib(160);
  scenario.jobs = {steady, burst};
  scenario.until = kJumpEnd;
  return scenario;
}

sim::Scenario tianhe_two_jobs(Duration until) {
  sim::Scenario scenario{.name = "1000 and 10 clients", .machine = tianhe(1010, 1, std::nullopt)};
  sim::Job large{.name = "large", .processes = 1000, .start_spread = seconds(450)};
  large.pattern.block = Bytes::gib(64);
  sim::Job small{.name = "small", .processes = 10};
  small.pattern.block = Bytes::gib(64);
  scenario.jobs = {large, small};
  scenario.until = until;
  return scenario;
}

sim::Scenario lscratchc_driver(std::uint32_t processes, std::uint32_t stripes, Bytes stripe_size, std::uint64_t seed) {
  sim::Scenario scenario = lscratchc_scenario(fmt::format("driver, {} processes", processes), seed);
  sim::Job job = lscratchc_job(processes);
  job.pattern.mode = sim::FileMode::shared;
  job.striping = {.count = stripes, .size = stripe_size};
  job.collective = driver_writers(processes, stripe_size);
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario lscratchc_plfs(std::uint32_t processes, std::uint64_t seed) {
  sim::Scenario scenario = lscratchc_scenario(fmt::format("PLFS, {} processes", processes), seed);
  sim::Job job = lscratchc_job(processes);
  job.striping = {.count = 2, .size = Bytes::mib(1)};
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario lscratchc_four_jobs(std::uint32_t stripes, std::uint64_t seed) {
  sim::Scenario scenario = lscratchc_driver(1024, stripes, Bytes::mib(128), seed);
  scenario.name = fmt::format("four jobs of {} stripes", stripes);
  scenario.jobs.resize(4, scenario.jobs.front());
  return scenario;
}

sim::Scenario testbed_ior(std::uint32_t stripes, bool read, const std::string& policy, std::uint64_t seed) {
  sim::Scenario scenario{.name = fmt::format("testbed, {}, {} stripes", policy, stripes), .machine = machine_of("iez-testbed")};
  sim::Job job{.name = "ior", .processes = 64};
  job.pattern.access = read ? sim::Access::read : sim::Access::write;
  job.pattern.block = Bytes::gib(1);
  job.striping = {.count = stripes, .size = Bytes::mib(1)};
  scenario.jobs.push_back(job);
  scenario.placement = policy;
  scenario.seed = seed;
  return scenario;
}

sim::Scenario jaguar_flash(std::uint32_t processes, bool collective) {
  sim::Scenario scenario{.name = fmt::format("FLASH-IO, {} processes", processes), .machine = machine_of("jaguar")};
  scenario.interval = seconds(10);
  sim::Job job{.name = "flash", .processes = processes};
  job.pattern = {.mode = sim::FileMode::shared, .block = Bytes::kib(40), .transfer = Bytes::kib(40), .segments = 1024};
  job.striping = {.count = 72, .size = Bytes::mib(1)};
  // One array of one variable is written at a time: about 26 blocks make a stripe, and a stripe has one writer.
  if (collective) job.collective = {.writers = (processes + 25) / 26, .exchange = {300 * kMb}};
  scenario.jobs.push_back(job);
  return scenario;
}

}  // namespace iez::cli
