#include "sim/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "base/rng.hpp"
#include "sim/clients.hpp"
#include "sim/events.hpp"
#include "sim/objects.hpp"
#include "sim/recorder.hpp"
#include "sim/rpc_pool.hpp"
#include "sim/storage.hpp"

namespace iez::sim {
namespace {

constexpr std::uint64_t kEventsBetweenProgress = 1U << 16U;

// Events between the steps of looking ahead, and before the event itself.
constexpr std::size_t kFirstAhead = 3;
constexpr std::size_t kSecondAhead = 6;
constexpr std::size_t kThirdAhead = 9;

bool is_of_request(EventKind kind) { return kind == EventKind::arrive || kind == EventKind::ready || kind == EventKind::reply; }

class Run final : public Clients::Listener {
 public:
  Run(const Scenario& scenario, ObjectTable objects, Rng& rng)
      : scenario_(scenario),
        rng_(rng),
        on_target_(objects.on_target),
        storage_(scenario, events_, rpcs_),
        clients_(scenario, std::move(objects), events_, rpcs_, *this),
        recorder_(scenario, clients_.process_counts()) {}

  RunResult run(const Progress& progress);

  [[nodiscard]] unsigned first_credits(std::uint32_t target) override { return storage_.policy(target).first_credits(); }
  void process_finished(std::uint32_t job) override { recorder_.process_finished(events_.now(), job); }

 private:
  void begin();
  void look_ahead();
  void handle(const Event<EventKind>& event);
  void arrive(std::uint32_t number);
  void finish(std::uint32_t target);
  void reply(std::uint32_t number);
  void tick();
  void tick_at(Duration now);
  void ping();
  void start_incident(std::uint32_t number);
  void put_next_background(std::uint32_t target);
  void add_background(std::uint32_t target);

  const Scenario& scenario_;
  Rng& rng_;
  std::vector<std::uint32_t> on_target_;
  Events events_;
  RpcPool rpcs_;
  Storage storage_;
  Clients clients_;
  Recorder recorder_;
  std::uint64_t deepest_ = 0;
  Duration ping_interval_ = std::chrono::seconds(25);  // Lustre's
};

void Run::begin() {
  clients_.begin();
  events_.put(scenario_.interval, EventKind::tick, 0, 0);
  if (const auto* rcc = std::get_if<congestion::RccParameters>(&scenario_.congestion)) ping_interval_ = rcc->ping;
  events_.put(ping_interval_, EventKind::ping, 0, 0);
  for (std::uint32_t i = 0; i < scenario_.incidents.size(); ++i) {
    events_.put(scenario_.incidents[i].at, EventKind::incident, i, 0);
  }
  if (scenario_.background.requests_per_second > 0) {
    for (std::uint32_t target = 0; target < storage_.targets(); ++target) put_next_background(target);
  }
}

RunResult Run::run(const Progress& progress) {
  double total = 0;
  for (const Job& job : scenario_.jobs) total += static_cast<double>(total_bytes(job).count);
  begin();
  while (!events_.empty() && !recorder_.all_finished()) {
    look_ahead();
    const auto event = events_.take();
    if (scenario_.until && event.at > *scenario_.until) break;
    handle(event);
    if (progress && events_.taken() % kEventsBetweenProgress == 0)
      progress(event.at, static_cast<double>(recorder_.bytes()) / total);
  }
  const Duration end = recorder_.all_finished() ? events_.now() : scenario_.until.value_or(events_.now());
  tick_at(end);
  RunResult result = recorder_.result(scenario_, end);
  result.targets.reserve(storage_.targets());
  for (std::uint32_t target = 0; target < storage_.targets(); ++target) {
    result.targets.push_back(storage_.result(target));
    result.targets.back().objects = on_target_[target];
  }
  result.timeouts = clients_.timeouts();
  result.deepest = deepest_;
  result.events = events_.taken();
  return result;
}

// Asks for the records of events to come: each points to the next, so that takes several steps, some events apart.
void Run::look_ahead() {
  if (const auto* const event = events_.ahead(kThirdAhead)) {
    if (event->kind == EventKind::disk) {
      storage_.expect(event->subject);
    } else if (is_of_request(event->kind)) {
      prefetch(rpcs_[event->subject]);
    }
  }
  if (const auto* const event = events_.ahead(kSecondAhead)) {
    if (event->kind == EventKind::disk) {
      const std::uint32_t number = storage_.current(event->subject);
      if (number != kNone) prefetch(rpcs_[number]);
    } else if (event->kind == EventKind::reply) {
      const Rpc& rpc = rpcs_[event->subject];
      clients_.expect(rpc.import, rpc.process);
    } else if (is_of_request(event->kind)) {
      storage_.expect(rpcs_[event->subject].target);
    }
  }
  if (const auto* const event = events_.ahead(kFirstAhead)) {
    if (event->kind == EventKind::disk) {
      const std::uint32_t number = storage_.current(event->subject);
      if (number == kNone) return;
      const Rpc& rpc = rpcs_[number];
      if (rpc.import != kNone) clients_.expect(rpc.import, rpc.process);
      storage_.expect_request(event->subject, rpc.client);
    } else if (event->kind == EventKind::reply) {
      clients_.expect_object(rpcs_[event->subject].process);
    } else if (is_of_request(event->kind)) {
      const Rpc& rpc = rpcs_[event->subject];
      storage_.expect_request(rpc.target, rpc.client);
    }
  }
}

void Run::handle(const Event<EventKind>& event) {
  switch (event.kind) {
    case EventKind::start:
      return clients_.start(event.subject);
    case EventKind::produce:
      return clients_.produce(event.subject);
    case EventKind::arrive:
      return arrive(event.subject);
    case EventKind::ready:
      return storage_.ready(event.subject);
    case EventKind::disk:
      return finish(event.subject);
    case EventKind::reply:
      return reply(event.subject);
    case EventKind::time_out:
      return clients_.time_out();
    case EventKind::tick:
      return tick();
    case EventKind::ping:
      return ping();
    case EventKind::incident:
      return start_incident(event.subject);
    case EventKind::background:
      return add_background(event.subject);
  }
}

void Run::arrive(std::uint32_t number) {
  const Rpc& rpc = rpcs_[number];
  storage_.policy(rpc.target).arrive(events_.now(), {.client = rpc.client, .job = rpc.job});
  storage_.arrive(number);
  deepest_ = std::max(deepest_, storage_.depth());
}

void Run::finish(std::uint32_t target) {
  const std::uint32_t number = storage_.finish(target);
  Rpc& rpc = rpcs_[number];
  if (rpc.import == kNone) {
    rpcs_.give_back(number);
    return;
  }
  const Duration now = events_.now();
  recorder_.served(now, now - rpc.arrived, rpc.process, rpc.job, rpc.abandoned);
  const unsigned credits = storage_.policy(target).finish(
      now, {.request = {.client = rpc.client, .job = rpc.job}, .arrived = rpc.arrived, .wanted = clients_.wanted(number)});
  rpc.credits = static_cast<std::uint16_t>(std::min(credits, 0xffffU));
  const NetworkModel& network = scenario_.machine.network;
  Duration delay = network.latency;
  if (network.turnaround > Duration::zero()) {
    const double most = static_cast<double>(network.turnaround.count()) * storage_.busy_share(target);
    delay += Duration(static_cast<Duration::rep>(most * rng_.unit()));
  }
  events_.put(now + delay, EventKind::reply, number, 0);
}

void Run::reply(std::uint32_t number) {
  const std::uint32_t job = rpcs_[number].job;
  const bool read = rpcs_[number].read;
  recorder_.acknowledged(job, clients_.reply(number), read);
}

void Run::tick() {
  tick_at(events_.now());
  events_.put(events_.now() + scenario_.interval, EventKind::tick, 0, 0);
}

void Run::tick_at(Duration now) {
  Sample sample{.depth = storage_.depth()};
  for (std::uint32_t target = 0; target < storage_.targets(); ++target) {
    const auto view = storage_.policy(target).view();
    sample.active_clients = std::max(sample.active_clients, view.active_clients);
    sample.iops += view.iops;
    sample.credits += view.credits;
  }
  sample.credits /= static_cast<double>(storage_.targets());
  recorder_.tick(now, sample);
}

void Run::ping() {
  const Duration now = events_.now();
  for (std::uint32_t target = 0; target < storage_.targets(); ++target) {
    for (std::uint32_t client = 0; client < clients_.clients_of(target); ++client) storage_.policy(target).ping(now, client);
  }
  events_.put(now + ping_interval_, EventKind::ping, 0, 0);
}

void Run::start_incident(std::uint32_t number) {
  const Incident& incident = scenario_.incidents[number];
  if (incident.where == Incident::Where::target) {
    storage_.set_target_speed(incident.index, incident.speed);
  } else {
    storage_.set_server_speed(incident.index, incident.speed);
  }
}

void Run::put_next_background(std::uint32_t target) {
  const double wait = -std::log(1 - rng_.unit()) / scenario_.background.requests_per_second;
  events_.put(events_.now() + Duration(static_cast<Duration::rep>(wait * 1e9)), EventKind::background, target, 0);
}

void Run::add_background(std::uint32_t target) {
  const std::uint32_t number = rpcs_.take();
  Rpc& rpc = rpcs_[number];
  rpc.place = rng_.bits() >> 1U;
  rpc.bytes = static_cast<std::uint32_t>(scenario_.background.size.count);
  rpc.import = kNone;
  rpc.target = target;
  storage_.arrive(number);
  put_next_background(target);
}

}  // namespace

Result<RunResult> simulate(const Scenario& scenario, const Progress& progress) {
  IEZ_CHECK(check(scenario));
  Rng rng(scenario.seed);
  IEZ_TRY(auto objects, place_objects(scenario, rng));
  return Run(scenario, std::move(objects), rng).run(progress);
}

}  // namespace iez::sim
