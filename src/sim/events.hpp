// What can happen in a simulated run. The subject and detail of each event are told behind it.
#pragma once

#include <cstdint>

#include "sim/event_queue.hpp"

namespace iez::sim {

enum class EventKind : std::uint8_t {
  start,       // process
  produce,     // process: its next piece is there
  arrive,      // request, at its server
  ready,       // request: its data is there, and a thread has prepared it
  disk,        // target: has finished the request it was at
  reply,       // request: its reply reaches the client
  time_out,    // some request waits too long
  tick,        // an interval is over
  ping,        // clients show that they live
  incident,    // number of it
  background,  // target: a request of others
};

using Events = EventQueue<EventKind>;

}  // namespace iez::sim
