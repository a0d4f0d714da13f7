#include "repro_scenarios.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace iez::cli {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTianheMib = 524288;  // of all clients together

Duration from_ms(double ms) { return Duration(static_cast<Duration::rep>(std::llround(ms * 1e6))); }

sim::Machine tianhe(std::uint32_t clients, std::uint32_t servers, const TianheConstants& constants) {
  sim::Machine machine{.name = "tianhe-1", .nodes = clients};
  machine.client.process_rate = {1000 * kMib};
  machine.client.import_rate = {187 * kMib};
  machine.client.cache = Bytes::mib(256);  // so that credits decide, and not what a client may keep back
  machine.network = {.latency = microseconds(750), .turnaround = from_ms(constants.turnaround_s * 1e3)};
  machine.servers.push_back(
      {.count = servers,
       .targets = 1,
       .target = {.write_rate = {kMib / (constants.transfer_ms * 1e-3)}, .positioning = from_ms(constants.positioning_ms)}});
  return machine;
}

sim::Machine lscratchc() {
  sim::Machine machine{.name = "lscratchc", .nodes = 1200};
  machine.client.processes_per_node = 16;
  machine.client.process_rate = {kProcessMb * kMb};
  machine.client.nic_rate = {4000 * kMb};
  machine.network.latency = microseconds(100);
  machine.locks = {.enqueue = microseconds(200), .revocation = milliseconds(1)};
  machine.metadata = {.create = microseconds(500), .open = microseconds(200), .threads = 16};
  machine.servers.push_back({.count = 32,
                             .targets = 15,
                             .server = {.nic_rate = {937.5 * kMb}, .cpu_per_rpc = microseconds(20)},
                             .target = {.write_rate = {500 * kMb}, .positioning = milliseconds(8)}});
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
  sim::Scenario scenario{.name = std::move(name), .machine = lscratchc(), .placement = "random", .seed = seed};
  scenario.interval = seconds(10);
  return scenario;
}

}  // namespace

sim::Scenario tianhe_clients(std::uint32_t clients, const TianheConstants& constants) {
  sim::Scenario scenario{.machine = tianhe(clients, 1, constants)};
  sim::Job job{.name = "ior", .processes = clients};
  job.pattern.block = Bytes::mib(kTianheMib / clients);
  job.start_spread = milliseconds(std::int64_t{450'000} * clients / 1024);
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_fixed(unsigned credits, std::uint32_t clients, const TianheConstants& constants) {
  sim::Scenario scenario = tianhe_clients(clients, constants);
  scenario.name = fmt::format("FIX({},{})", credits, clients);
  scenario.congestion = sim::FixedCredits{credits};
  return scenario;
}

sim::Scenario tianhe_credits(unsigned bound_s, std::uint32_t clients, const TianheConstants& constants) {
  sim::Scenario scenario = tianhe_clients(clients, constants);
  scenario.name = fmt::format("CC({},{})", bound_s, clients);
  scenario.congestion = congestion::RccParameters{.l_max = seconds(bound_s)};
  return scenario;
}

sim::Scenario tianhe_single(Bytes total) {
  sim::Scenario scenario{.name = "one client", .machine = tianhe(1, 1, {})};
  sim::Job job{.name = "ior"};
  job.pattern.block = total;
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_shared_file() {
  sim::Scenario scenario{.name = "32 servers", .machine = tianhe(1024, 32, {})};
  sim::Job job{.name = "ior", .processes = 1024};
  job.pattern.mode = sim::FileMode::shared;
  job.pattern.block = Bytes::mib(512);
  job.striping.count = 32;
  job.start_spread = seconds(10);
  scenario.jobs.push_back(job);
  return scenario;
}

sim::Scenario tianhe_jump() {
  sim::Scenario scenario{.name = "64, 1024, 64 clients", .machine = tianhe(1024, 1, {})};
  sim::Job steady{.name = "steady", .processes = 64};
  steady.pattern.block = Bytes::gib(64);
  sim::Job burst{.name = "burst", .processes = 960, .start = kJumpAt};
  burst.pattern.block = Bytes::mib(160);
  scenario.jobs = {steady, burst};
  scenario.until = kJumpEnd;
  return scenario;
}

sim::Scenario tianhe_two_jobs(Duration until) {
  sim::Scenario scenario{.name = "1000 and 10 clients", .machine = tianhe(1010, 1, {})};
  sim::Job large{.name = "large", .processes = 1000};
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
  sim::Machine machine{.name = "iez-testbed", .nodes = 2};
  machine.client.processes_per_node = 32;
  machine.client.nic_rate = {1250 * kMb};
  machine.network.latency = microseconds(100);
  machine.metadata = {.create = milliseconds(1), .open = microseconds(500), .threads = 16};
  machine.servers.push_back(
      {.count = 3,
       .targets = 5,
       .server = {.threads = 64, .nic_rate = {1250 * kMb}, .cpu_per_rpc = microseconds(50), .cores = 4},
       .target = {
           .write_rate = {120 * kMb}, .read_rate = {140 * kMb}, .positioning = milliseconds(8), .capacity = Bytes::gib(10)}});
  sim::Scenario scenario{.name = fmt::format("testbed, {}, {} stripes", policy, stripes), .machine = machine};
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
  sim::Machine machine{.name = "jaguar", .nodes = 7832};
  machine.client.processes_per_node = 4;
  machine.client.process_rate = {300 * kMb};
  machine.client.nic_rate = {2000 * kMb};
  machine.network.latency = microseconds(100);
  machine.locks = {.enqueue = microseconds(500), .revocation = milliseconds(5)};
  machine.metadata = {.create = milliseconds(2), .open = milliseconds(1), .threads = 16};
  machine.servers.push_back({.count = 18,
                             .targets = 4,
                             .server = {.nic_rate = {1000 * kMb}, .cpu_per_rpc = microseconds(50), .cores = 4},
                             .target = {.write_rate = {150 * kMb}, .positioning = milliseconds(8)}});
  sim::Scenario scenario{.name = fmt::format("FLASH-IO, {} processes", processes), .machine = machine};
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
