#include "congestion/active_clients.hpp"

namespace iez::congestion {

void ActiveClients::arrive(std::uint32_t client) {
  if (client >= exports_.size()) exports_.resize(std::size_t{client} + 1);
  Export& e = exports_[client];
  ++e.pending;
  if (e.active) return;
  e.active = true;
  ++count_;
}

bool ActiveClients::finish(Duration now, std::uint32_t client) {
  if (client >= exports_.size() || exports_[client].pending == 0) return false;
  Export& e = exports_[client];
  --e.pending;
  if (e.pending == 0) e.idle_since = now;
  return true;
}

void ActiveClients::ping(Duration now, std::uint32_t client) {
  if (!is_active(client)) return;
  Export& e = exports_[client];
  if (e.pending > 0 || now - e.idle_since <= stl_) return;
  e.active = false;
  --count_;
}

bool ActiveClients::is_active(std::uint32_t client) const { return client < exports_.size() && exports_[client].active; }

}  // namespace iez::congestion
