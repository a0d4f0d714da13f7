// How ranks of different nodes reach each other, and how the MPI is kept going: the engine's seam to it.
//
// Thread safety: none; links belong to one rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/wait_word.hpp"

namespace iez::collective {

class Links : public Poke {
 public:
  Links() = default;
  virtual ~Links() = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Ranks are those of the file's communicator. Messages of one sender with one tag arrive in order.
  virtual void send(std::uint32_t rank, std::uint32_t tag, const void* data, std::size_t bytes) = 0;
  virtual void receive(std::uint32_t rank, std::uint32_t tag, void* data, std::size_t bytes) = 0;
  // By the first rank of every node together: `bytes` of each, in the order of nodes.
  virtual void gather(const void* mine, void* all, std::size_t bytes) = 0;
};

}  // namespace iez::collective
