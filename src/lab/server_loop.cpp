#include "lab/server_loop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "input/byte_stream.hpp"
#include "lab/unix_socket.hpp"

namespace iez::lab {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 20U;
constexpr std::size_t kMostQueued = std::size_t{256} << 20U;
constexpr std::size_t kGather = 64;  // frames given to the kernel by one call
constexpr Duration kFarewell = std::chrono::seconds(1);
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);  // when descriptors have run out

// What an event of epoll belongs to; connections follow.
enum Source : std::uint64_t { source_listener, source_timer, source_signal, source_wake, source_connections };

struct Connection {
  input::UniqueFd fd;
  std::vector<std::byte> in;
  std::size_t filled = 0;  // bytes of `in` that hold data
  std::deque<std::vector<std::byte>> out;
  std::size_t sent = 0;    // of the first
  std::size_t queued = 0;  // bytes of all
  bool waits_for_room = false;
  bool to_flush = false;
  bool dead = false;
};

}  // namespace

struct ServerLoop::State {
  explicit State(ServerHandler& the_handler) : handler(the_handler) {}
  ~State() {
    if (listener.get() >= 0) (void)::unlink(path.c_str());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> prepare();
  Result<void> watch(int fd, std::uint64_t source, std::uint32_t events) const;
  Result<ConnectionId> adopt(input::UniqueFd fd);
  void accept_all();
  void receive(ConnectionId id, Connection& connection);
  void deliver(ConnectionId id, Connection& connection);
  void flush(ConnectionId id, Connection& connection);
  void flush_all();
  void bury(ConnectionId id, Connection& connection);
  void bury_all();
  void run_timers();
  void arm_timer();
  void say_farewell();
  Result<void> turn();

  ServerHandler& handler;
  std::string path;
  input::UniqueFd epoll;
  input::UniqueFd listener;
  input::UniqueFd timer;
  input::UniqueFd signals;
  input::UniqueFd wake;
  std::atomic<bool> stopping = false;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections;
  ConnectionId next_connection = source_connections;
  std::vector<ConnectionId> unflushed;
  std::vector<ConnectionId> dead;
  std::map<std::pair<Duration, TimerId>, std::function<void()>> timers;
  std::unordered_map<TimerId, Duration> timer_times;
  TimerId next_timer = 1;
  Duration armed = Duration::max();
};

namespace {

Duration monotonic() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

Result<void> ServerLoop::State::prepare() {
  epoll = input::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  timer = input::UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  wake = input::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (epoll.get() < 0 || timer.get() < 0 || wake.get() < 0) return fail_errno(errno, fmt::format("server at {}", path));
  IEZ_CHECK(watch(listener.get(), source_listener, EPOLLIN));
  IEZ_CHECK(watch(timer.get(), source_timer, EPOLLIN));
  return watch(wake.get(), source_wake, EPOLLIN);
}

Result<void> ServerLoop::State::watch(int fd, std::uint64_t source, std::uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = source}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno(errno, fmt::format("server at {}", path));
  return {};
}

Result<ConnectionId> ServerLoop::State::adopt(input::UniqueFd fd) {
  const ConnectionId id = next_connection++;
  IEZ_CHECK(watch(fd.get(), id, EPOLLIN));
  auto connection = std::make_unique<Connection>();
  connection->fd = std::move(fd);
  connections.emplace(id, std::move(connection));
  return id;
}

void ServerLoop::State::accept_all() {
  while (true) {
    input::UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() >= 0) {
      (void)adopt(std::move(fd));  // without room in the kernel the peer sees its connection closed, and comes again
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // No descriptors: the listener stays readable, so look away for a while instead of spinning.
    (void)::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
    const TimerId id = next_timer++;
    const Duration when = monotonic() + kAcceptPause;
    timers.emplace(std::pair(when, id), [this] { (void)watch(listener.get(), source_listener, EPOLLIN); });
    timer_times.emplace(id, when);
    return;
  }
}

// One read for each event: a peer with much to say does not keep the others waiting.
void ServerLoop::State::receive(ConnectionId id, Connection& connection) {
  if (connection.in.size() < connection.filled + kReadSize / 2) connection.in.resize(connection.filled + kReadSize);
  const ssize_t got =
      ::recv(connection.fd.get(), connection.in.data() + connection.filled, connection.in.size() - connection.filled, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    bury(id, connection);
    return;
  }
  connection.filled += static_cast<std::size_t>(got);
  deliver(id, connection);
}

void ServerLoop::State::deliver(ConnectionId id, Connection& connection) {
  std::size_t taken = 0;
  while (!connection.dead && connection.filled - taken >= sizeof(Frame)) {
    Frame frame;
    std::memcpy(&frame, connection.in.data() + taken, sizeof frame);
    if (frame.size < sizeof frame || frame.size > kMaxFrame) {
      bury(id, connection);
      return;
    }
    if (connection.filled - taken < frame.size) {
      if (connection.in.size() < frame.size) connection.in.resize(frame.size);
      break;
    }
    handler.frame(id, frame, std::span(connection.in).subspan(taken + sizeof frame, frame.size - sizeof frame));
    taken += frame.size;
  }
  if (taken == 0) return;
  connection.filled -= taken;
  std::memmove(connection.in.data(), connection.in.data() + taken, connection.filled);
}

void ServerLoop::State::flush(ConnectionId id, Connection& connection) {
  while (!connection.dead && !connection.out.empty()) {
    std::array<iovec, kGather> pieces{};
    std::size_t count = 0;
    for (std::vector<std::byte>& frame : connection.out) {
      const std::size_t skip = count == 0 ? connection.sent : 0;
      pieces.at(count) = {.iov_base = frame.data() + skip, .iov_len = frame.size() - skip};
      if (++count == pieces.size()) break;
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(connection.fd.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {
      bury(id, connection);
      return;
    }
    if (sent < 0) break;
    connection.queued -= static_cast<std::size_t>(sent);
    connection.sent += static_cast<std::size_t>(sent);
    while (!connection.out.empty() && connection.sent >= connection.out.front().size()) {
      connection.sent -= connection.out.front().size();
      connection.out.pop_front();
    }
  }
  const bool waits = !connection.dead && !connection.out.empty();
  if (waits == connection.waits_for_room || connection.dead) return;
  connection.waits_for_room = waits;
  epoll_event event{.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.u64 = id}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_MOD, connection.fd.get(), &event) != 0) bury(id, connection);
}

void ServerLoop::State::flush_all() {
  for (const ConnectionId id : std::exchange(unflushed, {})) {
    const auto found = connections.find(id);
    if (found == connections.end()) continue;
    found->second->to_flush = false;
    flush(id, *found->second);
  }
}

void ServerLoop::State::bury(ConnectionId id, Connection& connection) {
  if (connection.dead) return;
  connection.dead = true;
  dead.push_back(id);
}

// Handlers may hold a span into a connection's buffer and end it by what they do, so connections go between turns only.
void ServerLoop::State::bury_all() {
  while (!dead.empty()) {
    for (const ConnectionId id : std::exchange(dead, {})) {
      connections.erase(id);
      handler.closed(id);
    }
  }
}

// Timers that are set meanwhile wait for the next turn, so that sockets get theirs.
void ServerLoop::State::run_timers() {
  const Duration now = monotonic();
  const TimerId first_new = next_timer;
  while (!timers.empty() && timers.begin()->first.first <= now && timers.begin()->first.second < first_new) {
    const auto node = timers.extract(timers.begin());
    timer_times.erase(node.key().second);
    node.mapped()();
  }
}

void ServerLoop::State::arm_timer() {
  const Duration wanted = timers.empty() ? Duration::max() : timers.begin()->first.first;
  if (wanted == armed) return;
  armed = wanted;
  itimerspec spec{};
  if (wanted != Duration::max()) {
    const Duration positive = std::max(wanted, Duration(1));  // zero would disarm
    spec.it_value.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(positive).count();
    spec.it_value.tv_nsec = (positive % std::chrono::seconds(1)).count();
  }
  (void)::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr);  // fails for bad arguments only
}

Result<void> ServerLoop::State::turn() {
  flush_all();
  bury_all();
  arm_timer();
  std::array<epoll_event, 64> events{};
  // What bury_all()'s handlers queued must not wait for the next event.
  const int timeout = unflushed.empty() && dead.empty() ? -1 : 0;
  const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), timeout);
  if (count < 0) {
    if (errno == EINTR) return {};
    return fail_errno(errno, fmt::format("server at {}", path));
  }
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(count))) {
    switch (event.data.u64) {
      case source_listener:
        accept_all();
        break;
      case source_timer: {
        std::uint64_t expirations = 0;
        (void)!::read(timer.get(), &expirations, sizeof expirations);
        armed = Duration::max();
        break;
      }
      case source_signal: {
        signalfd_siginfo info{};
        if (::read(signals.get(), &info, sizeof info) == sizeof info) stopping = true;
        break;
      }
      case source_wake:
        break;
      default: {
        const auto found = connections.find(event.data.u64);
        if (found == connections.end() || found->second->dead) break;
        Connection& connection = *found->second;
        if ((event.events & EPOLLOUT) != 0) flush(event.data.u64, connection);
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !connection.dead) receive(event.data.u64, connection);
      }
    }
  }
  run_timers();
  return {};
}

void ServerLoop::State::say_farewell() {
  const Duration end = monotonic() + kFarewell;
  flush_all();
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<ConnectionId> ids;
    for (const auto& [id, connection] : connections) {
      if (connection->dead || connection->out.empty()) continue;
      waiting.push_back({.fd = connection->fd.get(), .events = POLLOUT, .revents = 0});
      ids.push_back(id);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic()).count();
    if (waiting.empty() || left <= 0) return;
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    for (const ConnectionId id : ids) flush(id, *connections.at(id));
  }
}

Result<std::unique_ptr<ServerLoop>> ServerLoop::create(const std::string& path, ServerHandler& handler) {
  auto state = std::make_unique<State>(handler);
  state->path = path;
  IEZ_TRY(state->listener, listen_at(path));
  IEZ_CHECK(state->prepare());
  return std::unique_ptr<ServerLoop>(new ServerLoop(std::move(state)));
}

ServerLoop::ServerLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServerLoop::~ServerLoop() = default;

Result<void> ServerLoop::run() {
  sigset_t ours;
  sigset_t before;
  sigemptyset(&ours);
  sigaddset(&ours, SIGTERM);
  sigaddset(&ours, SIGINT);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &ours, &before); error != 0) return fail_errno(error, "block signals");
  const auto serve = [this, &ours]() -> Result<void> {
    state_->signals = input::UniqueFd(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
    if (state_->signals.get() < 0) return fail_errno(errno, fmt::format("server at {}", state_->path));
    IEZ_CHECK(state_->watch(state_->signals.get(), source_signal, EPOLLIN));
    while (!state_->stopping) IEZ_CHECK(state_->turn());
    state_->say_farewell();
    return {};
  };
  Result<void> result = serve();
  state_->signals = input::UniqueFd();
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

void ServerLoop::stop() {
  state_->stopping = true;
  const std::uint64_t one = 1;
  (void)!::write(state_->wake.get(), &one, sizeof one);  // fails only when it is readable already
}

Result<ConnectionId> ServerLoop::connect(const std::string& path) {
  IEZ_TRY(input::UniqueFd fd, connect_to(path));
  if (const int on = 1; ::ioctl(fd.get(), FIONBIO, &on) != 0) return fail_errno(errno, fmt::format("socket {}", path));
  return state_->adopt(std::move(fd));
}

void ServerLoop::send(ConnectionId to, std::vector<std::byte> frame) {
  const auto found = state_->connections.find(to);
  if (found == state_->connections.end() || found->second->dead) return;
  Connection& connection = *found->second;
  connection.queued += frame.size();
  connection.out.push_back(std::move(frame));
  if (connection.queued > kMostQueued) {
    state_->bury(to, connection);
  } else if (!connection.to_flush && !connection.waits_for_room) {
    connection.to_flush = true;
    state_->unflushed.push_back(to);
  }
}

void ServerLoop::disconnect(ConnectionId connection) {
  const auto found = state_->connections.find(connection);
  if (found != state_->connections.end()) state_->bury(connection, *found->second);
}

ServerLoop::TimerId ServerLoop::at(Duration when, std::function<void()> what) {
  const TimerId id = state_->next_timer++;
  state_->timers.emplace(std::pair(when, id), std::move(what));
  state_->timer_times.emplace(id, when);
  return id;
}

void ServerLoop::cancel(TimerId timer) {
  const auto found = state_->timer_times.find(timer);
  if (found == state_->timer_times.end()) return;
  state_->timers.erase(std::pair(found->second, timer));
  state_->timer_times.erase(found);
}

Duration ServerLoop::now() const { return monotonic(); }

}  // namespace iez::lab
