// Which clients, of which jobs, have requests at the server now or had some a moment ago.
//
// A client is present from the arrival of a request until it has had nothing pending for longer than a time that the caller
// chooses, or until it says that it has nothing more to send. It belongs to the job of its last request.
//
// A round is the time from the arrival of a client's first request to the reply of its last pending one. The size of a round is
// the most requests that the client had pending at once.
//
// Complexity: O(1) a call, amortised: each client leaves once for each time it comes. Memory: one row for each number up to the
// largest client and the largest job. Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "congestion/credit_policy.hpp"

namespace iez::congestion {

class PresentClients {
 public:
  // If the request ends a time without requests, of a client that was still present: how long it was.
  std::optional<Duration> arrive(Duration now, const Request& request);

  // Of the client of that number. False: it had nothing pending, and nothing has changed.
  bool finish(Duration now, std::uint32_t number);

  void leave(std::uint32_t number);              // if it has nothing pending
  void expire(Duration now, Duration patience);  // all that have had nothing pending for longer

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::span<const std::uint32_t> jobs() const { return present_jobs_; }  // with present clients, in no order
  [[nodiscard]] std::uint32_t count_of(std::uint32_t job) const;
  [[nodiscard]] std::uint32_t idle_of(std::uint32_t job) const;  // of these, those that have nothing pending
  [[nodiscard]] std::uint64_t pending(std::uint32_t client) const;
  [[nodiscard]] std::uint64_t round_size(std::uint32_t client) const;  // of the current round, or of the last

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Client {
    std::uint64_t pending = 0;
    std::uint64_t round_size = 0;
    Duration idle_since{};
    std::uint32_t job = 0;
    std::uint32_t earlier = kNone;  // neighbours among the present that have nothing pending
    std::uint32_t later = kNone;
    bool present = false;
  };
  struct Job {
    std::uint32_t clients = 0;
    std::uint32_t idle = 0;
    std::uint32_t place = 0;  // in present_jobs_
  };

  void join_job(std::uint32_t number);
  void leave_job(std::uint32_t number);
  void unlink(Client& client);

  std::vector<Client> clients_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> present_jobs_;
  std::uint32_t first_idle_ = kNone;  // the longest idle
  std::uint32_t last_idle_ = kNone;
  std::uint32_t count_ = 0;
};

}  // namespace iez::congestion
