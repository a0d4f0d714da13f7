#include "serve_status.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "api/cluster_counts.hpp"
#include "api/coordinator_client.hpp"
#include "base/text.hpp"
#include "config/settings.hpp"
#include "coordinator/busy_gate.hpp"
#include "http/certificate.hpp"
#include "json.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

struct Report {
  std::string url;
  std::map<std::string, std::size_t> agents;  // by state
  api::ClusterCounts cluster;
  std::size_t plans = 0;    // that wait
  std::uint64_t files = 0;  // of them
  std::size_t queue = 0;
  bool busy = false;
  std::string why;  // it is; empty: not known, as of an older coordinator
};

// Where this node's own coordinator listens. With a certificate, by a name that this is for: by another one it would not be
// trusted.
std::string own_url(const config::Settings::Serve& serve) {
  const std::size_t colon = serve.listen.rfind(':');
  std::string host = serve.listen.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : serve.listen.substr(colon);
  if (host == "0.0.0.0" || host == "[::]" || host == "*") host = "127.0.0.1";
  if (serve.certificate.empty()) return "http://" + host + port;
  const auto certificate = http::read_certificate(serve.certificate);
  if (certificate && std::ranges::find(certificate->names, host) == certificate->names.end()) {
    const auto named = std::ranges::find_if(certificate->names, [](const std::string& name) { return !name.starts_with('*'); });
    if (named != certificate->names.end()) host = named->find(':') == std::string::npos ? *named : "[" + *named + "]";
  }
  return "https://" + host + port;
}

// The sample of a metric without labels; nothing if there is none.
std::optional<double> sample_of(std::string_view metrics, std::string_view name) {
  while (!metrics.empty()) {
    std::string_view line = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(metrics.size(), line.size() + 1));
    if (text::take_word(line) == name) return text::parse_double(text::trim(line));
  }
  return std::nullopt;
}

std::unexpected<Error> no_sense(const std::string& url, std::string_view path) {
  return fail(Errc::parse, fmt::format("{}{}: an answer that makes no sense; is it a coordinator of iez?", url, path));
}

Result<Report> ask(api::CoordinatorClient& client, const std::string& url) {
  Report out{.url = url};
  IEZ_TRY(const std::string cluster_text, client.get("/v1/cluster"));
  IEZ_TRY(const std::string agents_text, client.get("/v1/agents"));
  IEZ_TRY(const std::string metrics, client.get("/metrics"));
  IEZ_TRY(const auto plans, client.plans(""));
  const auto cluster = api::count_cluster(cluster_text);
  if (!cluster) return no_sense(url, "/v1/cluster");
  auto agents = api::count_agents(agents_text);
  if (!agents) return no_sense(url, "/v1/agents");
  out.cluster = *cluster;
  out.agents = *std::move(agents);
  for (const api::PlanRow& plan : plans) {
    if (plan.state != "pending") continue;
    ++out.plans;
    out.files += plan.files;
  }
  const auto queue = sample_of(metrics, "iez_queue_requests");
  const auto busy = sample_of(metrics, "iez_gate_closed");
  if (!queue || !busy) return no_sense(url, "/metrics");
  out.queue = static_cast<std::size_t>(*queue);
  out.busy = *busy > 0;
  const auto cpu = sample_of(metrics, "iez_node_cpu_ratio");
  const auto memory = sample_of(metrics, "iez_node_memory_ratio");
  const auto cpu_limit = sample_of(metrics, "iez_gate_cpu_limit_ratio");
  const auto memory_limit = sample_of(metrics, "iez_gate_memory_limit_ratio");
  if (out.busy && cpu && memory && cpu_limit && memory_limit) {
    out.why = coordinator::why_closed({.cpu = *cpu, .memory = *memory}, {.cpu = *cpu_limit, .memory = *memory_limit});
  }
  return out;
}

// "lab-OST0003 full, ...": what is behind "OSTs  6 known", in lines of their own; empty: plans use all of them.
std::string told_unusable(std::span<const api::UnusableOst> osts) {
  constexpr std::size_t kMost = 16;
  constexpr std::size_t kIndent = 13;
  constexpr std::size_t kWidth = 80;
  if (osts.empty()) return "";
  std::string list;
  for (const api::UnusableOst& ost : osts.first(std::min(osts.size(), kMost))) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", text::printable(ost.name), text::printable(ost.state));
  }
  if (osts.size() > kMost) list += fmt::format(", and {} more", osts.size() - kMost);
  return fmt::format("             {}\n", wrapped("no plan uses " + list, kIndent, kIndent, kWidth));
}

std::string to_text(const Report& report) {
  std::string agents;
  for (const auto& [state, count] : report.agents) agents += fmt::format("{}{} {}", agents.empty() ? "" : ", ", count, state);
  return fmt::format(
      "coordinator  {}\n"
      "agents       {}\n"
      "OSTs         {}\n{}"
      "plans        {} yours to see and not yet written, of {}; {} reserved in all\n"
      "gate         {}\n"
      "queue        {} waiting\n",
      text::printable(report.url), agents.empty() ? "none" : agents,
      report.cluster.osts == 0
          ? "none known"
          : fmt::format("{} known, {} of them not heard of for long", report.cluster.osts, report.cluster.stale),
      told_unusable(report.cluster.unusable), report.plans, counted(report.files, "file"), to_string(report.cluster.reserved),
      !report.busy         ? "open"
      : report.why.empty() ? "closed: its node is busy; runs plan on their own nodes"
                           : fmt::format("closed: {}; runs plan on their own nodes", report.why),
      counted(report.queue, "request"));
}

std::string to_json(const Report& report) {
  ordered_json agents = ordered_json::object();
  for (const auto& [state, count] : report.agents) agents[state] = count;
  ordered_json unusable = ordered_json::array();
  for (const api::UnusableOst& ost : report.cluster.unusable) unusable.push_back({{"name", ost.name}, {"state", ost.state}});
  return to_line({{"url", report.url},
                  {"agents", std::move(agents)},
                  {"osts", report.cluster.osts},
                  {"stale", report.cluster.stale},
                  {"unusable", std::move(unusable)},
                  {"reserved", report.cluster.reserved.count},
                  {"plans", report.plans},
                  {"files", report.files},
                  {"queue", report.queue},
                  {"busy", report.busy},
                  {"why", report.why.empty() ? ordered_json(nullptr) : ordered_json(report.why)}});
}

}  // namespace

Result<void> run_serve_status(const ServeStatusOptions& options, Context& /*context*/) {
  IEZ_TRY(const auto settings, config::load_settings(config::default_sources()));
  api::CoordinatorClient::Options asking{.url = options.url, .token = {}, .ca_file = options.ca_file};
  if (asking.url.empty()) asking.url = settings.coordinator.url;
  if (asking.url.empty()) asking.url = own_url(settings.serve);
  if (asking.ca_file.empty()) asking.ca_file = settings.coordinator.ca_file;
  asking.timeout = settings.coordinator.timeout;
  const std::string& token = options.token_file.empty() ? settings.coordinator.token_file : options.token_file;
  if (!token.empty()) {
    IEZ_TRY(asking.token, api::read_token(token));
  }
  IEZ_TRY(const auto client, api::CoordinatorClient::make(asking));
  IEZ_TRY(const Report report, ask(*client, asking.url));
  return print(options.json ? to_json(report) : to_text(report));
}

}  // namespace iez::cli
