#include "lab/server_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lab/unix_socket.hpp"

namespace iez::lab {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class ServerLoopTest : public testing::Test {
 protected:
  ServerLoopTest() {
    std::string name = (std::filesystem::temp_directory_path() / "iez-loop-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path(const std::string& name = "s.sock") const { return dir_ + "/" + name; }

  std::string dir_;
};

// Behaves as the test says.
struct Handler : ServerHandler {
  std::function<void(ConnectionId, const Frame&, std::span<const std::byte>)> on_frame;
  std::function<void(ConnectionId)> on_closed;
  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) override {
    if (on_frame) on_frame(from, frame, body);
  }
  void closed(ConnectionId connection) override {
    if (on_closed) on_closed(connection);
  }
};

// Runs a loop in its own thread until the test is done with it.
struct Running {
  explicit Running(ServerLoop& the_loop) : loop(the_loop), thread([this] { result = loop.run(); }) {}
  ~Running() { finish(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  void finish() {
    if (!thread.joinable()) return;
    loop.stop();
    thread.join();
    EXPECT_TRUE(result.has_value());
  }
  ServerLoop& loop;
  Result<void> result;
  std::thread thread;
};

bool send_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

std::vector<std::byte> receive_exactly(int fd, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::recv(fd, bytes.data() + filled, size - filled, 0);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// Size and number of the next frame; {0, 0} at the end.
Frame receive_frame(int fd) {
  Frame frame;
  const std::vector<std::byte> head = receive_exactly(fd, sizeof frame);
  if (head.size() != sizeof frame) return {};
  std::memcpy(&frame, head.data(), sizeof frame);
  const std::size_t body = receive_exactly(fd, frame.size - sizeof frame).size();
  return body + sizeof frame == frame.size ? frame : Frame{};
}

std::vector<std::byte> frame_of(std::uint64_t number, std::size_t body) {
  FrameWriter writer(Op::write, number);
  const std::vector<std::byte> data(body, std::byte{7});
  writer.append(data.data(), data.size());
  return writer.take();
}

TEST_F(ServerLoopTest, FramesOfAllSizesComeWholeAndInOrder) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop) << loop.error().message;
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> body) {
    ASSERT_EQ(body.size(), frame.size - sizeof frame);
    for (const std::byte byte : body) ASSERT_EQ(byte, std::byte{7});
    (*loop)->send(from, frame_of(frame.number, body.size()));
  };
  Running running(**loop);
  auto fd = connect_to(path());
  ASSERT_TRUE(fd);
  const std::vector<std::size_t> sizes{0, 1, 15, 16, 4096, (1U << 20U) - 16, 1U << 20U, 3U << 20U, kMaxFrame - sizeof(Frame),
                                       0, 5};
  std::thread sender([&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) ASSERT_TRUE(send_all(fd->get(), frame_of(i, sizes[i])));
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Frame frame = receive_frame(fd->get());
    EXPECT_EQ(frame.number, i);
    EXPECT_EQ(frame.size, sizes[i] + sizeof(Frame));
  }
  sender.join();
}

TEST_F(ServerLoopTest, AFrameMayComeByteByByte) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> body) {
    (*loop)->send(from, frame_of(frame.number + 100, body.size()));
  };
  Running running(**loop);
  auto fd = connect_to(path());
  ASSERT_TRUE(fd);
  const std::vector<std::byte> frame = frame_of(5, 30);
  for (const std::byte& byte : frame) ASSERT_TRUE(send_all(fd->get(), {&byte, 1}));
  EXPECT_EQ(receive_frame(fd->get()).number, 105U);
}

TEST_F(ServerLoopTest, ADamagedLengthEndsTheConnectionAndNoOther) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  std::vector<ConnectionId> closed;
  handler.on_closed = [&](ConnectionId id) { closed.push_back(id); };
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) {
    (*loop)->send(from, frame_of(frame.number, 0));
  };
  Running running(**loop);
  auto good = connect_to(path());
  ASSERT_TRUE(good);
  ASSERT_TRUE(send_all(good->get(), frame_of(1, 0)));
  EXPECT_EQ(receive_frame(good->get()).number, 1U);
  for (const std::uint32_t size : {0U, 15U, kMaxFrame + 1, 0xFFFFFFFFU}) {
    auto bad = connect_to(path());
    ASSERT_TRUE(bad);
    const Frame frame{.size = size, .number = 9};
    ASSERT_TRUE(send_all(bad->get(), std::as_bytes(std::span(&frame, 1))));
    EXPECT_EQ(receive_frame(bad->get()).size, 0U) << size;
  }
  ASSERT_TRUE(send_all(good->get(), frame_of(2, 0)));
  EXPECT_EQ(receive_frame(good->get()).number, 2U);
  running.finish();
  EXPECT_EQ(closed.size(), 4U);
}

TEST_F(ServerLoopTest, ClosedIsToldOnceWhoeverEndsIt) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  std::vector<ConnectionId> closed;
  bool inside = false;
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) {
    if (frame.number == 0) return;
    inside = true;
    (*loop)->disconnect(from);
    (*loop)->disconnect(from);
    (*loop)->send(from, frame_of(1, 0));  // goes nowhere
    inside = false;
  };
  handler.on_closed = [&](ConnectionId id) {
    EXPECT_FALSE(inside);
    closed.push_back(id);
    if (closed.size() == 2) (*loop)->stop();
  };
  std::thread peers([&] {
    auto first = connect_to(path());
    ASSERT_TRUE(first);
    ASSERT_TRUE(send_all(first->get(), frame_of(1, 0)));
    EXPECT_EQ(receive_frame(first->get()).size, 0U);
    auto second = connect_to(path());
    ASSERT_TRUE(second);
    ASSERT_TRUE(send_all(second->get(), frame_of(0, 0)));
  });
  EXPECT_TRUE((*loop)->run());
  peers.join();
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_NE(closed[0], closed[1]);
}

TEST_F(ServerLoopTest, TimersRunInOrderOfTimeThenOfSetting) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  ServerLoop& server = **loop;
  std::vector<int> order;
  const Duration start = server.now();
  server.at(start + milliseconds(20), [&] {
    EXPECT_GE(server.now(), start + milliseconds(20));
    order.push_back(4);
    server.stop();
  });
  server.at(start + milliseconds(10), [&] { order.push_back(2); });
  server.at(start + milliseconds(10), [&] { order.push_back(3); });
  const ServerLoop::TimerId never = server.at(start + milliseconds(5), [&] { order.push_back(99); });
  server.at(start - milliseconds(1), [&] {  // past: at once
    order.push_back(1);
    server.cancel(never);
    server.cancel(never);
    server.cancel(123456);
  });
  EXPECT_TRUE(server.run());
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
}

TEST_F(ServerLoopTest, ATimerThatSetsItselfForThePastDoesNotStarveConnections) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  ServerLoop& server = **loop;
  std::function<void()> again = [&] { server.at(Duration(0), again); };
  again();
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) {
    server.send(from, frame_of(frame.number, 0));
  };
  Running running(server);
  auto fd = connect_to(path());
  ASSERT_TRUE(fd);
  ASSERT_TRUE(send_all(fd->get(), frame_of(3, 0)));
  EXPECT_EQ(receive_frame(fd->get()).number, 3U);
}

TEST_F(ServerLoopTest, WhatIsQueuedIsSentBeforeTheEnd) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  handler.on_frame = [&](ConnectionId from, const Frame& /*frame*/, std::span<const std::byte> /*body*/) {
    for (std::uint64_t i = 0; i < 200; ++i) (*loop)->send(from, frame_of(i, 50000));  // more than a socket holds
    (*loop)->stop();
  };
  Running running(**loop);
  auto fd = connect_to(path());
  ASSERT_TRUE(fd);
  ASSERT_TRUE(send_all(fd->get(), frame_of(0, 0)));
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(receive_frame(fd->get()).number, i);
}

TEST_F(ServerLoopTest, APeerThatDoesNotReadIsDisconnected) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  bool gone = false;
  handler.on_frame = [&](ConnectionId from, const Frame& /*frame*/, std::span<const std::byte> /*body*/) {
    for (int i = 0; i < 17; ++i) (*loop)->send(from, std::vector<std::byte>(kMaxFrame));
  };
  handler.on_closed = [&](ConnectionId /*id*/) {
    gone = true;
    (*loop)->stop();
  };
  auto fd = connect_to(path());
  ASSERT_TRUE(fd);
  ASSERT_TRUE(send_all(fd->get(), frame_of(0, 0)));
  EXPECT_TRUE((*loop)->run());
  EXPECT_TRUE(gone);
}

TEST_F(ServerLoopTest, OneLoopMayBeTheClientOfAnother) {
  Handler server_handler;
  auto server = ServerLoop::create(path("server.sock"), server_handler);
  ASSERT_TRUE(server);
  server_handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) {
    (*server)->send(from, answer_frame(Op::space, frame.number, 0, Empty{}));
  };
  Running running(**server);
  Handler handler;
  auto loop = ServerLoop::create(path("client.sock"), handler);
  ASSERT_TRUE(loop);
  auto connection = (*loop)->connect(path("server.sock"));
  ASSERT_TRUE(connection);
  handler.on_frame = [&](ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) {
    EXPECT_EQ(from, *connection);
    EXPECT_EQ(frame.flags, kAnswer);
    EXPECT_EQ(frame.number, 77U);
    (*loop)->stop();
  };
  (*loop)->send(*connection, request_frame(Op::space, 77, Empty{}));
  EXPECT_TRUE((*loop)->run());
  const auto nobody = (*loop)->connect(path("nobody.sock"));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().os_errno, ENOENT);
}

TEST_F(ServerLoopTest, ATermSignalStopsIt) {
  Handler handler;
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop);
  (*loop)->at((*loop)->now(), [] { ::pthread_kill(::pthread_self(), SIGTERM); });
  EXPECT_TRUE((*loop)->run());
}

TEST_F(ServerLoopTest, SocketsOfTheDeadAreReplacedOthersAreNot) {
  Handler handler;
  {
    // Left behind: bound, and nobody listens any more.
    auto dead = listen_at(path());
    ASSERT_TRUE(dead);
  }
  ASSERT_TRUE(std::filesystem::exists(path()));
  auto loop = ServerLoop::create(path(), handler);
  ASSERT_TRUE(loop) << loop.error().message;
  const auto second = ServerLoop::create(path(), handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::exists);
  EXPECT_THAT(second.error().message, HasSubstr("another server listens"));
  loop->reset();
  EXPECT_FALSE(std::filesystem::exists(path()));

  std::ofstream(path("file")) << "precious";
  const auto third = ServerLoop::create(path("file"), handler);
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().message, HasSubstr("another kind of file"));
  EXPECT_TRUE(std::filesystem::exists(path("file")));
}

TEST_F(ServerLoopTest, PathsMayBeLong) {
  const std::string folder = dir_ + "/" + std::string(100, 'a') + "/" + std::string(100, 'b');
  std::filesystem::create_directories(folder);
  Handler handler;
  auto loop = ServerLoop::create(folder + "/oss0.sock", handler);
  ASSERT_TRUE(loop) << loop.error().message;
  EXPECT_TRUE(connect_to(folder + "/oss0.sock"));
  EXPECT_FALSE(connect_to(folder + "/oss1.sock"));
}

}  // namespace
}  // namespace iez::lab
