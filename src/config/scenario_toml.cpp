#include "config/scenario_toml.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/scenario_layers.hpp"
#include "config/scenario_parts.hpp"
#include "config/scenario_table.hpp"
#include "config/words.hpp"
#include "congestion/timeout.hpp"

namespace iez::config {

namespace {

// Those of the machine have been laid over it, and are here only where there was none to take them.
constexpr std::array<std::string_view, 19> kRootKeys{
    "name",  "machine",  "extends", "job",      "congestion", "placement", "network", "client",   "server",     "target",
    "locks", "metadata", "timeout", "incident", "background", "seed",      "until",   "interval", "description"};
constexpr std::array<std::string_view, 1> kPlacementKeys{"policy"};
constexpr std::array<std::string_view, 4> kIncidentKeys{"target", "server", "at", "speed"};
constexpr std::array<std::string_view, 2> kBackgroundKeys{"requests_per_second", "size"};

constexpr double kSlowest = 0.001;  // but for 0

Result<sim::Incident> read_incident(const TableReader& table, const sim::Machine& machine) {
  sim::Incident incident;
  IEZ_CHECK(table.only(kIncidentKeys));
  const bool target = table.get("target") != nullptr;
  if (target == (table.get("server") != nullptr)) {
    return table.wrong(table.node().origin, Errc::parse,
                       fmt::format("[[incident]]: found {}, expected target = 3 or server = 1", target ? "both" : "neither"));
  }
  incident.where = target ? sim::Incident::Where::target : sim::Incident::Where::server;
  const std::uint32_t count = target ? target_count(machine) : server_count(machine);
  IEZ_CHECK(table.whole(target ? "target" : "server", incident.index, 0, count - 1));
  if (table.get("at") == nullptr) return table.missing("at", "a time such as \"100s\"");
  IEZ_CHECK(table.duration("at", incident.at, Zero::allowed));
  if (table.get("speed") == nullptr) return table.missing("speed", "a factor: 0.5 is half as fast, 0 is down");
  IEZ_CHECK(table.number("speed", incident.speed, 0, 1000));
  if (incident.speed > 0 && incident.speed < kSlowest) return table.bad("speed", fmt::format("0, or at least {}", kSlowest));
  return incident;
}

class ScenarioReader {
 public:
  ScenarioReader(const Node& root, const ScenarioSources& sources, std::string_view file_name)
      : table_(root, ""), sources_(sources), file_name_(file_name) {}

  Result<sim::Scenario> read() {
    IEZ_CHECK(table_.only(kRootKeys));
    scenario_.name = "scenario";
    IEZ_CHECK(table_.name_of("name", scenario_.name));
    std::string description;
    IEZ_CHECK(table_.name_of("description", description));
    IEZ_TRY(const auto machine, table_.table("machine", "[machine]"));
    if (!machine) return table_.missing("machine", "a name, a path that ends in .toml, or a table [machine]");
    IEZ_TRY(scenario_.machine, read_machine(*machine));
    IEZ_CHECK(read_jobs());
    IEZ_CHECK(read_placement());
    IEZ_TRY(const auto congestion, table_.table("congestion", "[congestion]"));
    if (congestion) {
      IEZ_TRY(scenario_.congestion, read_law(*congestion));
    }
    IEZ_CHECK(read_timeout());
    IEZ_CHECK(read_incidents());
    IEZ_CHECK(read_background());
    IEZ_CHECK(table_.whole("seed", scenario_.seed, 0, kMaxSize));
    IEZ_CHECK(read_times());
    return std::move(scenario_);
  }

 private:
  Result<void> read_jobs() {
    IEZ_TRY(const auto jobs, table_.tables("job"));
    if (jobs.empty()) return table_.missing("job", "at least one [[job]]");
    if (jobs.size() > kMaxJobs) return table_.bad("job", fmt::format("at most {} of them", kMaxJobs), Errc::limit);
    std::uint64_t processes = 0;
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    scenario_.jobs.reserve(jobs.size());
    for (const Node& node : jobs) {
      const TableReader reader(node, "[[job]]");
      IEZ_TRY(sim::Job job, read_job(reader, scenario_.machine, sources_, file_name_));
      processes += job.processes;
      objects = saturating_add(objects, object_count(job));
      bytes = saturating_add(bytes, total_bytes(job).count);
      const auto too_much = [&](std::uint64_t found, std::string_view what, std::uint64_t most) {
        return reader.wrong(node.origin, Errc::limit,
                            fmt::format("[[job]]: found {} {} in all jobs up to here, expected at most {}", found, what, most));
      };
      if (processes > kMaxProcesses) return too_much(processes, "processes", kMaxProcesses);
      if (objects > kMaxObjects) return too_much(objects, "objects (files x stripes)", kMaxObjects);
      if (bytes > kMaxJobBytes) return too_much(bytes, "bytes", kMaxJobBytes);
      scenario_.jobs.push_back(std::move(job));
    }
    return {};
  }

  Result<void> read_placement() {
    IEZ_TRY(const auto placement, table_.table("placement", "[placement]"));
    if (!placement) return {};
    IEZ_CHECK(placement->only(kPlacementKeys));
    return placement->word("policy", scenario_.placement, sim::placement_names());
  }

  // A time, "none", or "rcc": that of the source for its law.
  Result<void> read_timeout() {
    const Node* const timeout = table_.get("timeout");
    if (timeout == nullptr) return {};
    if (timeout->is_text() && timeout->text == "none") {
      scenario_.machine.timeout.reset();
    } else if (timeout->is_text() && timeout->text == "rcc") {
      const auto* const law = std::get_if<congestion::RccParameters>(&scenario_.congestion);
      if (law == nullptr) {
        return table_.bad("timeout", "it with a law of l_max only, or a time such as \"100s\": it is lambda l_max + l_net");
      }
      scenario_.machine.timeout = congestion::request_timeout(*law);
    } else {
      Duration value{};
      if (timeout->is_text() && !parse_duration(timeout->text)) {
        return table_.bad("timeout", "a time above 0 such as \"100s\", \"rcc\" or \"none\"");
      }
      IEZ_CHECK(table_.duration("timeout", value, Zero::refused));
      scenario_.machine.timeout = value;
    }
    return {};
  }

  Result<void> read_incidents() {
    IEZ_TRY(const auto incidents, table_.tables("incident"));
    if (incidents.size() > kMaxIncidents) {
      return table_.bad("incident", fmt::format("at most {} of them", kMaxIncidents), Errc::limit);
    }
    scenario_.incidents.reserve(incidents.size());
    for (const Node& node : incidents) {
      IEZ_TRY(const sim::Incident incident, read_incident(TableReader(node, "[[incident]]"), scenario_.machine));
      scenario_.incidents.push_back(incident);
    }
    return {};
  }

  Result<void> read_background() {
    IEZ_TRY(const auto background, table_.table("background", "[background]"));
    if (!background) return {};
    IEZ_CHECK(background->only(kBackgroundKeys));
    IEZ_CHECK(background->number("requests_per_second", scenario_.background.requests_per_second, 0, 1e6));
    IEZ_CHECK(background->size("size", scenario_.background.size));
    if (scenario_.background.size > Bytes::gib(1)) return background->bad("size", "at most 1 GiB");
    return {};
  }

  Result<void> read_times() {
    if (table_.get("until") != nullptr) {
      Duration until{};
      IEZ_CHECK(table_.duration("until", until, Zero::refused));
      scenario_.until = until;
    }
    IEZ_CHECK(table_.duration("interval", scenario_.interval, Zero::refused));
    if (scenario_.interval < std::chrono::milliseconds(1)) return table_.bad("interval", "at least \"1ms\"");
    if (scenario_.until && *scenario_.until / scenario_.interval >= static_cast<std::int64_t>(kMaxSamples)) {
      return table_.bad(table_.get("interval") != nullptr ? "interval" : "until",
                        fmt::format("at most {} intervals in the whole run", kMaxSamples), Errc::limit);
    }
    return {};
  }

  TableReader table_;
  const ScenarioSources& sources_;
  std::string_view file_name_;
  sim::Scenario scenario_;
};

}  // namespace

Result<sim::Scenario> parse_scenario(std::string_view text, std::string_view file_name, const ScenarioSources& sources,
                                     std::span<const Override> overrides) {
  IEZ_TRY(const Node root, scenario_layers(text, file_name, sources, overrides));
  return ScenarioReader(root, sources, file_name).read();
}

Result<sim::Machine> parse_machine(std::string_view text, std::string_view file_name, const ScenarioSources& sources) {
  IEZ_TRY(const Node root, machine_layers(text, file_name, sources));
  return read_machine(TableReader(root, ""));
}

}  // namespace iez::config
