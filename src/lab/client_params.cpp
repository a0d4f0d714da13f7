#include "lab/client_params.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::lab {
namespace {

constexpr std::uint32_t kMostRpcs = 256;
constexpr std::uint64_t kMostDirty = 2048;  // MiB
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

std::string seconds(Duration time) { return fmt::format("{}.{:09}", time.count() / 1'000'000'000, time.count() % 1'000'000'000); }

std::string table(std::string_view title, const Traffic::Histogram& reads, const Traffic::Histogram& writes) {
  const auto sum = [](const Traffic::Histogram& counts) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts) all += count;
    return std::max<std::uint64_t>(all, 1);
  };
  std::size_t last = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i] + writes[i] != 0) last = i;
  }
  std::string text = fmt::format("\n\t\t\tread\t\t\twrite\n{:<22}rpcs   % cum % |       rpcs   % cum %\n", title);
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    read += reads[i];
    written += writes[i];
    text +=
        fmt::format("{}:\t\t{:10} {:3} {:3}   | {:10} {:3} {:3}\n", std::uint64_t{1} << i, reads[i], reads[i] * 100 / sum(reads),
                    read * 100 / sum(reads), writes[i], writes[i] * 100 / sum(writes), written * 100 / sum(writes));
  }
  return text;
}

}  // namespace

ClientParams::ClientParams(const Config& config, const std::string& node, std::uint64_t client, FsClient& files,
                           const Clock& clock)
    : config_(config),
      instance_(fmt::format("{:016x}", client)),
      files_(files),
      clock_(clock),
      started_(clock.wall()),
      params_(params_root(config, node)),
      oscs_(config.ost_count()) {
  for (std::uint32_t ost = 0; ost < oscs_.size(); ++ost) {
    oscs_[ost] = {.rpcs_in_flight = config.rpcs_in_flight, .dirty_mb = std::max<std::uint64_t>(1, config.dirty.count / kMib)};
    put(osc("sys/fs/lustre", ost, "max_rpcs_in_flight"), fmt::format("{}\n", oscs_[ost].rpcs_in_flight));
    put(osc("sys/fs/lustre", ost, "max_dirty_mb"), fmt::format("{}\n", oscs_[ost].dirty_mb));
  }
}

std::string ClientParams::osc(const std::string& home, std::uint32_t ost, const std::string& name) const {
  return fmt::format("{}/osc/{}-OST{:04x}-osc-{}/{}", home, config_.name, ost, instance_, name);
}

// A tree that cannot be written (a full disk) must not stop the mount.
void ClientParams::put(const std::string& path, const std::string& text) {
  if (const auto done = params_.put(path, text); !done) return;
}

void ClientParams::take_settings(std::uint32_t ost) {
  Osc& set = oscs_[ost];
  const std::string rpcs_path = osc("sys/fs/lustre", ost, "max_rpcs_in_flight");
  const std::string dirty_path = osc("sys/fs/lustre", ost, "max_dirty_mb");
  const auto number = [this](const std::string& path) -> std::optional<std::uint64_t> {
    const auto found = params_.get(path);
    if (!found) return std::nullopt;
    return text::parse_u64(text::trim(*found));
  };
  const auto rpcs = number(rpcs_path);
  const auto dirty = number(dirty_path);
  Osc wanted = set;
  if (rpcs && *rpcs >= 1 && *rpcs <= kMostRpcs) wanted.rpcs_in_flight = static_cast<std::uint32_t>(*rpcs);
  if (dirty && *dirty >= 1 && *dirty <= kMostDirty) wanted.dirty_mb = *dirty;
  if (wanted.rpcs_in_flight > set.rpcs_in_flight) {
    wanted.dirty_mb = std::max(wanted.dirty_mb, (wanted.rpcs_in_flight * config_.rpc_size.count + kMib - 1) / kMib);
  }
  const bool changed = wanted.rpcs_in_flight != set.rpcs_in_flight || wanted.dirty_mb != set.dirty_mb;
  set = wanted;
  if (changed) files_.set_limits(ost, set.rpcs_in_flight, set.dirty_mb * kMib);
  const auto settle = [this](const std::string& path, std::optional<std::uint64_t> found, std::uint64_t value) {
    if (found == value) return;
    if (const auto done = params_.put_back(path, fmt::format("{}\n", value)); !done) return;
  };
  settle(rpcs_path, rpcs, set.rpcs_in_flight);
  settle(dirty_path, dirty, set.dirty_mb);
}

std::string ClientParams::import_text(std::uint32_t ost) const {
  const std::uint32_t oss = config_.oss_of(ost);
  const OstTraffic traffic = files_.traffic(ost);
  return fmt::format(
      "import:\n"
      "    name: {0}-OST{1:04x}-osc-{2}\n"
      "    target: {0}-OST{1:04x}_UUID\n"
      "    state: {3}\n"
      "    connection:\n"
      "       failover_nids: [ \"oss{4}@lo\" ]\n"
      "       current_connection: \"oss{4}@lo\"\n"
      "       connection_attempts: {5}\n"
      "    rpcs:\n"
      "       inflight: {6}\n",
      config_.name, ost, instance_, files_.connected(oss) ? "FULL" : "DISCONN", oss, files_.reconnects(oss) + 1,
      traffic.reads.in_flight + traffic.writes.in_flight);
}

std::string ClientParams::rpc_stats_text(const OstTraffic& traffic) const {
  const WallTime now = clock_.wall();
  std::string text = fmt::format(
      "snapshot_time:            {} secs.nsecs\n"
      "start_time:               {} secs.nsecs\n"
      "elapsed_time:             {} secs.nsecs\n"
      "read RPCs in flight:  {}\n"
      "write RPCs in flight: {}\n"
      "pending write pages:  0\n"
      "pending read pages:   0\n",
      seconds(now.time_since_epoch()), seconds(started_.time_since_epoch()), seconds(now - started_), traffic.reads.in_flight,
      traffic.writes.in_flight);
  text += table("pages per rpc", traffic.reads.pages, traffic.writes.pages);
  text += table("rpcs in flight", traffic.reads.at_once, traffic.writes.at_once);
  return text;
}

std::string ClientParams::stats_text() const {
  const FileCalls calls = files_.calls();
  const WallTime now = clock_.wall();
  std::string text = fmt::format("snapshot_time             {} secs.nsecs\nstart_time                {} secs.nsecs\n",
                                 seconds(now.time_since_epoch()), seconds(started_.time_since_epoch()));
  const auto row = [&text](std::string_view name, const CallTotals& of) {
    if (of.calls == 0) return;
    text +=
        fmt::format("{:<25} {} samples [bytes] {} {} {} {:.0f}\n", name, of.calls, of.smallest, of.largest, of.bytes, of.squares);
  };
  row("read_bytes", calls.reads);
  row("write_bytes", calls.writes);
  return text;
}

void ClientParams::update() {
  for (std::uint32_t ost = 0; ost < oscs_.size(); ++ost) {
    take_settings(ost);
    put(osc("sys/kernel/debug/lustre", ost, "import"), import_text(ost));
    put(osc("sys/kernel/debug/lustre", ost, "rpc_stats"), rpc_stats_text(files_.traffic(ost)));
  }
  put(fmt::format("sys/kernel/debug/lustre/llite/{}-{}/stats", config_.name, instance_), stats_text());
  const auto space = files_.space({});
  if (!space) return;
  for (const OstSpace& ost : space->osts) {
    put(osc("sys/fs/lustre", ost.ost, "kbytestotal"), fmt::format("{}\n", ost.total / 1024));
    put(osc("sys/fs/lustre", ost.ost, "kbytesfree"), fmt::format("{}\n", ost.free / 1024));
    put(osc("sys/fs/lustre", ost.ost, "kbytesavail"), fmt::format("{}\n", ost.free / 1024));
  }
}

}  // namespace iez::lab
