#include "stop_signals.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace iez::cli {

Result<StopSignals> StopSignals::block() {
  sigset_t watched;
  sigset_t before;
  ::sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&watched, signal);
  if (const int reason = ::pthread_sigmask(SIG_BLOCK, &watched, &before); reason != 0) return fail_errno(reason, "sigmask");
  input::UniqueFd fd(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) {
    const int reason = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail_errno(reason, "signalfd");
  }
  return StopSignals(std::move(fd), before);
}

StopSignals::StopSignals(StopSignals&& other) noexcept : fd_(std::move(other.fd_)), before_(other.before_) {}

StopSignals::~StopSignals() {
  if (!fd_) return;
  came();  // what came is done with: it must not end the process now
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::came() {
  bool any = false;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) any = true;
  return any;
}

}  // namespace iez::cli
