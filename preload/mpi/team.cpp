#include "preload/mpi/team.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "preload/mpi/worker.hpp"

namespace iez::preload {

namespace {

using collective::ArenaShape;
using collective::NodeArena;

constexpr std::size_t kNameBytes = 64;
constexpr int kFirstTag = 0x1E2;

// The attribute of communicators that holds their team. The MPI calls forget() when such a communicator is freed.
int keyval = MPI_KEYVAL_INVALID;
std::once_flag keyval_once;

int forget(MPI_Comm, int, void* team, void*) {
  delete static_cast<std::shared_ptr<TeamComm>*>(team);
  return MPI_SUCCESS;
}

// A duplicate of a communicator has a team of its own.
int do_not_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

}  // namespace

std::shared_ptr<TeamComm> TeamComm::of(const MpiFunctions& mpi, MPI_Comm comm, int node_size) {
  std::call_once(keyval_once, [&mpi] { mpi.Comm_create_keyval(do_not_copy, forget, &keyval, nullptr); });
  int level = MPI_THREAD_SINGLE;
  mpi.Query_thread(&level);
  const bool shared = level != MPI_THREAD_MULTIPLE && keyval != MPI_KEYVAL_INVALID;
  if (shared) {
    void* found = nullptr;
    int flag = 0;
    mpi.Comm_get_attr(comm, keyval, static_cast<void*>(&found), &flag);
    if (flag != 0 && (*static_cast<std::shared_ptr<TeamComm>*>(found))->node_size_ == node_size) {
      return *static_cast<std::shared_ptr<TeamComm>*>(found);
    }
  }
  MPI_Comm own = MPI_COMM_NULL;
  if (mpi.Comm_dup(comm, &own) != MPI_SUCCESS) return nullptr;
  mpi.Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  std::shared_ptr<TeamComm> team(new TeamComm(mpi, own));
  team->node_size_ = node_size;
  int rank = 0;
  int size = 1;
  mpi.Comm_rank(own, &rank);
  mpi.Comm_size(own, &size);
  team->rank_ = static_cast<std::uint32_t>(rank);
  team->size_ = static_cast<std::uint32_t>(size);
  if (shared) mpi.Comm_set_attr(comm, keyval, new std::shared_ptr<TeamComm>(team));
  return team;
}

TeamComm::~TeamComm() {
  // At the end of MPI the communicators are gone already, or going.
  int finalized = 0;
  if (const auto is_over = next<int (*)(int*)>("PMPI_Finalized"); is_over == nullptr || is_over(&finalized) != MPI_SUCCESS)
    return;
  if (finalized != 0) return;
  for (MPI_Comm* comm : {&leaders_, &node_comm_, &comm_}) {
    if (*comm != MPI_COMM_NULL) mpi_.Comm_free(comm);
  }
}

bool TeamComm::learn_nodes() {
  if (learnt_) return usable_;
  learnt_ = true;
  const int rank = static_cast<int>(rank_);
  if (node_size_ > 0) {
    if (mpi_.Comm_split(comm_, rank / node_size_, rank, &node_comm_) != MPI_SUCCESS) return false;
  } else if (mpi_.Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_comm_) != MPI_SUCCESS) {
    return false;
  }
  mpi_.Comm_set_errhandler(node_comm_, MPI_ERRORS_RETURN);
  int on_node = 0;
  mpi_.Comm_rank(node_comm_, &on_node);
  rank_on_node_ = static_cast<std::uint32_t>(on_node);
  // A node is known by its first rank.
  int first = rank;
  mpi_.Bcast(&first, sizeof first, MPI_BYTE, 0, node_comm_);
  std::vector<int> firsts(size_);
  if (mpi_.Allgather(&first, sizeof first, MPI_BYTE, firsts.data(), sizeof first, MPI_BYTE, comm_) != MPI_SUCCESS) return false;
  std::vector<int> heads;
  for (std::uint32_t other = 0; other < size_; ++other) {
    auto found = std::ranges::find(heads, firsts[other]);
    if (found == heads.end()) {
      heads.push_back(firsts[other]);
      nodes_.emplace_back();
      found = heads.end() - 1;
    }
    const auto node = static_cast<std::size_t>(found - heads.begin());
    nodes_[node].push_back(other);
    if (firsts[other] == first) node_ = static_cast<std::uint32_t>(node);
  }
  if (nodes_.size() > 1) {
    const int colour = rank_on_node_ == 0 ? 0 : MPI_UNDEFINED;
    if (mpi_.Comm_split(comm_, colour, static_cast<int>(node_), &leaders_) != MPI_SUCCESS) return false;
    if (leaders_ != MPI_COMM_NULL) mpi_.Comm_set_errhandler(leaders_, MPI_ERRORS_RETURN);
  }
  usable_ = true;
  return true;
}

std::unique_ptr<NodeArena> TeamComm::borrow(const ArenaShape& shape) {
  // Files come and go in the same order on all ranks, so all have the same ones left.
  const auto found = std::ranges::find_if(idle_, [&shape](const auto& arena) { return arena->shape() == shape; });
  if (found != idle_.end()) {
    auto arena = std::move(*found);
    idle_.erase(found);
    return arena;
  }
  idle_.clear();
  auto arena = std::make_unique<NodeArena>();
  char text[kNameBytes] = {};
  int error = 0;
  std::string name;
  if (rank_on_node_ == 0) {
    error = NodeArena::create(shape, name, *arena);
    std::strncpy(text, name.c_str(), sizeof text - 1);
  }
  mpi_.Bcast(text, sizeof text, MPI_BYTE, 0, node_comm_);
  if (rank_on_node_ != 0) error = text[0] == '\0' ? 1 : NodeArena::attach(shape, text, *arena);
  const std::int32_t worst = largest(error);
  if (rank_on_node_ == 0 && !name.empty()) NodeArena::unlink(name);
  return worst == 0 ? std::move(arena) : nullptr;
}

void TeamComm::give_back(std::unique_ptr<NodeArena> arena) { idle_.push_back(std::move(arena)); }

std::int32_t TeamComm::largest(std::int32_t mine) const {
  std::int32_t all = mine;
  mpi_.Allreduce(&mine, &all, 1, MPI_INT32_T, MPI_MAX, comm_);
  return all;
}

void TeamComm::broadcast(void* data, std::size_t bytes) const { mpi_.Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, comm_); }

bool TeamComm::collect(const void* mine, void* all, std::size_t bytes) const {
  const auto size = static_cast<int>(bytes);
  return mpi_.Gather(mine, size, MPI_BYTE, all, size, MPI_BYTE, 0, comm_) == MPI_SUCCESS;
}

void TeamComm::poke() {
  if (Worker::is_here()) return;
  int flag = 0;
  mpi_.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
}

void TeamComm::send(std::uint32_t rank, std::uint32_t tag, const void* data, std::size_t bytes) {
  mpi_.Send(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(rank), kFirstTag + static_cast<int>(tag % 30000), comm_);
}

void TeamComm::receive(std::uint32_t rank, std::uint32_t tag, void* data, std::size_t bytes) {
  mpi_.Recv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(rank), kFirstTag + static_cast<int>(tag % 30000), comm_,
            MPI_STATUS_IGNORE);
}

void TeamComm::gather(const void* mine, void* all, std::size_t bytes) {
  mpi_.Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, leaders_);
}

}  // namespace iez::preload
