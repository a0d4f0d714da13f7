// The extent locks that a client holds at the OSSs, for the pages that its kernel keeps.
//
// While a client holds a lock, no other one has a lock that is in its way, so what the kernel keeps of that range is what the
// object has. A lock is kept until the server wants it back (revoke). Then no new operation may use it; when those that do are
// done, the pages of the range are dropped, and the lock is given back (unlock).
//
// Dropping pages can wait for an operation of this very client, which holds a page while it waits for a lock that the server
// gives to somebody else first - who waits for the lock that is being dropped. After kStuckAfter of that, the lock is given back
// before the last pages are gone: they go as soon as the operation is done.
//
// unlock names a range and a mode, not a lock. A grant that comes before the answer to an unlock of its mode and range, which was
// sent after it was asked for, may have been cut by it: it is given back and asked for again.
//
// Thread safety: all members may be called from any thread; revoked(), lost() and the hooks `ask` and `unlock` do not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "lab/channel.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class ClientLocks {
 public:
  static constexpr Duration kStuckAfter = std::chrono::milliseconds(5);

  struct Hooks {
    // Asks the server; on_answer is called when it answers, in the order of its answers and revocations.
    std::function<Channel::Call(const LockRequest&, Channel::OnAnswer)> ask;
    std::function<Reply(const ObjectName&, const Channel::Call&, const Channel::Interrupted&)> wait;
    std::function<void(const LockRequest&, Channel::OnAnswer)> unlock;
    std::function<void(const ObjectName&, std::uint64_t start, std::uint64_t end)> drop_pages;  // may block
  };
  explicit ClientLocks(Hooks hooks);
  ~ClientLocks();
  ClientLocks(const ClientLocks&) = delete;
  ClientLocks& operator=(const ClientLocks&) = delete;

  // A lock in use. Must be given to release().
  struct Hold {
    int error = 0;  // an errno: not held
    bool waited = false;
    ObjectName name;
    std::uint64_t id = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };

  struct Want {
    ObjectName name;
    LockMode mode = LockMode::read;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool page_out = false;  // pages of a mapping: may use a lock that is being given back, which waits for just that
  };
  [[nodiscard]] Hold acquire(const Want& want, const Channel::Interrupted& interrupted);

  // False: the lock was lost meanwhile, and pages that the operation left behind must be dropped.
  bool release(const Hold& hold);

  // The server wants everything back that overlaps.
  void revoked(const LockRequest& request);

  // A server was restarted or was out of reach: nothing is held on its OSTs any more.
  void lost(std::uint32_t first_ost, std::uint32_t count);

  // Gives back all locks of an object, as after a revocation.
  void give_back(const ObjectName& name);

  [[nodiscard]] std::size_t held() const;

  // Ends its threads; nothing is given back any more. REQUIRES: nobody is within acquire().
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iez::lab
