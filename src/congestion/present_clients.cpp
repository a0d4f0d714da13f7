#include "congestion/present_clients.hpp"

#include <algorithm>

namespace iez::congestion {

std::optional<Duration> PresentClients::arrive(Duration now, const Request& request) {
  if (request.client >= clients_.size()) clients_.resize(std::size_t{request.client} + 1);
  if (request.job >= jobs_.size()) jobs_.resize(std::size_t{request.job} + 1);
  Client& client = clients_[request.client];
  std::optional<Duration> idle;
  if (!client.present) {
    client.present = true;
    client.job = request.job;
    ++count_;
    join_job(request.job);
  } else {
    if (client.pending == 0) {
      idle = now - client.idle_since;
      unlink(client);
    }
    if (client.job != request.job) {
      leave_job(client.job);
      client.job = request.job;
      join_job(request.job);
    }
  }
  if (client.pending == 0) client.round_size = 0;
  ++client.pending;
  client.round_size = std::max(client.round_size, client.pending);
  return idle;
}

bool PresentClients::finish(Duration now, std::uint32_t number) {
  if (pending(number) == 0) return false;
  Client& client = clients_[number];
  --client.pending;
  if (client.pending > 0) return true;
  client.idle_since = now;
  client.earlier = last_idle_;
  client.later = kNone;
  (last_idle_ == kNone ? first_idle_ : clients_[last_idle_].later) = number;
  last_idle_ = number;
  ++jobs_[client.job].idle;
  return true;
}

void PresentClients::leave(std::uint32_t number) {
  if (number >= clients_.size()) return;
  Client& client = clients_[number];
  if (!client.present || client.pending > 0) return;
  unlink(client);
  client.present = false;
  --count_;
  leave_job(client.job);
}

void PresentClients::expire(Duration now, Duration patience) {
  while (first_idle_ != kNone && now - clients_[first_idle_].idle_since > patience) leave(first_idle_);
}

std::uint32_t PresentClients::count_of(std::uint32_t job) const { return job < jobs_.size() ? jobs_[job].clients : 0; }

std::uint32_t PresentClients::idle_of(std::uint32_t job) const { return job < jobs_.size() ? jobs_[job].idle : 0; }

std::uint64_t PresentClients::pending(std::uint32_t client) const {
  return client < clients_.size() ? clients_[client].pending : 0;
}

std::uint64_t PresentClients::round_size(std::uint32_t client) const {
  return client < clients_.size() ? clients_[client].round_size : 0;
}

void PresentClients::join_job(std::uint32_t number) {
  Job& job = jobs_[number];
  if (job.clients == 0) {
    job.place = static_cast<std::uint32_t>(present_jobs_.size());
    present_jobs_.push_back(number);
  }
  ++job.clients;
}

void PresentClients::leave_job(std::uint32_t number) {
  Job& job = jobs_[number];
  --job.clients;
  if (job.clients > 0) return;
  const std::uint32_t moved = present_jobs_.back();
  present_jobs_[job.place] = moved;
  jobs_[moved].place = job.place;
  present_jobs_.pop_back();
}

void PresentClients::unlink(Client& client) {
  (client.earlier == kNone ? first_idle_ : clients_[client.earlier].later) = client.later;
  (client.later == kNone ? last_idle_ : clients_[client.later].earlier) = client.earlier;
  client.earlier = kNone;
  client.later = kNone;
  --jobs_[client.job].idle;
}

}  // namespace iez::congestion
