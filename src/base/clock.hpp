// Time is a parameter. Code that needs the time takes a Clock&; only main() and tests decide which.
//
// Thread safety: SystemClock is safe from any thread; ManualClock is for one.
#pragma once

#include <chrono>

#include "base/units.hpp"

namespace iez {

using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;

  virtual WallTime wall() const = 0;       // may jump: for time stamps only
  virtual Duration monotonic() const = 0;  // never goes back: for intervals
  virtual void sleep(Duration duration) = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  Duration monotonic() const override;
  void sleep(Duration duration) override;
};

// Stands still until told; sleeping advances it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = {}) : wall_(start) {}

  WallTime wall() const override { return wall_; }
  Duration monotonic() const override { return monotonic_; }
  void sleep(Duration duration) override { advance(duration); }

  void advance(Duration duration) {
    wall_ += duration;
    monotonic_ += duration;
  }
  void set_wall(WallTime time) { wall_ = time; }  // a stepped clock: monotonic() does not notice

 private:
  WallTime wall_;
  Duration monotonic_{0};
};

}  // namespace iez
