// A metadata server for tests, and somebody who talks to it frame by frame.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/mds.hpp"
#include "lab/unix_socket.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

inline Config small_lab(const std::string& dir) {
  Config config;
  config.dir = dir;
  config.oss_count = 2;
  config.osts_per_oss = 3;
  return config;
}

inline Logger quiet_log() { return Logger::make({.level = LogLevel::off}).value(); }

// In a thread of this process.
class RunningMds {
 public:
  explicit RunningMds(const Config& config) : mds_(Mds::create(config, log_).value()), thread_([this] { (void)mds_->run(); }) {}
  ~RunningMds() {
    mds_->stop();
    thread_.join();
  }
  RunningMds(const RunningMds&) = delete;
  RunningMds& operator=(const RunningMds&) = delete;

 private:
  Logger log_ = quiet_log();
  std::unique_ptr<Mds> mds_;
  std::thread thread_;
};

// In a process of its own, which can be killed.
class MdsProcess {
 public:
  explicit MdsProcess(const Config& config) : pid_(::fork()) {
    if (pid_ != 0) return;
    Logger log = quiet_log();
    ::_exit(serve_mds(config, log) ? 0 : 1);
  }
  ~MdsProcess() { kill(); }
  MdsProcess(const MdsProcess&) = delete;
  MdsProcess& operator=(const MdsProcess&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

struct RawAnswer {
  std::uint64_t number = 0;
  std::int32_t error = 0;
  std::vector<std::byte> fields;
};

class MdsPeer {
 public:
  MdsPeer(const Config& config, std::uint64_t client, std::uint64_t session)
      : config_(config), hello_{.client = client, .session = session, .node = "test"} {
    connect();
  }

  // Waits for the server to be there.
  void connect() {
    for (int i = 0; i < 2000; ++i) {
      auto connected = connect_to(socket_path(config_, "mds"));
      if (connected) {
        fd_ = *std::move(connected);
        const auto answer = ask<ConnectAnswer>(Op::connect, hello_);
        if (answer) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "no server at " << socket_path(config_, "mds");
  }
  void disconnect() { fd_ = {}; }

  void send(const std::vector<std::byte>& frame) const {
    // A server that was killed does not take it: whoever cares asks again.
    (void)::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  }

  // Nothing: the connection ended, or there was no answer in time.
  std::optional<RawAnswer> receive(int timeout_ms = 10000) const {
    Frame frame;
    if (!take(&frame, sizeof frame, timeout_ms)) return std::nullopt;
    std::vector<std::byte> body(frame.size - sizeof frame);
    if (!take(body.data(), body.size(), timeout_ms)) return std::nullopt;
    RawAnswer answer{.number = frame.number};
    FrameReader reader(body);
    reader(answer.error);
    answer.fields.assign(reader.rest().begin(), reader.rest().end());
    return answer;
  }

  template <typename T, typename Message>
  Answer<T> ask(Op op, const Message& message) {
    send(request_frame(op, next_number_, message));
    const auto answer = receive();
    EXPECT_TRUE(!answer || answer->number == next_number_);
    ++next_number_;
    if (!answer) return std::unexpected(ECONNRESET);
    if (answer->error != 0) return std::unexpected(answer->error);
    T value;
    FrameReader reader(answer->fields);
    reader(value);
    EXPECT_TRUE(reader.good() && reader.rest().empty());
    return value;
  }

  std::uint64_t take_number() { return next_number_++; }

 private:
  bool take(void* to, std::size_t size, int timeout_ms) const {
    auto* at = static_cast<char*>(to);
    while (size > 0) {
      pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, timeout_ms) <= 0) return false;
      const ssize_t done = ::recv(fd_.get(), at, size, 0);
      if (done <= 0) return false;
      at += done;
      size -= static_cast<std::size_t>(done);
    }
    return true;
  }

  Config config_;
  ConnectRequest hello_;
  input::UniqueFd fd_;
  std::uint64_t next_number_ = 1;
};

}  // namespace iez::lab
