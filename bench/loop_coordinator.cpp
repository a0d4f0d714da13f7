#include "loop_coordinator.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "api/coordinator_client.hpp"
#include "api/plan_json.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "coordinator/http_server.hpp"
#include "coordinator/service.hpp"
#include "measure.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr std::size_t kClients = 10;
constexpr std::size_t kFiles = 64;

model::Cluster make_cluster(std::uint32_t servers, std::uint32_t each) {
  model::Cluster cluster{.name = "bench"};
  for (std::uint32_t s = 0; s < servers; ++s) cluster.servers.push_back({.name = fmt::format("oss{}", s)});
  for (std::uint32_t i = 0; i < servers * each; ++i) {
    model::Ost ost{.index = {i}, .name = fmt::format("bench-OST{:04x}", i), .oss = i / each};
    ost.total = ost.free = ost.available = Bytes{std::uint64_t{1} << 50U};
    cluster.osts.push_back(std::move(ost));
  }
  return cluster;
}

api::PlanRequest make_request(std::string application, std::size_t files) {
  api::PlanRequest request{.application = std::move(application), .file_system = "bench", .run = "bench"};
  for (std::size_t i = 0; i < files; ++i) {
    api::FileRequest file{.name = fmt::format("/scratch/bench/{}.{:08}", request.application, i),
                          .bytes = (std::uint64_t{64} << 20U) + 4096 * (i % 7)};
    file.stripe_count = 8;
    file.rank = static_cast<std::int64_t>(i);
    request.files.push_back(std::move(file));
  }
  return request;
}

coordinator::ServiceOptions service_options(const std::string& folder) {
  coordinator::ServiceOptions options{.folder = folder};
  // The clients keep the node busy: here the gate would measure them.
  options.cpu_limit = 2;
  options.memory_limit = 2;
  return options;
}

bool fill(const std::string& folder, std::size_t files) {
  SystemClock clock;
  auto log = Logger::make({.level = LogLevel::off});
  auto options = service_options(folder);
  options.durability = sql::Durability::process;
  const auto service = coordinator::Service::start(options, clock, *log);
  if (!service) return false;
  (*service)->set_view({{.cluster = make_cluster(1000, 10)}});
  const coordinator::Identity who{.user = "bench", .admin = true};
  constexpr std::size_t kAtOnce = 20'000;
  for (std::size_t done = 0; done < files; done += kAtOnce) {
    api::PlanRequest request = make_request(fmt::format("app{}", done), kAtOnce);
    request.always = true;  // what is reserved is to be measured, not whether it is worth while
    if (!(*service)->plan(who, request, "", true)) return false;
  }
  return (*service)->state().files == files;
}

}  // namespace

Result<Figure> measure_plans(const Settings& settings) {
  IEZ_TRY(const auto folder, TemporaryFolder::make());
  SystemClock clock;
  IEZ_TRY(auto log, Logger::make({.level = LogLevel::error}));
  IEZ_TRY(const auto service, coordinator::Service::start(service_options(folder.path() + "/state"), clock, log));
  service->set_view({{.cluster = make_cluster(12, 10)}});
  coordinator::HttpOptions http;
  http.listening.rate_limit = 0;
  IEZ_TRY(const auto server, coordinator::HttpServer::open(http, *service, clock, log));
  std::thread listener([&] { server->run(); });
  const std::size_t each = settings.quick ? 20 : 500;
  std::atomic<std::size_t> answered = 0;
  std::vector<std::thread> clients;
  const Duration begin = clock.monotonic();
  for (std::size_t c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      const auto client = api::CoordinatorClient::make({.url = server->url()});
      if (!client) return;
      for (std::size_t i = 0; i < each; ++i) {
        const auto reply = (*client)->submit(make_request(fmt::format("app{}", c), kFiles));
        if (reply && reply->answer && reply->answer->files.size() == kFiles) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const double seconds = std::chrono::duration<double>(clock.monotonic() - begin).count();
  server->stop();
  listener.join();
  if (answered != kClients * each) {
    return fail(Errc::io, fmt::format("{} of {} requests were answered", answered.load(), kClients * each));
  }
  const auto commits = service->state().counters.commits;
  return Figure{.name = "loop.plans_s",
                .value = static_cast<double>(answered) / seconds,
                .unit = "1/s",
                .target = settings.quick ? std::optional<double>() : 1000,
                .note = fmt::format("{} clients, {} files each, 120 OSTs, {} plans in {} commits to the disk", kClients, kFiles,
                                    answered.load(), commits)};
}

Result<Figure> measure_coordinator_memory(const Settings& settings) {
  IEZ_TRY(const auto folder, TemporaryFolder::make());
  const std::size_t files = settings.quick ? 20'000 : 1'000'000;
  IEZ_TRY(const std::uint64_t kib, peak_growth_kib([&] { return fill(folder.path() + "/state", files); }));
  return Figure{.name = "loop.coordinator_mib",
                .value = static_cast<double>(kib) / 1024,
                .unit = "MiB",
                .higher_is_better = false,
                .target = settings.quick ? std::optional<double>() : 1024,
                .note = fmt::format("10,000 OSTs, {} planned files of 8 stripes; what the peak of the process grows by", files)};
}

}  // namespace iez::bench
