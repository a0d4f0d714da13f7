// Which rank of which job this process is, by what launchers leave in the environment. No MPI is asked.
//
// Thread safety: read_rank() in the constructor; constant afterwards.
#pragma once

#include <cstdint>

namespace iez::preload {

struct Rank {
  std::int32_t rank = -1;          // -1: not known
  std::uint32_t communicator = 0;  // 0: not known
  char job[64] = {};
};

extern constinit Rank own_rank;

void read_rank(char** environment);

}  // namespace iez::preload
