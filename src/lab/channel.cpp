#include "lab/channel.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "input/byte_stream.hpp"
#include "lab/unix_socket.hpp"

namespace iez::lab {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(10);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr Duration kTick = std::chrono::milliseconds(250);
constexpr Duration kHandshake = std::chrono::seconds(2);
constexpr Duration kLook = std::chrono::milliseconds(50);  // between two looks at whether a caller was interrupted

std::int64_t milliseconds(Duration duration) { return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(); }

}  // namespace

class Channel::Pending {
 public:
  Pending(std::uint64_t number, std::vector<std::byte> frame, OnAnswer on_answer)
      : number_(number), frame_(std::move(frame)), on_answer_(std::move(on_answer)) {
    std::memcpy(frame_.data() + offsetof(Frame, number), &number, sizeof number);
  }

  void finish(Reply answer) {
    if (on_answer_) on_answer_(answer);
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
    done_ = true;
    changed_.notify_all();
  }

 private:
  friend class Channel;
  friend struct Channel::State;

  const std::uint64_t number_;
  std::vector<std::byte> frame_;
  const OnAnswer on_answer_;
  // Of the channel's mutex.
  bool queued_ = false;  // on its way into the socket
  Duration asked_{};     // when it was sent, or asked about, last

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Reply answer_;
};

struct Channel::State {
  explicit State(Options given)
      : options(std::move(given)), next(options.first_number), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // ---- Any thread, under the mutex ----

  void poke() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
  }

  // As much as the socket takes. A lost connection is noticed by the thread that reads.
  void push_out() {
    while (!out.empty() && socket) {
      Pending& first = *out.front();
      const ssize_t sent =
          ::send(socket.get(), first.frame_.data() + out_offset, first.frame_.size() - out_offset, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        return;
      }
      out_offset += static_cast<std::size_t>(sent);
      if (out_offset < first.frame_.size()) continue;
      first.queued_ = false;
      first.asked_ = clock.monotonic();
      out.pop_front();
      out_offset = 0;
    }
  }

  void enqueue(const Call& call) {
    call->queued_ = true;
    out.push_back(call);
  }

  Call make(std::vector<std::byte> frame, OnAnswer on_answer) {
    return std::make_shared<Pending>(next++, std::move(frame), std::move(on_answer));
  }

  bool reachable() const { return ready && clock.monotonic() - heard < kDeafAfter; }

  // ---- The channel's thread ----

  void run() {
    Duration pause = kFirstPause;
    while (!stopping()) {
      auto fd = connect_to(options.path);
      if (fd) {
        begin(*std::move(fd));
        serve();
        end();
        if (was_ready) pause = kFirstPause;
      }
      if (stopping()) break;
      sleep(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
  }

  bool stopping() {
    const std::scoped_lock lock(mutex);
    return stop;
  }

  void sleep(Duration duration) const {
    const Duration until = clock.monotonic() + duration;
    for (Duration now = clock.monotonic(); now < until; now = clock.monotonic()) {
      pollfd wait{.fd = wake.get(), .events = POLLIN, .revents = 0};
      if (::poll(&wait, 1, static_cast<int>(milliseconds(until - now)) + 1) > 0 && drain_wake()) return;
    }
  }

  // True if the channel is to stop: a wake-up for any other reason does not end a pause.
  bool drain_wake() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake.get(), &count, sizeof count);
    const std::scoped_lock lock(mutex);
    return stop;
  }

  void begin(input::UniqueFd fd) {
    const std::scoped_lock lock(mutex);
    socket = std::move(fd);
    was_ready = false;
    ready = false;
    out.clear();
    out_offset = 0;
    heard = clock.monotonic();
    header_got = 0;
    body_got = 0;
    handshake = make(request_frame(Op::connect, 0, options.connect), {});
    enqueue(handshake);
    push_out();
  }

  void end() {
    const std::scoped_lock lock(mutex);
    socket.reset();
    was_ready = ready;
    ready = false;
    for (const Call& call : out) call->queued_ = false;
    out.clear();
    out_offset = 0;
    queries.clear();
  }

  // Until the connection is lost.
  void serve() {
    const Duration started = clock.monotonic();
    while (true) {
      std::array<pollfd, 2> waits{};
      {
        const std::scoped_lock lock(mutex);
        if (stop) return;
        const auto writable = static_cast<short>(out.empty() ? 0 : POLLOUT);
        waits[0] = {.fd = socket.get(), .events = static_cast<short>(POLLIN | writable), .revents = 0};
        waits[1] = {.fd = wake.get(), .events = POLLIN, .revents = 0};
      }
      const Duration tick = std::min(kTick, options.silence / 4);
      if (::poll(waits.data(), waits.size(), static_cast<int>(milliseconds(tick)) + 1) < 0 && errno != EINTR) return;
      if ((waits[1].revents & POLLIN) != 0 && drain_wake()) return;
      if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return;
      const std::scoped_lock lock(mutex);
      push_out();
      const Duration now = clock.monotonic();
      if (!ready && now - started > kHandshake) return;
      if (ready && now >= next_look) look_for_silence(now);
    }
  }

  void look_for_silence(Duration now) {
    next_look = now + std::min(kTick, options.silence / 4);
    std::vector<Call> silent;
    for (const auto& [number, call] : unanswered) {
      if (!call->queued_ && now - call->asked_ >= options.silence) silent.push_back(call);
    }
    for (const Call& call : silent) {
      call->asked_ = now;
      const Call query = make(request_frame(Op::query, 0, QueryRequest{.number = call->number_}), {});
      queries[query->number_] = call->number_;
      enqueue(query);
    }
    // Lost queries leave an entry; the numbers grow, so the oldest are the first.
    while (queries.size() > 4096) queries.erase(queries.begin());
    push_out();
  }

  // All that is there. False: the connection is lost.
  bool receive() {
    while (true) {
      const bool in_header = header_got < sizeof(Frame);
      std::byte* const to = in_header ? reinterpret_cast<std::byte*>(&header) + header_got : body.data() + body_got;
      const std::size_t want = in_header ? sizeof(Frame) - header_got : body.size() - body_got;
      const ssize_t got = want == 0 ? 0 : ::recv(socket.get(), to, want, MSG_DONTWAIT);
      if (want != 0 && got == 0) return false;
      if (got < 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EWOULDBLOCK;
      }
      (in_header ? header_got : body_got) += static_cast<std::size_t>(got);
      if (header_got < sizeof(Frame)) continue;
      if (in_header) {
        if (header.size < sizeof(Frame) || header.size > kMaxFrame) return false;
        body.resize(header.size - sizeof(Frame));
        body_got = 0;
      }
      if (body_got < body.size()) continue;
      header_got = 0;
      if (!take_frame()) return false;
    }
  }

  bool take_frame() {
    if ((header.flags & kAnswer) == 0) {
      if (static_cast<Op>(header.op) == Op::revoke && options.revoked) {
        FrameReader reader(body);
        LockRequest lock;
        reader(lock);
        if (reader.good()) options.revoked(lock);
      }
      return true;
    }
    if (body.size() < sizeof(std::int32_t)) return false;
    std::int32_t error = 0;
    std::memcpy(&error, body.data(), sizeof error);
    Reply answer{.error = error, .body = {}};
    if (handshake && header.number == handshake->number_) {
      if (error != 0) return false;
      answer.body = std::move(body);
      return finish_handshake(answer);
    }
    Call call;
    {
      const std::scoped_lock lock(mutex);
      heard = clock.monotonic();
      if (const auto query = queries.find(header.number); query != queries.end()) {
        take_query_answer(query->second);
        queries.erase(query);
        return true;
      }
      const auto found = unanswered.find(header.number);
      if (found == unanswered.end()) return true;  // answered before, or given up
      call = found->second;
      unanswered.erase(found);
    }
    answer.body = std::move(body);
    body = {};
    call->finish(std::move(answer));
    return true;
  }

  // Under the mutex.
  void take_query_answer(std::uint64_t about) {
    FrameReader reader(std::span<const std::byte>(body).subspan(sizeof(std::int32_t)));
    QueryAnswer answer;
    reader(answer);
    const auto found = unanswered.find(about);
    if (!reader.good() || answer.known != 0 || found == unanswered.end() || found->second->queued_) return;
    enqueue(found->second);
    push_out();
  }

  bool finish_handshake(Reply& answer) {
    const auto hello = answer.as<ConnectAnswer>();
    if (!hello) return false;
    const bool first = !boot.has_value();
    const bool restarted = boot.has_value() && *boot != hello->boot;
    boot = hello->boot;
    if (!first && options.reconnected) options.reconnected(restarted);
    const std::scoped_lock lock(mutex);
    handshake.reset();
    heard = clock.monotonic();
    ready = true;
    if (!first) ++again;
    for (const auto& [number, call] : unanswered) enqueue(call);
    push_out();
    return true;
  }

  const Options options;
  const SystemClock clock;

  mutable std::mutex mutex;
  std::uint64_t next;
  std::map<std::uint64_t, Call> unanswered;
  std::map<std::uint64_t, std::uint64_t> queries;  // their numbers: what they ask about
  std::deque<Call> out;
  std::size_t out_offset = 0;
  input::UniqueFd socket;
  bool ready = false;
  bool stop = false;
  Duration heard{};
  std::uint64_t again = 0;

  // Of the channel's thread.
  Call handshake;
  bool was_ready = false;
  Duration next_look{};
  std::optional<std::uint64_t> boot;
  Frame header;
  std::size_t header_got = 0;
  std::vector<std::byte> body;
  std::size_t body_got = 0;

  input::UniqueFd wake;
  std::thread thread;
};

Channel::Channel(Options options) : state_(std::make_unique<State>(std::move(options))) {
  state_->thread = std::thread([this] { state_->run(); });
}

Channel::~Channel() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stop = true;
  }
  state_->poke();
  state_->thread.join();
  for (const auto& [number, call] : state_->unanswered) call->finish({.error = ENOTCONN, .body = {}});
}

Channel::Call Channel::start_frame(std::vector<std::byte> frame, OnAnswer on_answer) {
  bool left = false;
  Call call;
  {
    const std::scoped_lock lock(state_->mutex);
    call = state_->make(std::move(frame), std::move(on_answer));
    state_->unanswered.emplace(call->number_, call);
    if (!state_->ready) return call;
    const bool idle = state_->out.empty();
    state_->enqueue(call);
    if (idle) state_->push_out();
    left = idle && !state_->out.empty();
  }
  if (left) state_->poke();
  return call;
}

Reply Channel::wait(const Call& call, const Interrupted& interrupted) {
  std::unique_lock lock(call->mutex_);
  if (!interrupted) {
    call->changed_.wait(lock, [&] { return call->done_; });
    return std::move(call->answer_);
  }
  while (!call->changed_.wait_for(lock, kLook, [&] { return call->done_; })) {
    if (!interrupted()) continue;
    lock.unlock();
    {
      const std::scoped_lock channel(state_->mutex);
      if (!state_->reachable() && state_->unanswered.erase(call->number_) != 0) return {.error = EINTR, .body = {}};
    }
    lock.lock();
  }
  return std::move(call->answer_);
}

bool Channel::connected() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->ready;
}

std::uint64_t Channel::reconnects() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->again;
}

std::size_t Channel::unanswered() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->unanswered.size();
}

}  // namespace iez::lab
