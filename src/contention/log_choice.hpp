// One shared file, or a log for each rank that is brought into the file later: which is faster for a program, by the contention
// of both.
//
// A run of n ranks that log is n jobs of two stripes each (equations 5 and 6 in equations.hpp): few ranks find OSTs of their own
// and wait for nobody; many crowd each OST. A shared file is one job of its stripes. Both go through the speed model
// (speed_model.hpp), with what the others do. From `contention_from` writers of an OST on logs lose, on the source's machine
// between 512 and 1,024 ranks.
//
//   shared = speed of the file x shared_share
//   logs   = speed of a file with two stripes for each rank
//            flattened at close, the program waits for all of it: 1 / (1 / logs + 1 / logs + 1 / file), written, read, written
//            again
//
// Limits: those of the speed model. Who knows nothing of his machine's rates can still compare `load` of the two usages.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"
#include "contention/speed_model.hpp"

namespace iez::contention {

struct LogQuestion {
  std::uint64_t ranks = 1;
  std::uint64_t nodes = 1;
  std::uint32_t stripes = 1;  // of the shared file
  // The share of the file's speed that the program reaches with it, above 0 and up to 1. Small writes that cross each other lose
  // most of it to locks; collective writes of whole stripes nothing.
  double shared_share = 1;
  bool flatten_at_close = true;
};

struct LogChoice {
  bool pays = false;
  BytesPerSecond shared;  // as the program sees it
  BytesPerSecond logs;
  Usage shared_usage;  // with everybody
  Usage log_usage;
  std::string reason;
};

// Where only the number of OSTs is known: the rates of kLscratchc, and its OSTs of a server.
Machine machine_like_lscratchc(std::uint32_t osts);

// Fails for a wrong machine, load, or question, naming the field.
[[nodiscard]] Result<LogChoice> log_pays(const Machine& machine, const Load& others, const LogQuestion& question);

}  // namespace iez::contention
