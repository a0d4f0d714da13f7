#include "status.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "file_system.hpp"
#include "json.hpp"
#include "live_screen.hpp"
#include "lustre/cluster_reader.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

enum class StatusSort : std::uint8_t { index, use };  // of OSTs

constexpr double kWarm = 0.75;  // coloured from here on
constexpr double kHot = 0.90;
// Between two looks at /proc/stat, when there is no earlier picture to compare with.
constexpr Duration kCpuWindow = std::chrono::milliseconds(200);

double share(const model::OssUsage& usage) {
  return usage.total.count == 0 ? 0.0 : static_cast<double>(usage.used.count) / static_cast<double>(usage.total.count);
}

Colour heat(double value) {
  if (value >= kHot) return Colour::red;
  return value >= kWarm ? Colour::yellow : Colour::none;
}

std::vector<std::string_view> state_names(const model::Ost& ost) {
  std::vector<std::string_view> names;
  if (!ost.state.active) names.emplace_back("inactive");
  if (ost.state.degraded) names.emplace_back("degraded");
  if (ost.state.read_only) names.emplace_back("read-only");
  if (ost.state.no_create) names.emplace_back("no-create");
  if (model::full(ost)) names.emplace_back("full");
  if (names.empty()) names.emplace_back("active");
  return names;
}

void add_space(ordered_json& json, const model::OssUsage& usage) {
  json["total_bytes"] = usage.total.count;
  json["used_bytes"] = usage.used.count;
  json["available_bytes"] = usage.available.count;
  json["utilisation"] = share(usage);
}

ordered_json to_json(const lustre::ClusterView& view) {
  const model::Cluster& cluster = view.cluster;
  ordered_json json;
  json["name"] = cluster.name;
  json["version"] = or_null(view.version);
  json["ost_cost"] = model::ost_cost(cluster);
  json["oss_cost"] = view.servers_known ? ordered_json(model::oss_cost(cluster)) : ordered_json(nullptr);
  add_space(json, model::usage(cluster));
  json["servers"] = ordered_json::array();
  for (std::size_t i = 0; i < cluster.servers.size(); ++i) {
    const model::Oss& oss = cluster.servers[i];
    const model::OssUsage usage = model::usage(cluster, i);
    ordered_json server{{"name", oss.name}, {"osts", usage.osts}};
    add_space(server, usage);
    server["cpu"] = or_null(oss.cpu);
    server["memory"] = or_null(oss.memory);
    server["load_1min"] = or_null(oss.load_1min);
    server["cores"] = or_null(oss.cores);
    json["servers"].push_back(std::move(server));
  }
  json["osts"] = ordered_json::array();
  for (std::size_t i = 0; i < cluster.osts.size(); ++i) {
    const model::Ost& ost = cluster.osts[i];
    json["osts"].push_back({{"index", ost.index.value},
                            {"name", ost.name},
                            {"server", cluster.servers[ost.oss].name},
                            {"total_bytes", ost.total.count},
                            {"used_bytes", model::used(ost).count},
                            {"free_bytes", ost.free.count},
                            {"available_bytes", ost.available.count},
                            {"utilisation", model::utilisation(ost)},
                            {"state", state_names(ost)},
                            {"source", lustre::to_string(view.seen_by[i])}});
  }
  return json;
}

// now: of a watched picture; the same capture gives the same document.
std::string to_json(const lustre::ClusterReading& reading, const input::ParseReport& report, std::optional<WallTime> now) {
  ordered_json json;
  if (now) json["time"] = seconds_of(*now);
  json["filesystems"] = ordered_json::array();
  for (const auto& view : reading.file_systems) json["filesystems"].push_back(to_json(view));
  add_problems(json, report);
  return to_line(json);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summary(const lustre::ClusterView& view) {
  const model::OssUsage all = model::usage(view.cluster);
  return fmt::format(
      "{}  {}{} on {}, {} of {} used ({}), {} available\n"
      "OSTCost {:.3f}  OSSCost {}  (most used / mean; 1 is balanced)\n",
      text::printable(view.cluster.name), view.version ? fmt::format("Lustre {}, ", text::printable(*view.version)) : "",
      counted(all.osts, "OST"), counted(view.cluster.servers.size(), "server"), to_string(all.used), to_string(all.total),
      percent(share(all)), to_string(all.available), model::ost_cost(view.cluster),
      view.servers_known ? fmt::format("{:.3f}", model::oss_cost(view.cluster)) : "-");
}

Table server_table(const model::Cluster& cluster, const Terminal& terminal) {
  Table table({{"SERVER"},
               {"OSTS", Align::right, 2},
               {"SIZE", Align::right, 3},
               {"USED", Align::right, 5},
               {"AVAILABLE", Align::right, 1},
               {"USE", Align::right},
               {"", Align::left, 4},
               {"CPU", Align::right},
               {"MEMORY", Align::right},
               {"LOAD", Align::right}});
  for (std::size_t i = 0; i < cluster.servers.size(); ++i) {
    const model::Oss& oss = cluster.servers[i];
    const model::OssUsage usage = model::usage(cluster, i);
    const double use = share(usage);
    const auto share_cell = [](const std::optional<double>& value) {
      return value ? Cell{.text = percent(*value), .colour = heat(*value)} : Cell{.text = "-"};
    };
    table.add({{oss.name},
               {fmt::to_string(usage.osts)},
               {to_string(usage.total)},
               {to_string(usage.used)},
               {to_string(usage.available)},
               {percent(use), heat(use)},
               {bar(use, bar_width(terminal), terminal), heat(use)},
               share_cell(oss.cpu),
               share_cell(oss.memory),
               {oss.load_1min ? fmt::format("{:.2f}{}", *oss.load_1min, oss.cores ? fmt::format("/{}", *oss.cores) : "") : "-"}});
  }
  return table;
}

Table ost_table(const model::Cluster& cluster, StatusSort sort, const Terminal& terminal) {
  Table table({{"OST"},
               {"SERVER", Align::left, 1},
               {"SIZE", Align::right, 3},
               {"USED", Align::right, 4},
               {"AVAILABLE", Align::right},
               {"USE", Align::right},
               {"", Align::left, 2},
               {"STATE"}});
  std::vector<model::Ost> osts = cluster.osts;
  if (sort == StatusSort::use) std::ranges::stable_sort(osts, std::greater{}, model::utilisation);
  for (const model::Ost& ost : osts) {
    const double use = model::utilisation(ost);
    const auto states = state_names(ost);
    table.add({{ost.name},
               {cluster.servers[ost.oss].name},
               {to_string(ost.total)},
               {to_string(model::used(ost))},
               {to_string(ost.available)},
               {percent(use), heat(use)},
               {bar(use, bar_width(terminal), terminal), heat(use)},
               {fmt::format("{}", fmt::join(states, ",")), states.front() == "active" ? Colour::none : Colour::yellow}});
  }
  return table;
}

std::string to_text(const lustre::ClusterReading& reading, const StatusOptions& options, StatusSort sort,
                    const Terminal& terminal) {
  std::string out;
  for (const auto& view : reading.file_systems) {
    if (!out.empty()) out += '\n';
    if (!options.no_header) out += fitted(summary(view), 2, terminal.columns) + '\n';
    out += server_table(view.cluster, terminal).render(terminal, !options.no_header) + '\n';
    out += ost_table(view.cluster, sort, terminal).render(terminal, !options.no_header);
  }
  return out;
}

void warn_of_hosts(const std::vector<lustre::HostState>& hosts, Context& context) {
  for (const auto& host : hosts) {
    if (host.health && *host.health != "healthy") {
      context.log.warning(fmt::format("{}: health_check says '{}'", host.name, *host.health));
    }
    if (!host.version || lustre::known(*host.version)) continue;
    context.log.warning(
        fmt::format("{} runs Lustre {}, which iez has not been tried with (2.10 to 2.18)", host.name, host.version->text));
  }
}

}  // namespace

Result<void> run_status(const StatusOptions& options, Context& context) {
  IEZ_TRY(const auto sources, open_sources(options.source.roots));
  if (options.watch.watch) IEZ_CHECK(require_moving(sources));
  std::vector<lustre::HostState> earlier;
  if (std::any_of(sources.begin(), sources.end(), [](const auto& source) { return source->live(); })) {
    input::ParseReport ignored;  // the reading below reports the same files
    for (const auto& source : sources) earlier.push_back(lustre::read_host(*source, ignored));
    context.clock.sleep(kCpuWindow);
  }
  LiveScreen screen(options.watch, options.json, context);
  StatusSort sort = StatusSort::index;
  for (unsigned long long shown = 1;; ++shown) {
    input::ParseReport report;
    IEZ_TRY(auto reading, lustre::read_clusters(sources, earlier, report));
    IEZ_CHECK(keep_file_system(reading, options.source.file_system));
    if (shown == 1) warn_of_hosts(reading.hosts, context);
    const auto show = [&]() -> Result<void> {
      IEZ_CHECK(screen.begin("status", sort == StatusSort::use ? "s: OSTs by use" : "s: OSTs by number"));
      return print(options.json ? to_json(reading, report, picture_time(options.watch, context))
                                : to_text(reading, options, sort, context.terminal));
    };
    IEZ_CHECK(show());
    report_problems(report, context);
    if (!options.watch.watch || shown == options.watch.count) return {};
    IEZ_TRY(const bool more, screen.wait(options.watch.interval, [&] {
      sort = sort == StatusSort::use ? StatusSort::index : StatusSort::use;
      return show();
    }));
    if (!more) return {};
    earlier = std::move(reading.hosts);
  }
}

}  // namespace iez::cli
