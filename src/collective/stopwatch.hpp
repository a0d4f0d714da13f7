// Adds the time until its end to a counter.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <ctime>

namespace iez::collective {

class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& sum) : sum_(sum), start_(now()) {}
  ~Stopwatch() { sum_ += now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  // Nanoseconds, by a clock that all processes of a node share.
  static std::uint64_t now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
  }

 private:
  std::uint64_t& sum_;
  std::uint64_t start_;
};

}  // namespace iez::collective
