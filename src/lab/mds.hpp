// The metadata server of a lab: names, attributes and layouts of files, for clients that ask over a socket.
//
// Exactly once: a changing request that succeeds is committed together with its answer; the same number from the same client
// then gets that answer again. One that fails changed nothing, and may be tried again. `query` therefore always says that a
// request is not known: whoever has no answer asks again.
//
// What a client has open outlives its connection by a minute, and a restart of the server; after that, or when the client's
// process is another, files without a name go.
//
// Faults: `drop` loses requests and answers, half and half; `full` (the server) gives ENOSPC to whatever makes an inode; `off`
// (an OST) keeps new objects away from it.
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "lab/config.hpp"
#include "lab/mds_params.hpp"
#include "lab/metadata_store.hpp"
#include "lab/object_allocator.hpp"
#include "lab/oss_links.hpp"
#include "lab/server_loop.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class Mds final : public ServerHandler {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Mds>> create(const Config& config, Logger& log);
  ~Mds() override;

  [[nodiscard]] Result<void> run();  // until it is told to stop
  void stop();                       // from any thread

  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) override;
  void closed(ConnectionId connection) override;

 private:
  struct Client {
    std::uint64_t id = 0;
    std::string node;
  };
  struct Call {
    ConnectionId from = 0;
    Op op{};
    std::uint64_t number = 0;
    std::span<const std::byte> body;
    std::uint64_t client = 0;  // of changes
    std::int64_t now = 0;      // wall clock
  };

  Mds(const Config& config, Logger& log);

  void serve(Call call);
  bool serve_common(const Call& call);
  void serve_reading(const Call& call);
  void serve_changing(Call& call);

  template <typename Message, typename Run>
  void read(const Call& call, Run run);
  template <typename Message, typename Run>
  void change(const Call& call, Run run);
  template <typename Message>
  void reply(const Call& call, const Message& message);
  void refuse(const Call& call, int error);
  void send(const Call& call, std::vector<std::byte> frame);
  void report_failure();

  void connect(const Call& call);
  int inject(const FaultRequest& fault);
  std::string describe();
  void evict_later(std::uint64_t client);
  bool is_connected(std::uint64_t client) const;
  void write_params();

  Answer<Entry> make(const Call& call, const MakeRequest& request);
  Answer<Entry> open(const Call& call, std::uint64_t inode);
  Answer<std::vector<std::byte>> give_layout(std::uint64_t inode, model::Layout wanted);
  model::Layout default_layout(std::uint64_t directory);
  Answer<BytesAnswer> get_xattr(const XattrRequest& request);
  Answer<BytesAnswer> list_xattrs(std::uint64_t inode);
  Answer<Empty> set_xattr(const Call& call, const XattrRequest& request);
  Answer<Empty> set_layout(std::uint64_t inode, std::span<const std::byte> value);
  Answer<Empty> remove_xattr(const Call& call, const XattrRequest& request);

  Config config_;
  Logger& log_;
  SystemClock clock_;
  Rng rng_;
  std::uint64_t boot_;
  ObjectAllocator allocator_;
  MdsParams params_;
  bool params_fail_ = false;  // said once
  std::unique_ptr<MetadataStore> store_;
  std::unique_ptr<ServerLoop> loop_;
  std::unique_ptr<OssLinks> links_;
  std::map<ConnectionId, Client> clients_;
  std::map<std::uint64_t, Duration> lost_;  // clients by id: when their last connection ended
  double drop_share_ = 0;
  bool drop_answer_ = false;  // of the request at hand
  bool is_full_ = false;
};

// Serves the lab in config.dir until SIGTERM, SIGINT or a stop request.
[[nodiscard]] Result<void> serve_mds(const Config& config, Logger& log);

}  // namespace iez::lab
