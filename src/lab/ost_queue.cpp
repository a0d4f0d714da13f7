#include "lab/ost_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/result.hpp"

namespace iez::lab {
namespace {

// Objects lie far apart on the disks, so that only requests of one object can be neighbours.
constexpr unsigned kObjectBits = 40;

std::uint64_t place_of(const ClientGate::Rpc& rpc) {
  constexpr std::uint64_t kWithin = (std::uint64_t{1} << kObjectBits) - 1;
  return (rpc.object << kObjectBits) | (rpc.start & kWithin);
}

}  // namespace

OstQueue::OstQueue(const Options& options, std::unique_ptr<congestion::CreditPolicy> law)
    : options_(options), law_(std::move(law)), disk_(options.disk) {}

ClientGate& OstQueue::gate_of(std::uint32_t client) {
  const unsigned limit = law_ ? law_->first_credits() : options_.rpcs_in_flight;
  return gates_.try_emplace(client, options_.rpc_size, limit).first->second;
}

const ClientGate& OstQueue::gate(std::uint32_t client) { return gate_of(client); }

void OstQueue::set_limit(std::uint32_t client, unsigned rpcs_in_flight) {
  if (!law_) gate_of(client).set_limit(rpcs_in_flight);
}

void OstQueue::write(std::uint32_t client, std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint32_t job,
                     Duration now) {
  settle(now);
  gate_of(client).write(object, start, end, job, now);
  send(client, now);
  settle(now);
}

std::size_t OstQueue::read(std::uint32_t client, std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint64_t tag,
                           std::uint32_t job, Duration now) {
  settle(now);
  const std::size_t count = gate_of(client).read(object, start, end, tag, job, now);
  send(client, now);
  settle(now);
  return count;
}

void OstQueue::discard(std::uint64_t object) {
  for (auto& [client, gate] : gates_) gate.discard(object);
}

void OstQueue::ping(std::uint32_t client, Duration now) {
  if (law_ && gates_.contains(client)) law_->ping(now, client);
}

std::vector<OstQueue::Finished> OstQueue::advance(Duration now) {
  settle(now);
  return std::exchange(finished_, {});
}

void OstQueue::send(std::uint32_t client, Duration when) {
  ClientGate& gate = gate_of(client);
  while (const auto rpc = gate.send()) {
    const std::uint64_t ticket = next_ticket_++;
    sent_.emplace(ticket, Sent{.client = client, .rpc = *rpc, .arrived = when});
    if (law_) law_->arrive(when, {.client = client, .job = rpc->job});
    disk_.add(ticket, place_of(*rpc), Bytes{rpc->end - rpc->start}, when);
  }
}

void OstQueue::settle(Duration now) {
  while (const auto done = disk_.pop(now)) {
    const auto found = sent_.find(done->ticket);
    IEZ_ASSERT(found != sent_.end());
    const Sent sent = found->second;
    sent_.erase(found);
    ClientGate& gate = gate_of(sent.client);
    gate.finish(sent.rpc);
    if (law_) {
      const auto wanted = static_cast<unsigned>(std::clamp<std::size_t>(gate.waiting(), 1, 256));
      gate.set_limit(law_->finish(
          done->end, {.request = {.client = sent.client, .job = sent.rpc.job}, .arrived = sent.arrived, .wanted = wanted}));
    }
    finished_.push_back({.client = sent.client, .rpc = sent.rpc, .start = done->start, .end = done->end});
    send(sent.client, done->end);
  }
}

bool OstQueue::holds(std::uint64_t object, std::uint64_t start, std::uint64_t end) const {
  return std::ranges::any_of(gates_, [&](const auto& gate) { return gate.second.holds(object, start, end); });
}

std::uint64_t OstQueue::waiting() const {
  std::uint64_t sum = 0;
  for (const auto& [client, gate] : gates_) sum += gate.waiting();
  return sum;
}

}  // namespace iez::lab
