#include "serve_command.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "api/coordinator_client.hpp"
#include "config/settings.hpp"
#include "coordinator/host_probe.hpp"
#include "coordinator/http_server.hpp"
#include "coordinator/pulling.hpp"
#include "coordinator/service.hpp"
#include "input/byte_stream.hpp"
#include "json.hpp"
#include "lustre/cluster_reader.hpp"
#include "service_life.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/subscriber.hpp"

namespace iez::cli {

namespace {

using namespace std::chrono_literals;

constexpr Duration kFast = 1s;          // between samples while plans are made
constexpr Duration kLease = 15s;        // of the request for them
constexpr Duration kRenew = 5s;         //
constexpr Duration kPlanning = 30s;     // after a plan
constexpr Duration kOwnReading = 5s;    // of parameters that are read here
constexpr Duration kViewInterval = 1s;  // what is stale changes without samples, too

// What the coordinator knows of the machine: samples of agents, and parameters that are read here.
class Watch {
 public:
  Watch(Context& context, coordinator::Service& service, std::unique_ptr<telemetry::Subscriber> subscriber,
        std::vector<std::unique_ptr<lustre::ParamSource>> sources)
      : context_(context), service_(service), subscriber_(std::move(subscriber)), sources_(std::move(sources)) {}

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    stop_ = true;
    if (subscriber_) subscriber_->wake();
    if (thread_.joinable()) thread_.join();
  }

  std::string agents_json() {
    ordered_json out{{"agents", ordered_json::array()}};
    const std::lock_guard guard(mutex_);
    for (const telemetry::AgentInfo& agent : collector_.agents(telemetry::now(context_.clock))) {
      out["agents"].push_back(
          {{"name", agent.name},
           {"roles", telemetry::to_string(agent.roles)},
           {"state", telemetry::to_string(agent.state)},
           {"age_s", static_cast<double>(agent.age.count()) / 1e9},
           {"interval_s", static_cast<double>(agent.interval.count()) / 1e9},
           {"skew_s", agent.skew ? ordered_json(static_cast<double>(agent.skew->count()) / 1e9) : ordered_json()},
           {"samples", agent.samples},
           {"missing", agent.missing},
           {"duplicates", agent.duplicates},
           {"restarts", agent.restarts},
           {"targets", agent.targets},
           {"cpu", or_null(agent.host.cpu)},
           {"memory", or_null(agent.host.memory)}});
    }
    return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  std::string metrics() {
    std::size_t states[4] = {};  // NOLINT(*-avoid-c-arrays): by AgentState
    const std::lock_guard guard(mutex_);
    for (const telemetry::AgentInfo& agent : collector_.agents(telemetry::now(context_.clock))) {
      ++states[static_cast<std::size_t>(agent.state)];
    }
    std::string text = "# HELP iez_agents Agents by state\n# TYPE iez_agents gauge\n";
    for (const auto state :
         {telemetry::AgentState::live, telemetry::AgentState::late, telemetry::AgentState::dead, telemetry::AgentState::left}) {
      text +=
          fmt::format("iez_agents{{state=\"{}\"}} {}\n", telemetry::to_string(state), states[static_cast<std::size_t>(state)]);
    }
    text += "# HELP iez_samples_total Samples of agents by what became of them\n# TYPE iez_samples_total counter\n";
    for (std::size_t i = 0; i < telemetry::kOutcomes; ++i) {
      const auto outcome = static_cast<telemetry::Outcome>(i);
      text += fmt::format("iez_samples_total{{outcome=\"{}\"}} {}\n", telemetry::to_string(outcome),
                          collector_.counters().of(outcome));
    }
    return text;
  }

  // Once, before anybody asks.
  void read_own() {
    if (sources_.empty()) return;
    input::ParseReport report;
    auto reading = lustre::read_clusters(sources_, hosts_, report);
    if (!reading) {
      context_.log.warning("parameters cannot be read", {{"why", reading.error().message}});
      return;
    }
    hosts_ = std::move(reading->hosts);
    own_.clear();
    for (lustre::ClusterView& view : reading->file_systems) own_.push_back(std::move(view.cluster));
    last_own_ = context_.clock.monotonic();
    publish();
  }

 private:
  void run() {
    while (!stop_) {
      if (subscriber_) {
        const auto got = subscriber_->receive(200ms, [&](std::span<const std::byte> bytes, std::string_view sender) {
          const std::lock_guard guard(mutex_);
          collector_.feed(bytes, telemetry::now(context_.clock), sender);
        });
        if (!got) {
          context_.log.error("samples cannot be received", {{"why", got.error().message}});
          context_.clock.sleep(1s);
        }
      } else {
        context_.clock.sleep(200ms);
      }
      const Duration now = context_.clock.monotonic();
      const bool planning = now - service_.last_plan() < kPlanning;
      if (planning && subscriber_ && now - last_asked_ >= kRenew) {
        last_asked_ = now;
        if (const auto asked = subscriber_->ask({.every = kFast, .lasting = kLease, .names = {}}); !asked) {
          context_.log.warning("agents cannot be asked", {{"why", asked.error().message}});
        }
      }
      if (!sources_.empty() && now - last_own_ >= (planning ? kFast : kOwnReading)) read_own();
      if (collector_.revision() != published_ || now - last_view_ >= kViewInterval) publish();
    }
  }

  // What moves on the targets whose servers tell of their bytes.
  std::vector<coordinator::TargetRate> rates_of(const telemetry::FileSystemView& view, telemetry::Moment moment) {
    std::vector<coordinator::TargetCounters> counters;
    for (std::size_t i = 0; i < view.osts.size(); ++i) {
      const telemetry::OstInfo& info = view.osts[i];
      if (!info.read_bytes || !info.write_bytes) continue;
      counters.push_back({.ost = view.cluster.osts[i].index,
                          .read = {*info.read_bytes},
                          .written = {*info.write_bytes},
                          .received = moment.monotonic - info.age});
    }
    return rates_.feed(view.cluster.name, counters, moment.monotonic, moment.wall.time_since_epoch().count());
  }

  void publish() {
    std::vector<coordinator::FileSystemNow> all;
    {
      const std::lock_guard guard(mutex_);
      published_ = collector_.revision();
      const telemetry::Moment moment = telemetry::now(context_.clock);
      telemetry::View known = collector_.view(moment);
      for (telemetry::FileSystemView& view : known.file_systems) {
        std::vector<coordinator::TargetRate> rates = rates_of(view, moment);
        all.push_back({.cluster = std::move(view.cluster), .stale = std::move(view.stale), .rates = std::move(rates)});
      }
    }
    for (const model::Cluster& cluster : own_) {
      if (std::ranges::none_of(all, [&](const auto& known) { return known.cluster.name == cluster.name; })) {
        all.push_back({.cluster = cluster});
      }
    }
    last_view_ = context_.clock.monotonic();
    service_.set_view(std::move(all));
  }

  Context& context_;
  coordinator::Service& service_;
  std::unique_ptr<telemetry::Subscriber> subscriber_;
  std::vector<std::unique_ptr<lustre::ParamSource>> sources_;
  std::vector<lustre::HostState> hosts_;
  std::vector<model::Cluster> own_;
  std::mutex mutex_;
  telemetry::Collector collector_;
  coordinator::TargetRates rates_;
  std::uint64_t published_ = ~std::uint64_t{0};
  Duration last_asked_{-1h};
  Duration last_own_{-1h};
  Duration last_view_{-1h};
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

config::Settings::Serve merged(const ServeOptions& given, config::Settings::Serve settings) {
  const auto take = [](std::string& into, const std::string& from) {
    if (!from.empty()) into = from;
  };
  take(settings.listen, given.listen);
  take(settings.samples, given.samples);
  take(settings.requests, given.requests);
  take(settings.state, given.state);
  take(settings.keys, given.keys);
  take(settings.tokens_file, given.tokens);
  take(settings.certificate, given.certificate);
  take(settings.certificate_key, given.certificate_key);
  if (!given.pull.empty()) settings.pull = given.pull;
  take(settings.pull_token_file, given.pull_token);
  take(settings.pull_ca_file, given.pull_ca);
  if (given.pull_interval) settings.pull_interval = Duration(static_cast<std::int64_t>(*given.pull_interval * 1e9));
  settings.cpu_limit = given.cpu_limit.value_or(settings.cpu_limit);
  settings.memory_limit = given.memory_limit.value_or(settings.memory_limit);
  settings.rate_limit = given.rate_limit.value_or(settings.rate_limit);
  return settings;
}

Result<std::string> state_of(const config::Settings::Serve& settings, const config::SettingsSources& sources) {
  if (!settings.state.empty()) return settings.state;
  if (::geteuid() == 0 && !sources.environment("IEZ_STATE")) return std::string("/var/lib/iez");
  return config::state_folder(sources);
}

}  // namespace

Result<void> run_serve(const ServeOptions& options, Context& context) {
  const auto sources = config::default_sources();
  IEZ_TRY(const auto settings, config::load_settings(sources));
  const auto serve = merged(options, settings.serve);
  IEZ_TRY(const std::string state, state_of(serve, sources));
  const EndingSignals signals;
  std::unique_ptr<telemetry::Subscriber> subscriber;
  std::string samples;
  std::string requests;
  if (!options.no_agents) {
    IEZ_TRY(subscriber, telemetry::Subscriber::open({.samples = serve.samples, .requests = serve.requests, .keys = serve.keys}));
    samples = subscriber->samples_endpoint();
    requests = subscriber->requests_endpoint();
  }
  std::vector<std::unique_ptr<lustre::ParamSource>> own;
  if (!options.roots.empty()) {
    IEZ_TRY(own, open_sources(options.roots));
  }

  coordinator::HostProbe probe;
  coordinator::ServiceOptions service_options{.folder = state};
  service_options.cpu_limit = serve.cpu_limit;
  service_options.memory_limit = serve.memory_limit;
  service_options.durability = options.fast ? sql::Durability::process : sql::Durability::machine;
  service_options.load = [&probe] { return probe.look(); };
  IEZ_TRY(const auto service, coordinator::Service::start(service_options, context.clock, context.log));
  Watch watch(context, *service, std::move(subscriber), std::move(own));
  coordinator::HttpOptions http;
  http.listening = {.listen = serve.listen, .tokens_file = serve.tokens_file};
  http.listening.certificate = serve.certificate;
  http.listening.certificate_key = serve.certificate_key;
  http.listening.rate_limit = serve.rate_limit;
  http.agents = [&watch] { return watch.agents_json(); };
  std::unique_ptr<coordinator::Pulling> pulling;
  std::mutex pulling_mutex;
  http.more_metrics = [&] {
    const std::lock_guard guard(pulling_mutex);
    return watch.metrics() + (pulling ? pulling->metrics() : std::string());
  };
  coordinator::PullingOptions pull{.urls = serve.pull};
  pull.ca_file = serve.pull_ca_file;
  pull.interval = serve.pull_interval;
  if (!serve.pull_token_file.empty()) {
    IEZ_TRY(pull.token, api::read_token(serve.pull_token_file));
  }
  IEZ_TRY(const auto server, coordinator::HttpServer::open(http, *service, context.clock, context.log));
  watch.read_own();
  pull.planner = server->url();
  if (!pull.urls.empty()) {
    IEZ_TRY(auto started, coordinator::Pulling::start(pull, *service, context.clock, context.log));
    const std::lock_guard guard(pulling_mutex);
    pulling = std::move(started);
  }
  watch.start();
  ServiceThread listener([&] { server->run(); });

  const auto known = service->state();
  context.log.info("serving",
                   {{"url", server->url()}, {"plans", std::to_string(known.plans)}, {"queue", std::to_string(known.queue)}});
  auto printed =
      print(options.json ? to_line({{"url", server->url()}, {"samples", samples}, {"requests", requests}, {"state", state}})
                         : fmt::format("{}\n", server->url()));
  if (printed) context.log.info("ending", {{"signal", std::to_string(signals.wait())}});
  if (pulling) pulling->stop();
  server->stop();
  listener.join();
  watch.stop();
  return printed;
}

namespace {

// Into the tokens file, and its token to `output`, or stdout if that is none.
Result<void> add_token(const TokenOptions& options, const input::UniqueFd& output) {
  std::string path = options.tokens;
  if (path.empty()) {
    IEZ_TRY(const auto settings, config::load_settings(config::default_sources()));
    path = settings.serve.tokens_file;
  }
  if (path.empty()) {
    return fail(Errc::invalid_argument, "which file? give --tokens FILE, or set serve.tokens_file");
  }
  const std::string token = http::make_token();
  std::string line = http::digest_of(token) + ' ' + options.user;
  if (options.admin) line += " admin";
  for (const std::string& directory : options.below) line += ' ' + directory;
  line += '\n';
  IEZ_CHECK(http::Tokens::parse(line, "the new line"));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return fail_errno(errno, path);
  struct stat info{};
  ::flock(file, LOCK_EX);
  char last = '\n';
  const bool known = ::fstat(file, &info) == 0;
  if (known && info.st_size > 0) (void)!::pread(file, &last, 1, info.st_size - 1);
  if (last != '\n') line.insert(0, 1, '\n');
  const bool open_to_others = (info.st_mode & 077U) != 0;
  const bool written = known && !open_to_others && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                       ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  if (open_to_others)
    return fail(Errc::permission, fmt::format("{}: others may read it; tokens are private: chmod 600 {}", path, path));
  if (!written) return fail_errno(code, path);
  const std::string text = token + '\n';
  if (!output) return print(text);
  if (::write(output.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, options.output);
  return {};
}

}  // namespace

Result<void> run_token(const TokenOptions& options, Context& /*context*/) {
  if (options.output.empty()) return add_token(options, {});
  const input::UniqueFd output(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!output) return fail_errno(errno, options.output);
  auto added = add_token(options, output);
  if (!added) (void)::unlink(options.output.c_str());
  return added;
}

}  // namespace iez::cli
