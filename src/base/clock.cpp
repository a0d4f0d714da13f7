#include "base/clock.hpp"

#include <thread>

namespace iez {

WallTime SystemClock::wall() const { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

Duration SystemClock::monotonic() const {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

void SystemClock::sleep(Duration duration) { std::this_thread::sleep_for(duration); }

}  // namespace iez
