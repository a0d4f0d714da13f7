// SIGTERM and SIGINT as something to wait for, for commands that run until they are stopped.
//
// Made before any thread is: threads inherit the mask. Until the end of its life the signals do nothing else.
#pragma once

#include <csignal>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::cli {

class StopSignals {
 public:
  [[nodiscard]] static Result<StopSignals> block();
  ~StopSignals();
  StopSignals(StopSignals&& other) noexcept;
  StopSignals& operator=(StopSignals&&) = delete;
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_.get(); }  // can be read once a signal came
  bool came();                          // takes it

 private:
  StopSignals(input::UniqueFd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}
  input::UniqueFd fd_;
  sigset_t before_;
};

}  // namespace iez::cli
