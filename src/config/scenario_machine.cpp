#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/scenario_parts.hpp"

namespace iez::config {

namespace {

constexpr std::array<std::string_view, 9> kMachineKeys{"extends", "name",  "nodes",    "client", "network",
                                                       "server",  "locks", "metadata", "timeout"};
constexpr std::array<std::string_view, 6> kClientKeys{"processes_per_node", "process_rate", "nic_rate",
                                                      "import_rate",        "rpc_size",     "cache"};
constexpr std::array<std::string_view, 2> kNetworkKeys{"latency", "turnaround"};
constexpr std::array<std::string_view, 2> kLockKeys{"enqueue", "revocation"};
constexpr std::array<std::string_view, 3> kMetadataKeys{"create", "open", "threads"};
constexpr std::array<std::string_view, 7> kServerKeys{"count",       "targets", "threads", "nic_rate",
                                                      "cpu_per_rpc", "cores",   "target"};
constexpr std::array<std::string_view, 5> kTargetKeys{"write_rate", "read_rate", "positioning", "patience", "capacity"};

constexpr std::size_t kMaxGroups = 10'000;
constexpr std::uint64_t kMaxThreads = 1'000'000;
constexpr Bytes kMaxRpc = Bytes::gib(1);

Result<void> read_client(const TableReader& table, sim::ClientModel& client) {
  IEZ_CHECK(table.only(kClientKeys));
  IEZ_CHECK(table.whole("processes_per_node", client.processes_per_node, 1, 1'000'000));
  IEZ_CHECK(table.rate("process_rate", client.process_rate));
  IEZ_CHECK(table.rate("nic_rate", client.nic_rate));
  IEZ_CHECK(table.rate("import_rate", client.import_rate));
  IEZ_CHECK(table.size("rpc_size", client.rpc_size));
  if (client.rpc_size > kMaxRpc) return table.bad("rpc_size", "at most 1 GiB");
  return table.size("cache", client.cache);
}

Result<void> read_network(const TableReader& table, sim::NetworkModel& network) {
  IEZ_CHECK(table.only(kNetworkKeys));
  IEZ_CHECK(table.duration("latency", network.latency, Zero::allowed));
  return table.duration("turnaround", network.turnaround, Zero::allowed);
}

Result<void> read_locks(const TableReader& table, sim::LockModel& locks) {
  IEZ_CHECK(table.only(kLockKeys));
  IEZ_CHECK(table.duration("enqueue", locks.enqueue, Zero::allowed));
  return table.duration("revocation", locks.revocation, Zero::allowed);
}

Result<void> read_metadata(const TableReader& table, sim::MetadataModel& metadata) {
  IEZ_CHECK(table.only(kMetadataKeys));
  IEZ_CHECK(table.duration("create", metadata.create, Zero::allowed));
  IEZ_CHECK(table.duration("open", metadata.open, Zero::allowed));
  return table.whole("threads", metadata.threads, 1, kMaxThreads);
}

Result<void> read_target(const TableReader& table, sim::TargetModel& target) {
  IEZ_CHECK(table.only(kTargetKeys));
  IEZ_CHECK(table.rate("write_rate", target.write_rate));
  if (target.write_rate.value <= 0) return table.bad("write_rate", "a rate above 0 such as \"200MB/s\"");
  IEZ_CHECK(table.rate("read_rate", target.read_rate));
  IEZ_CHECK(table.duration("positioning", target.positioning, Zero::allowed));
  IEZ_CHECK(table.duration("patience", target.patience, Zero::allowed));
  return table.space("capacity", target.capacity);
}

Result<sim::ServerGroup> read_group(const TableReader& table) {
  sim::ServerGroup group;
  IEZ_CHECK(table.only(kServerKeys));
  IEZ_CHECK(table.whole("count", group.count, 1, kMaxTargets));
  IEZ_CHECK(table.whole("targets", group.targets, 1, kMaxTargets));
  IEZ_CHECK(table.whole("threads", group.server.threads, 1, kMaxThreads));
  IEZ_CHECK(table.rate("nic_rate", group.server.nic_rate));
  IEZ_CHECK(table.duration("cpu_per_rpc", group.server.cpu_per_rpc, Zero::allowed));
  IEZ_CHECK(table.whole("cores", group.server.cores, 1, kMaxThreads));
  IEZ_TRY(const auto target, table.table("target", "[server.target]"));
  if (!target) return table.missing("target", "a table [server.target] with write_rate = \"200MB/s\"");
  IEZ_CHECK(read_target(*target, group.target));
  return group;
}

template <typename Read, typename Model>
Result<void> read_part(const TableReader& machine, std::string_view key, Read read, Model& model) {
  IEZ_TRY(const auto part, machine.table(key, fmt::format("[{}]", key)));
  if (!part) return {};
  return read(*part, model);
}

}  // namespace

Result<sim::Machine> read_machine(const TableReader& table) {
  sim::Machine machine{.name = "machine"};
  IEZ_CHECK(table.only(kMachineKeys));
  IEZ_CHECK(table.name_of("name", machine.name));
  IEZ_CHECK(table.whole("nodes", machine.nodes, 1, kMaxNodes));
  IEZ_CHECK(read_part(table, "client", read_client, machine.client));
  IEZ_CHECK(read_part(table, "network", read_network, machine.network));
  IEZ_CHECK(read_part(table, "locks", read_locks, machine.locks));
  IEZ_CHECK(read_part(table, "metadata", read_metadata, machine.metadata));
  if (table.get("timeout") != nullptr) {
    Duration timeout{};
    IEZ_CHECK(table.duration("timeout", timeout, Zero::refused));
    machine.timeout = timeout;
  }
  IEZ_TRY(const auto groups, table.tables("server"));
  if (groups.empty()) return table.missing("server", "at least one [[server]] with targets");
  if (groups.size() > kMaxGroups) return table.bad("server", fmt::format("at most {} tables", kMaxGroups), Errc::limit);
  std::uint64_t targets = 0;
  machine.servers.reserve(groups.size());
  for (const Node& node : groups) {
    const TableReader reader(node, "[[server]]");
    IEZ_TRY(sim::ServerGroup group, read_group(reader));
    targets += std::uint64_t{group.count} * group.targets;
    if (targets > kMaxTargets) {
      return reader.wrong(
          node.origin, Errc::limit,
          fmt::format("count and targets of [[server]]: found {} targets up to here, expected at most {}", targets, kMaxTargets));
    }
    machine.servers.push_back(group);
  }
  return machine;
}

}  // namespace iez::config
