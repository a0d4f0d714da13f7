// What commands share that serve until they are ended.
//
// Thread safety: none.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace iez::cli {

// SIGTERM, SIGINT and SIGHUP are kept for wait(). Made before any thread starts: all of them inherit it.
class EndingSignals {
 public:
  EndingSignals();

  // Until one comes that ends; SIGHUP does not: what files say is read again by itself.
  int wait() const;

 private:
  sigset_t set_;
};

// A thread that serves. If it ends by itself, since it cannot go on, the process is told to end.
class ServiceThread {
 public:
  explicit ServiceThread(std::function<void()> serve);
  void join() { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace iez::cli
