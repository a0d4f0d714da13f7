#include "lustre/cluster_reader.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lustre/import.hpp"

namespace iez::lustre {

namespace {

// The parameters that tell an OST's space, from one point of view.
struct View {
  SpaceSource source;
  Param total;
  Param free;
  Param available;
  std::optional<Param> import;  // tells the server
};

constexpr std::array kViews{
    View{SpaceSource::obdfilter, Param::ost_kbytes_total, Param::ost_kbytes_free, Param::ost_kbytes_available, std::nullopt},
    View{SpaceSource::osp, Param::osp_kbytes_total, Param::osp_kbytes_free, Param::osp_kbytes_available, Param::osp_import},
    View{SpaceSource::osc, Param::osc_kbytes_total, Param::osc_kbytes_free, Param::osc_kbytes_available, Param::osc_import}};

constexpr std::string_view kLoopback = "0@lo";

template <typename Parse>
auto read_host_file(const ParamSource& source, Param param, input::ParseReport& report, Parse parse)
    -> std::optional<typename decltype(parse(std::declval<input::ByteStream&>(), "", report))::value_type> {
  const auto instances = source.find(param);
  if (!instances || instances->empty()) return std::nullopt;
  auto stream = source.open(instances->front());
  if (!stream) return std::nullopt;
  auto value = parse(**stream, instances->front().origin, report);
  if (!value) {
    report.skip(instances->front().origin, 0, value.error().message);
    return std::nullopt;
  }
  return *std::move(value);
}

class Reader {
 public:
  Reader(std::span<const std::unique_ptr<ParamSource>> sources, std::span<const HostState> earlier, input::ParseReport& report)
      : sources_(sources), earlier_(earlier), report_(report) {}

  Result<ClusterReading> run() {
    for (const auto& source : sources_) hosts_.push_back(read_host(*source, report_));
    std::vector<std::optional<Error>> denied(sources_.size());
    gave_.resize(sources_.size());
    for (const View& view : kViews) {
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (auto added = add_targets(view, i); !added) denied[i] = std::move(added).error();
      }
    }
    if (file_systems_.empty()) {
      for (auto& error : denied) {
        if (error) return std::unexpected(*std::move(error));
      }
      if (!report_.problems.empty()) return fail(Errc::parse, "no OST can be read: " + to_string(report_.problems.front()));
      return fail(Errc::not_found, nothing_found());
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const std::optional<Error>& reason = denied[i];
      if (!gave_[i]) report_.skip(sources_[i]->name(), 0, reason ? reason->message : "no Lustre target in it");
      add_states(i);
    }
    return finish();
  }

 private:
  struct Entry {
    model::Ost ost;
    SpaceSource seen_by{};
  };
  struct FileSystem {
    std::vector<model::Oss> servers;
    std::map<std::string, std::size_t> server_index;
    std::map<std::uint32_t, Entry> osts;
    std::optional<std::string> version;
    bool servers_known = true;
  };

  std::string nothing_found() const {
    std::string names;
    for (const auto& source : sources_) names += (names.empty() ? "" : ", ") + source->name();
    return fmt::format(
        "no Lustre target in {}: expected obdfilter, osp or osc parameters below proc/fs/lustre or sys/fs/lustre; give a "
        "server's or "
        "client's root, a capture, or 'lctl get_param' text with --root",
        names);
  }

  Result<void> add_targets(const View& view, std::size_t host) {
    IEZ_TRY(const auto instances, sources_[host]->find(view.total));
    for (const Instance& instance : instances) {
      const DeviceName device = device_of(instance);
      FileSystem& file_system = file_systems_[device.file_system];
      gave_[host] = true;
      if (file_system.osts.contains(device.index)) continue;
      auto ost = read_space(view, host, instance);
      if (!ost) {
        report_.skip(instance.origin, 0, ost.error().message);
        continue;
      }
      ost->index = OstIndex{device.index};
      ost->name = device.target;
      ost->oss = server_of(view, host, instance.device, file_system);
      const std::optional<Version>& version = hosts_[host].version;
      if (!file_system.version && version) file_system.version = version->text;
      file_system.osts.emplace(device.index, Entry{.ost = *std::move(ost), .seen_by = view.source});
      ++report_.rows;
    }
    std::erase_if(file_systems_, [](const auto& item) { return item.second.osts.empty(); });
    return {};
  }

  Result<model::Ost> read_space(const View& view, std::size_t host, const Instance& total_instance) {
    const ParamSource& source = *sources_[host];
    IEZ_TRY(const std::uint64_t total, read_number(source, total_instance));
    IEZ_TRY(const std::uint64_t free, sibling_number(source, view.free, total_instance.device));
    IEZ_TRY(const std::uint64_t available, sibling_number(source, view.available, total_instance.device));
    constexpr std::uint64_t kMost = std::uint64_t{1} << 46U;  // KiB: 64 PiB, far above any target
    if (total > kMost || free > total || available > total) {
      return fail(Errc::parse,
                  fmt::format("kbytestotal {}, kbytesfree {}, kbytesavail {}: cannot all be true", total, free, available));
    }
    return model::Ost{.total = Bytes::kib(total), .free = Bytes::kib(free), .available = Bytes::kib(available)};
  }

  Result<std::uint64_t> sibling_number(const ParamSource& source, Param param, const std::string& device) {
    IEZ_TRY(const Instance* instance, sibling(source, param, device));
    return read_number(source, *instance);
  }

  // find() walks directories: once for each parameter and source, not for each target.
  Result<const Instance*> sibling(const ParamSource& source, Param param, const std::string& device) {
    const std::pair key{&source, param};
    auto cached = found_.find(key);
    if (cached == found_.end()) cached = found_.emplace(key, source.find(param)).first;
    if (!cached->second) return std::unexpected(cached->second.error());
    const auto& instances = *cached->second;
    const auto match = std::lower_bound(instances.begin(), instances.end(), device,
                                        [](const Instance& a, const std::string& b) { return a.device < b; });
    if (match == instances.end() || match->device != device) {
      return fail(Errc::not_found, fmt::format("{}: {} is missing", device, row(param).names.front()));
    }
    return &*match;
  }

  std::size_t server_of(const View& view, std::size_t host, const std::string& device, FileSystem& file_system) {
    std::string name = hosts_[host].name;
    std::string key = fmt::format("host {}", host);
    if (view.import) {
      const std::string nid = connection(*sources_[host], *view.import, device);
      if (nid != kLoopback) {
        name = nid.empty() ? "unknown" : nid;
        key = "nid " + nid;
        file_system.servers_known &= !nid.empty();
      }
    }
    const auto [found, fresh] = file_system.server_index.try_emplace(key, file_system.servers.size());
    if (fresh) {
      file_system.servers.push_back(key.starts_with("host ") ? server_with_load(host) : model::Oss{.name = name});
    }
    return found->second;
  }

  std::string connection(const ParamSource& source, Param param, const std::string& device) {
    const auto instance = sibling(source, param, device);
    if (!instance) {
      if (instance.error().code == Errc::permission && !import_denied_) report_.skip(source.name(), 0, instance.error().message);
      import_denied_ |= instance.error().code == Errc::permission;
      return "";
    }
    const auto stream = source.open(**instance);
    if (!stream) return "";
    const auto import = parse_import(**stream, (*instance)->origin, report_);
    if (!import) {
      report_.skip((*instance)->origin, 0, import.error().message);
      return "";
    }
    return import->current_connection;
  }

  model::Oss server_with_load(std::size_t host) const {
    const HostState& state = hosts_[host];
    model::Oss oss{.name = state.name};
    if (state.cpu) {
      oss.cores = state.cpu->cores;
      const std::optional<CpuLoad> before = host < earlier_.size() ? earlier_[host].cpu : std::nullopt;
      // A capture stands still: its counters say nothing about now.
      if (before && before->times != state.cpu->times) oss.cpu = busy_share(before->times, state.cpu->times);
    }
    if (state.memory) oss.memory = used_share(*state.memory);
    if (state.load) oss.load_1min = state.load->one;
    return oss;
  }

  void add_states(std::size_t host) {
    each_flag(host, Param::ost_degraded, [](model::OstState& state, std::uint64_t value) { state.degraded |= value != 0; });
    each_flag(host, Param::ost_read_only, [](model::OstState& state, std::uint64_t value) { state.read_only |= value != 0; });
    each_flag(host, Param::ost_no_create, [](model::OstState& state, std::uint64_t value) { state.no_create |= value != 0; });
    each_flag(host, Param::osp_active, [](model::OstState& state, std::uint64_t value) { state.active &= value != 0; });
    each_flag(host, Param::osp_max_create_count,
              [](model::OstState& state, std::uint64_t value) { state.no_create |= value == 0; });
  }

  // A flag that is missing or unreadable says nothing: not every version and not every node has it.
  template <typename Apply>
  void each_flag(std::size_t host, Param param, Apply apply) {
    const auto instances = sources_[host]->find(param);
    if (!instances) return;
    for (const Instance& instance : *instances) {
      const DeviceName device = device_of(instance);
      const auto file_system = file_systems_.find(device.file_system);
      if (file_system == file_systems_.end()) continue;
      const auto entry = file_system->second.osts.find(device.index);
      if (entry == file_system->second.osts.end()) continue;
      if (const auto value = read_number(*sources_[host], instance)) {
        apply(entry->second.ost.state, *value);
      } else {
        report_.skip(instance.origin, 0, value.error().message);
      }
    }
  }

  ClusterReading finish() {
    ClusterReading reading;
    for (auto& [name, file_system] : file_systems_) {
      ClusterView view{.cluster = {.name = name, .servers = std::move(file_system.servers)},
                       .version = file_system.version,
                       .servers_known = file_system.servers_known};
      for (auto& [index, entry] : file_system.osts) {
        view.cluster.osts.push_back(std::move(entry.ost));
        view.seen_by.push_back(entry.seen_by);
      }
      reading.file_systems.push_back(std::move(view));
    }
    reading.hosts = std::move(hosts_);
    return reading;
  }

  std::span<const std::unique_ptr<ParamSource>> sources_;
  std::span<const HostState> earlier_;
  input::ParseReport& report_;
  std::vector<HostState> hosts_;
  std::map<std::string, FileSystem> file_systems_;
  std::map<std::pair<const ParamSource*, Param>, Result<std::vector<Instance>>> found_;
  std::vector<bool> gave_;      // sources that know a target
  bool import_denied_ = false;  // said once
};

}  // namespace

std::string_view to_string(SpaceSource source) {
  switch (source) {
    case SpaceSource::obdfilter:
      return "obdfilter";
    case SpaceSource::osp:
      return "osp";
    case SpaceSource::osc:
      return "osc";
  }
  return "";
}

HostState read_host(const ParamSource& source, input::ParseReport& report) {
  HostState state{.name = read_optional(source, Param::host_name).value_or(source.name())};
  if (const auto version = read_optional(source, Param::version)) state.version = parse_version(*version);
  state.health = read_optional(source, Param::health_check);
  state.cpu = read_host_file(source, Param::host_stat, report, parse_cpu);
  state.memory = read_host_file(source, Param::host_meminfo, report, parse_memory);
  state.load = read_host_file(source, Param::host_loadavg, report, parse_load_average);
  return state;
}

Result<ClusterReading> read_clusters(std::span<const std::unique_ptr<ParamSource>> sources, std::span<const HostState> earlier,
                                     input::ParseReport& report) {
  return Reader(sources, earlier, report).run();
}

}  // namespace iez::lustre
