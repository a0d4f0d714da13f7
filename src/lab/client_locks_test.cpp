#include "lab/client_locks.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <limits>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/server_loop.hpp"

namespace iez::lab {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
const ObjectName kObject{.ost = 1, .object = 7};

// Grants everything, all of it or as asked, and notes what is unlocked.
class Server : public ServerHandler {
 public:
  Server() {
    std::string pattern = (std::filesystem::temp_directory_path() / "iez-locks-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    loop_ = ServerLoop::create(path(), *this).value();
    thread_ = std::thread([this] { EXPECT_TRUE(loop_->run()); });
  }
  ~Server() override {
    loop_->stop();
    thread_.join();
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string path() const { return folder_ + "/sock"; }
  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) override {
    const auto op = static_cast<Op>(frame.op);
    if (op == Op::connect) return loop_->send(from, answer_frame(op, frame.number, 0, ConnectAnswer{.boot = 1}));
    FrameReader reader(body);
    LockRequest lock;
    reader(lock);
    if (op == Op::lock) {
      ++asked;
      if (grow) {
        lock.start = 0;
        lock.end = kEnd;
      }
      return loop_->send(from, answer_frame(op, frame.number, 0, lock));
    }
    const std::scoped_lock guard(mutex_);
    unlocked_.emplace_back(lock.start, lock.end);
    loop_->send(from, answer_frame(op, frame.number, 0, Empty{}));
  }
  void closed(ConnectionId /*connection*/) override {}

  std::vector<std::pair<std::uint64_t, std::uint64_t>> unlocked() {
    const std::scoped_lock guard(mutex_);
    return unlocked_;
  }

  std::atomic<int> asked = 0;
  std::atomic<bool> grow = false;

 private:
  std::string folder_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> unlocked_;
  std::unique_ptr<ServerLoop> loop_;
  std::thread thread_;
};

class ClientLocksTest : public ::testing::Test {
 protected:
  ClientLocksTest()
      : locks_({.ask = [this](const LockRequest& lock,
                              Channel::OnAnswer on_answer) { return channel_.start(Op::lock, lock, {}, std::move(on_answer)); },
                .wait = [this](const ObjectName&, const Channel::Call& call,
                               const Channel::Interrupted& interrupted) { return channel_.wait(call, interrupted); },
                .unlock = [this](const LockRequest& lock,
                                 Channel::OnAnswer on_answer) { channel_.start(Op::unlock, lock, {}, std::move(on_answer)); },
                .drop_pages =
                    [this](const ObjectName&, std::uint64_t start, std::uint64_t end) {
                      std::unique_lock guard(mutex_);
                      dropped_.emplace_back(start, end);
                      changed_.wait(guard, [this] { return !stuck_; });
                    }}),
        channel_({.path = server_.path()}) {}
  void TearDown() override { locks_.stop(); }

  ClientLocks::Hold hold(LockMode mode, std::uint64_t start, std::uint64_t end) {
    return locks_.acquire({.name = kObject, .mode = mode, .start = start, .end = end}, {});
  }
  void revoke(std::uint64_t start, std::uint64_t end) { locks_.revoked({.name = kObject, .start = start, .end = end}); }
  template <typename Condition>
  static void wait_until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(1ms);
  }
  void set_stuck(bool stuck) {
    {
      const std::scoped_lock guard(mutex_);
      stuck_ = stuck;
    }
    changed_.notify_all();
  }

  Server server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dropped_;
  bool stuck_ = false;
  ClientLocks locks_;  // outlives the channel, whose thread calls it
  Channel channel_;
};

TEST_F(ClientLocksTest, AskedForOnce) {
  server_.grow = true;
  const auto first = hold(LockMode::read, 0, 100);
  EXPECT_TRUE(first.waited);
  EXPECT_TRUE(locks_.release(first));
  const auto second = hold(LockMode::read, 5000, 6000);
  EXPECT_FALSE(second.waited);
  EXPECT_TRUE(locks_.release(second));
  EXPECT_EQ(server_.asked, 1);
  const auto writes = hold(LockMode::write, 0, 1);  // a lock for reading is not enough
  EXPECT_TRUE(writes.waited);
  EXPECT_TRUE(locks_.release(writes));
  EXPECT_FALSE(hold(LockMode::read, 7, 8).waited);
  EXPECT_EQ(locks_.held(), 1U);  // the larger right took the place of the other
}

TEST_F(ClientLocksTest, GivenBackWhenNobodyUsesItAndItsPagesAreGone) {
  const auto used = hold(LockMode::write, 0, 100);
  revoke(50, 60);
  std::this_thread::sleep_for(30ms);
  EXPECT_TRUE(server_.unlocked().empty());
  EXPECT_TRUE(locks_.release(used));
  wait_until([this] { return !server_.unlocked().empty(); });
  EXPECT_THAT(server_.unlocked(), ElementsAre(std::pair<std::uint64_t, std::uint64_t>(0, 100)));
  EXPECT_THAT(dropped_, ElementsAre(std::pair<std::uint64_t, std::uint64_t>(0, 100)));
  EXPECT_EQ(locks_.held(), 0U);
}

TEST_F(ClientLocksTest, ALeavingLockServesNobodyNewButPagesOfMappings) {
  const auto used = hold(LockMode::write, 0, 100);
  revoke(0, 1);
  const auto page_out = locks_.acquire({.name = kObject, .mode = LockMode::write, .start = 0, .end = 10, .page_out = true}, {});
  EXPECT_FALSE(page_out.waited);
  const auto fresh = hold(LockMode::write, 0, 10);
  EXPECT_TRUE(fresh.waited);
  EXPECT_NE(fresh.id, used.id);
  locks_.release(page_out);
  locks_.release(used);
  // The new one keeps its range.
  wait_until([this] { return !server_.unlocked().empty(); });
  EXPECT_THAT(server_.unlocked(), ElementsAre(std::pair<std::uint64_t, std::uint64_t>(10, 100)));
  EXPECT_TRUE(locks_.release(fresh));
}

TEST_F(ClientLocksTest, AWriterThatReadsOnGivesBackTheWriting) {
  const auto writes = hold(LockMode::write, 0, 100);
  revoke(0, 100);
  const auto reads = hold(LockMode::read, 0, 100);  // granted at once: only another client's reader waits
  EXPECT_TRUE(reads.waited);
  EXPECT_TRUE(locks_.release(writes));
  wait_until([this] { return !server_.unlocked().empty(); });
  EXPECT_THAT(server_.unlocked(), ElementsAre(std::pair<std::uint64_t, std::uint64_t>(0, 100)));
  EXPECT_TRUE(locks_.release(reads));
  EXPECT_EQ(locks_.held(), 1U);
}

TEST_F(ClientLocksTest, OthersStay) {
  EXPECT_TRUE(locks_.release(hold(LockMode::read, 0, 100)));
  EXPECT_TRUE(locks_.release(hold(LockMode::read, 200, 300)));
  revoke(0, 150);
  wait_until([this] { return !server_.unlocked().empty(); });
  EXPECT_EQ(locks_.held(), 1U);
  EXPECT_FALSE(hold(LockMode::read, 250, 260).waited);
}

TEST_F(ClientLocksTest, AnUnknownLockIsGivenBackAtOnce) {
  revoke(10, 20);
  wait_until([this] { return !server_.unlocked().empty(); });
  EXPECT_THAT(server_.unlocked(), ElementsAre(std::pair<std::uint64_t, std::uint64_t>(10, 20)));
}

TEST_F(ClientLocksTest, LostWithTheServer) {
  const auto used = hold(LockMode::write, 0, 100);
  locks_.lost(1, 1);
  EXPECT_FALSE(locks_.release(used));
  EXPECT_EQ(locks_.held(), 0U);
  const auto other = hold(LockMode::read, 0, 1);
  locks_.lost(2, 5);  // OSTs of another server
  EXPECT_TRUE(locks_.release(other));
}

TEST_F(ClientLocksTest, PagesThatStayWhileNobodyWaitsAreWaitedFor) {
  EXPECT_TRUE(locks_.release(hold(LockMode::read, 0, 100)));
  set_stuck(true);
  revoke(0, 100);
  std::this_thread::sleep_for(ClientLocks::kStuckAfter * 5);
  EXPECT_TRUE(server_.unlocked().empty());
  set_stuck(false);
  wait_until([this] { return !server_.unlocked().empty(); });
}

}  // namespace
}  // namespace iez::lab
