#include "coordinator/pulling.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "api/database_client.hpp"
#include "api/plan_json.hpp"
#include "coordinator/may_plan.hpp"
#include "coordinator/metrics.hpp"
#include "coordinator/puller.hpp"

namespace iez::coordinator {

namespace {

constexpr Duration kConnect{2'000'000'000};
constexpr Duration kPiece{10'000'000'000};
constexpr Duration kWhole{30'000'000'000};

class RemoteDatabase final : public PulledDatabase {
 public:
  RemoteDatabase(std::unique_ptr<api::DatabaseClient> client, const std::atomic<bool>& stopping)
      : client_(std::move(client)), stopping_(stopping) {}

  Result<std::uint64_t> revision() override {
    IEZ_CHECK(go_on());
    return client_->revision();
  }
  Result<api::PredictionPage> predictions(std::uint64_t after) override {
    IEZ_CHECK(go_on());
    return client_->predictions(after);
  }
  Result<api::Posted> post(const api::PostedAllocation& posted) override {
    IEZ_CHECK(go_on());
    return client_->post(posted);
  }
  Result<api::AllocationPage> allocations(std::uint64_t after) override {
    IEZ_CHECK(go_on());
    return client_->allocations(after);
  }
  Result<api::AllocationStates> states(std::string_view plan) override {
    IEZ_CHECK(go_on());
    return client_->states(plan);
  }
  void stop() { client_->stop(); }

 private:
  Result<void> go_on() const {
    if (stopping_) return fail(Errc::io, "the coordinator ends");
    return {};
  }

  std::unique_ptr<api::DatabaseClient> client_;
  const std::atomic<bool>& stopping_;
};

class ServicePlanning final : public Planning {
 public:
  ServicePlanning(Service& service, http::Permissions& permissions, std::string url)
      : service_(service), permissions_(permissions), url_(std::move(url)) {}

  Reply<api::Submitted> plan(std::uint64_t id, const std::string& owner, const api::PlanRequest& request) override {
    const Identity who = identity(owner);
    if (const auto allowed = may_plan(permissions_, who, request); !allowed) {
      return std::unexpected(api::Problem{
          .status = 403, .type = "urn:iez:forbidden", .title = "Not for this user", .detail = allowed.error().message});
    }
    return service_.plan(who, request, api::to_json(request), true, id);
  }
  Reply<api::Submitted> find(const std::string& owner, const std::string& plan) override {
    return service_.find(identity(owner), plan);
  }
  bool created(const std::string& owner, const std::string& plan, const api::CreatedRequest& request) override {
    return taken(service_.created(identity(owner), plan, request));
  }
  bool expire(const std::string& owner, const std::string& plan) override {
    return taken(service_.expire(identity(owner), plan));
  }
  std::vector<PulledPlan> pending() override {
    std::vector<PulledPlan> out;
    for (const PlanPointer& plan : service_.pulled(url_)) {
      out.push_back({.plan = id_text(plan->id), .owner = plan->user, .revision = plan->revision});
    }
    return out;
  }
  std::uint64_t changes() override { return service_.state().changes(); }

 private:
  // Whoever is asked to pull from a database trusts its word on whose the applications are.
  static Identity identity(const std::string& owner) { return {.user = owner, .trusted = true}; }
  static bool taken(const Reply<void>& reply) { return reply || (reply.error().status != 503 && reply.error().status != 507); }

  Service& service_;
  http::Permissions& permissions_;
  std::string url_;
};

struct One {
  One(const PullOptions& options, std::unique_ptr<api::DatabaseClient> client, const std::atomic<bool>& stopping,
      Service& service, http::Permissions& permissions, Logger& log)
      : url(options.url),
        database(std::move(client), stopping),
        planning(service, permissions, options.url),
        puller(options, database, planning, log) {}

  std::string url;
  RemoteDatabase database;
  ServicePlanning planning;
  Puller puller;
  PullFigures figures;  // under the mutex
  std::thread thread;
};

}  // namespace

struct Pulling::State {
  State(Clock& the_clock) : clock(the_clock) {}

  Clock& clock;
  http::Permissions permissions;
  std::vector<std::unique_ptr<One>> all;
  std::atomic<bool> stopping = false;
  std::mutex mutex;
  std::condition_variable ended;

  void run(One& one) {
    while (!stopping) {
      const Duration due = one.puller.turn(clock.monotonic());
      std::unique_lock lock(mutex);
      one.figures = one.puller.figures();
      const Duration wait = std::max(Duration::zero(), due - clock.monotonic());
      ended.wait_for(lock, std::chrono::nanoseconds(wait), [&] { return stopping.load(); });
    }
  }
};

Pulling::Pulling(std::unique_ptr<State> state) : state_(std::move(state)) {}

Pulling::~Pulling() { stop(); }

Result<std::unique_ptr<Pulling>> Pulling::start(const PullingOptions& options, Service& service, Clock& clock, Logger& log) {
  auto state = std::make_unique<State>(clock);
  std::vector<std::string> urls = options.urls;
  for (std::string& url : urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  std::ranges::sort(urls);
  urls.erase(std::ranges::unique(urls).begin(), urls.end());
  if (urls.size() > kMaxPulled) {
    return fail(Errc::invalid_argument, fmt::format("{} databases to pull from; at most {} are", urls.size(), kMaxPulled));
  }
  for (const std::string& url : urls) {
    IEZ_TRY(auto client, api::DatabaseClient::make({.what = "database",
                                                    .url = url,
                                                    .token = options.token,
                                                    .ca_file = options.ca_file,
                                                    .ca_setting = "serve.pull_ca_file",
                                                    .connect_timeout = kConnect,
                                                    .timeout = kPiece,
                                                    .whole = kWhole,
                                                    .body_limit = api::kMaxPageBytes}));
    const PullOptions pull{.url = url, .planner = options.planner, .interval = options.interval};
    state->all.push_back(std::make_unique<One>(pull, std::move(client), state->stopping, service, state->permissions, log));
  }
  for (const auto& one : state->all) {
    one->thread = std::thread([raw = state.get(), own = one.get()] { raw->run(*own); });
  }
  return std::unique_ptr<Pulling>(new Pulling(std::move(state)));
}

void Pulling::stop() {
  {
    const std::lock_guard guard(state_->mutex);
    state_->stopping = true;
  }
  state_->ended.notify_all();
  for (const auto& one : state_->all) one->database.stop();
  for (const auto& one : state_->all) {
    if (one->thread.joinable()) one->thread.join();
  }
}

std::string Pulling::metrics() {
  std::vector<PullReport> reports;
  const std::lock_guard guard(state_->mutex);
  for (const auto& one : state_->all) reports.push_back({.url = one->url, .figures = one->figures});
  return pull_metrics_text(reports);
}

}  // namespace iez::coordinator
