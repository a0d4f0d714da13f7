// A thread of a rank that carries out nonblocking collective calls one after the other, while the program goes on.
//
// It never calls MPI, which may not allow a second thread: that is why only files whose ranks share a node have one.
//
// Thread safety: all functions are called by the program's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace iez::preload {

class Worker {
 public:
  Worker();
  // Finishes what it has.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add(std::function<void()> job);
  // Until nothing is left to do; calls poke() now and then.
  void drain(const std::function<void()>& poke);
  // Whether the calling thread is a worker.
  static bool is_here();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // under the mutex, as are:
  bool busy_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace iez::preload
