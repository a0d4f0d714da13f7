#include "telemetry/publisher.hpp"

#include <netdb.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "telemetry/sockets.hpp"

namespace iez::telemetry {

namespace {

// ZeroMQ gives up on a peer that refused the handshake; the key may be added later, so we try again.
constexpr Duration kRetry = std::chrono::seconds{2};
constexpr int kFailures =
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

// How far the newest attempt to connect came.
enum class Reached {
  nobody,
  somebody,  // and no handshake yet
  refusal,
};

// "mds1: Name or service not known", of "tcp://mds1:9851"; empty: it has an address, or needs none.
std::string name_trouble(std::string_view endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) return "";
  std::string host(endpoint.substr(kTcp.size(), endpoint.rfind(':') - kTcp.size()));
  if (host.starts_with('[')) return "";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) return fmt::format("{}: {}", text::printable(host), ::gai_strerror(status));
  ::freeaddrinfo(found);
  return "";
}

}  // namespace

struct Publisher::Impl {
  PublisherOptions options;
  SystemClock clock;
  ZmqContext context;
  ZmqSocket samples;
  ZmqSocket monitor;
  ZmqSocket requests;
  ZmqSocket requests_monitor;
  std::optional<Duration> retry;
  bool greeted = false;     // the connection stands, with its handshake
  bool subscribed = false;  // whoever is at the other end wants samples; ZeroMQ keeps that while it connects again
  Reached reached = Reached::nobody;
  Counters counters;

  void take_events() {
    while (const int event = take_event(monitor)) {
      if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        ++counters.connections;
        greeted = true;
        reached = Reached::somebody;
      } else if (event == ZMQ_EVENT_CONNECTED) {
        // Who refused before will do so again: until then that is what is known.
        if (reached == Reached::nobody) reached = Reached::somebody;
      } else if (event == ZMQ_EVENT_CLOSED) {  // of an attempt that found nobody
        reached = Reached::nobody;
      } else if (event == ZMQ_EVENT_DISCONNECTED) {
        greeted = false;
      } else {
        refused();
      }
    }
    while (take_event(requests_monitor) != 0) refused();
  }

  void refused() {
    ++counters.handshakes_failed;
    reached = Reached::refusal;
    if (!retry) retry = clock.monotonic() + kRetry;
  }

  void connect_again() {
    if (!retry || clock.monotonic() < *retry) return;
    retry.reset();
    greeted = false;
    for (const auto& [socket, endpoint] : {std::pair{&samples, &options.samples}, {&requests, &options.requests}}) {
      zmq_disconnect(socket->get(), endpoint->c_str());  // may be gone already
      if (!connect_socket(*socket, *endpoint)) retry = clock.monotonic() + kRetry;
    }
  }

  // A subscription is a message of its own: 1 and what is wanted; 0 takes it back.
  void take_subscriptions() {
    while (true) {
      ZmqMessage message;
      if (zmq_msg_recv(message.get(), samples.get(), ZMQ_DONTWAIT) < 0) return;
      const std::string_view text = message.text();
      if (text.size() == 1) subscribed = text[0] == 1;
    }
  }

  bool ready() const { return greeted && subscribed; }

  void look() {
    take_events();
    take_subscriptions();
    connect_again();
  }
};

Result<std::unique_ptr<Publisher>> Publisher::open(const PublisherOptions& options) {
  IEZ_CHECK(require_keys(options.samples, options.keys));
  IEZ_CHECK(require_keys(options.requests, options.keys));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  IEZ_TRY(impl->context, make_context(16));
  IEZ_TRY(impl->samples, make_socket(impl->context, ZMQ_XPUB));
  IEZ_TRY(impl->requests, make_socket(impl->context, ZMQ_SUB));
  IEZ_CHECK(set_common(impl->samples, kSampleQueue, Limits{}.bytes));
  IEZ_CHECK(set_common(impl->requests, kSampleQueue, std::size_t{64} << 10U));
  // Without room in the queue sending fails, where it would otherwise drop and say nothing. Every connection brings its
  // subscription to us, also when the same one was there before.
  IEZ_CHECK(set_option(impl->samples, ZMQ_XPUB_NODROP, 1));
  IEZ_CHECK(set_option(impl->samples, ZMQ_XPUB_VERBOSER, 1));
  IEZ_CHECK(set_option(impl->requests, ZMQ_SUBSCRIBE, std::string_view{}));
  if (!options.keys.empty()) {
    IEZ_TRY(const KeyPair own, load_pair(options.keys, "agent"));
    IEZ_TRY(const std::string coordinator, load_public(options.keys, "coordinator"));
    IEZ_CHECK(be_curve_client(impl->samples, own, coordinator));
    IEZ_CHECK(be_curve_client(impl->requests, own, coordinator));
  }
  constexpr int kEvents =
      ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | kFailures;
  IEZ_TRY(impl->monitor, monitor_socket(impl->context, impl->samples, "iez-publisher", kEvents));
  IEZ_TRY(impl->requests_monitor, monitor_socket(impl->context, impl->requests, "iez-requests", kFailures));
  IEZ_CHECK(connect_socket(impl->samples, options.samples));
  IEZ_CHECK(connect_socket(impl->requests, options.requests));
  return std::unique_ptr<Publisher>(new Publisher(std::move(impl)));
}

Publisher::Publisher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Publisher::~Publisher() { close(Duration{0}); }

Publisher::Sent Publisher::send(std::span<const std::byte> bytes) {
  if (!impl_->samples) return Sent::dropped;
  impl_->look();
  if (!impl_->ready()) return Sent::dropped;
  const int sent = zmq_send(impl_->samples.get(), bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  return sent < 0 ? Sent::dropped : Sent::yes;
}

Result<Publisher::Heard> Publisher::hear(Duration wait, int wake_fd) {
  Heard heard;
  if (!impl_->samples) return heard;
  std::array<zmq_pollitem_t, 5> items{{{.socket = impl_->requests.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = impl_->monitor.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = impl_->samples.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = impl_->requests_monitor.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = nullptr, .fd = wake_fd, .events = ZMQ_POLLIN, .revents = 0}}};
  const int count = wake_fd < 0 ? 4 : 5;
  if (const std::optional<Duration> retry = impl_->retry) wait = std::clamp(*retry - impl_->clock.monotonic(), Duration{0}, wait);
  if (zmq_poll(items.data(), count, milliseconds(wait)) < 0) {
    if (zmq_errno() == EINTR) return heard;
    return fail_zmq("waiting for the coordinator");
  }
  impl_->look();
  heard.woken = count == 5 && (items[4].revents & ZMQ_POLLIN) != 0;
  while (true) {
    ZmqMessage message;
    if (zmq_msg_recv(message.get(), impl_->requests.get(), ZMQ_DONTWAIT) < 0) break;
    const std::string_view text = message.text();
    auto request = decode_request(std::as_bytes(std::span(text.data(), text.size())));
    if (request) {
      heard.requests.push_back(*std::move(request));
    } else {
      ++impl_->counters.bad_requests;
    }
  }
  return heard;
}

bool Publisher::connected() const { return impl_->ready(); }

Publisher::Counters Publisher::counters() const { return impl_->counters; }

std::string Publisher::why_away() const {
  if (impl_->reached == Reached::refusal && impl_->options.keys.empty()) return "who listens there refuses: does it want keys?";
  if (impl_->reached == Reached::refusal) {
    return fmt::format("the keys in {} are refused: are coordinator.pub and agent.key of that coordinator?",
                       text::printable(impl_->options.keys));
  }
  if (impl_->greeted) return "who listens there wants no samples";
  if (impl_->reached == Reached::somebody) return "who listens there does not answer as a coordinator does";
  const std::string name = name_trouble(impl_->options.samples);
  return name.empty() ? "nobody answers there" : name;
}

void Publisher::close(Duration wait) {
  if (!impl_->samples) return;
  zmq_socket_monitor(impl_->samples.get(), nullptr, 0);
  zmq_socket_monitor(impl_->requests.get(), nullptr, 0);
  impl_->monitor.reset();
  impl_->requests_monitor.reset();
  static_cast<void>(set_option(impl_->samples, ZMQ_LINGER, milliseconds(wait)));
  impl_->samples.reset();
  impl_->requests.reset();
  impl_->context.reset();  // waits for what lingers
}

}  // namespace iez::telemetry
