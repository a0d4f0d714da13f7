// Who may connect: ZeroMQ asks over "inproc://zeromq.zap.01" (RFC 27) for every CURVE handshake; a thread answers.
//
// Thread safety: refused() and last_refused() from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "telemetry/keys.hpp"
#include "telemetry/sockets.hpp"

namespace iez::telemetry {

// What a message of the shared key has as its user: no agent can be called so.
inline constexpr std::string_view kSharedUser = "*";

class ZapHandler {
 public:
  // One for each context. It must end before the context does.
  [[nodiscard]] static Result<std::unique_ptr<ZapHandler>> start(const ZmqContext& context, std::string keys_folder);
  ~ZapHandler();
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;
  ZapHandler(ZapHandler&&) = delete;
  ZapHandler& operator=(ZapHandler&&) = delete;

  std::uint64_t refused() const { return refused_.load(); }
  std::string last_refused() const;

 private:
  ZapHandler(ZmqSocket socket, int stop_fd, std::string keys_folder);
  void run();
  void answer();

  ZmqSocket socket_;
  int stop_fd_;
  AgentKeys keys_;
  SystemClock clock_;
  std::atomic<std::uint64_t> refused_{0};
  mutable std::mutex mutex_;
  std::string last_refused_;
  std::thread thread_;
};

}  // namespace iez::telemetry
