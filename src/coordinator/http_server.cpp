#include "coordinator/http_server.hpp"

#include <algorithm>
#include <array>

#include "api/json_text.hpp"
#include "api/plan_json.hpp"
#include "coordinator/may_plan.hpp"
#include "coordinator/metrics.hpp"

namespace iez::coordinator {

namespace {

using http::answer;
using http::nothing;
using http::nowhere;
using http::refuse;
using http::Request;
using http::Response;
using http::wrong_method;

Response no_sense(const Error& error) {
  return refuse(error.code == Errc::limit ? 413 : 400, "bad-request", "The request makes no sense", error.message);
}

std::string cluster_json(const std::vector<FileSystemReport>& file_systems) {
  api::JsonText json;
  json.begin_object().key("file_systems").begin_array();
  for (const FileSystemReport& file_system : file_systems) {
    json.begin_object().field("name", file_system.name).key("servers").begin_array();
    for (const model::Oss& server : file_system.servers) {
      json.begin_object().field("name", server.name);
      if (server.cpu) json.field("cpu", *server.cpu);
      if (server.memory) json.field("memory", *server.memory);
      json.end_object();
    }
    json.end_array().key("osts").begin_array();
    for (std::size_t i = 0; i < file_system.targets.size(); ++i) {
      const TargetReport& target = file_system.targets[i];
      json.begin_object()
          .field("index", target.ost.value)
          .field("name", target.name)
          .field("server", file_system.server_of[i])
          .field("total", target.total.count)
          .field("free", target.free.count)
          .field("available", target.available.count)
          .field("reserved", target.reserved.count)
          .field("stale", target.stale)
          .field("state", placement::to_string(target.exclusion))
          .end_object();
    }
    json.end_array().end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace

struct HttpServer::State {
  State(const HttpOptions& given, Service& the_service) : options(given), service(the_service) {}

  HttpOptions options;
  Service& service;
  http::Permissions permissions;
  std::unique_ptr<http::Listener> listener;

  static Response submitted(const Reply<api::Submitted>& reply) {
    if (!reply) return refuse(reply.error());
    if (reply->answer) return answer(200, api::to_json(*reply->answer));
    Response out = answer(202, api::to_json(reply->ticket));
    out.headers.emplace_back("Location", "/v1/plans/" + reply->ticket.plan);
    out.headers.emplace_back("Retry-After", std::to_string(reply->ticket.retry_after_s));
    return out;
  }

  Response post_plan(const Identity& who, const Request& request, bool wait) {
    const auto parsed = api::parse_plan_request(request.body);
    if (!parsed) return no_sense(parsed.error());
    if (const auto sound = api::check(*parsed); !sound)
      return no_sense({.code = Errc::invalid_argument, .message = sound.error().message});
    if (!parsed->database.empty()) {
      return refuse(400, "bad-request", "The request makes no sense", "field 'database' is the coordinator's own");
    }
    if (const auto allowed = may_plan(permissions, who, *parsed); !allowed) {
      return refuse(403, "forbidden", "Not for this user", allowed.error().message);
    }
    return submitted(service.plan(who, *parsed, request.body, wait));
  }

  Response post_created(const Identity& who, std::string_view plan, const Request& request) {
    const auto parsed = api::parse_created_request(request.body);
    if (!parsed) return refuse(400, "bad-request", "The request makes no sense", parsed.error().message);
    const auto done = service.created(who, plan, *parsed);
    return done ? nothing() : refuse(done.error());
  }

  Response of_plan(const Identity& who, std::string_view rest, const Request& request) {
    const std::size_t slash = rest.find('/');
    const std::string_view plan = rest.substr(0, slash);
    if (slash != std::string_view::npos) {
      if (rest.substr(slash) != "/created") return nowhere(request);
      return request.method == "POST" ? post_created(who, plan, request) : wrong_method("POST");
    }
    if (request.method == "GET") return submitted(service.find(who, plan, request.parameter("begins") == "true"));
    if (request.method != "DELETE") return wrong_method("GET, DELETE");
    const auto done = service.expire(who, plan);
    return done ? nothing() : refuse(done.error());
  }

  Response metrics() {
    std::string text = metrics_text(service.state(), service.report()) + http::answers_metric(*listener);
    if (options.more_metrics) text += options.more_metrics();
    return {.body = std::move(text), .type = "text/plain; version=0.0.4; charset=utf-8"};
  }

  Response route(const Identity& who, const Request& request) {
    const std::string_view path = request.path;
    if (path == "/v1/plans" && request.method == "POST") return post_plan(who, request, true);
    if (path == "/v1/predictions") return request.method == "POST" ? post_plan(who, request, false) : wrong_method("POST");
    if (path.starts_with("/v1/plans/")) return of_plan(who, path.substr(10), request);
    static constexpr std::array<std::string_view, 5> kReadable{"/v1/plans", "/v1/cluster", "/v1/agents", "/v1/weights",
                                                               "/metrics"};
    if (std::ranges::find(kReadable, path) == kReadable.end()) return nowhere(request);
    if (!request.reads()) return wrong_method(path == "/v1/plans" ? "GET, POST" : "GET");
    if (path == "/v1/plans") return answer(200, api::to_json(service.plans(who, request.parameter("application"))));
    if (path == "/v1/cluster") return answer(200, cluster_json(service.report()));
    if (path == "/v1/agents") return answer(200, options.agents ? options.agents() : R"({"agents":[]})");
    if (path == "/metrics") return metrics();
    std::string name;
    const auto weights = service.weights(request.parameter("file_system"), name);
    return weights ? answer(200, api::to_json(name, *weights)) : refuse(weights.error());
  }
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpOptions& options, Service& service, Clock& clock, Logger& log) {
  auto state = std::make_unique<State>(options, service);
  http::Routes routes{.document = openapi_document(), .handle = [raw = state.get()](const Identity& who, const Request& request) {
                        return raw->route(who, request);
                      }};
  IEZ_TRY(state->listener, http::Listener::open(options.listening, std::move(routes), clock, log));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

std::string HttpServer::url() const { return state_->listener->url(); }
void HttpServer::run() { state_->listener->run(); }
void HttpServer::stop() { state_->listener->stop(); }

std::vector<std::string> http_routes() {
  return {"GET /healthz",
          "GET /metrics",
          "GET /v1/agents",
          "GET /v1/cluster",
          "GET /v1/openapi.json",
          "GET /v1/plans",
          "POST /v1/plans",
          "GET /v1/plans/{plan}",
          "DELETE /v1/plans/{plan}",
          "POST /v1/plans/{plan}/created",
          "POST /v1/predictions",
          "GET /v1/weights"};
}

}  // namespace iez::coordinator
