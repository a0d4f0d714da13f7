// The extent locks of all objects of a server, and the messages they cause: grants to send, and locks to ask back.
//
// A lock in somebody's way is asked back at once, and again every kAgain while it is not given back. Whoever keeps one for longer
// than kPatience, or has no connection, is the caller's to evict: overdue() names them.
//
// Time is what the caller says. Thread safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "lab/extent_locks.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class LockTable {
 public:
  static constexpr Duration kAgain = std::chrono::seconds(1);
  static constexpr Duration kPatience = std::chrono::seconds(20);

  struct Grant {
    std::uint64_t client = 0;
    std::uint64_t number = 0;  // of its request
    LockRequest lock;
  };
  struct Revoke {
    std::uint64_t client = 0;
    LockRequest lock;
  };
  struct Overdue {
    std::uint64_t client = 0;
    Duration since{};  // asked back first
  };

  void request(std::uint64_t client, std::uint64_t number, const LockRequest& wanted, Duration now);
  void release(std::uint64_t client, const LockRequest& given, Duration now);
  void evict(std::uint64_t client, Duration now);

  std::vector<Grant> take_grants() { return std::exchange(grants_, {}); }
  std::vector<Revoke> take_revokes() { return std::exchange(revokes_, {}); }

  // Asks again where it is time to. REQUIRES: called now and then.
  void remind(Duration now);
  // Clients with locks that were asked back and not given, the longest first asked for each.
  [[nodiscard]] std::vector<Overdue> overdue() const;

  [[nodiscard]] std::size_t locks() const;
  [[nodiscard]] std::size_t objects() const { return objects_.size(); }

 private:
  struct Asked {
    ExtentLocks::Lock lock;
    Duration since{};
    Duration last{};
  };
  struct Object {
    ExtentLocks locks;
    std::vector<Asked> asked;
  };
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  void settle(const Key& key, Object& object, Duration now);

  std::map<Key, Object> objects_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> tickets_;  // client and number of those that wait
  std::uint64_t next_ticket_ = 1;
  std::vector<Grant> grants_;
  std::vector<Revoke> revokes_;
};

}  // namespace iez::lab
