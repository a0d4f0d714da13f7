#include "congestion/latency_goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iez::congestion {

namespace {

constexpr double kFirstKnee = 8;  // before the costs are known: Lustre's default
constexpr double kLeastBurst = 3;
constexpr double kLearn = 1.0 / 64;
constexpr double kLongestTurnaround = 2;  // s
constexpr double kSpareWork = 8;          // requests; a turnaround that is not known yet is not nothing
constexpr double kPatience = 4;           // turnarounds
constexpr double kLeastPatience = 0.1;    // s
constexpr double kLongestStreak = 4;      // bursts
constexpr double kGain = 2;
constexpr double kLeastFactor = 0.7;
constexpr double kMostFactor = 1.1;
constexpr double kBriefLoss = 0.1;  // of `loss`: what is worth having when it costs next to no latency
constexpr int kSharePasses = 8;
constexpr int kLongRun = 12;

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

Duration duration(double s) {
  const double ns = std::max(s, 0.0) * 1e9;
  return ns >= static_cast<double>(Duration::max().count()) ? Duration::max() : Duration(static_cast<Duration::rep>(ns));
}

}  // namespace

Result<void> check(const LatencyGoal& p) {
  if (p.goal && *p.goal <= Duration::zero()) {
    return fail(Errc::invalid_argument, fmt::format("goal is {}; it must be more than 0, or absent", to_string(*p.goal)));
  }
  if (p.most_credits < 1)
    return fail(Errc::invalid_argument, "most_credits is 0; a client without a credit would never send: at least 1");
  const bool loss_fits = p.loss > 0 && p.loss < 1;  // false for NaN
  if (!loss_fits) {
    return fail(Errc::invalid_argument, fmt::format("loss is {}; it must be between 0 and 1, such as 0.08", p.loss));
  }
  const bool safety_fits = p.safety > 0 && p.safety <= 1;
  if (!safety_fits) {
    return fail(Errc::invalid_argument, fmt::format("safety is {}; it must be above 0 and at most 1, such as 0.95", p.safety));
  }
  if (!std::isfinite(p.inequality) || p.inequality < 1) {
    return fail(Errc::invalid_argument, fmt::format("inequality is {}; it must be 1 or more, such as 1.5", p.inequality));
  }
  if (p.brief < Duration::zero()) return fail(Errc::invalid_argument, "brief is negative; it must be 0 or more");
  if (p.window <= Duration::zero()) {
    return fail(Errc::invalid_argument, fmt::format("window is {}; it must be more than 0", to_string(p.window)));
  }
  return {};
}

LatencyGoalPolicy::LatencyGoalPolicy(const LatencyGoal& parameters)
    : parameters_(parameters), estimator_(parameters.window), long_run_(kLongRun * parameters.window) {
  IEZ_ASSERT(check(parameters).has_value());
}

void LatencyGoalPolicy::arrive(Duration now, const Request& request) {
  make_room(request);
  estimator_.arrive(now);
  long_run_.arrive(now);
  const std::optional<Duration> idle = present_.arrive(now, request);
  if (idle && clients_[request.client].eager) {
    turnaround_ += (std::clamp(seconds(*idle), 0.0, kLongestTurnaround) - turnaround_) * kLearn;
  }
}

unsigned LatencyGoalPolicy::finish(Duration now, const Finished& finished) {
  const std::uint32_t number = finished.request.client;
  if (!present_.finish(now, number)) return 1;
  make_room(finished.request);
  estimator_.finish(now);
  long_run_.finish(now);
  cost_.finish(now, number, was_busy_);
  was_busy_ = estimator_.depth() > 0;
  streak_ = number == last_client_ ? streak_ + 1 : 1;
  last_client_ = number;

  Job& job = jobs_[finished.request.job];
  const double wanted = finished.wanted;
  job.reach += (std::clamp(wanted, 1.0, static_cast<double>(parameters_.most_credits)) - job.reach) * kLearn;
  // A plan looks at every job: one plan in as many replies keeps a reply O(1).
  if (until_plan_ == 0) {
    present_.expire(now, duration(std::max(kPatience * turnaround_, kLeastPatience)));
    plan();
    until_plan_ = std::max<std::size_t>(present_.jobs().size(), 1);
  }
  --until_plan_;

  const double error = (due_ - static_cast<double>(estimator_.depth())) / std::max(planned_, 1.0);
  const double n = std::max(job.burst * std::clamp(1 + kGain * error, kLeastFactor, kMostFactor), 1.0);
  if (present_.pending(number) > 0) {
    if (holds_back(number, n)) return 1;
    credits_ = whole(job, n);
    return credits_;
  }
  learn_scatter(number);
  const std::uint64_t round = present_.round_size(number);
  credits_ = whole(job, burst_credits(n, round));
  clients_[number] = {.asked = std::min<double>(credits_, wanted), .last_round = round, .eager = wanted >= n};
  if (finished.wanted == 0) present_.leave(number);
  return credits_;
}

// Clients are missed by their requests, not by their pings.
void LatencyGoalPolicy::ping(Duration /*now*/, std::uint32_t /*client*/) {}

ServerView LatencyGoalPolicy::view() const {
  const std::optional<BurstCost::Cost> cost = cost_.cost();
  const double bound = cost ? cost->a * planned_ + cost->b * present_.count() : 0;
  return {.depth = estimator_.depth(),
          .active_clients = present_.count(),
          .iops = estimator_.iops(),
          .credits = credits_,
          .bound = duration(bound)};
}

void LatencyGoalPolicy::plan() {
  planned_ = 0;
  due_ = 0;
  if (present_.count() == 0) return;
  reserve_ = 2 * estimator_.iops() * turnaround_ + kSpareWork;
  const double share = equal_share(depth_wanted(present_.count()));
  for (const std::uint32_t j : present_.jobs()) {
    Job& job = jobs_[j];
    const double clients = present_.count_of(j);
    job.burst = std::clamp(share / clients, 1.0, static_cast<double>(parameters_.most_credits));
    const double used = std::min(job.burst, job.reach);
    planned_ += used * clients;
    due_ += used * (clients - present_.idle_of(j));
  }
}

double LatencyGoalPolicy::depth_wanted(double clients) const {
  const double most = parameters_.most_credits;
  const double knee = std::min(std::max(cost_.knee(parameters_.loss).value_or(kFirstKnee), kLeastBurst), most);
  const double longest = std::min(cost_.knee(kBriefLoss * parameters_.loss).value_or(knee), most);
  double depth = std::max(clients * knee, 2 * reserve_);
  depth = std::max(depth, std::min(estimator_.iops() * seconds(parameters_.brief), clients * longest));
  const std::optional<BurstCost::Cost> cost = cost_.cost();
  if (parameters_.goal && cost && cost->a > 0) {
    const double time = parameters_.safety * seconds(*parameters_.goal);
    depth = std::min({depth, (time - cost->b * clients) / cost->a, time * long_run_.iops()});
  }
  return std::max(depth, clients);
}

double LatencyGoalPolicy::equal_share(double depth) const {
  double largest = 0;
  for (const std::uint32_t j : present_.jobs()) largest = std::max<double>(largest, present_.count_of(j));
  // Water filling: who has its least or its most leaves the rest to the others. Few levels matter; the passes are bounded.
  double share = depth / static_cast<double>(present_.jobs().size());
  for (int pass = 0; pass < kSharePasses; ++pass) {
    double rest = depth;
    double open = 0;
    for (const std::uint32_t j : present_.jobs()) {
      const double least = present_.count_of(j);
      const double most = least * jobs_[j].reach;
      if (share > least && share < most) {
        open += 1;
      } else {
        rest -= std::clamp(share, least, most);
      }
    }
    if (open == 0) break;
    share = std::max(rest / open, 1.0);
  }
  for (const std::uint32_t j : present_.jobs()) {
    const double reach = jobs_[j].reach;
    if (reach < parameters_.most_credits / 2.0) continue;  // its own data limit it: the others' loss would be no gain for it
    const double level = parameters_.inequality * present_.count_of(j) * reach;
    if (level >= kLeastBurst * largest) share = std::min(share, level);
  }
  return share;
}

void LatencyGoalPolicy::learn_scatter(std::uint32_t number) {
  const Client& client = clients_[number];
  const double before = static_cast<double>(client.last_round);
  // A long round's first replies are read before its last is sent, and a burst shorter than the round may not have been sent at
  // once: neither tells of s.
  if (!client.eager || before < 2 || client.asked < before || before > 1 + turnaround_ * estimator_.iops()) return;
  const double missing = (client.asked - static_cast<double>(present_.round_size(number))) / (before - 1);
  scatter_ += (std::clamp(missing, 0.0, 1.0) - scatter_) * kLearn;
}

double LatencyGoalPolicy::burst_credits(double burst, std::uint64_t round) const {
  const double others = round > 0 ? static_cast<double>(round - 1) : 0;
  const double unread = std::min(scatter_ * others, turnaround_ * estimator_.iops() / 3);
  return burst >= unread ? burst + unread : std::sqrt(4 * burst * unread);
}

bool LatencyGoalPolicy::holds_back(std::uint32_t client, double burst) const {
  if (static_cast<double>(streak_) > kLongestStreak * burst && estimator_.depth() > present_.pending(client)) return true;
  return static_cast<double>(estimator_.depth()) >= reserve_ &&
         burst_credits(burst, present_.round_size(client)) <= parameters_.most_credits;
}

unsigned LatencyGoalPolicy::whole(Job& job, double credits) const {
  const double wish = std::clamp(credits + job.carry, 1.0, static_cast<double>(parameters_.most_credits));
  const double given = std::floor(wish);
  job.carry = wish - given;
  return static_cast<unsigned>(given);
}

void LatencyGoalPolicy::make_room(const Request& request) {
  if (request.client >= clients_.size()) clients_.resize(std::size_t{request.client} + 1);
  if (request.job < jobs_.size()) return;
  jobs_.resize(std::size_t{request.job} + 1, Job{.burst = kFirstKnee, .reach = static_cast<double>(parameters_.most_credits)});
}

}  // namespace iez::congestion
