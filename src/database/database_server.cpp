#include "database/database_server.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "api/json_text.hpp"
#include "api/pull_json.hpp"
#include "base/text.hpp"
#include "database/exchange.hpp"

namespace iez::database {

namespace {

using http::answer;
using http::nowhere;
using http::refuse;
using http::Request;
using http::Response;
using http::wrong_method;

constexpr std::size_t kThreads = 8;

Response refuse(const Error& error) {
  switch (error.code) {
    case Errc::invalid_argument:
    case Errc::parse:
    case Errc::unsupported:
      return refuse(400, "bad-request", "The request makes no sense", error.message);
    case Errc::not_found:
      return refuse(404, "not-found", "Not known", error.message);
    case Errc::exists:
      return refuse(409, "replaced", "The plan comes too late", error.message);
    case Errc::limit:
    case Errc::permission:
    case Errc::io:
      break;
  }
  return refuse(503, "out-of-order", "The database is out of order", error.message);
}

template <typename T>
Response told(const Result<T>& outcome) {
  return outcome ? answer(200, api::to_json(*outcome)) : refuse(outcome.error());
}

}  // namespace

struct DatabaseServer::State {
  std::unique_ptr<store::Store> store;
  Clock& clock;
  Logger& log;
  std::mutex mutex;  // of the store
  std::unique_ptr<http::Listener> listener;

  Response post(const Request& request) {
    const auto posted = api::parse_posted_allocation(request.body);
    if (!posted) return refuse(400, "bad-request", "The request makes no sense", posted.error().message);
    const std::lock_guard guard(mutex);
    const auto stored = take_allocation(*store, *posted);
    if (!stored) return refuse(stored.error());
    log.info(posted->answer.plan.empty() ? "verdict taken" : "plan taken",
             {{"plan", posted->answer.plan}, {"planner", text::printable(posted->planner)}});
    api::JsonText json;
    json.begin_object().field("plan", posted->answer.plan).field("allocation", stored->allocation);
    return answer(200, json.end_object().take());
  }

  Response route(const http::Identity& who, const Request& request) {
    if (!who.admin && !who.trusted) {
      return refuse(403, "forbidden", "Not for this user", "a token of an administrator is needed: `iez token --admin`");
    }
    const std::string_view path = request.path;
    const std::string given = request.parameter("after");
    const auto after = given.empty() ? std::optional<std::uint64_t>(0) : text::parse_u64(given);
    if (path == "/v1/allocations" && request.method == "POST") return post(request);
    constexpr std::string_view kOfPlan = "/v1/allocations/";
    const bool of_plan = path.starts_with(kOfPlan) && path.find('/', kOfPlan.size()) == std::string_view::npos;
    if (path != "/v1/revision" && path != "/v1/predictions" && path != "/v1/allocations" && !of_plan) return nowhere(request);
    if (!request.reads()) return wrong_method(path == "/v1/allocations" ? "GET, POST" : "GET");
    if (!after) return refuse(400, "bad-request", "The request makes no sense", "after: expected a whole number");
    const std::lock_guard guard(mutex);
    if (of_plan) return told(states_of(*store, path.substr(kOfPlan.size())));
    if (path == "/v1/predictions") return told(offered_predictions(*store, *after, clock.wall().time_since_epoch().count(), log));
    if (path == "/v1/allocations") return told(newest_allocations(*store, *after));
    const auto revision = store->revision();
    return revision ? answer(200, api::revision_json(*revision)) : refuse(revision.error());
  }
};

DatabaseServer::DatabaseServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DatabaseServer::~DatabaseServer() = default;

Result<std::unique_ptr<DatabaseServer>> DatabaseServer::open(http::ListenOptions options, std::unique_ptr<store::Store> store,
                                                             Clock& clock, Logger& log) {
  options.body_limit = kBodyLimit;
  options.threads = kThreads;
  std::unique_ptr<State> state(
      new State{.store = std::move(store), .clock = clock, .log = log, .mutex = {}, .listener = nullptr});
  http::Routes routes{
      .document = openapi_document(),
      .handle = [raw = state.get()](const http::Identity& who, const Request& request) { return raw->route(who, request); }};
  IEZ_TRY(state->listener, http::Listener::open(options, std::move(routes), clock, log));
  return std::unique_ptr<DatabaseServer>(new DatabaseServer(std::move(state)));
}

std::string DatabaseServer::url() const { return state_->listener->url(); }
void DatabaseServer::run() { state_->listener->run(); }
void DatabaseServer::stop() { state_->listener->stop(); }

std::vector<std::string> database_routes() {
  return {"GET /healthz",         "GET /v1/allocations", "POST /v1/allocations", "GET /v1/allocations/{plan}",
          "GET /v1/openapi.json", "GET /v1/predictions", "GET /v1/revision"};
}

}  // namespace iez::database
