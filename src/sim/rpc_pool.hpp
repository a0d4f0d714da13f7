// Requests under way, in a table that is reused, and queues of them that need no memory of their own.
//
// Thread safety: none. Memory: as many as were under way at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prefetch.hpp"
#include "base/units.hpp"

namespace iez::sim {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// One cache line, with what the server has to know of the client.
struct alignas(kCacheLine) Rpc {
  std::uint64_t place = 0;   // on the target, bytes
  Duration arrived{};        // at the server
  std::uint32_t bytes = 0;   // a request is far below 4 GiB
  std::uint32_t import = 0;  // kNone: background
  std::uint32_t process = 0;
  std::uint32_t job = 0;
  std::uint32_t client = 0;  // the number of the node among the clients of the target
  std::uint32_t target = 0;
  std::uint32_t object = 0;
  std::uint32_t next = kNone;  // in the queue that it is in
  std::uint32_t serial = 0;    // tells it from an earlier use of the same number
  std::uint16_t credits = 0;   // that the reply carries
  bool read = false;
  bool abandoned = false;  // the client gave up waiting, and sent it again
};

static_assert(sizeof(Rpc) == kCacheLine);

class RpcPool {
 public:
  [[nodiscard]] Rpc& operator[](std::uint32_t rpc) { return rpcs_[rpc]; }

  std::uint32_t take() {
    if (free_ == kNone) {
      rpcs_.emplace_back();
      return static_cast<std::uint32_t>(rpcs_.size() - 1);
    }
    const std::uint32_t rpc = free_;
    free_ = rpcs_[rpc].next;
    rpcs_[rpc] = {.serial = rpcs_[rpc].serial + 1};
    return rpc;
  }

  void give_back(std::uint32_t rpc) {
    ++rpcs_[rpc].serial;
    rpcs_[rpc].next = free_;
    free_ = rpc;
  }

  [[nodiscard]] std::size_t size() const { return rpcs_.size(); }

 private:
  std::vector<Rpc> rpcs_;
  std::uint32_t free_ = kNone;
};

// First in, first out. An Rpc is in one queue at a time.
class RpcQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == kNone; }

  void push(RpcPool& pool, std::uint32_t rpc) {
    pool[rpc].next = kNone;
    if (first_ == kNone) {
      first_ = rpc;
    } else {
      pool[last_].next = rpc;
    }
    last_ = rpc;
  }

  // REQUIRES: not empty().
  std::uint32_t pop(RpcPool& pool) {
    const std::uint32_t rpc = first_;
    first_ = pool[rpc].next;
    if (first_ != kNone) prefetch(pool[first_]);
    return rpc;
  }

 private:
  std::uint32_t first_ = kNone;
  std::uint32_t last_ = kNone;
};

}  // namespace iez::sim
