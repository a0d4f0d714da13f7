// The coordinator's side of telemetry: takes samples, and asks agents for more of them. ZeroMQ stays inside.
//
// Two sockets are bound: SUB for samples, PUB for requests. With a folder of keys both are encrypted (CURVE), and only agents
// whose public keys are in the folder are let in, now and when files are added or removed later: a connection that exists stays,
// though, until it ends. Without keys, only endpoints on this machine are accepted.
//
// Memory: a sample is at most Limits::bytes; each agent has at most kSampleQueue waiting. What does not fit waits at the agent,
// which drops and counts.
//
// Thread safety: receive() from one thread; ask() and counters() from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "telemetry/sample.hpp"

namespace iez::telemetry {

struct SubscriberOptions {
  std::string samples = "tcp://127.0.0.1:9851";  // port * is any free one
  std::string requests = "tcp://127.0.0.1:9852";
  std::string keys;  // folder; empty: no encryption
};

class Subscriber {
 public:
  // sender: see Collector::feed.
  using OnSample = std::function<void(std::span<const std::byte> bytes, std::string_view sender)>;

  struct Counters {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused_keys = 0;       // connections with a key that is not known
    std::uint64_t failed_handshakes = 0;  // no key, or not the coordinator's
    std::string last_refused;             // the address and public key of the last one refused
  };

  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(const SubscriberOptions& options);
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;
  Subscriber(Subscriber&&) = delete;
  Subscriber& operator=(Subscriber&&) = delete;

  // Waits for up to `wait` for a sample, then gives all that are there, at most `most`. How many.
  [[nodiscard]] Result<std::size_t> receive(Duration wait, const OnSample& take, std::size_t most = 4096);

  // To all agents that are connected now. Asking again renews.
  [[nodiscard]] Result<void> ask(const RateRequest& request);

  // Ends a receive() that waits, from any thread or a signal handler's thread.
  void wake();

  std::string samples_endpoint() const;  // with the real port
  std::string requests_endpoint() const;
  Counters counters() const;

 private:
  struct Impl;
  explicit Subscriber(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez::telemetry
