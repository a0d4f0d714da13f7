// The pull mode of the coordinator: one thread for each database of `iez db serve`, so that none holds up another.
//
// Each request has bounds of time and size, whatever the database sends.
//
// Thread safety: stop() and metrics() from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "coordinator/service.hpp"

namespace iez::coordinator {

inline constexpr std::size_t kMaxPulled = 1024;  // databases

struct PullingOptions {
  std::vector<std::string> urls;  // of databases; one that is there twice counts once
  std::string planner;            // the coordinator's own address
  std::string token;              // for all of them; empty: none is sent
  std::string ca_file;
  Duration interval{5'000'000'000};
};

class Pulling {
 public:
  // Pulls when it returns. Fails for an address that makes no sense; whether anybody answers there is seen later.
  [[nodiscard]] static Result<std::unique_ptr<Pulling>> start(const PullingOptions& options, Service& service, Clock& clock,
                                                              Logger& log);
  ~Pulling();  // stops
  Pulling(const Pulling&) = delete;
  Pulling& operator=(const Pulling&) = delete;

  void stop();            // what is being asked ends
  std::string metrics();  // for Prometheus

 private:
  struct State;
  explicit Pulling(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iez::coordinator
