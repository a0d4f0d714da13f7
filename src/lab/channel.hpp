// A client's line to one server of a lab: many requests at once over one socket, each answered exactly once whatever happens to
// the server meanwhile.
//
// Requests are numbered in the order in which they were started, and are sent in that order. When the connection is lost, the
// channel connects again - after 10 ms, then twice as long each time up to a second, for ever: a dead server makes its clients
// wait, as on Lustre - and sends everything that has no answer yet again, in order. When a request has had no answer for
// Options::silence the server is asked whether it knows it; if not, it was lost, and is sent again.
//
// A caller that waits may be interrupted. The wait then ends with EINTR, but only while the server is not there (no connection,
// or not a word for kDeafAfter): a signal must not turn a slow answer into a failed write.
//
// Thread safety: all members may be called from any thread. The functions of Options and those given to start() are called in the
// channel's own thread, and must neither block nor wait for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

// error: 0, or an errno; then there are no fields.
struct Reply {
  int error = 0;
  std::vector<std::byte> body;  // as it came: the errno, the fields, then data

  // The fields; EPROTO in `error` if they are not those of T. data: what follows them, valid as long as the answer.
  template <typename T>
  std::optional<T> as(std::span<const std::byte>* data = nullptr) {
    if (error != 0) return std::nullopt;
    FrameReader reader(body);
    std::int32_t errno_again = 0;
    T value;
    reader(errno_again);
    reader(value);
    if (!reader.good()) {
      error = kNotUnderstood;
      return std::nullopt;
    }
    if (data != nullptr) *data = reader.rest();
    return value;
  }

  static constexpr int kNotUnderstood = 71;  // EPROTO
};

class Channel {
 public:
  static constexpr Duration kDeafAfter = std::chrono::seconds(5);

  struct Options {
    std::string path;  // of the server's socket
    ConnectRequest connect;
    std::uint64_t first_number = 1;
    Duration silence = std::chrono::seconds(2);
    std::function<void(const LockRequest&)> revoked;
    // After every connection but the first, before anything is sent on it. restarted: it is not the server process of before.
    std::function<void(bool restarted)> reconnected;
  };

  // Returns at once; the connection is made in the background.
  explicit Channel(Options options);
  ~Channel();  // who still waits gets ENOTCONN
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  class Pending;
  using Call = std::shared_ptr<Pending>;
  using OnAnswer = std::function<void(Reply&)>;
  using Interrupted = std::function<bool()>;

  template <typename Message>
  Call start(Op op, const Message& message, std::span<const std::byte> data = {}, OnAnswer on_answer = {}) {
    return start_frame(request_frame(op, 0, message, data), std::move(on_answer));
  }

  // REQUIRES: once for each call. interrupted is asked about 20 times a second.
  Reply wait(const Call& call, const Interrupted& interrupted = {});

  // Both.
  template <typename Message>
  Reply ask(Op op, const Message& message, const Interrupted& interrupted = {}) {
    return wait(start(op, message), interrupted);
  }

  [[nodiscard]] bool connected() const;
  [[nodiscard]] std::uint64_t reconnects() const;  // after the first connection
  [[nodiscard]] std::size_t unanswered() const;

 private:
  Call start_frame(std::vector<std::byte> frame, OnAnswer on_answer);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iez::lab
