#include "http/listener.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <expected>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <httplib.h>
#include <openssl/ssl.h>
#include <pwd.h>

#include "api/plan_json.hpp"
#include "base/text.hpp"
#include "http/certificate.hpp"
#include "http/peer.hpp"

namespace iez::http {

namespace {

constexpr std::size_t kLongestPath = 1024;
constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
constexpr const char* kPeerHeader = "X-Iez-Peer";  // set by us, whatever the client says

using SteadyTime = std::chrono::steady_clock::time_point;

// One connection with an end: httplib's own streams wait anew for every byte.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}

  void begin(SteadyTime deadline, std::size_t bytes) {
    deadline_ = deadline;
    left_ = bytes;
  }

  // Whether there is something to read before `until`.
  bool wait(SteadyTime until) const {
    if (have_ > 0 || (ssl_ != nullptr && SSL_pending(ssl_) > 0)) return true;
    return ready(POLLIN, until);
  }
  bool is_readable() const override { return wait(deadline_); }
  bool is_writable() const override { return ready(POLLOUT, deadline_); }

  ssize_t read(char* data, std::size_t size) override {
    // httplib reads a head byte by byte.
    if (have_ == 0) {
      if (left_ == 0) return -1;
      const ssize_t got = receive(buffer_.data(), std::min(buffer_.size(), left_));
      if (got <= 0) return got;
      from_ = 0;
      have_ = static_cast<std::size_t>(got);
      left_ -= have_;
    }
    const std::size_t taken = std::min(size, have_);
    std::copy_n(buffer_.data() + from_, taken, data);
    from_ += taken;
    have_ -= taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, std::size_t size) override {
    while (true) {
      if (!ready(POLLOUT, deadline_)) return -1;
      if (ssl_ == nullptr) {
        const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) return sent;
        if (errno != EAGAIN && errno != EINTR) return -1;
        continue;
      }
      const int sent = SSL_write(ssl_, data, static_cast<int>(std::min<std::size_t>(size, 1U << 30U)));
      if (sent > 0) return sent;
      if (!again(sent)) return -1;
    }
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { address(false, ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { address(true, ip, port); }
  socket_t socket() const override { return socket_; }

  bool accept_tls() {
    while (true) {
      const int done = SSL_accept(ssl_);
      if (done == 1) return true;
      if (!again(done)) return false;
    }
  }

 private:
  bool ready(short events, SteadyTime until) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      if (left <= 0) return false;
      pollfd poll{.fd = socket_, .events = events, .revents = 0};
      const int count = ::poll(&poll, 1, static_cast<int>(left));
      if (count > 0) return true;
      if (count == 0 || errno != EINTR) return false;
    }
  }

  // After a call of OpenSSL that did not finish: waits for what it wants.
  bool again(int outcome) const {
    switch (SSL_get_error(ssl_, outcome)) {
      case SSL_ERROR_WANT_READ:
        return ready(POLLIN, deadline_);
      case SSL_ERROR_WANT_WRITE:
        return ready(POLLOUT, deadline_);
      default:
        return false;
    }
  }

  ssize_t receive(char* data, std::size_t size) {
    while (true) {
      if (ssl_ == nullptr) {
        if (!ready(POLLIN, deadline_)) return -1;
        const ssize_t got = ::recv(socket_, data, size, MSG_DONTWAIT);
        if (got >= 0) return got;
        if (errno != EAGAIN && errno != EINTR) return -1;
        continue;
      }
      const int got = SSL_read(ssl_, data, static_cast<int>(size));
      if (got > 0) return got;
      if (!again(got)) return -1;
    }
  }

  void address(bool local, std::string& ip, int& port) const {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    auto* const generic = reinterpret_cast<sockaddr*>(&name);
    if ((local ? ::getsockname(socket_, generic, &size) : ::getpeername(socket_, generic, &size)) != 0) return;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> service{};
    if (::getnameinfo(generic, size, host.data(), host.size(), service.data(), service.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
        0)
      return;
    ip = host.data();
    port = static_cast<int>(text::parse_u64(service.data()).value_or(0));
  }

  int socket_;
  SSL* ssl_;
  SteadyTime deadline_;
  std::size_t left_ = 0;
  std::array<char, 16384> buffer_{};
  std::size_t from_ = 0;
  std::size_t have_ = 0;
};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeContext>;

class Server final : public httplib::Server {
 public:
  TlsContext tls;
  ListenOptions options;
  std::function<bool(int socket)> known_peer;  // none: everybody
  std::atomic<bool> stopping = false;
  socket_t listening() const { return svr_sock_; }

 private:
  bool process_and_close_socket(socket_t socket) override {
    serve(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void serve(socket_t socket) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const int one = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SSL* const ssl = tls ? SSL_new(tls.get()) : nullptr;
    if (tls) {
      ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
      SSL_set_fd(ssl, socket);
    }
    {
      const bool ours = !known_peer || known_peer(socket);
      BoundedStream stream(socket, ssl);
      stream.begin(now() + options.deadline, kHeadBytes);
      bool open = ssl == nullptr || stream.accept_tls();
      while (open) {
        // A connection that waits must not hold up the end of the service.
        const SteadyTime idle_end = now() + options.idle;
        bool readable = false;
        while (!readable && now() < idle_end && !stopping)
          readable = stream.wait(std::min(idle_end, now() + std::chrono::milliseconds(200)));
        if (!readable) break;
        stream.begin(now() + options.deadline, options.body_limit + kHeadBytes);
        bool closed = false;
        const bool last = stopping;
        const bool done = process_request(stream, last, closed, [&](httplib::Request& request) {
          request.headers.erase(kPeerHeader);
          if (!ours) request.set_header(kPeerHeader, "stranger");
        });
        open = done && !closed && !last;
      }
      if (ssl != nullptr) SSL_shutdown(ssl);
    }
    if (ssl != nullptr) SSL_free(ssl);
  }
};

void send(Response&& from, httplib::Response& to) {
  to.status = from.status;
  for (auto& [name, value] : from.headers) to.set_header(name, value);
  if (!from.body.empty()) to.set_content(std::move(from.body), from.type);
}

Result<TlsContext> make_tls(const ListenOptions& options) {
  if (options.certificate.empty() && options.certificate_key.empty()) return TlsContext();
  if (options.certificate.empty() || options.certificate_key.empty()) {
    return fail(Errc::invalid_argument, "a certificate and its key belong together: one of them is missing");
  }
  IEZ_CHECK(check_pair(options.certificate, options.certificate_key));
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()) != 1) {
    return fail(Errc::io, fmt::format("{}: not a certificate chain in PEM that can be read", options.certificate));
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.certificate_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Errc::io, fmt::format("{}: not the key of the certificate, in PEM", options.certificate_key));
  }
  return context;
}

std::string own_user() {
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? std::string(found->pw_name) : fmt::format("{}", ::geteuid());
}

}  // namespace

std::string Request::parameter(std::string_view name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

Response answer(int status, std::string body) { return {.status = status, .body = std::move(body)}; }

Response nothing() { return {.status = 204}; }

Response refuse(const api::Problem& problem, double retry_after) {
  Response out{.status = static_cast<int>(problem.status), .body = api::to_json(problem), .type = "application/problem+json"};
  if (problem.status == 503 && retry_after <= 0) retry_after = 2;
  if (retry_after > 0) out.headers.emplace_back("Retry-After", fmt::format("{:.0f}", std::ceil(std::max(1.0, retry_after))));
  if (problem.status == 401) out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}

Response refuse(std::uint32_t status, std::string_view type, std::string title, std::string detail, double retry_after) {
  return refuse(
      {.status = status, .type = fmt::format("urn:iez:{}", type), .title = std::move(title), .detail = std::move(detail)},
      retry_after);
}

Response nowhere(const Request& request) {
  return refuse(404, "not-found", "Not known",
                fmt::format("there is no {}; see /v1/openapi.json", text::printable(request.path)));
}

Response wrong_method(std::string allowed) {
  Response out = refuse(405, "bad-method", "Not this method", fmt::format("allowed: {}", allowed));
  out.headers.emplace_back("Allow", std::move(allowed));
  return out;
}

struct Listener::State {
  State(const ListenOptions& given, Routes the_routes, Clock& the_clock, Logger& the_log)
      : options(given), routes(std::move(the_routes)), clock(the_clock), log(the_log), buckets(given.rate_limit) {}

  ListenOptions options;
  Routes routes;
  Clock& clock;
  Logger& log;
  Server server;
  HostPort address;
  int port = 0;
  Identity own;
  Buckets buckets;
  std::mutex tokens_mutex;
  std::shared_ptr<const Tokens> tokens;  // null: none are asked for
  timespec tokens_time{};
  std::array<std::atomic<std::uint64_t>, 6> statuses{};  // by hundreds

  // Looks at the tokens file again if it changed; one that makes no sense leaves the old ones.
  std::shared_ptr<const Tokens> current_tokens() {
    const std::lock_guard guard(tokens_mutex);
    if (!tokens) return nullptr;
    struct stat info{};
    if (::stat(options.tokens_file.c_str(), &info) == 0 &&
        (info.st_mtim.tv_sec != tokens_time.tv_sec || info.st_mtim.tv_nsec != tokens_time.tv_nsec)) {
      tokens_time = info.st_mtim;
      if (auto fresh = Tokens::read(options.tokens_file)) {
        tokens = std::make_shared<const Tokens>(*std::move(fresh));
        log.info("tokens read again", {{"tokens", std::to_string(tokens->size())}});
      } else {
        log.error("the tokens file makes no sense; the old tokens stay", {{"why", fresh.error().message}});
      }
    }
    return tokens;
  }

  // Who asks; an answer: refused, and told why.
  std::expected<Identity, Response> identify(const httplib::Request& request) {
    const auto known = current_tokens();
    if (!known) {
      if (!request.has_header(kPeerHeader)) return own;
      return std::unexpected(refuse(403, "forbidden", "Not for this user",
                                    fmt::format("without tokens, only user {} of this node is served", own.user)));
    }
    const std::string given = request.get_header_value("Authorization");
    const Identity* const identity = given.starts_with("Bearer ") ? known->find(given.substr(7)) : nullptr;
    if (identity != nullptr) return *identity;
    if (const double wait = buckets.take("address " + request.remote_addr, clock.monotonic()); wait > 0) {
      return std::unexpected(refuse(429, "too-fast", "Too many requests", "too many wrong tokens from this address", wait));
    }
    return std::unexpected(refuse(401, "unauthorized", "A token is needed",
                                  given.empty() ? "send a token: Authorization: Bearer TOKEN" : "the token is not known"));
  }

  Response route(const httplib::Request& from) {
    if (from.path == "/healthz") return answer(200, R"({"status":"ok"})");
    Request request{.method = from.method, .path = from.path, .body = from.body};
    if (from.path == "/v1/openapi.json") {
      return request.reads() ? answer(200, std::string(routes.document)) : wrong_method("GET");
    }
    auto who = identify(from);
    if (!who) return std::move(who).error();
    if (const double wait = buckets.take("user " + who->user, clock.monotonic()); wait > 0) {
      return refuse(429, "too-fast", "Too many requests",
                    fmt::format("user {} has {} requests a second", text::printable(who->user), options.rate_limit), wait);
    }
    for (const auto& [name, value] : from.params) request.parameters.emplace(name, value);
    return routes.handle(*who, request);
  }

  // Before the body is read. An answer: refused.
  std::optional<Response> refused_early(const httplib::Request& request) const {
    if (request.path.size() > kLongestPath) return refuse(414, "too-long", "The address is too long", "");
    if (request.has_header("Content-Encoding")) {
      return refuse(415, "bad-encoding", "Compressed bodies are not taken", "send it as it is");
    }
    if (const std::string type = request.get_header_value("Content-Type");
        !type.empty() && !type.starts_with("application/json")) {
      return refuse(415, "bad-type", "Only JSON is taken", "Content-Type: application/json");
    }
    if (text::parse_u64(request.get_header_value("Content-Length")).value_or(0) > options.body_limit) {
      return refuse(413, "too-large", "The request is too large", fmt::format("at most {} bytes are taken", options.body_limit));
    }
    return std::nullopt;
  }

  Result<void> open() {
    IEZ_TRY(address, parse_listen(options.listen));
    IEZ_TRY(server.tls, make_tls(options));
    const bool local = is_loopback(address.host);
    own = {.user = own_user(), .trusted = true};
    if (!options.tokens_file.empty()) {
      IEZ_TRY(auto read, Tokens::read(options.tokens_file));
      struct stat info{};
      if (::stat(options.tokens_file.c_str(), &info) == 0) tokens_time = info.st_mtim;
      tokens = std::make_shared<const Tokens>(std::move(read));
    } else if (!local) {
      return fail(Errc::invalid_argument,
                  fmt::format("{}: only loopback may be served without tokens; make some with `iez token` and give --tokens FILE",
                              options.listen));
    }
    if (!local && !server.tls) log.warning("tokens travel in the clear: give a certificate", {{"listen", options.listen}});
    server.options = options;
    if (!tokens) server.known_peer = [](int socket) { return peer_is_own_user(socket); };
    // The library's own default lets several processes listen at one port, which then take turns.
    server.set_socket_options([](int socket) {
      const int yes = 1;
      static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    });
    server.set_payload_max_length(options.body_limit);
    server.set_keep_alive_max_count(1'000'000);  // only what it tells clients
    server.new_task_queue = [threads = options.threads] { return new httplib::ThreadPool(threads); };
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      auto refused = refused_early(request);
      if (!refused) return httplib::Server::HandlerResponse::Unhandled;
      refused->headers.emplace_back("Connection", "close");
      send(*std::move(refused), response);
      return httplib::Server::HandlerResponse::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) { send(route(request), response); };
    server.Get("/.*", handle);
    server.Post("/.*", handle);
    server.Put("/.*", handle);
    server.Patch("/.*", handle);
    server.Delete("/.*", handle);
    server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty() || response.status < 400) return;
      send(refuse(static_cast<std::uint32_t>(response.status), "http", "The request could not be served", ""), response);
    });
    server.set_exception_handler([this](const httplib::Request& request, httplib::Response& response, const std::exception_ptr&) {
      log.error("a request failed", {{"path", text::printable(request.path)}});
      send(refuse(500, "bug", "The request failed", ""), response);
    });
    server.set_logger([this](const httplib::Request& request, const httplib::Response& response) {
      statuses.at(static_cast<std::size_t>(std::clamp(response.status / 100, 0, 5)))++;
      log.debug(
          "request",
          {{"method", request.method}, {"path", text::printable(request.path)}, {"status", std::to_string(response.status)}});
    });
    if (address.port == 0) {
      port = server.bind_to_any_port(address.host);
      if (port <= 0) return fail(Errc::io, fmt::format("cannot listen on {}", options.listen));
    } else {
      port = address.port;
      if (!server.bind_to_port(address.host, port)) {
        return fail(Errc::io, fmt::format("cannot listen on {}: is the address this node's, and the port free?", options.listen));
      }
    }
    return {};
  }
};

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(const ListenOptions& options, Routes routes, Clock& clock, Logger& log) {
  auto state = std::make_unique<State>(options, std::move(routes), clock, log);
  IEZ_CHECK(state->open());
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

std::string Listener::url() const {
  const bool v6 = state_->address.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", state_->server.tls ? "https" : "http", v6 ? "[" : "", state_->address.host, v6 ? "]" : "",
                     state_->port);
}

void Listener::run() { state_->server.listen_after_bind(); }

void Listener::stop() {
  state_->server.stopping = true;
  state_->server.stop();
}

std::array<std::uint64_t, 6> Listener::answers() const {
  std::array<std::uint64_t, 6> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = state_->statuses[i].load();
  return out;
}

std::string answers_metric(const Listener& listener) {
  std::string text =
      "# HELP iez_http_requests_total Answers by the hundred of their status\n# TYPE iez_http_requests_total counter\n";
  const auto answers = listener.answers();
  for (std::size_t i = 2; i < answers.size(); ++i) {
    text += fmt::format("iez_http_requests_total{{code=\"{}xx\"}} {}\n", i, answers[i]);
  }
  return text;
}

bool is_loopback(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

Result<HostPort> parse_listen(std::string_view text) {
  constexpr std::uint64_t kLastPort = 65535;
  constexpr std::uint64_t kNoPort = kLastPort + 1;
  const std::size_t colon = text.rfind(':');
  const std::uint64_t port =
      colon == std::string_view::npos ? kNoPort : text::parse_u64(text.substr(colon + 1)).value_or(kNoPort);
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (port > kLastPort || host.empty()) {
    return fail(Errc::invalid_argument, fmt::format("address '{}': expected HOST:PORT", text::printable(text)));
  }
  return HostPort{.host = std::string(host), .port = static_cast<int>(port)};
}

}  // namespace iez::http
