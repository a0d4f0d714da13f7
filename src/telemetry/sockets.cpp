#include "telemetry/sockets.hpp"

#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::telemetry {

namespace {

constexpr int kHeartbeat = 10'000;  // milliseconds
constexpr int kSilence = 30'000;
constexpr int kReconnect = 100;
constexpr int kReconnectMost = 5'000;
constexpr int kBacklog = 4096;

// With IPv6 a name may mean either; an address of IPv4 would be told as "[::ffff:127.0.0.1]".
Result<void> choose_family(const ZmqSocket& socket, std::string_view endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) return {};
  const std::string_view host = endpoint.substr(kTcp.size(), endpoint.rfind(':') - kTcp.size());
  const bool numbers = std::ranges::all_of(host, [](char c) { return c == '.' || text::is_digit(c); });
  return set_option(socket, ZMQ_IPV6, numbers ? 0 : 1);
}

}  // namespace

void ZmqContextEnder::operator()(void* context) const { zmq_ctx_term(context); }
void ZmqSocketCloser::operator()(void* socket) const { zmq_close(socket); }

static_assert(sizeof(zmq_msg_t) == 64 && alignof(zmq_msg_t) <= alignof(void*));

ZmqMessage::ZmqMessage() { zmq_msg_init(get()); }
ZmqMessage::~ZmqMessage() { zmq_msg_close(get()); }

std::string_view ZmqMessage::text() { return {static_cast<const char*>(zmq_msg_data(get())), zmq_msg_size(get())}; }
bool ZmqMessage::more() { return zmq_msg_more(get()) != 0; }

std::unexpected<Error> fail_zmq(std::string_view doing) {
  const int reason = zmq_errno();
  // ZeroMQ has numbers of its own, which strerror() does not know.
  if (reason >= ZMQ_HAUSNUMERO || reason == EINVAL) {
    return fail(Errc::io, fmt::format("{}: {}", doing, zmq_strerror(reason)));
  }
  return fail_errno(reason, doing);
}

Result<ZmqContext> make_context(int sockets) {
  ZmqContext context(zmq_ctx_new());
  if (!context) return fail_zmq("ZeroMQ");
  zmq_ctx_set(context.get(), ZMQ_MAX_SOCKETS, sockets);
  return context;
}

Result<ZmqSocket> make_socket(const ZmqContext& context, int type) {
  ZmqSocket socket(zmq_socket(context.get(), type));
  if (!socket) return fail_zmq("a socket of ZeroMQ");
  IEZ_CHECK(set_option(socket, ZMQ_LINGER, 0));
  return socket;
}

Result<void> set_option(const ZmqSocket& socket, int option, int value) {
  if (zmq_setsockopt(socket.get(), option, &value, sizeof value) != 0) return fail_zmq("an option of ZeroMQ");
  return {};
}

Result<void> set_option(const ZmqSocket& socket, int option, std::string_view value) {
  if (zmq_setsockopt(socket.get(), option, value.data(), value.size()) != 0) return fail_zmq("an option of ZeroMQ");
  return {};
}

Result<void> set_common(const ZmqSocket& socket, int queue, std::size_t largest) {
  IEZ_CHECK(set_option(socket, ZMQ_SNDHWM, queue));
  IEZ_CHECK(set_option(socket, ZMQ_RCVHWM, queue));
  IEZ_CHECK(set_option(socket, ZMQ_BACKLOG, kBacklog));
  IEZ_CHECK(set_option(socket, ZMQ_HEARTBEAT_IVL, kHeartbeat));
  IEZ_CHECK(set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, kSilence));
  IEZ_CHECK(set_option(socket, ZMQ_HEARTBEAT_TTL, kSilence));
  IEZ_CHECK(set_option(socket, ZMQ_RECONNECT_IVL, kReconnect));
  IEZ_CHECK(set_option(socket, ZMQ_RECONNECT_IVL_MAX, kReconnectMost));
  const auto most = static_cast<std::int64_t>(largest);
  if (zmq_setsockopt(socket.get(), ZMQ_MAXMSGSIZE, &most, sizeof most) != 0) return fail_zmq("an option of ZeroMQ");
  return {};
}

Result<void> be_curve_server(const ZmqSocket& socket, const KeyPair& own) {
  IEZ_CHECK(set_option(socket, ZMQ_CURVE_SERVER, 1));
  IEZ_CHECK(set_option(socket, ZMQ_CURVE_SECRETKEY, own.secret_key));
  return set_option(socket, ZMQ_ZAP_DOMAIN, std::string_view("iez"));
}

Result<void> be_curve_client(const ZmqSocket& socket, const KeyPair& own, const std::string& server) {
  IEZ_CHECK(set_option(socket, ZMQ_CURVE_SERVERKEY, server));
  IEZ_CHECK(set_option(socket, ZMQ_CURVE_PUBLICKEY, own.public_key));
  return set_option(socket, ZMQ_CURVE_SECRETKEY, own.secret_key);
}

Result<std::string> bind_socket(const ZmqSocket& socket, const std::string& endpoint) {
  IEZ_CHECK(choose_family(socket, endpoint));
  if (zmq_bind(socket.get(), endpoint.c_str()) != 0) {
    if (zmq_errno() == EINVAL) {
      return fail(Errc::invalid_argument,
                  fmt::format("{}: no endpoint; expected tcp://ADDRESS:PORT or ipc://PATH", text::printable(endpoint)));
    }
    return fail_zmq(text::printable(endpoint));
  }
  std::array<char, 1024> bound{};
  std::size_t size = bound.size();
  if (zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, bound.data(), &size) != 0) return fail_zmq(endpoint);
  return std::string(bound.data());
}

Result<void> connect_socket(const ZmqSocket& socket, const std::string& endpoint) {
  IEZ_CHECK(choose_family(socket, endpoint));
  if (zmq_connect(socket.get(), endpoint.c_str()) == 0) return {};
  if (zmq_errno() == EINVAL || zmq_errno() == EPROTONOSUPPORT) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: no endpoint; expected tcp://HOST:PORT or ipc://PATH", text::printable(endpoint)));
  }
  return fail_zmq(text::printable(endpoint));
}

Result<ZmqSocket> monitor_socket(const ZmqContext& context, const ZmqSocket& of, const std::string& name, int events) {
  const std::string endpoint = "inproc://" + name;
  if (zmq_socket_monitor(of.get(), endpoint.c_str(), events) != 0) return fail_zmq("a monitor of ZeroMQ");
  IEZ_TRY(ZmqSocket socket, make_socket(context, ZMQ_PAIR));
  IEZ_CHECK(connect_socket(socket, endpoint));
  return socket;
}

int take_event(const ZmqSocket& monitor) {
  ZmqMessage event;
  if (zmq_msg_recv(event.get(), monitor.get(), ZMQ_DONTWAIT) < 0) return 0;
  std::uint16_t kind = 0;
  if (event.text().size() >= sizeof kind) std::memcpy(&kind, event.text().data(), sizeof kind);
  bool more = event.more();
  while (more) {
    ZmqMessage address;
    if (zmq_msg_recv(address.get(), monitor.get(), ZMQ_DONTWAIT) < 0) break;
    more = address.more();
  }
  return kind;
}

int milliseconds(Duration wait) {
  constexpr std::int64_t kMost = 3'600'000;
  return static_cast<int>(std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(wait).count(), 0, kMost));
}

}  // namespace iez::telemetry
