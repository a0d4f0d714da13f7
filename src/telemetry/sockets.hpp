// ZeroMQ's C interface, owned and without exceptions. For the sources of this module.
//
// Thread safety: as ZeroMQ: a context is for all threads, a socket for one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "telemetry/keys.hpp"

struct zmq_msg_t;  // NOLINT(readability-identifier-naming): of <zmq.h>

namespace iez::telemetry {

struct ZmqContextEnder {
  void operator()(void* context) const;
};
struct ZmqSocketCloser {
  void operator()(void* socket) const;
};
using ZmqContext = std::unique_ptr<void, ZmqContextEnder>;
using ZmqSocket = std::unique_ptr<void, ZmqSocketCloser>;

class ZmqMessage {
 public:
  ZmqMessage();
  ~ZmqMessage();
  ZmqMessage(const ZmqMessage&) = delete;
  ZmqMessage& operator=(const ZmqMessage&) = delete;
  ZmqMessage(ZmqMessage&&) = delete;
  ZmqMessage& operator=(ZmqMessage&&) = delete;

  zmq_msg_t* get() { return reinterpret_cast<zmq_msg_t*>(storage_.data()); }
  std::string_view text();
  bool more();

 private:
  alignas(void*) std::array<std::byte, 64> storage_;  // a zmq_msg_t, as large as ZeroMQ's ABI says
};

// "DOING: REASON", by ZeroMQ's errno.
[[nodiscard]] std::unexpected<Error> fail_zmq(std::string_view doing);

[[nodiscard]] Result<ZmqContext> make_context(int sockets);
[[nodiscard]] Result<ZmqSocket> make_socket(const ZmqContext& context, int type);
[[nodiscard]] Result<void> set_option(const ZmqSocket& socket, int option, int value);
[[nodiscard]] Result<void> set_option(const ZmqSocket& socket, int option, std::string_view value);

// What every socket of ours has: no lingering, a heartbeat (a peer whose machine is gone is noticed), a bound on messages.
[[nodiscard]] Result<void> set_common(const ZmqSocket& socket, int queue, std::size_t largest);

// CURVE as the side that asks who is there (coordinator), or the side that knows whom it wants (agent).
[[nodiscard]] Result<void> be_curve_server(const ZmqSocket& socket, const KeyPair& own);
[[nodiscard]] Result<void> be_curve_client(const ZmqSocket& socket, const KeyPair& own, const std::string& server);

// The endpoint as it was bound: with the real port.
[[nodiscard]] Result<std::string> bind_socket(const ZmqSocket& socket, const std::string& endpoint);
[[nodiscard]] Result<void> connect_socket(const ZmqSocket& socket, const std::string& endpoint);

// A socket that gets the events of another.
[[nodiscard]] Result<ZmqSocket> monitor_socket(const ZmqContext& context, const ZmqSocket& of, const std::string& name,
                                               int events);
// The next event that waits; 0: none.
int take_event(const ZmqSocket& monitor);

int milliseconds(Duration wait);  // for zmq_poll: rounded up, at most an hour

}  // namespace iez::telemetry
