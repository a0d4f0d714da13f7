#include "preload/mpi/worker.hpp"

#include <chrono>
#include <csignal>
#include <utility>

namespace iez::preload {

namespace {

thread_local bool here = false;

}  // namespace

bool Worker::is_here() { return here; }

Worker::Worker() {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Worker::drain(const std::function<void()>& poke) {
  std::unique_lock lock(mutex_);
  while (busy_ || !jobs_.empty()) {
    if (changed_.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::no_timeout) continue;
    lock.unlock();
    poke();
    lock.lock();
  }
}

void Worker::work() {
  here = true;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace iez::preload
