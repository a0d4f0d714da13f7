// C, the clients that do I/O, as the source of the RCC law counts them.
//
// A client is active from its first pending request. It does not leave when its last request is answered, since a client with one
// credit would come and go all the time; it leaves when one of its pings finds it without requests for longer than STL.
//
// Time: as the caller says.
// Complexity: O(1) a call; memory is one row for each number up to the largest client.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/prefetch.hpp"
#include "base/units.hpp"

namespace iez::congestion {

class ActiveClients {
 public:
  explicit ActiveClients(Duration stl) : stl_(stl) {}

  void arrive(std::uint32_t client);
  bool finish(Duration now, std::uint32_t client);  // false: it had nothing pending, and nothing has changed
  void ping(Duration now, std::uint32_t client);
  void expect(std::uint32_t client) const {  // hint: one of the above comes soon
    if (client < exports_.size()) prefetch(exports_[client]);
  }

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] bool is_active(std::uint32_t client) const;

 private:
  struct Export {
    Duration idle_since{};  // while active and nothing is pending
    std::uint32_t pending = 0;
    bool active = false;
  };

  Duration stl_;
  std::vector<Export> exports_;
  std::uint32_t count_ = 0;
};

}  // namespace iez::congestion
