// Our own law: credits in bursts, shared between jobs, no longer a queue than it takes, and none longer than a latency goal
// allows.
//
// Notation: D requests queued or in service, C present clients, C_j those of job j (present_clients.hpp); a the time of a request
// that follows one of the same client, a + b that of one that does not (burst_cost.hpp); n_j the requests that a client of job j
// is to have in the queue, side by side; tau the mean time from a reply to the request that follows it.
//
// Bursts. With n credits a client has n requests in the queue, but each reply releases one of them at a time of its own, and soon
// they lie scattered: each costs b. So a reply carries 1 credit while the client has other requests here, and the client falls
// silent; the reply to the last one carries the burst. All its requests then arrive together and are served together: b is paid
// once in n requests instead of once in two.
//
//   time of n requests:  n a + b;    IOPS = 1 / (a + b C / D);    L = D / IOPS = a D + b C                                  (1)
//
// Replies overtake each other. If u of a round's replies are still under way when the client reads the last one sent, it sends u
// requests fewer than that allows, and the u late ones tell it to be silent. So the burst is asked with what is missing in the
// mean, R = n + u. For a round of m requests u = s (m - 1), where s is learnt, but no more than tau IOPS / 3, what a uniform
// turnaround leaves unread of a long round; u is taken as uniform from 0 to 2u, so that for n < u, when not every client would
// send at once, R = sqrt(4 n u).
//
// Depth. D* = C n_knee, where bursts of n_knee reach the part 1 - loss of the throughput of endless ones; but at least
//   - twice the reserve, 2 tau IOPS + 8 requests, that keeps the server busy while clients turn around;
//   - what takes the time `brief`, as far as longer bursts still help: so little is not worth saving;
// and at most (safety goal - b C) / a, that is L <= safety goal by (1); and at most safety goal times the IOPS of the last twelve
// windows, in case bursts do not arrive whole and (1) promises too much. Without a goal the knee alone decides.
//
// Shares. Jobs get equal parts of D*, whatever their number of clients: n_j = D_j / C_j, from 1 to most_credits. Who cannot use
// its part (reach_j C_j, where reach_j is what its clients ask for) leaves the rest to the others. But when only most_credits
// limits a job, the others get no more than `inequality` times its part, if that leaves all of them bursts of at least 3.
//
// Small differences. n_j is multiplied by 1 + 2 (D_due - D) / D*, from 0.7 to 1.1, where D_due is D* without the clients that are
// turning around. Fractions of credits are carried on to the next client of the job, so the mean of n_j is met, not its floor.
//
// Exceptions. While D is below the reserve no reply is held back: all carry n_j. The same for n_j so near to most_credits that R
// does not fit. A client that was served 4 n_j times in a row while others wait is held back in any case.
//
// Stability. D* follows C, a and b. IOPS itself, which changes with n, enters only in the reserve, in `brief`, in the bound of u
// and in the slow bound above, where by (1) an error of D comes back as its part b C / (safety goal), less than all of it. After
// a step of C, a or b every client has its new n after one reply, so D is right after the time that serves what was queued
// before: there is no fast loop around the latency, hence no oscillation by it. The one fast loop is that of small differences: D
// changes with the rate of bursts, so its time constant is L / 2, and its delay is tau. The reserve keeps L above 2 tau; a goal
// shorter than that leaves the narrow range of the factor to bound the swing. What remains are echoes: a burst that was too small
// or too large comes round after L, and the loop is slow to even them out.
//
// Limits.
//   - Every client has a request here at any time. In a queue in order of arrival, then, no law of credits goes below
//     L = (a + b) C, nor above IOPS = (1 - b C / L) / a at the latency L. A goal below that is missed, with all credits at 1.
//   - Requests of one burst that reach the server far apart are no burst: little is gained then, and a goal may be missed by some
//     percent. Where neither replies nor requests are scattered, plain credits serve as well.
//   - What is queued is served: when the server becomes slower, what is queued then misses the goal.
//   - Shares are equal only as far as most_credits and the data of the clients allow: n clients hold n most_credits at most.
//   - Clients that think for longer than 4 tau between requests count only while they have requests here. A turnaround above 2 s
//     counts as 2 s.
//   - A client whose last reply is lost goes on with one credit; its next reply carries the burst again.
//   - A client that runs processes of several jobs counts for the job of its last request.
//
// Out of order and unknown: replies may finish in any order; a finish of a client that has nothing pending gets 1, and changes
// nothing. Time that goes back counts as standing still.
//
// Complexity: O(1) a call, amortised. Memory: a row for each number up to the largest client and the largest job.
// Thread safety: none; a policy belongs to one server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "congestion/burst_cost.hpp"
#include "congestion/credit_policy.hpp"
#include "congestion/iops_estimator.hpp"
#include "congestion/present_clients.hpp"

namespace iez::congestion {

struct LatencyGoal {
  std::optional<Duration> goal;               // of the 99th percentile, an upper bound; none: the knee alone decides
  unsigned most_credits = 256;                // of one client; Lustre's max_rpcs_in_flight allows no more
  double loss = 0.08;                         // of the highest throughput, that a shorter queue may cost
  double safety = 0.95;                       // part of the goal that the mean latency may take
  double inequality = 1.5;                    // the most that a job may get of another's part, if that one wants as much
  Duration brief = std::chrono::seconds(1);   // a latency that is not worth shortening
  Duration window = std::chrono::seconds(5);  // busy time over which IOPS is measured
};

// Names the field that makes no sense.
[[nodiscard]] Result<void> check(const LatencyGoal& parameters);

class LatencyGoalPolicy final : public CreditPolicy {
 public:
  explicit LatencyGoalPolicy(const LatencyGoal& parameters);  // REQUIRES: check() has passed

  [[nodiscard]] unsigned first_credits() const override { return 1; }
  void arrive(Duration now, const Request& request) override;
  [[nodiscard]] unsigned finish(Duration now, const Finished& finished) override;
  void ping(Duration now, std::uint32_t client) override;
  [[nodiscard]] ServerView view() const override;  // credits: the last burst; bound: the latency of D*

  [[nodiscard]] const LatencyGoal& parameters() const { return parameters_; }

 private:
  struct Client {
    double asked = 0;              // requests that it could send on its last burst
    std::uint64_t last_round = 0;  // requests in the round that the burst ended
    bool eager = false;            // it had n or more to send
  };
  struct Job {
    double burst = 0;  // n
    double reach = 0;  // credits that one of its clients can use, in the mean
    double carry = 0;  // what rounding has kept back
  };

  void plan();
  [[nodiscard]] double depth_wanted(double clients) const;  // D*
  [[nodiscard]] double equal_share(double depth) const;
  void learn_scatter(std::uint32_t number);
  [[nodiscard]] double burst_credits(double burst, std::uint64_t round) const;  // R
  [[nodiscard]] bool holds_back(std::uint32_t client, double burst) const;
  unsigned whole(Job& job, double credits) const;
  void make_room(const Request& request);

  LatencyGoal parameters_;
  IopsEstimator estimator_;
  IopsEstimator long_run_;  // over kLongRun windows
  PresentClients present_;
  BurstCost cost_;
  std::vector<Client> clients_;
  std::vector<Job> jobs_;
  double turnaround_ = 0;       // tau, s
  double scatter_ = 0;          // s
  double reserve_ = 0;          // requests
  double planned_ = 0;          // D*, as far as the clients can fill it
  double due_ = 0;              // the part of it of clients that have requests here
  std::size_t until_plan_ = 0;  // replies
  std::uint64_t streak_ = 0;    // replies to last_client_ in a row
  std::uint32_t last_client_ = 0;
  bool was_busy_ = false;  // there was work left after the last reply
  unsigned credits_ = 1;
};

}  // namespace iez::congestion
