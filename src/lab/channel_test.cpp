#include "lab/channel.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lab/server_loop.hpp"

namespace iez::lab {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "iez-channel-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string socket() const { return (path_ / "server.sock").string(); }

 private:
  std::filesystem::path path_;
};

// What outlives a server process: which requests were ever done, and how often.
struct Deeds {
  std::mutex mutex;
  std::vector<std::uint64_t> inodes;  // of close requests, in the order in which they came, the first time
  std::map<std::uint64_t, int> times;
};

// Answers `close`, with a delay; forgets some; gives locks and takes them back.
class Server : public ServerHandler {
 public:
  struct Manners {
    std::uint64_t boot = 1;
    double drop = 0;  // share of requests that are ignored
    Duration delay{};
    bool silent = false;  // after the handshake
    std::uint64_t seed = 1;
  };

  Server(const std::string& path, Deeds& deeds, const Manners& manners) : deeds_(deeds), manners_(manners), rng_(manners.seed) {
    auto loop = ServerLoop::create(path, *this);
    EXPECT_TRUE(loop) << loop.error().message;
    loop_ = *std::move(loop);
    thread_ = std::thread([this] { EXPECT_TRUE(loop_->run()); });
  }
  ~Server() override {
    loop_->stop();
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) override {
    const Op op = static_cast<Op>(frame.op);
    if (op == Op::connect) {
      loop_->send(from, answer_frame(op, frame.number, 0, ConnectAnswer{.boot = manners_.boot}));
      return;
    }
    if (manners_.silent) return;
    if (rng_.chance(manners_.drop)) {
      ++dropped;
      return;
    }
    FrameReader reader(body);
    if (op == Op::query) {
      QueryRequest query;
      reader(query);
      const std::uint8_t known = waiting_.contains(query.number) ? 1 : 0;
      loop_->send(from, answer_frame(op, frame.number, 0, QueryAnswer{.known = known}));
      return;
    }
    if (op == Op::write) {
      WriteRequest request;
      reader(request);
      loop_->send(from, answer_frame(op, frame.number, 0, WriteAnswer{.credits = 7}, reader.rest()));  // the data back
      return;
    }
    if (op == Op::lock) {
      LockRequest lock;
      reader(lock);
      loop_->send(from, answer_frame(op, frame.number, 0, lock));
      loop_->send(from, request_frame(Op::revoke, 0, lock));
      return;
    }
    InodeRequest request;
    reader(request);
    ASSERT_TRUE(reader.good());
    waiting_.insert(frame.number);
    const std::uint64_t number = frame.number;
    const auto done = [this, from, op, number, inode = request.inode] {
      waiting_.erase(number);
      {
        const std::scoped_lock lock(deeds_.mutex);
        if (deeds_.times[inode]++ == 0) deeds_.inodes.push_back(inode);
      }
      loop_->send(from, answer_frame(op, number, inode == 13 ? ESTALE : 0, InodeRequest{.inode = inode}));
    };
    if (manners_.delay == Duration::zero()) {
      done();
    } else {
      loop_->at(loop_->now() + manners_.delay, done);
    }
  }
  void closed(ConnectionId /*connection*/) override {}

  std::atomic<int> dropped = 0;

 private:
  Deeds& deeds_;
  const Manners manners_;
  Rng rng_;
  std::set<std::uint64_t> waiting_;
  std::unique_ptr<ServerLoop> loop_;
  std::thread thread_;
};

// Answers come in the order of the requests here, so waiting for the last one is waiting for all.
TEST(Channel, ManyRequestsAtOnce) {
  const Folder folder;
  Deeds deeds;
  const Server server(folder.socket(), deeds, {});
  Channel channel({.path = folder.socket()});
  std::vector<Channel::Call> calls;
  calls.reserve(1000);
  for (std::uint64_t i = 0; i < 1000; ++i) calls.push_back(channel.start(Op::close, InodeRequest{.inode = i}));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Reply answer = channel.wait(calls[i]);
    if (i == 13) {
      EXPECT_EQ(answer.error, ESTALE);
      continue;
    }
    const auto request = answer.as<InodeRequest>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->inode, i);
  }
  EXPECT_EQ(channel.unanswered(), 0U);
  EXPECT_TRUE(std::ranges::is_sorted(deeds.inodes));
}

TEST(Channel, DataGoesBothWays) {
  const Folder folder;
  Deeds deeds;
  const Server server(folder.socket(), deeds, {});
  Channel channel({.path = folder.socket()});
  Rng rng(1);
  std::vector<std::vector<std::byte>> sent;
  std::vector<Channel::Call> calls;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20U, std::size_t{16} << 20U}) {
    std::vector<std::byte> data(size);
    for (std::byte& byte : data) byte = static_cast<std::byte>(rng.bits());
    calls.push_back(channel.start(Op::write, WriteRequest{.job = "x"}, data));
    sent.push_back(std::move(data));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Reply answer = channel.wait(calls[i]);
    std::span<const std::byte> data;
    const auto fields = answer.as<WriteAnswer>(&data);
    ASSERT_TRUE(fields);
    EXPECT_EQ(fields->credits, 7U);
    EXPECT_TRUE(std::ranges::equal(data, sent[i])) << sent[i].size();
  }
}

TEST(Channel, WaitsForAServerThatIsNotThereYet) {
  const Folder folder;
  Deeds deeds;
  Channel channel({.path = folder.socket()});
  const Channel::Call call = channel.start(Op::close, InodeRequest{.inode = 5});
  EXPECT_FALSE(channel.connected());
  const Server server(folder.socket(), deeds, {});
  EXPECT_EQ(channel.wait(call).error, 0);
  EXPECT_EQ(channel.reconnects(), 0U);
}

TEST(Channel, SendsAgainInOrderAfterARestart) {
  const Folder folder;
  Deeds deeds;
  std::vector<bool> restarts;
  std::vector<Channel::Call> calls;
  auto silent = std::make_unique<Server>(folder.socket(), deeds, Server::Manners{.boot = 1, .silent = true});
  Channel channel({.path = folder.socket(), .reconnected = [&restarts](bool restarted) { restarts.push_back(restarted); }});
  calls.reserve(100);
  for (std::uint64_t i = 0; i < 100; ++i) calls.push_back(channel.start(Op::close, InodeRequest{.inode = 1000 - i}));
  while (!channel.connected()) std::this_thread::sleep_for(1ms);
  silent.reset();
  const Server server(folder.socket(), deeds, {.boot = 2});
  for (const Channel::Call& call : calls) EXPECT_EQ(channel.wait(call).error, 0);
  EXPECT_THAT(restarts, ElementsAre(true));
  EXPECT_EQ(deeds.inodes.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(deeds.inodes, std::greater<>()));
  EXPECT_EQ(channel.reconnects(), 1U);
}

// Every request is done although a third of the frames is lost, queries among them.
TEST(Channel, LostRequestsAreSentAgain) {
  const Folder folder;
  Deeds deeds;
  Server server(folder.socket(), deeds, {.drop = 0.3});
  Channel channel({.path = folder.socket(), .silence = 20ms});
  std::vector<Channel::Call> calls;
  for (std::uint64_t i = 100; i < 300; ++i) calls.push_back(channel.start(Op::close, InodeRequest{.inode = i}));
  for (const Channel::Call& call : calls) EXPECT_EQ(channel.wait(call).error, 0);
  EXPECT_GT(server.dropped.load(), 30);
  EXPECT_EQ(deeds.inodes.size(), 200U);
  for (const auto& [inode, times] : deeds.times) EXPECT_EQ(times, 1) << inode;
}

// A request that the server knows is not sent twice, however long it takes.
TEST(Channel, SlowRequestsAreLeftAlone) {
  const Folder folder;
  Deeds deeds;
  const Server server(folder.socket(), deeds, {.delay = 300ms});
  Channel channel({.path = folder.socket(), .silence = 20ms});
  EXPECT_EQ(channel.ask(Op::close, InodeRequest{.inode = 1}).error, 0);
  EXPECT_EQ(deeds.times[1], 1);
}

TEST(Channel, AnInterruptEndsTheWaitForADeadServer) {
  const Folder folder;
  Channel channel({.path = folder.socket()});
  EXPECT_EQ(channel.ask(Op::close, InodeRequest{.inode = 1}, [] { return true; }).error, EINTR);
  EXPECT_EQ(channel.unanswered(), 0U);
}

TEST(Channel, AnInterruptDoesNotEndTheWaitForASlowOne) {
  const Folder folder;
  Deeds deeds;
  const Server server(folder.socket(), deeds, {.delay = 300ms});
  Channel channel({.path = folder.socket()});
  while (!channel.connected()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(channel.ask(Op::close, InodeRequest{.inode = 1}, [] { return true; }).error, 0);
}

// The grant is told before the revocation that follows it, in the channel's thread.
TEST(Channel, LocksInOrder) {
  const Folder folder;
  Deeds deeds;
  const Server server(folder.socket(), deeds, {});
  std::vector<std::string> told;
  std::atomic<bool> revoked = false;
  Channel channel({.path = folder.socket(), .revoked = [&](const LockRequest& lock) {
                     told.push_back("revoked " + std::to_string(lock.end));
                     revoked = true;
                   }});
  const Channel::Call call = channel.start(Op::lock, LockRequest{.end = 42}, {}, [&told](Reply& answer) {
    const auto lock = answer.as<LockRequest>();
    told.push_back("granted " + std::to_string(lock ? lock->end : 0));
  });
  EXPECT_EQ(channel.wait(call).error, 0);
  while (!revoked) std::this_thread::sleep_for(1ms);
  EXPECT_THAT(told, ElementsAre("granted 42", "revoked 42"));
}

TEST(Channel, TheEndFreesWhoWaits) {
  const Folder folder;
  auto channel = std::make_unique<Channel>(Channel::Options{.path = folder.socket()});
  int error = 0;
  const Channel::Call call =
      channel->start(Op::close, InodeRequest{.inode = 1}, {}, [&error](Reply& answer) { error = answer.error; });
  channel.reset();
  EXPECT_EQ(error, ENOTCONN);
}

TEST(Channel, ForeignFieldsAreAnError) {
  Reply answer{.error = 0, .body = std::vector<std::byte>(6)};
  EXPECT_FALSE(answer.as<InodeRequest>());
  EXPECT_EQ(answer.error, EPROTO);
}

}  // namespace
}  // namespace iez::lab
