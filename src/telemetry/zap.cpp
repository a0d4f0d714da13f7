#include "telemetry/zap.hpp"

#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace iez::telemetry {

namespace {

constexpr std::size_t kCurveParts = 7;  // version, number, domain, address, identity, mechanism, key
constexpr std::size_t kBinaryKey = 32;

void send_part(const ZmqSocket& socket, std::string_view part, bool more) {
  zmq_send(socket.get(), part.data(), part.size(), more ? ZMQ_SNDMORE : 0);
}

}  // namespace

Result<std::unique_ptr<ZapHandler>> ZapHandler::start(const ZmqContext& context, std::string keys_folder) {
  IEZ_TRY(ZmqSocket socket, make_socket(context, ZMQ_REP));
  if (auto bound = bind_socket(socket, "inproc://zeromq.zap.01"); !bound) return std::unexpected(std::move(bound).error());
  const int stop_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_fd < 0) return fail_errno(errno, "eventfd");
  return std::unique_ptr<ZapHandler>(new ZapHandler(std::move(socket), stop_fd, std::move(keys_folder)));
}

ZapHandler::ZapHandler(ZmqSocket socket, int stop_fd, std::string keys_folder)
    : socket_(std::move(socket)), stop_fd_(stop_fd), keys_(std::move(keys_folder)), thread_([this] { run(); }) {}

ZapHandler::~ZapHandler() {
  static_cast<void>(::eventfd_write(stop_fd_, 1));
  thread_.join();
  ::close(stop_fd_);
}

void ZapHandler::run() {
  while (true) {
    std::array<zmq_pollitem_t, 2> items{{{.socket = socket_.get(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0},
                                         {.socket = nullptr, .fd = stop_fd_, .events = ZMQ_POLLIN, .revents = 0}}};
    if (zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0 && zmq_errno() != EINTR) return;
    if ((items[1].revents & ZMQ_POLLIN) != 0) return;
    if ((items[0].revents & ZMQ_POLLIN) != 0) answer();
  }
}

void ZapHandler::answer() {
  std::vector<std::string> parts;
  for (bool more = true; more;) {
    ZmqMessage message;
    if (zmq_msg_recv(message.get(), socket_.get(), 0) < 0) return;
    parts.emplace_back(message.text());
    more = message.more();
  }
  std::optional<std::string> name;
  if (parts.size() == kCurveParts && parts[5] == "CURVE" && parts[6].size() == kBinaryKey) {
    std::array<char, 41> key{};
    zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(parts[6].data()), kBinaryKey);
    keys_.look(clock_);
    name = keys_.name_of(key.data());
    if (!name) {
      const std::scoped_lock lock(mutex_);
      last_refused_ = fmt::format("{} with key {}", parts[3], key.data());
    }
  }
  if (!name) ++refused_;
  send_part(socket_, "1.0", true);
  send_part(socket_, parts.size() > 1 ? parts[1] : "", true);
  send_part(socket_, name ? "200" : "400", true);
  send_part(socket_, name ? "OK" : "the key is not known", true);
  send_part(socket_, name ? (name->empty() ? kSharedUser : std::string_view(*name)) : "", true);
  send_part(socket_, "", false);
}

std::string ZapHandler::last_refused() const {
  const std::scoped_lock lock(mutex_);
  return last_refused_;
}

}  // namespace iez::telemetry
