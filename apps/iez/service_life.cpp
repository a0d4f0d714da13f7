#include "service_life.hpp"

#include <unistd.h>

#include <utility>

namespace iez::cli {

EndingSignals::EndingSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

int EndingSignals::wait() const {
  int signal = 0;
  do {
    sigwait(&set_, &signal);
  } while (signal == SIGHUP);
  return signal;
}

ServiceThread::ServiceThread(std::function<void()> serve)
    : thread_([serve = std::move(serve)] {
        serve();
        ::kill(::getpid(), SIGTERM);
      }) {}

}  // namespace iez::cli
