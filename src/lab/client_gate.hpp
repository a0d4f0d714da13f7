// What one client has on the way to one OST: the requests that its writes and reads become, and how many may be in flight.
//
// The gate holds the modelled requests of the client (not data). Writes are cut into requests of at most rpc_size; a write that
// follows, or lies in, one that still waits joins it, as pages do in a client's cache. Reads and writes share the limit and take
// turns. Bytes are dirty from write() until finish().
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/units.hpp"

namespace iez::lab {

class ClientGate {
 public:
  struct Rpc {
    std::uint64_t id = 0;  // grows
    bool is_write = false;
    std::uint64_t object = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t tag = 0;  // of a read: the caller's
    std::uint32_t job = 0;
    Duration since{};  // when it came to the gate
  };

  ClientGate(Bytes rpc_size, unsigned limit) : rpc_size_(rpc_size.count), limit_(limit) {}  // REQUIRES: rpc_size > 0

  // REQUIRES: start < end.
  void write(std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint32_t job, Duration now);
  // Gives the number of requests that it takes.
  std::size_t read(std::uint64_t object, std::uint64_t start, std::uint64_t end, std::uint64_t tag, std::uint32_t job,
                   Duration now);

  // The object is gone: its writes that still wait need no disk any more, and count as finished.
  void discard(std::uint64_t object);

  // The next request, if one waits and one more may be in flight.
  std::optional<Rpc> send();
  // REQUIRES: send() gave it, and it was not finished before.
  void finish(const Rpc& rpc);

  void set_limit(unsigned limit) { limit_ = limit; }  // 0 counts as 1
  [[nodiscard]] unsigned limit() const { return limit_; }
  [[nodiscard]] unsigned in_flight() const { return in_flight_; }
  [[nodiscard]] std::size_t waiting() const { return writes_.size() + reads_.size(); }
  [[nodiscard]] bool idle() const { return in_flight_ == 0 && waiting() == 0; }

  // Bytes that writes have brought, and those that finished, since the start: their difference is dirty.
  [[nodiscard]] std::uint64_t brought() const { return brought_; }
  [[nodiscard]] std::uint64_t finished() const { return finished_; }

  // Every byte of the range is dirty.
  [[nodiscard]] bool holds(std::uint64_t object, std::uint64_t start, std::uint64_t end) const;
  // What was written to the object so far has finished when is_clean(object, mark()) is true.
  [[nodiscard]] std::uint64_t mark() const { return next_id_; }
  [[nodiscard]] bool is_clean(std::uint64_t object, std::uint64_t mark) const;

 private:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };

  void clean(std::uint64_t object, std::uint64_t id);

  std::uint64_t rpc_size_;
  unsigned limit_;
  unsigned in_flight_ = 0;
  std::uint64_t next_id_ = 1;
  std::uint64_t brought_ = 0;
  std::uint64_t finished_ = 0;
  bool read_is_next_ = true;
  std::map<std::uint64_t, Rpc> writes_;                                        // that wait, by id
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> by_place_;  // ids of these by object and start
  std::deque<Rpc> reads_;                                                      // that wait
  std::unordered_map<std::uint64_t, std::map<std::uint64_t, Range>> dirty_;    // by object, then id
};

}  // namespace iez::lab
