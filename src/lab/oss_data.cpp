// What an OSS does with data and locks.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "lab/oss.hpp"

namespace iez::lab {
namespace {

using model::Operation;

constexpr std::uint32_t kMostRead = 16U << 20U;
constexpr Duration kLostFor = std::chrono::seconds(5);

}  // namespace

Oss::Ost* Oss::ost(std::uint32_t index) {
  const std::uint32_t first = index_ * config_.osts_per_oss;
  return index >= first && index - first < osts_.size() ? osts_[index - first].get() : nullptr;
}

std::uint64_t Oss::microseconds_since(Duration since) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>((loop_->now() - since) / std::chrono::microseconds(1), 1));
}

void Oss::count(Ost& ost, const Client& client, const std::string& job, Operation operation, std::uint64_t value) {
  const WallTime now = clock_.wall();
  ost.counters.count(operation, value, now);
  if (!client.is_anonymous) ost.exports[client.node].count(operation, value, now);
  ost.jobs.count(job, operation, value, now);
}

std::uint32_t Oss::job_number(const std::string& job) {
  return job_numbers_.try_emplace(job, static_cast<std::uint32_t>(job_numbers_.size())).first->second;
}

unsigned Oss::credits(Ost& ost, const Client& client) {
  return ost.queue ? ost.queue->gate(client.index).limit() : client.rpcs_in_flight;
}

void Oss::set_limits(Client& client, std::uint32_t rpcs_in_flight) {
  client.rpcs_in_flight = std::max(rpcs_in_flight, 1U);
  for (const auto& ost : osts_) {
    if (ost->queue) ost->queue->set_limit(client.index, client.rpcs_in_flight);
  }
}

void Oss::limits(Client& client, std::uint64_t number, FrameReader& reader) {
  LimitsRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  Ost* const target = ost(request.ost);
  if (target == nullptr) return refuse(client, number, EINVAL);
  client.dirty_bytes[request.ost - index_ * config_.osts_per_oss] = request.dirty_bytes;
  if (target->queue) target->queue->set_limit(client.index, std::max(request.rpcs_in_flight, 1U));
  answer(client, number, 0, Empty{});
  pump(*target);
}

// ---- Writes and reads -------------------------------------------------------------------------------------------------------

void Oss::write(Client& client, std::uint64_t number, FrameReader& reader) {
  WriteRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  Ost* const target = ost(request.name.ost);
  if (target == nullptr) return refuse(client, number, EINVAL);
  const std::uint64_t object = request.name.object;
  const bool is_new = target->store.state(object).modify_ns == 0;
  const std::span<const std::byte> data = reader.rest();
  const int error = target->is_full ? ENOSPC : target->store.write(object, request.offset, data);
  if (error != 0) return refuse(client, number, error);

  if (is_new) count(*target, client, request.job, Operation::create, 1);
  count(*target, client, request.job, Operation::write_bytes, data.size());
  Pending& pending = client.pending.at(number);
  pending.ost = target->index;
  pending.job = request.job;
  if (!target->queue || data.empty()) {
    count(*target, client, request.job, Operation::write, microseconds_since(pending.since));
    return answer(client, number, 0, WriteAnswer{.credits = credits(*target, client)});
  }
  target->queue->write(client.index, object, request.offset, request.offset + data.size(), job_number(request.job), loop_->now());
  target->held[client.index].push_back({.number = number, .brought = target->queue->gate(client.index).brought()});
  pump(*target);
}

void Oss::read(Client& client, std::uint64_t number, FrameReader& reader) {
  ReadRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  Ost* const target = ost(request.name.ost);
  if (target == nullptr || request.size > kMostRead) return refuse(client, number, EINVAL);
  Pending& pending = client.pending.at(number);
  pending.ost = target->index;
  pending.job = request.job;
  pending.read = request;
  const std::uint64_t size = target->store.state(request.name.object).size;
  const std::uint64_t start = request.offset;
  const std::uint64_t end = start < size ? start + std::min<std::uint64_t>(request.size, size - start) : start;
  if (!target->queue || !target->store.has_data(request.name.object, start, end) ||
      target->queue->holds(request.name.object, start, end)) {
    return finish_read(client, number);
  }
  const std::uint64_t tag = next_tag_++;
  reads_.emplace(tag, Read{.client = client.index, .session = client.session, .number = number});
  pending.remaining =
      target->queue->read(client.index, request.name.object, start, end, tag, job_number(request.job), loop_->now());
  pump(*target);
}

// The data is that of now: what was written while the read waited is in it.
void Oss::finish_read(Client& client, std::uint64_t number) {
  const Pending& pending = client.pending.at(number);
  Ost& target = *ost(pending.ost);
  std::vector<std::byte> data;
  const int error = target.store.read(pending.read.name.object, pending.read.offset, pending.read.size, data);
  if (error != 0) return refuse(client, number, error);
  count(target, client, pending.job, Operation::read_bytes, data.size());
  count(target, client, pending.job, Operation::read, microseconds_since(pending.since));
  answer(client, number, 0, ReadAnswer{.credits = credits(target, client)}, data);
}

// Brings the queue of an OST up to now, answers what has finished, and comes back when the next will have.
void Oss::pump(Ost& ost) {
  if (!ost.queue) return;
  for (const OstQueue::Finished& finished : ost.queue->advance(loop_->now())) {
    if (finished.rpc.is_write) continue;
    const auto read = reads_.find(finished.rpc.tag);
    if (read == reads_.end()) continue;
    const Read waiting = read->second;
    Client* client = client_by_id(client_ids_[waiting.client]);
    if (client != nullptr && client->session != waiting.session) client = nullptr;
    if (client == nullptr || !client->pending.contains(waiting.number)) {
      reads_.erase(read);  // nobody waits any more; its other requests find nothing
      continue;
    }
    if (--client->pending.at(waiting.number).remaining > 0) continue;
    reads_.erase(read);
    finish_read(*client, waiting.number);
  }
  answer_held(ost);
  answer_syncs(ost);
  const std::optional<Duration> next = ost.queue->next();
  if (ost.timer && next == ost.timer_at) return;
  if (ost.timer) loop_->cancel(*ost.timer);
  ost.timer.reset();
  if (!next) return;
  ost.timer_at = *next;
  ost.timer = loop_->at(*next, [this, &ost] {
    ost.timer.reset();
    pump(ost);
  });
}

// A write is answered when what the client has on the way, up to this write, is no more than its dirty bytes.
void Oss::answer_held(Ost& ost) {
  for (auto next = ost.held.begin(); next != ost.held.end();) {
    auto& [index, writes] = *next;
    Client* const client = client_by_id(client_ids_[index]);
    if (client == nullptr) {
      next = ost.held.erase(next);
      continue;
    }
    const std::uint64_t most =
        saturating_add(ost.queue->gate(index).finished(), client->dirty_bytes[ost.index - index_ * config_.osts_per_oss]);
    while (!writes.empty() && writes.front().brought <= most) {
      const std::uint64_t number = writes.front().number;
      writes.pop_front();
      const auto pending = client->pending.find(number);
      if (pending == client->pending.end()) continue;
      count(ost, *client, pending->second.job, Operation::write, microseconds_since(pending->second.since));
      answer(*client, number, 0, WriteAnswer{.credits = credits(ost, *client)});
    }
    next = writes.empty() ? ost.held.erase(next) : std::next(next);
  }
}

// ---- Objects ----------------------------------------------------------------------------------------------------------------

void Oss::sync(Client& client, std::uint64_t number, FrameReader& reader) {
  ObjectsRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  for (const ObjectName& name : request.names) {
    if (ost(name.ost) == nullptr) return refuse(client, number, EINVAL);
  }
  Pending& pending = client.pending.at(number);
  pending.job = request.job;
  if (!request.names.empty()) pending.ost = request.names.front().ost;
  pending.remaining = 1;  // until all are looked at
  for (const ObjectName& name : request.names) {
    Ost& target = *ost(name.ost);
    if (!target.queue) continue;
    const std::uint64_t mark = target.queue->gate(client.index).mark();
    ++pending.remaining;
    target.syncs.push_back({.client = client.index, .number = number, .object = name.object, .mark = mark});
  }
  for (const auto& target : osts_) pump(*target);
  sync_done(client, number);
}

void Oss::answer_syncs(Ost& ost) {
  if (ost.syncs.empty()) return;
  std::vector<Sync> done;
  std::erase_if(ost.syncs, [&ost, &done](const Sync& sync) {
    if (!ost.queue->gate(sync.client).is_clean(sync.object, sync.mark)) return false;
    done.push_back(sync);
    return true;
  });
  for (const Sync& sync : done) {
    if (Client* const client = client_by_id(client_ids_[sync.client]); client != nullptr) sync_done(*client, sync.number);
  }
}

void Oss::sync_done(Client& client, std::uint64_t number) {
  const auto pending = client.pending.find(number);
  if (pending == client.pending.end() || --pending->second.remaining > 0) return;
  if (Ost* const target = ost(pending->second.ost); target != nullptr) {
    count(*target, client, pending->second.job, Operation::sync, microseconds_since(pending->second.since));
  }
  answer(client, number, 0, Empty{});
}

void Oss::glimpse(Client& client, std::uint64_t number, FrameReader& reader) {
  ObjectsRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  GlimpseAnswer states;
  states.states.reserve(request.names.size());
  for (const ObjectName& name : request.names) {
    Ost* const target = ost(name.ost);
    if (target == nullptr) return refuse(client, number, EINVAL);
    states.states.push_back(target->store.state(name.object));
    count(*target, client, request.job, Operation::getattr, 1);
  }
  answer(client, number, 0, states);
}

void Oss::punch(Client& client, std::uint64_t number, FrameReader& reader) {
  PunchRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  Ost* const target = ost(request.name.ost);
  if (target == nullptr) return refuse(client, number, EINVAL);
  if (const int error = target->store.punch(request.name.object, request.size); error != 0) return refuse(client, number, error);
  count(*target, client, request.job, Operation::punch, microseconds_since(client.pending.at(number).since));
  answer(client, number, 0, target->store.state(request.name.object));
}

void Oss::destroy(Client& client, std::uint64_t number, FrameReader& reader) {
  ObjectsRequest request;
  reader(request);
  if (!reader.good()) return refuse(client, number, EPROTO);
  int error = 0;
  for (const ObjectName& name : request.names) {
    Ost* const target = ost(name.ost);
    if (target == nullptr) return refuse(client, number, EINVAL);
    const int failed = target->store.destroy(name.object);
    if (error == 0) error = failed;
    if (target->queue) target->queue->discard(name.object);
    count(*target, client, request.job, Operation::destroy, microseconds_since(client.pending.at(number).since));
  }
  answer(client, number, error, Empty{});
  for (const auto& target : osts_) pump(*target);
}

void Oss::space(Client& client, std::uint64_t number) {
  SpaceAnswer space;
  space.osts.reserve(osts_.size());
  for (const auto& target : osts_) {
    space.osts.push_back({.ost = target->index,
                          .total = target->store.capacity().count,
                          .free = target->is_full ? 0 : target->store.free().count,
                          .objects = target->store.objects(),
                          .usable = static_cast<std::uint8_t>(target->is_off ? 0 : 1)});
    count(*target, client, {}, Operation::statfs, 1);
  }
  answer(client, number, 0, space);
}

// ---- Locks ------------------------------------------------------------------------------------------------------------------

void Oss::send_lock_messages() {
  for (const LockTable::Grant& grant : locks_.take_grants()) {
    if (Client* const client = client_by_id(grant.client); client != nullptr) answer(*client, grant.number, 0, grant.lock);
  }
  for (const LockTable::Revoke& revoke : locks_.take_revokes()) {
    const Client* const client = client_by_id(revoke.client);
    if (client == nullptr || client->connection == 0) continue;
    loop_->send(client->connection, request_frame(Op::revoke, 0, revoke.lock));
  }
}

void Oss::evict_overdue() {
  const Duration now = loop_->now();
  for (const LockTable::Overdue& overdue : locks_.overdue()) {
    Client* const client = client_by_id(overdue.client);
    if (client != nullptr) {
      const bool is_lost = client->connection == 0 && now - client->lost_at > kLostFor;
      if (!is_lost && now - overdue.since < LockTable::kPatience) continue;
      log_.warning("locks taken from a client that does not give them back", {{"node", client->node}});
      // Requests for locks that go with them are unknown from now on, so that the client asks again.
      std::erase_if(client->pending, [](const auto& pending) { return pending.second.op == Op::lock; });
      if (client->connection != 0) loop_->disconnect(client->connection);
    }
    locks_.evict(overdue.client, now);
  }
}

}  // namespace iez::lab
