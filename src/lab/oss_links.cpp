#include "lab/oss_links.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace iez::lab {

namespace {

constexpr Duration kBetweenTicks = std::chrono::seconds(1);
constexpr Duration kPatience = std::chrono::seconds(5);
constexpr std::uint32_t kAtOnce = 512;                                          // objects of one request
constexpr std::uint64_t kMdsClient = std::numeric_limits<std::int64_t>::max();  // mounts draw theirs

std::string node_of(std::uint32_t oss) { return fmt::format("oss{}", oss); }

}  // namespace

OssLinks::OssLinks(const Config& config, std::uint64_t boot, ServerLoop& loop, MetadataStore& store, ObjectAllocator& allocator,
                   Logger& log)
    : config_(config), boot_(boot), loop_(loop), store_(store), allocator_(allocator), log_(log), servers_(config.oss_count) {}

void OssLinks::start() { tick(); }

void OssLinks::tick() {
  for (std::uint32_t oss = 0; oss < servers_.size(); ++oss) {
    Server& server = servers_[oss];
    if (!server.up) reach(oss);
    if (!server.up) continue;
    loop_.send(server.connection, request_frame(Op::space, next_number_++, Empty{}));
    if (server.destroying != 0 && loop_.now() - server.sent > kPatience) server.destroying = 0;
    destroy(oss);
  }
  loop_.at(loop_.now() + kBetweenTicks, [this] { tick(); });
}

void OssLinks::reach(std::uint32_t oss) {
  const auto connection = loop_.connect(socket_path(config_, node_of(oss)));
  if (!connection) return;
  Server& server = servers_[oss];
  server.connection = *connection;
  server.up = true;
  server.destroying = 0;
  const ConnectRequest hello{.client = kMdsClient, .session = boot_, .node = "mds"};
  loop_.send(server.connection, request_frame(Op::connect, next_number_++, hello));
  log_.info("connected", {{"node", node_of(oss)}});
}

void OssLinks::destroy_soon() {
  if (std::exchange(destroy_is_due_, true)) return;
  loop_.at(loop_.now(), [this] {
    destroy_is_due_ = false;
    for (std::uint32_t oss = 0; oss < servers_.size(); ++oss) destroy(oss);
  });
}

void OssLinks::destroy(std::uint32_t oss) {
  Server& server = servers_[oss];
  if (!server.up || server.destroying != 0) return;
  server.doomed = store_.doomed(first_ost(oss), config_.osts_per_oss, kAtOnce);
  if (server.doomed.empty()) return;
  server.destroying = next_number_++;
  server.sent = loop_.now();
  loop_.send(server.connection, request_frame(Op::destroy, server.destroying, ObjectsRequest{.names = server.doomed, .job = {}}));
}

void OssLinks::destroyed(std::uint32_t oss, std::int32_t error) {
  Server& server = servers_[oss];
  server.destroying = 0;
  if (error != 0) {
    log_.warning("objects were not destroyed", {{"node", node_of(oss)}, {"errno", fmt::format("{}", error)}});
    return;  // until the next tick
  }
  store_.begin();
  store_.forget_doomed(server.doomed);
  if (!store_.commit()) {
    log_.error("destroyed objects are still listed", {{"reason", store_.take_failure()}});
    return;
  }
  destroy(oss);
}

bool OssLinks::frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) {
  const std::size_t oss = find(from);
  if (oss == servers_.size()) return false;
  if ((frame.flags & kAnswer) == 0) return true;
  FrameReader reader(body);
  std::int32_t error = 0;
  reader(error);
  if (!reader.good()) return true;
  if (frame.number == servers_[oss].destroying) {
    destroyed(static_cast<std::uint32_t>(oss), error);
  } else if (frame.op == static_cast<std::uint16_t>(Op::space) && error == 0) {
    SpaceAnswer space;
    reader(space);
    if (reader.good()) allocator_.see(space.osts);
  }
  return true;
}

bool OssLinks::closed(ConnectionId connection) {
  const std::size_t oss = find(connection);
  if (oss == servers_.size()) return false;
  servers_[oss].up = false;
  servers_[oss].destroying = 0;
  allocator_.lose(first_ost(static_cast<std::uint32_t>(oss)), config_.osts_per_oss);
  log_.warning("connection lost", {{"node", node_of(static_cast<std::uint32_t>(oss))}});
  return true;
}

std::size_t OssLinks::find(ConnectionId connection) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].up && servers_[i].connection == connection) return i;
  }
  return servers_.size();
}

}  // namespace iez::lab
