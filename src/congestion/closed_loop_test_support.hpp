// A small closed loop for tests of policies: clients with credits, a queue in order of arrival, an elevator over the requests in
// service, and replies that take a random time and so overtake each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "base/units.hpp"
#include "congestion/credit_policy.hpp"
#include "congestion/import_credits.hpp"

namespace iez::congestion {

struct LoopClient {
  std::uint32_t job = 0;
  double start = 0;                      // s
  double stop = 1e18;                    // s; it sends nothing after
  std::uint64_t requests = 1ULL << 40U;  // in all
  std::uint64_t at_once = 1ULL << 30U;   // data it has at a time, in requests
};

struct Loop {
  std::vector<LoopClient> clients;
  double same = 4e-3;       // s, of a request that continues where the last ended
  double change = 5e-3;     // s more, of one that does not
  double network = 3e-4;    // s, one way
  double turnaround = 0.5;  // s, the longest of a reply when all threads are busy
  std::size_t threads = 32;
  double end = 1e18;        // s
  double measure_from = 0;  // s
  double slow_from = 1e18;  // s; then all takes twice as long
  std::uint64_t seed = 1;
};

struct LoopResult {
  std::vector<double> latencies;  // s, sorted; from measure_from on, as all that follows but the last five
  double mean_depth = 0;
  double mean_latency = 0;
  double throughput = 0;                   // requests a second
  std::map<std::uint32_t, double> of_job;  // the same, by job
  std::vector<double> depth_by_second;
  std::vector<std::uint64_t> served;  // by client
  unsigned least_credits = ~0U;
  unsigned most_credits = 0;
  bool depth_is_true = true;  // the policy's D was that of the loop, always

  [[nodiscard]] double percentile99() const { return latencies.empty() ? 0 : latencies[latencies.size() * 99 / 100]; }
};

class ClosedLoop {
 public:
  ClosedLoop(const Loop& loop, CreditPolicy& policy) : loop_(loop), policy_(policy), rng_(loop.seed) {
    result_.served.resize(loop.clients.size());
    for (std::uint32_t c = 0; c < loop.clients.size(); ++c) {
      places_.push_back(c);
      imports_.emplace_back(1, policy.first_credits());
      left_.push_back(loop.clients[c].requests);
      sent_.push_back(0);
      at(loop.clients[c].start, Kind::start, c, 0);
      at(25 * rng_.unit(), Kind::ping, c, 0);
    }
    for (std::size_t i = places_.size(); i > 1; --i) std::swap(places_[i - 1], places_[rng_.below(i)]);
  }

  LoopResult run() {
    std::uint64_t unserved = 0;
    for (const LoopClient& c : loop_.clients) unserved += c.requests;
    while (!events_.empty() && unserved > 0) {
      const Event e = events_.top();
      if (e.time > loop_.end) break;
      events_.pop();
      account(e.time);
      switch (e.kind) {
        case Kind::start:
          send(e.client);
          break;
        case Kind::arrival:
          ++depth_;
          policy_.arrive(time(), {.client = e.client, .job = loop_.clients[e.client].job});
          waiting_.push_back({.place = place(e.client, e.value), .client = e.client, .arrived = now_});
          serve();
          break;
        case Kind::done:
          finish();
          --unserved;
          break;
        case Kind::reply:
          imports_[e.client].reply(static_cast<unsigned>(e.value));
          send(e.client);
          break;
        case Kind::ping:
          policy_.ping(time(), e.client);
          at(now_ + 25, Kind::ping, e.client, 0);
          break;
      }
      result_.depth_is_true = result_.depth_is_true && policy_.view().depth == depth_;
    }
    const double span = now_ - loop_.measure_from;
    if (span > 0) {
      result_.mean_depth = depth_seconds_ / span;
      result_.throughput = static_cast<double>(result_.latencies.size()) / span;
      for (auto& [job, count] : result_.of_job) count /= span;
    }
    for (const double l : result_.latencies) result_.mean_latency += l / static_cast<double>(result_.latencies.size());
    std::sort(result_.latencies.begin(), result_.latencies.end());
    return std::move(result_);
  }

 private:
  enum class Kind : std::uint8_t { start, arrival, done, reply, ping };
  struct Event {
    double time;
    std::uint64_t order;
    Kind kind;
    std::uint32_t client;
    std::uint64_t value;

    bool operator<(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Job {
    std::uint64_t place;
    std::uint32_t client;
    double arrived;

    bool operator<(const Job& other) const { return place < other.place; }
  };

  [[nodiscard]] Duration time() const { return Duration(static_cast<Duration::rep>(now_ * 1e9)); }
  [[nodiscard]] std::uint64_t place(std::uint32_t client, std::uint64_t request) const {
    return (std::uint64_t{places_[client]} << 41U) + request;
  }
  void at(double when, Kind kind, std::uint32_t client, std::uint64_t value) {
    events_.push({.time = when, .order = order_++, .kind = kind, .client = client, .value = value});
  }

  void account(double until) {
    const double from = std::max(now_, loop_.measure_from);
    if (until > from) depth_seconds_ += static_cast<double>(depth_) * (until - from);
    while (static_cast<double>(result_.depth_by_second.size()) <= until) {
      result_.depth_by_second.push_back(static_cast<double>(depth_));
    }
    now_ = until;
  }

  void send(std::uint32_t c) {
    const LoopClient& client = loop_.clients[c];
    if (now_ >= client.stop) return;
    ImportCredits& import = imports_[c];
    const std::uint64_t data = std::min(left_[c], client.at_once);
    if (import.pages() < data) import.add_pages(data - import.pages());
    while (import.may_send()) {
      (void)import.send();
      --left_[c];
      at(now_ + loop_.network, Kind::arrival, c, sent_[c]++);
    }
  }

  void serve() {
    while (in_service_.size() + (current_ ? 1 : 0) < loop_.threads && !waiting_.empty()) {
      in_service_.insert(waiting_.front());
      waiting_.pop_front();
    }
    if (current_ || in_service_.empty()) return;
    auto next = in_service_.lower_bound({.place = head_, .client = 0, .arrived = 0});
    if (next == in_service_.end()) next = in_service_.begin();
    current_ = *next;
    in_service_.erase(next);
    const double cost = loop_.same + (current_->place == head_ ? 0 : loop_.change);
    head_ = current_->place + 1;
    at(now_ + (now_ >= loop_.slow_from ? 2 * cost : cost), Kind::done, current_->client, 0);
  }

  void finish() {
    const Job job = *current_;
    current_.reset();
    --depth_;
    const LoopClient& client = loop_.clients[job.client];
    ++result_.served[job.client];
    if (now_ >= loop_.measure_from) {
      result_.latencies.push_back(now_ - job.arrived);
      result_.of_job[client.job] += 1;
    }
    const std::uint64_t wanted = now_ < client.stop ? std::min({left_[job.client], client.at_once, std::uint64_t{1} << 20U}) : 0;
    const unsigned credits = policy_.finish(time(), {.request = {.client = job.client, .job = client.job},
                                                     .arrived = Duration(static_cast<Duration::rep>(job.arrived * 1e9)),
                                                     .wanted = static_cast<unsigned>(wanted)});
    result_.least_credits = std::min(result_.least_credits, credits);
    result_.most_credits = std::max(result_.most_credits, credits);
    serve();
    const double busy = static_cast<double>(in_service_.size()) / static_cast<double>(loop_.threads);
    at(now_ + loop_.network + loop_.turnaround * rng_.unit() * busy, Kind::reply, job.client, credits);
  }

  const Loop& loop_;
  CreditPolicy& policy_;
  Rng rng_;
  LoopResult result_;
  std::vector<std::uint32_t> places_;  // of each client's object on the disk
  std::vector<ImportCredits> imports_;
  std::vector<std::uint64_t> left_;
  std::vector<std::uint64_t> sent_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  std::deque<Job> waiting_;
  std::set<Job> in_service_;
  std::optional<Job> current_;
  std::uint64_t head_ = ~std::uint64_t{0};
  std::uint64_t depth_ = 0;
  double now_ = 0;
  double depth_seconds_ = 0;
};

inline LoopResult run_loop(const Loop& loop, CreditPolicy& policy) { return ClosedLoop(loop, policy).run(); }

}  // namespace iez::congestion
