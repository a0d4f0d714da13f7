// An agent's side of telemetry: sends samples, hears requests. ZeroMQ stays inside; it connects again by itself.
//
// A sample is sent if the coordinator is there and takes it, and dropped otherwise: old samples are worth nothing. At most
// kSampleQueue wait. With keys both connections are encrypted, and the coordinator is known by its public key: nobody else's
// requests are heard.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "telemetry/sample.hpp"

namespace iez::telemetry {

inline constexpr int kSampleQueue = 64;

struct PublisherOptions {
  std::string samples = "tcp://127.0.0.1:9851";
  std::string requests = "tcp://127.0.0.1:9852";
  std::string keys;  // folder with coordinator.pub and agent.key; empty: no encryption
};

class Publisher {
 public:
  enum class Sent { yes, dropped };
  struct Heard {
    std::vector<RateRequest> requests;  // in order
    bool woken = false;                 // wake_fd can be read
  };
  struct Counters {
    std::uint64_t connections = 0;  // made, with the handshake
    std::uint64_t handshakes_failed = 0;
    std::uint64_t bad_requests = 0;
  };

  [[nodiscard]] static Result<std::unique_ptr<Publisher>> open(const PublisherOptions& options);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  Publisher(Publisher&&) = delete;
  Publisher& operator=(Publisher&&) = delete;

  Sent send(std::span<const std::byte> bytes);

  // Waits for up to `wait` for a request, a change of the connection, or wake_fd (-1: none).
  [[nodiscard]] Result<Heard> hear(Duration wait, int wake_fd = -1);

  bool connected() const;  // as of the last hear() or send()
  Counters counters() const;

  // For people, while connected() is false: why, as far as it is known. Looks the host's name up, which may take seconds.
  std::string why_away() const;

  // Gives what was sent `wait` to leave; nothing can be sent afterwards.
  void close(Duration wait);

 private:
  struct Impl;
  explicit Publisher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::telemetry
