// A scenario in TOML from anywhere, with what it refers to: what is accepted is a sound scenario. The input holds several files,
// set apart by lines "%%%": the scenario, then a.toml, b.toml and so on, a line that starts with "%key=value" being an override
// of it; the first such line is read as a sweep too.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/scenario_toml.hpp"
#include "config/words.hpp"
#include "sim/simulation.hpp"

namespace {

using iez::Duration;
using iez::config::Override;

struct Input {
  std::vector<std::string> files{""};
  std::vector<Override> overrides;
  std::vector<std::string> sweeps;
};

Input split(std::string_view text) {
  Input input;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == "%%%" && input.files.size() < 12) {
      input.files.emplace_back();
    } else if (line.starts_with('%') && input.overrides.size() < 8) {
      if (input.sweeps.size() < 2) input.sweeps.emplace_back(line.substr(1));
      if (const auto change = iez::config::parse_override(line.substr(1))) input.overrides.push_back(*change);
    } else {
      input.files.back() += line;
      input.files.back() += '\n';
    }
  }
  return input;
}

iez::config::ScenarioSources sources(const std::vector<std::string>& files) {
  iez::config::ScenarioSources out;
  out.machines = {"m", "n"};
  out.load = [&files](std::string_view name, std::string_view /*from*/) -> iez::Result<std::string> {
    if (name.empty()) return iez::fail(iez::Errc::not_found, "no name");
    // a.toml is the first file after the scenario, b.toml the next; the machine m is the last one.
    const std::size_t index = name == "m" || name == "n" ? files.size() - 1 : 1 + static_cast<std::size_t>(name.front() - 'a');
    if (index >= files.size()) return iez::fail(iez::Errc::not_found, "no such file");
    return files[index];
  };
  return out;
}

bool is_rate(iez::BytesPerSecond rate) { return std::isfinite(rate.value) && rate.value >= 0; }

void check_machine(const iez::sim::Machine& machine) {
  IEZ_ASSERT(!machine.name.empty() && machine.nodes >= 1 && machine.nodes <= iez::config::kMaxNodes);
  IEZ_ASSERT(machine.client.processes_per_node >= 1 && machine.client.rpc_size.count >= 1 && machine.client.cache.count >= 1);
  IEZ_ASSERT(is_rate(machine.client.process_rate) && is_rate(machine.client.nic_rate));
  IEZ_ASSERT(machine.network.latency >= Duration{} && machine.network.turnaround >= Duration{});
  IEZ_ASSERT(machine.locks.enqueue >= Duration{} && machine.locks.revocation >= Duration{});
  IEZ_ASSERT(machine.metadata.create >= Duration{} && machine.metadata.open >= Duration{} && machine.metadata.threads >= 1);
  IEZ_ASSERT(!machine.timeout || *machine.timeout > Duration{});
  IEZ_ASSERT(!machine.servers.empty());
  std::uint64_t targets = 0;
  for (const auto& group : machine.servers) {
    targets += std::uint64_t{group.count} * group.targets;
    IEZ_ASSERT(group.count >= 1 && group.targets >= 1 && group.server.threads >= 1 && group.server.cores >= 1);
    IEZ_ASSERT(is_rate(group.target.write_rate) && group.target.write_rate.value > 0 && is_rate(group.target.read_rate));
    IEZ_ASSERT(group.target.positioning >= Duration{} && group.server.cpu_per_rpc >= Duration{});
  }
  IEZ_ASSERT(targets <= iez::config::kMaxTargets && targets == target_count(machine));
}

void check_scenario(const iez::sim::Scenario& scenario) {
  check_machine(scenario.machine);
  IEZ_ASSERT(!scenario.jobs.empty() && !scenario.name.empty());
  std::uint64_t bytes = 0;
  for (const auto& job : scenario.jobs) {
    IEZ_ASSERT(job.processes >= 1 && job.pattern.files >= 1 && job.pattern.segments >= 1);
    IEZ_ASSERT(job.pattern.transfer.count >= 1 && job.pattern.block.count % job.pattern.transfer.count == 0);
    IEZ_ASSERT(job.striping.count >= 1 && job.striping.count <= target_count(scenario.machine) && job.striping.size.count >= 1);
    IEZ_ASSERT(job.collective.writers <= job.processes);
    IEZ_ASSERT(job.start >= Duration{} && job.start_spread >= Duration{});
    bytes += total_bytes(job).count;
    IEZ_ASSERT(bytes <= iez::config::kMaxSize);
  }
  for (const auto& incident : scenario.incidents) {
    const bool target = incident.where == iez::sim::Incident::Where::target;
    IEZ_ASSERT(incident.index < (target ? target_count(scenario.machine) : server_count(scenario.machine)));
    IEZ_ASSERT(incident.speed >= 0 && incident.at >= Duration{});
  }
  IEZ_ASSERT(scenario.interval > Duration{} && (!scenario.until || *scenario.until > Duration{}));
  IEZ_ASSERT(iez::sim::check(scenario).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = split({reinterpret_cast<const char*>(data), size});
  const auto scenario = iez::config::parse_scenario(input.files[0], "fuzz", sources(input.files), input.overrides);
  if (scenario) {
    check_scenario(*scenario);
  } else {
    IEZ_ASSERT(!scenario.error().message.empty());
  }
  const auto machine = iez::config::parse_machine(input.files.back(), "fuzz", sources(input.files));
  if (machine) check_machine(*machine);
  if (const auto sweeps = iez::config::parse_sweeps(input.sweeps)) {
    std::size_t product = 1;
    for (const auto& sweep : *sweeps) product *= sweep.values.size();
    IEZ_ASSERT(product <= iez::config::kMaxCombinations && iez::config::combinations(*sweeps).size() == product);
  }
  return 0;
}
