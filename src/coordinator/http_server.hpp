// The coordinator's face on the network: /v1, /metrics and /healthz over HTTP or HTTPS; docs/openapi.json tells every route.
//
// Bounds: a connection has one thread of at most Options::threads; a request, from its first byte to the last of its answer, has
// Options::deadline, however slowly it comes; the body has at most Options::body_limit bytes on the wire, compressed ones are not
// taken; a name has requests per second. Errors are application/problem+json.
//
// Who asks: the bearer token. Without a tokens file only loopback addresses are listened on, and who asks is this process's own
// user: connections of other users of this node are refused, as the kernel's table of sockets tells them apart.
//
// Thread safety: stop() from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "coordinator/access.hpp"
#include "coordinator/service.hpp"

namespace iez::coordinator {

struct HttpOptions {
  std::string listen = "127.0.0.1:9850";  // port 0: any free one
  std::string tokens_file;                // read again when it changes
  std::string certificate;                // PEM; with certificate_key: HTTPS
  std::string certificate_key;
  double rate_limit = 100;  // requests of one user a second; 0: no limit
  std::size_t threads = 64;
  std::size_t body_limit = api::kMaxRequestBytes;
  Duration deadline{30'000'000'000};
  Duration idle{10'000'000'000};              // a kept connection without a request
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

bool is_loopback(std::string_view host);

// "host:port" or "[address]:port".
struct HostPort {
  std::string host;
  int port = 0;
};
[[nodiscard]] Result<HostPort> parse_listen(std::string_view text);

}  // namespace iez::coordinator
