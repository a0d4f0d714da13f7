// The ranks of a communicator as collective I/O sees them: which of them share a node, and the communicators to reach the others.
//
// One for all files that are opened on a communicator, remembered as its attribute; where threads may open files at the same
// time, one for each file.
//
// Thread safety: none beyond that of the file it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collective/links.hpp"
#include "collective/node_arena.hpp"
#include "preload/mpi/mpi_functions.hpp"

namespace iez::preload {

class TeamComm final : public collective::Links {
 public:
  // Collective over `comm`. Null if the MPI refuses, on every rank or on none.
  // `node_size`: imagine nodes of so many ranks; 0: as they are.
  static std::shared_ptr<TeamComm> of(const MpiFunctions& mpi, MPI_Comm comm, int node_size);
  ~TeamComm() override;

  // Which ranks are where; collective, and only the first time.
  bool learn_nodes();

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  std::uint32_t node() const { return node_; }
  std::uint32_t rank_on_node() const { return rank_on_node_; }
  const std::vector<std::vector<std::uint32_t>>& nodes() const { return nodes_; }  // ranks of each
  MPI_Comm comm() const { return comm_; }

  // An arena for a file: one that a closed file has left, or a new one. Collective; null on all ranks if one of them fails.
  std::unique_ptr<collective::NodeArena> borrow(const collective::ArenaShape& shape);
  void give_back(std::unique_ptr<collective::NodeArena> arena);

  // The largest of all ranks' numbers. Collective.
  std::int32_t largest(std::int32_t mine) const;
  void broadcast(void* data, std::size_t bytes) const;
  // `bytes` of every rank to the first one, which has room for all of them. Collective.
  bool collect(const void* mine, void* all, std::size_t bytes) const;

  void poke() override;
  void send(std::uint32_t rank, std::uint32_t tag, const void* data, std::size_t bytes) override;
  void receive(std::uint32_t rank, std::uint32_t tag, void* data, std::size_t bytes) override;
  void gather(const void* mine, void* all, std::size_t bytes) override;

 private:
  TeamComm(const MpiFunctions& mpi, MPI_Comm comm) : mpi_(mpi), comm_(comm) {}

  const MpiFunctions& mpi_;
  MPI_Comm comm_;
  MPI_Comm node_comm_ = MPI_COMM_NULL;
  MPI_Comm leaders_ = MPI_COMM_NULL;
  int node_size_ = 0;
  bool learnt_ = false;
  bool usable_ = false;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::uint32_t node_ = 0;
  std::uint32_t rank_on_node_ = 0;
  std::vector<std::vector<std::uint32_t>> nodes_;
  std::vector<std::unique_ptr<collective::NodeArena>> idle_;
};

}  // namespace iez::preload
