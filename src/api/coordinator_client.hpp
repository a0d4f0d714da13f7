// The coordinator, seen from a client: HTTP or HTTPS, one connection that is kept.
//
// Failures: Errc::io if nobody answers or the service is out of order (plan locally then), Errc::permission for a wrong token or
// a path of somebody else, Errc::not_found for a plan that is not there (any more), Errc::limit if there is no room, or
// requests come too fast, Errc::invalid_argument for a request that makes no sense, Errc::parse for an answer that makes none.
//
// Thread safety: none; give each thread its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace iez::api {

class CoordinatorClient {
 public:
  struct Options {
    std::string url;      // "http://host:port" or "https://host:port"
    std::string token;    // empty: none is sent
    std::string ca_file;  // of the certificate; empty: those of the system
    Duration connect_timeout{2'000'000'000};
    Duration timeout{30'000'000'000};  // of one exchange
  };

  // Fails for an address that makes no sense; nobody is asked yet.
  [[nodiscard]] static Result<std::unique_ptr<CoordinatorClient>> make(const Options& options);
  ~CoordinatorClient();
  CoordinatorClient(const CoordinatorClient&) = delete;
  CoordinatorClient& operator=(const CoordinatorClient&) = delete;

  // One question each.
  [[nodiscard]] Result<Submitted> submit(const PlanRequest& request);
  [[nodiscard]] Result<Submitted> poll(std::string_view plan);

  // As poll(), when the run of the plan begins: it may have been planned anew, by what others move at this moment.
  [[nodiscard]] Result<Submitted> begin(std::string_view plan);

  // submit(), then poll() as often as the coordinator says, until the answer is there, the coordinator says that its node is
  // busy, or patience is at its end (then the ticket's id stays valid: poll() later).
  [[nodiscard]] Result<Submitted> plan(const PlanRequest& request, Duration patience, Clock& clock);

  [[nodiscard]] Result<void> created(std::string_view plan, const CreatedRequest& request);
  [[nodiscard]] Result<void> expire(std::string_view plan);
  [[nodiscard]] Result<std::vector<PlanRow>> plans(std::string_view application);  // empty: all
  [[nodiscard]] Result<std::vector<OstWeight>> weights(std::string_view file_system);

  // The body of another resource, such as "/v1/cluster".
  [[nodiscard]] Result<std::string> get(const std::string& path);

 private:
  struct State;
  explicit CoordinatorClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The token that a file holds: its first word. Fails for a file that others may read.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

}  // namespace iez::api
