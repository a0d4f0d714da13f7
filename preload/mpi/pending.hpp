// Requests of nonblocking calls: generalized requests of MPI, which the MPI asks about while the program waits for them.
//
// The worker may not call MPI to say that it is done. MPICH has a function that it polls such a request with; Open MPI lets one
// in when it makes progress. Where neither is there, nonblocking calls are left to the MPI.
//
// Thread safety: finish() may be called by the worker, everything else by the program's thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "preload/mpi/mpi_functions.hpp"

namespace iez::preload {

class Pending {
 public:
  // Whether this MPI lets us do it.
  static bool possible();
  // Makes the request. `done` is called by the program's thread when finish() was, before the request is complete;
  // `poke` has MPI do what else there is to do.
  static Pending* start(const MpiFunctions& mpi, std::function<void()> done, std::function<void()> poke, MPI_Request* request);

  // Nothing of the call is touched any more; the request will be complete when the MPI looks next.
  void finish(int result, MPI_Count bytes);

  // For the MPI.
  static int query(void* state, MPI_Status* status);
  static int release(void* state);
  static int cancel(void* state, int complete);
  // Completes the request if it is finished. True if it is complete.
  bool complete_if_finished();
  // Other work of MPI, and the worker.
  void let_others() const;

 private:
  Pending(const MpiFunctions& mpi, std::function<void()> done, std::function<void()> poke)
      : mpi_(mpi), done_(std::move(done)), poke_(std::move(poke)) {}

  const MpiFunctions& mpi_;
  std::function<void()> done_;
  std::function<void()> poke_;
  MPI_Request request_{};
  int result_ = MPI_SUCCESS;
  MPI_Count bytes_ = 0;
  std::atomic<bool> finished_{false};
  bool completed_ = false;
};

// A request of a call that is done already. False if the MPI refuses.
bool start_completed(const MpiFunctions& mpi, int result, MPI_Count bytes, MPI_Request* request);

}  // namespace iez::preload
