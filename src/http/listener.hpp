// A service of ours on the network, over HTTP or HTTPS: everything but its routes.
//
// Bounds: a connection has one thread of at most ListenOptions::threads; a request, from its first byte to the last of its
// answer, has ListenOptions::deadline, however slowly it comes; the body has at most ListenOptions::body_limit bytes on the wire,
// compressed ones are not taken; a name has requests per second. Errors are application/problem+json.
//
// Who asks: the bearer token. Without a tokens file only loopback addresses are listened on, and who asks is this process's own
// user: connections of other users of this node are refused, as the kernel's table of sockets tells them apart.
//
// /healthz and /v1/openapi.json are answered here, to anybody; all else is Routes::handle's, for those who are known.
//
// Thread safety: stop() and answers() from any thread; handle is called by many at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "http/access.hpp"

namespace iez::http {

struct ListenOptions {
  std::string listen = "127.0.0.1:0";  // port 0: any free one
  std::string tokens_file;             // read again when it changes
  std::string certificate;             // PEM; with certificate_key: HTTPS
  std::string certificate_key;
  double rate_limit = 100;  // requests of one user a second; 0: no limit
  std::size_t threads = 64;
  std::size_t body_limit = api::kMaxRequestBytes;
  Duration deadline{30'000'000'000};
  Duration idle{10'000'000'000};  // a kept connection without a request
};

struct Request {
  std::string method;
  std::string path;
  std::map<std::string, std::string, std::less<>> parameters;  // behind '?'; of a name that is there twice, the first
  std::string_view body;

  bool reads() const { return method == "GET" || method == "HEAD"; }
  std::string parameter(std::string_view name) const;  // empty: not there
};

struct Response {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
};

Response answer(int status, std::string body);
Response nothing();  // 204
// retry_after: in seconds; 0: none, or two for a 503.
Response refuse(const api::Problem& problem, double retry_after = 0);
Response refuse(std::uint32_t status, std::string_view type, std::string title, std::string detail, double retry_after = 0);
Response nowhere(const Request& request);
Response wrong_method(std::string allowed);

struct Routes {
  std::string_view document;  // of /v1/openapi.json
  std::function<Response(const Identity& who, const Request& request)> handle;
};

class Listener {
 public:
  // Listens when it returns.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(const ListenOptions& options, Routes routes, Clock& clock,
                                                              Logger& log);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string url() const;  // with the real port

  void run();   // until stop(); what is in flight is answered
  void stop();  // listening ends first

  std::array<std::uint64_t, 6> answers() const;  // so far, by the hundred of their status

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// answers() as Prometheus reads it.
std::string answers_metric(const Listener& listener);

bool is_loopback(std::string_view host);

// "host:port" or "[address]:port".
struct HostPort {
  std::string host;
  int port = 0;
};
[[nodiscard]] Result<HostPort> parse_listen(std::string_view text);

}  // namespace iez::http
