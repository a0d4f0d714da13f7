#include "preload/mpi/pending.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace iez::preload {

namespace {

#ifdef OPEN_MPI
using ProgressRegister = int (*)(int (*)());

ProgressRegister progress_register() {
  return reinterpret_cast<ProgressRegister>(::dlsym(RTLD_DEFAULT, "opal_progress_register"));
}

// Those that are not complete. Only threads that are inside of MPI come here.
std::mutex all_mutex;
std::vector<Pending*> all;  // under the mutex
std::atomic<int> any{0};

int look() {
  if (any.load(std::memory_order_relaxed) == 0) return 0;
  std::vector<Pending*> now;
  {
    const std::unique_lock lock(all_mutex, std::try_to_lock);
    if (!lock.owns_lock()) return 0;
    now = all;
  }
  int completed = 0;
  for (Pending* const one : now) {
    {
      const std::lock_guard lock(all_mutex);
      if (std::ranges::find(all, one) == all.end()) continue;
    }
    if (one->complete_if_finished()) ++completed;
  }
  return completed;
}

void watch(Pending* pending) {
  static std::once_flag once;
  std::call_once(once, [] { progress_register()(look); });
  const std::lock_guard lock(all_mutex);
  all.push_back(pending);
  any.fetch_add(1);
}

void forget(Pending* pending) {
  const std::lock_guard lock(all_mutex);
  if (std::erase(all, pending) > 0) any.fetch_sub(1);
}
#else
// While a program waits, MPICH does nothing but to call this: what else there is to do for other ranks is done here.
int poll(void* state, MPI_Status*) {
  auto* const pending = static_cast<Pending*>(state);
  if (!pending->complete_if_finished()) pending->let_others();
  return MPI_SUCCESS;
}

// For MPI_Waitall, one request at a time; it will not have a null here.
int wait(int count, void** states, double, MPI_Status*) {
  for (int i = 0; i < count; ++i) {
    auto* const pending = static_cast<Pending*>(states[i]);
    while (!pending->complete_if_finished()) pending->let_others();
  }
  return MPI_SUCCESS;
}

using StartPolled = int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*,
                            int (*)(void*, MPI_Status*), int (*)(int, void**, double, MPI_Status*), void*, MPI_Request*);

StartPolled start_polled() { return reinterpret_cast<StartPolled>(::dlsym(RTLD_DEFAULT, "MPIX_Grequest_start")); }
#endif

// What is told of a call that was done when it was made.
struct Completed {
  const MpiFunctions& mpi;
  int result;
  MPI_Count bytes;
};

int query_completed(void* state, MPI_Status* status) {
  const auto* const done = static_cast<Completed*>(state);
  done->mpi.Status_set_elements_x(status, MPI_BYTE, done->bytes);
  done->mpi.Status_set_cancelled(status, 0);
  return done->result;
}

int release_completed(void* state) {
  delete static_cast<Completed*>(state);
  return MPI_SUCCESS;
}

}  // namespace

bool start_completed(const MpiFunctions& mpi, int result, MPI_Count bytes, MPI_Request* request) {
  auto* const done = new Completed{.mpi = mpi, .result = result, .bytes = bytes};
  if (mpi.Grequest_start(query_completed, release_completed, Pending::cancel, done, request) != MPI_SUCCESS) {
    delete done;
    return false;
  }
  mpi.Grequest_complete(*request);
  return true;
}

bool Pending::possible() {
#ifdef OPEN_MPI
  return progress_register() != nullptr;
#else
  return start_polled() != nullptr;
#endif
}

Pending* Pending::start(const MpiFunctions& mpi, std::function<void()> done, std::function<void()> poke, MPI_Request* request) {
  auto* const pending = new Pending(mpi, std::move(done), std::move(poke));
#ifdef OPEN_MPI
  const int started = mpi.Grequest_start(query, release, cancel, pending, request);
#else
  const int started = start_polled()(query, release, cancel, poll, wait, pending, request);
#endif
  if (started != MPI_SUCCESS) {
    delete pending;
    return nullptr;
  }
  pending->request_ = *request;
#ifdef OPEN_MPI
  watch(pending);
#endif
  return pending;
}

void Pending::finish(int result, MPI_Count bytes) {
  result_ = result;
  bytes_ = bytes;
  finished_.store(true, std::memory_order_release);
}

bool Pending::complete_if_finished() {
  if (completed_) return true;
  if (!finished_.load(std::memory_order_acquire)) return false;
  completed_ = true;
#ifdef OPEN_MPI
  forget(this);
#endif
  if (done_) done_();
  mpi_.Grequest_complete(request_);
  return true;
}

void Pending::let_others() const {
  poke_();
  std::this_thread::yield();
}

int Pending::query(void* state, MPI_Status* status) {
  const auto* const pending = static_cast<Pending*>(state);
  pending->mpi_.Status_set_elements_x(status, MPI_BYTE, pending->bytes_);
  pending->mpi_.Status_set_cancelled(status, 0);
  return pending->result_;
}

int Pending::release(void* state) {
  delete static_cast<Pending*>(state);
  return MPI_SUCCESS;
}

int Pending::cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace iez::preload
