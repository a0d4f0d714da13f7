// How many requests a client may have in flight to one server: the one interface behind which control laws compete.
//
// A server has one policy. It tells the policy of every request that arrives and of every reply that leaves; the policy answers
// a reply with credits: the number of requests that the client may have in flight from then on. The reply carries the number.
// A client that has no reply to wait for starts with first_credits().
//
// Notation, as in the source: D requests queued or in service, C clients that do I/O, IOPS finished operations a second of busy
// time, L latency from arrival to reply. A full pipeline has L = D / IOPS.
//
// Time is what the caller says: it starts anywhere and must not go back. Clients and jobs are small numbers that the caller deals
// out, from 0 on without large gaps: policies keep tables of them.
//
// Thread safety: none; a policy belongs to one server.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace iez::congestion {

struct Request {
  std::uint32_t client = 0;
  std::uint32_t job = 0;
};

// A request whose reply is about to leave.
struct Finished {
  Request request;
  Duration arrived{};
  unsigned wanted = 1;  // credits that the client could use at once: the source's cnr
};

// What a policy knows, for traces and dashboards.
struct ServerView {
  std::uint64_t depth = 0;           // D
  std::uint32_t active_clients = 0;  // C
  double iops = 0;                   // 0: not known yet
  unsigned credits = 0;              // the last it gave
  Duration bound{};                  // the latency it steers to; 0: none
};

class CreditPolicy {
 public:
  CreditPolicy() = default;
  CreditPolicy(const CreditPolicy&) = delete;
  CreditPolicy& operator=(const CreditPolicy&) = delete;
  virtual ~CreditPolicy() = default;

  // Of an import that has had no reply yet. At least 1.
  [[nodiscard]] virtual unsigned first_credits() const = 0;

  virtual void arrive(Duration now, const Request& request) = 0;

  // The credits that go with the reply; at least 1. REQUIRES: the request arrived, and was not finished before.
  [[nodiscard]] virtual unsigned finish(Duration now, const Finished& finished) = 0;

  // A client that does nothing still shows that it lives; the source's law forgets idle clients only then.
  virtual void ping(Duration now, std::uint32_t client) = 0;

  // Hint: a call for this client comes soon, and its row is worth asking for. Changes nothing.
  virtual void expect(std::uint32_t /*client*/) const {}

  [[nodiscard]] virtual ServerView view() const = 0;
};

}  // namespace iez::congestion
