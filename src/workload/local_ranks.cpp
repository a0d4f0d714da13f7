#include "workload/local_ranks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"

namespace iez::workload {

namespace {

constexpr const char* kSocket = "IEZ_WORKLOAD_SOCKET";
constexpr const char* kRank = "IEZ_WORKLOAD_RANK";
constexpr int kCannotStart = 127;
constexpr std::size_t kMostText = 1024;
constexpr std::size_t kMostValues = 16;  // of one process in one meeting
// The first byte of a packet.
constexpr char kMeet = 'm';    // values follow; the answer is kMeet, at rank 0 with the values of all
constexpr char kGiveUp = 'x';  // a text follows

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::nullopt : text::parse_u64(value);
}

// The whole packet, or nothing at the end.
Result<std::string> receive(int fd, std::size_t most) {
  std::string packet(most, '\0');
  ssize_t got = 0;
  do {
    got = ::recv(fd, packet.data(), packet.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno(errno, "a process of the workload");
  packet.resize(static_cast<std::size_t>(got));
  return packet;
}

Result<void> send_packet(int fd, std::string_view packet) {
  ssize_t sent = 0;
  do {
    sent = ::send(fd, packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno, "a process of the workload");
  return {};
}

struct Child {
  pid_t pid = 0;
  input::UniqueFd socket;
  bool ended = false;
};

// The children of one workload; none survives it.
class Family {
 public:
  Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  ~Family() {
    for (Child& child : children_) {
      if (!child.ended) ::kill(child.pid, SIGKILL);
    }
    for (Child& child : children_) {
      int status = 0;
      while (!child.ended && ::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
  }

  Result<void> start(const std::vector<std::string>& command, std::uint32_t ranks) {
    children_.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) IEZ_CHECK(start_one(command, rank, ranks));
    return {};
  }

  // Until all have ended well, or one has not.
  Result<void> serve() {
    std::size_t living = children_.size();
    while (living > 0) {
      std::string all;
      std::size_t met = 0;
      for (std::size_t i = 0; i < children_.size(); ++i) {
        Child& child = children_[i];
        if (child.ended) continue;
        IEZ_TRY(const std::size_t who, next_packet(i, all));
        met += who;
        if (who == 0) --living;
      }
      if (met == 0) break;
      if (met != children_.size()) return fail(Errc::io, "a process of the workload ended before the others");
      for (std::size_t i = 0; i < children_.size(); ++i) {
        std::string answer(1, kMeet);
        if (i == 0) answer.append(all);
        if (const auto sent = send_packet(children_[i].socket.get(), answer); !sent) return gone(i, sent.error());
      }
    }
    return {};
  }

 private:
  Result<void> start_one(const std::vector<std::string>& command, std::uint32_t rank, std::uint32_t ranks) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail_errno(errno, "socketpair");
    input::UniqueFd ours(ends[0]);
    const input::UniqueFd theirs(ends[1]);
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork");
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kCannotStart);
      ::fcntl(theirs.get(), F_SETFD, 0);
      ::setenv(kSocket, std::to_string(theirs.get()).c_str(), 1);
      ::setenv(kRank, std::to_string(rank).c_str(), 1);
      ::setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
      ::setenv("PMI_SIZE", std::to_string(ranks).c_str(), 1);
      ::execvp(arguments[0], arguments.data());
      ::_exit(kCannotStart);
    }
    children_.push_back({.pid = pid, .socket = std::move(ours)});
    return {};
  }

  // 1 for a meeting, whose values are appended; 0 if the child has ended well.
  Result<std::size_t> next_packet(std::size_t index, std::string& all) {
    Child& child = children_[index];
    const auto received = receive(child.socket.get(), kMostText);
    if (!received) return std::unexpected(gone(index, received.error()).error());
    const std::string_view packet = *received;
    if (packet.empty()) return ended(index);
    if (packet[0] == kGiveUp) return fail(Errc::io, fmt::format("process {}: {}", index, text::printable(packet.substr(1))));
    all.append(packet.substr(1));
    return 1;
  }

  // A child whose socket is broken in the middle of a meeting: how it ended says more than the socket does.
  Result<void> gone(std::size_t index, const Error& broken) {
    if (broken.os_errno != EPIPE && broken.os_errno != ECONNRESET) return std::unexpected(broken);
    IEZ_CHECK(ended(index));
    return fail(Errc::io, fmt::format("process {} ended before the others", index));
  }

  Result<std::size_t> ended(std::size_t index) {
    Child& child = children_[index];
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child.ended = true;
    if (WIFSIGNALED(status)) return fail(Errc::io, fmt::format("process {} was ended by signal {}", index, WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
      return fail(Errc::io, fmt::format("process {} failed with status {}", index, WEXITSTATUS(status)));
    return 0;
  }

  std::vector<Child> children_;
};

}  // namespace

Result<void> start_local_ranks(const std::vector<std::string>& command, std::uint32_t ranks) {
  Family family;
  IEZ_CHECK(family.start(command, ranks));
  return family.serve();
}

Result<std::unique_ptr<LocalRanks>> LocalRanks::join() {
  const auto fd = number_in(kSocket);
  const auto rank = number_in(kRank);
  if (!fd || !rank || *fd > 1'000'000 || *rank >= kMostRanks) {
    return fail(Errc::invalid_argument, "this is a process of 'iez workload', which starts it");
  }
  ::fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC);
  return std::unique_ptr<LocalRanks>(new LocalRanks(static_cast<int>(*fd), static_cast<std::uint32_t>(*rank)));
}

LocalRanks::~LocalRanks() { ::close(fd_); }

Result<void> LocalRanks::barrier() {
  IEZ_CHECK(gather({}));
  return {};
}

Result<std::vector<double>> LocalRanks::gather(std::span<const double> values) {
  IEZ_ASSERT(values.size() <= kMostValues);
  std::string packet(1, kMeet);
  packet.resize(1 + values.size_bytes());
  if (!values.empty()) std::memcpy(packet.data() + 1, values.data(), values.size_bytes());
  IEZ_CHECK(send_packet(fd_, packet));
  const std::size_t most = 1 + (rank_ == 0 ? kMostRanks * values.size_bytes() : 0);
  IEZ_TRY(const std::string answer, receive(fd_, most));
  if (answer.empty()) return fail(Errc::io, "'iez workload' is gone");
  std::vector<double> all((answer.size() - 1) / sizeof(double));
  if (!all.empty()) std::memcpy(all.data(), answer.data() + 1, all.size() * sizeof(double));
  return all;
}

void LocalRanks::give_up(const std::string& why) const {
  // The parent may be gone: then there is nobody to tell.
  std::string packet(1, kGiveUp);
  packet.append(why, 0, kMostText - 1);
  static_cast<void>(send_packet(fd_, packet));
}

}  // namespace iez::workload
