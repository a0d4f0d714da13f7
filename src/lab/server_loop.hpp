// A server of a lab: one thread, one epoll, connections over a Unix socket, timers. What the server does is the handler's.
//
// Thread safety: everything runs in the thread of run(); only stop() may be called from others. Handlers must not block: the
// host's page cache and SQLite answer in microseconds, and time on a modelled disk is a timer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

using ConnectionId = std::uint64_t;  // never used twice

class ServerHandler {
 public:
  virtual ~ServerHandler() = default;
  // A whole frame. body is valid during the call.
  virtual void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) = 0;
  // Once for each connection that ends before the loop does, whoever ended it; never from within send() or disconnect().
  virtual void closed(ConnectionId connection) = 0;
};

class ServerLoop {
 public:
  // Listens at `path`; a socket that a dead process left there is replaced. Paths longer than sockaddr_un has room for are
  // reached through the folder (/proc/self/fd/N).
  [[nodiscard]] static Result<std::unique_ptr<ServerLoop>> create(const std::string& path, ServerHandler& handler);
  ~ServerLoop();
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  // Until stop(), SIGTERM or SIGINT. Answers that are queued are sent first, for at most a second.
  [[nodiscard]] Result<void> run();
  void stop();

  // A connection to another server, for the same handler: its answers come as frames. Errors carry errno (ENOENT, ECONNREFUSED:
  // nobody is there).
  [[nodiscard]] Result<ConnectionId> connect(const std::string& path);

  // Whole frames, in order; on their way when the handler has returned. Nothing happens if the connection is gone. A peer that
  // does not read is disconnected when 256 MiB wait.
  void send(ConnectionId to, std::vector<std::byte> frame);
  void disconnect(ConnectionId connection);

  // Calls `what` once, at or after `when` by CLOCK_MONOTONIC (now()). Timers of one instant run in the order they were set.
  using TimerId = std::uint64_t;
  TimerId at(Duration when, std::function<void()> what);
  void cancel(TimerId timer);
  [[nodiscard]] Duration now() const;

 private:
  struct State;
  explicit ServerLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iez::lab
