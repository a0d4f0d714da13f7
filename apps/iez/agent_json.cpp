#include "agent_json.hpp"

#include <chrono>

#include <fmt/format.h>

namespace iez::cli {

namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// A number of 64 bits is more than many readers of JSON keep.
std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

ordered_json load_json(const telemetry::HostLoad& load) {
  return {{"cpu", or_null(load.cpu)},
          {"memory", or_null(load.memory)},
          {"load_1min", or_null(load.load_1min)},
          {"cores", or_null(load.cores)}};
}

ordered_json state_json(const model::OstState& state) {
  ordered_json words = ordered_json::array();
  if (!state.active) words.push_back("inactive");
  if (state.degraded) words.push_back("degraded");
  if (state.read_only) words.push_back("read-only");
  if (state.no_create) words.push_back("no-create");
  return words;
}

}  // namespace

ordered_json sample_json(const telemetry::Sample& sample) {
  ordered_json json{{"agent", sample.agent},
                    {"roles", to_string(sample.roles)},
                    {"instance", id_text(sample.instance)},
                    {"sequence", sample.sequence},
                    {"sent", seconds_of(sample.sent)},
                    {"interval", seconds(sample.interval)},
                    {"dropped", sample.dropped},
                    {"skipped", sample.skipped},
                    {"last", sample.last},
                    {"bytes", telemetry::encode(sample).size()},
                    {"host", load_json(sample.host)},
                    {"file_systems", ordered_json::array()}};
  for (const telemetry::FileSystemSample& file_system : sample.file_systems) {
    ordered_json one{{"name", file_system.name},
                     {"version", file_system.version},
                     {"servers", ordered_json::array()},
                     {"osts", ordered_json::array()},
                     {"mdts", file_system.mdts}};
    for (const telemetry::ServerSample& server : file_system.servers) {
      ordered_json row{{"name", server.name}};
      row.update(load_json(server.load));
      one["servers"].push_back(std::move(row));
    }
    for (const telemetry::OstSample& ost : file_system.osts) {
      one["osts"].push_back({{"index", ost.index.value},
                             {"server", file_system.servers[ost.server].name},
                             {"total", ost.total.count},
                             {"free", ost.free.count},
                             {"available", ost.available.count},
                             {"state", state_json(ost.state)},
                             {"seen_by", lustre::to_string(ost.seen_by)},
                             {"read_bytes", or_null(ost.read_bytes)},
                             {"write_bytes", or_null(ost.write_bytes)},
                             {"jobs", or_null(ost.jobs)}});
    }
    json["file_systems"].push_back(std::move(one));
  }
  return json;
}

ordered_json agent_json(const telemetry::AgentInfo& agent) {
  return {{"name", agent.name},
          {"roles", to_string(agent.roles)},
          {"state", telemetry::to_string(agent.state)},
          {"instance", id_text(agent.instance)},
          {"sequence", agent.sequence},
          {"interval", seconds(agent.interval)},
          {"age", seconds(agent.age)},
          {"skew", agent.skew ? ordered_json(seconds(*agent.skew)) : ordered_json(nullptr)},
          {"samples", agent.samples},
          {"missing", agent.missing},
          {"duplicates", agent.duplicates},
          {"reordered", agent.reordered},
          {"stale_samples", agent.stale_samples},
          {"restarts", agent.restarts},
          {"refused", agent.refused},
          {"dropped", agent.dropped},
          {"skipped", agent.skipped},
          {"targets", agent.targets},
          {"host", load_json(agent.host)}};
}

ordered_json view_json(const telemetry::FileSystemView& view) {
  ordered_json json{{"name", view.cluster.name},
                    {"version", view.version},
                    {"servers_known", view.servers_known},
                    {"servers", ordered_json::array()},
                    {"osts", ordered_json::array()}};
  for (const model::Oss& server : view.cluster.servers) {
    json["servers"].push_back({{"name", server.name},
                               {"cpu", or_null(server.cpu)},
                               {"memory", or_null(server.memory)},
                               {"load_1min", or_null(server.load_1min)},
                               {"cores", or_null(server.cores)}});
  }
  for (std::size_t i = 0; i < view.osts.size(); ++i) {
    const model::Ost& ost = view.cluster.osts[i];
    const telemetry::OstInfo& info = view.osts[i];
    json["osts"].push_back({{"index", ost.index.value},
                            {"server", view.cluster.servers[ost.oss].name},
                            {"total", ost.total.count},
                            {"free", ost.free.count},
                            {"available", ost.available.count},
                            {"state", state_json(ost.state)},
                            {"seen_by", lustre::to_string(info.seen_by)},
                            {"agent", info.agent},
                            {"age", seconds(info.age)},
                            {"stale", info.stale},
                            {"takeovers", info.takeovers},
                            {"read_bytes", or_null(info.read_bytes)},
                            {"write_bytes", or_null(info.write_bytes)},
                            {"jobs", or_null(info.jobs)}});
  }
  return json;
}

ordered_json counters_json(const telemetry::CollectorCounters& counters) {
  ordered_json json;
  for (std::size_t i = 0; i < telemetry::kOutcomes; ++i) {
    json[std::string(telemetry::to_string(static_cast<telemetry::Outcome>(i)))] = counters.outcomes[i];
  }
  json["targets_refused"] = counters.targets_refused;
  json["takeovers"] = counters.takeovers;
  json["evicted"] = counters.evicted;
  return json;
}

}  // namespace iez::cli
