// The time of the disks of one OST: one request after the other, at a rate, with a pause between those that are no neighbours.
//
// Requests wait in order of arrival; the first `threads` of them are in service, and of these sim::Elevator picks the next for
// the disks. A request takes bytes / rate, and `seek` more unless it starts where the one before ended.
//
// Time is what the caller says, and does not go back. A request starts when the one before ended, or when it arrived, whichever
// is later - not when the caller looks: a caller that comes late by a timer's jitter loses no disk time, and the rate is exact in
// the mean. Only one that is later than `catch_up` (a machine that slept) finds the time lost. By time t after an idle moment s
// no more than rate (t - s) bytes have finished.
//
// Use: pop(now) until it gives nothing, then add() what arrives; and pop() again, which starts what can start. At next() look
// again. What a finished request lets in (a credit) may be added with the time that pop() told, so that nothing is lost there.
//
// Complexity: sim::Elevator's. Thread safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "sim/elevator.hpp"

namespace iez::lab {

struct DiskOptions {
  BytesPerSecond rate;  // above 0
  Duration seek{};
  std::uint32_t threads = 16;
  Duration patience = std::chrono::seconds(5);  // of a request that others overtake
  Duration catch_up = std::chrono::seconds(1);
};

class DiskModel {
 public:
  struct Done {
    std::uint64_t ticket = 0;
    Duration start{};
    Duration end{};
  };

  explicit DiskModel(const DiskOptions& options);  // REQUIRES: rate > 0, threads > 0

  // place: first byte on the target. REQUIRES: `arrived` is not before the end of what pop() gave last.
  void add(std::uint64_t ticket, std::uint64_t place, Bytes size, Duration arrived);

  // The next request that has finished by `now`.
  std::optional<Done> pop(Duration now);

  // When the one on the disks ends, as of the last pop(); nothing if they are idle.
  [[nodiscard]] std::optional<Duration> next() const;

  // 1: as given; 0.1: a tenth. For requests that start from now on. REQUIRES: above 0.
  void set_speed(double speed) { speed_ = speed; }

  [[nodiscard]] std::size_t depth() const { return waiting_.size() + elevator_.size() + (current_ ? 1 : 0); }
  [[nodiscard]] Duration busy() const { return busy_; }  // time spent on finished requests
  [[nodiscard]] std::uint64_t seeks() const { return seeks_; }

 private:
  struct Request {
    std::uint64_t ticket = 0;
    std::uint64_t place = 0;
    Bytes size;
    Duration arrived{};
  };
  void admit();
  void start(Duration now);

  DiskOptions options_;
  double speed_ = 1;
  std::deque<Request> waiting_;
  sim::Elevator elevator_;
  std::vector<Request> slots_;  // of those in the elevator, by its numbers
  std::vector<std::uint32_t> free_slots_;
  std::optional<Request> current_;
  Duration current_start_{};
  Duration current_end_{};
  Duration last_end_ = Duration::min();
  std::uint64_t head_ = 0;
  Duration busy_{};
  std::uint64_t seeks_ = 0;
};

}  // namespace iez::lab
