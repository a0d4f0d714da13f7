#include "telemetry/subscriber.hpp"

#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "input/byte_stream.hpp"
#include "telemetry/publisher.hpp"
#include "telemetry/sockets.hpp"
#include "telemetry/zap.hpp"

namespace iez::telemetry {

struct Subscriber::Impl {
  // In this order: sockets and the handler end before the context.
  ZmqContext context;
  std::unique_ptr<ZapHandler> zap;
  ZmqSocket samples;
  ZmqSocket monitor;
  ZmqSocket requests;
  std::mutex requests_mutex;
  input::UniqueFd wake_fd;
  std::string samples_endpoint;
  std::string requests_endpoint;
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> failed_handshakes{0};

  // Who sent it: "" for nobody in particular.
  std::string_view sender(ZmqMessage& message) const {
    if (!zap) return {};
    const char* const user = zmq_msg_gets(message.get(), "User-Id");
    return user == nullptr || user == kSharedUser ? std::string_view{} : std::string_view(user);
  }

  void take_events() {
    while (const int event = take_event(monitor)) {
      if (event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) ++failed_handshakes;
    }
  }
};

Result<std::unique_ptr<Subscriber>> Subscriber::open(const SubscriberOptions& options) {
  IEZ_CHECK(require_keys(options.samples, options.keys));
  IEZ_CHECK(require_keys(options.requests, options.keys));
  auto impl = std::make_unique<Impl>();
  IEZ_TRY(impl->context, make_context(64));
  impl->wake_fd = input::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl->wake_fd) return fail_errno(errno, "eventfd");
  IEZ_TRY(impl->samples, make_socket(impl->context, ZMQ_SUB));
  IEZ_TRY(impl->requests, make_socket(impl->context, ZMQ_PUB));
  IEZ_CHECK(set_common(impl->samples, kSampleQueue, Limits{}.bytes));
  IEZ_CHECK(set_common(impl->requests, kSampleQueue, Limits{}.bytes));
  IEZ_CHECK(set_option(impl->samples, ZMQ_SUBSCRIBE, std::string_view{}));
  if (!options.keys.empty()) {
    IEZ_TRY(const KeyPair own, load_pair(options.keys, "coordinator"));
    IEZ_TRY(impl->zap, ZapHandler::start(impl->context, options.keys));
    IEZ_CHECK(be_curve_server(impl->samples, own));
    IEZ_CHECK(be_curve_server(impl->requests, own));
  }
  constexpr int kFailures =
      ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  IEZ_TRY(impl->monitor, monitor_socket(impl->context, impl->samples, "iez-subscriber", kFailures));
  IEZ_TRY(impl->samples_endpoint, bind_socket(impl->samples, options.samples));
  IEZ_TRY(impl->requests_endpoint, bind_socket(impl->requests, options.requests));
  return std::unique_ptr<Subscriber>(new Subscriber(std::move(impl)));
}

Subscriber::Subscriber(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Subscriber::~Subscriber() {
  zmq_socket_monitor(impl_->samples.get(), nullptr, 0);
  impl_->monitor.reset();
  impl_->samples.reset();
  impl_->requests.reset();
}

Result<std::size_t> Subscriber::receive(Duration wait, const OnSample& take, std::size_t most) {
  std::array<zmq_pollitem_t, 3> items{{{.socket = impl_->samples.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = impl_->monitor.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                       {.socket = nullptr, .fd = impl_->wake_fd.get(), .events = ZMQ_POLLIN, .revents = 0}}};
  if (zmq_poll(items.data(), static_cast<int>(items.size()), milliseconds(wait)) < 0) {
    if (zmq_errno() == EINTR) return 0;
    return fail_zmq("waiting for samples");
  }
  if ((items[2].revents & ZMQ_POLLIN) != 0) {
    eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(impl_->wake_fd.get(), &ignored));
  }
  impl_->take_events();
  std::size_t count = 0;
  while (count < most) {
    ZmqMessage message;
    if (zmq_msg_recv(message.get(), impl_->samples.get(), ZMQ_DONTWAIT) < 0) {
      if (zmq_errno() == EAGAIN || zmq_errno() == EINTR) break;
      return fail_zmq("taking a sample");
    }
    const std::string_view text = message.text();
    ++impl_->messages;
    impl_->bytes += text.size();
    ++count;
    take(std::as_bytes(std::span(text.data(), text.size())), impl_->sender(message));
  }
  return count;
}

Result<void> Subscriber::ask(const RateRequest& request) {
  const auto bytes = encode(request);
  const std::scoped_lock lock(impl_->requests_mutex);
  if (zmq_send(impl_->requests.get(), bytes.data(), bytes.size(), ZMQ_DONTWAIT) < 0) return fail_zmq("a request to agents");
  return {};
}

void Subscriber::wake() { static_cast<void>(::eventfd_write(impl_->wake_fd.get(), 1)); }

std::string Subscriber::samples_endpoint() const { return impl_->samples_endpoint; }
std::string Subscriber::requests_endpoint() const { return impl_->requests_endpoint; }

Subscriber::Counters Subscriber::counters() const {
  return {.messages = impl_->messages.load(),
          .bytes = impl_->bytes.load(),
          .refused_keys = impl_->zap ? impl_->zap->refused() : 0,
          .failed_handshakes = impl_->failed_handshakes.load(),
          .last_refused = impl_->zap ? impl_->zap->last_refused() : std::string()};
}

}  // namespace iez::telemetry
