// The coordinator's face on the network: /v1, /metrics and /healthz over HTTP or HTTPS; docs/openapi.json tells every route.
//
// Bounds, tokens and TLS are those of http::Listener.
//
// Thread safety: stop() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "coordinator/service.hpp"
#include "http/listener.hpp"

namespace iez::coordinator {

struct HttpOptions {
  http::ListenOptions listening;
  std::function<std::string()> agents;        // the body of /v1/agents; none: an empty list
  std::function<std::string()> more_metrics;  // appended to /metrics
};

class HttpServer {
 public:
  // Listens when it returns.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> open(const HttpOptions& options, Service& service, Clock& clock,
                                                                Logger& log);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // with the real port

  void run();   // until stop(); what is in flight is answered
  void stop();  // listening ends first

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Routes of /v1 and others as "METHOD /path/{plan}", for whoever compares them with the document.
std::vector<std::string> http_routes();

// The document that is served at /v1/openapi.json.
std::string_view openapi_document();

}  // namespace iez::coordinator
