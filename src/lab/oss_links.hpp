// The metadata server's connections to the object servers: it asks how full their OSTs are, once a second, and has the objects
// of files that are gone destroyed, until each server says that they are.
//
// A server that does not answer is tried again every second. A request without an answer for five seconds is sent again; both are
// idempotent.
//
// Thread safety: none; lives in the thread of the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/log.hpp"
#include "base/units.hpp"
#include "lab/config.hpp"
#include "lab/metadata_store.hpp"
#include "lab/object_allocator.hpp"
#include "lab/server_loop.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class OssLinks {
 public:
  // All of them must outlive this. boot: of the metadata server.
  OssLinks(const Config& config, std::uint64_t boot, ServerLoop& loop, MetadataStore& store, ObjectAllocator& allocator,
           Logger& log);

  void start();
  void destroy_soon();  // there may be new doomed objects

  // From the handler of the loop. False: not one of these connections.
  bool frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body);
  bool closed(ConnectionId connection);

  bool connected(std::uint32_t oss) const { return servers_[oss].up; }

 private:
  struct Server {
    ConnectionId connection = 0;  // valid while up
    bool up = false;
    std::uint64_t destroying = 0;  // the request's number; 0: none
    Duration sent{};               // that request
    std::vector<ObjectName> doomed;
  };

  void tick();
  void reach(std::uint32_t oss);
  void destroy(std::uint32_t oss);
  void destroyed(std::uint32_t oss, std::int32_t error);
  std::uint32_t first_ost(std::uint32_t oss) const { return oss * config_.osts_per_oss; }
  std::size_t find(ConnectionId connection) const;  // servers_.size(): none

  Config config_;
  std::uint64_t boot_;
  ServerLoop& loop_;
  MetadataStore& store_;
  ObjectAllocator& allocator_;
  Logger& log_;
  std::vector<Server> servers_;
  std::uint64_t next_number_ = 1;
  bool destroy_is_due_ = false;
};

}  // namespace iez::lab
