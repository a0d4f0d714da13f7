#include "lab/client_node.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "lab/client_params.hpp"
#include "lab/fuse_mount.hpp"
#include "lab/mounts.hpp"
#include "lab/server_loop.hpp"

namespace iez::lab {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration kGrace = 1s;  // for calls that are under way at the end

std::uint64_t draw() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number || number == 0) {
  }
  return number;
}

// The same over restarts: what the servers know of this client, they know by it.
Result<std::uint64_t> identity(const Config& config, const std::string& node) {
  const fs::path folder = fs::path(config.dir) / node;
  const fs::path path = folder / "identity";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_errno(error.value(), folder.string());
  {
    std::ifstream file(path);
    std::uint64_t known = 0;
    if (file >> std::hex >> known && known != 0) return known;
  }
  const std::uint64_t made = std::max<std::uint64_t>(draw() >> 1U, 1);  // servers keep the upper half for who has no number
  const fs::path aside = folder / "identity.new";
  {
    std::ofstream file(aside);
    file << fmt::format("{:016x}\n", made);
    if (!file.flush()) return fail(Errc::io, fmt::format("{}: cannot be written", aside.string()));
  }
  fs::rename(aside, path, error);
  if (error) return fail_errno(error.value(), path.string());
  return made;
}

class Node final : public ServerHandler {
 public:
  Node(const Config& config, std::uint32_t index, std::string where, std::uint64_t client)
      : config_(config), name_("client" + std::to_string(index)), where_(std::move(where)), client_(client) {}

  Result<void> run() {
    IEZ_TRY(loop_, ServerLoop::create(socket_path(config_, name_), *this));
    IEZ_TRY(mount_, FuseMount::mount(config_, where_, {.config = config_, .node = name_, .client = client_, .session = draw()}));
    ClientParams params(config_, name_, client_, mount_->client(), clock_);
    std::thread kernel([this] {
      mount_->run();
      kernel_done_ = true;
      loop_->stop();
    });
    std::thread keeper([this, &params] { keep(params); });
    const auto served = loop_->run();
    mount_->end();
    for (int i = 0; i < kGrace / 10ms && !kernel_done_; ++i) std::this_thread::sleep_for(10ms);
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    if (!kernel_done_) {
      // Their threads cannot be ended; the kernel gives their callers an error when the process is gone.
      loop_.reset();
      ::_exit(served ? 0 : 1);
    }
    kernel.join();
    keeper.join();
    mount_.reset();
    return served;
  }

  void frame(ConnectionId from, const Frame& frame, std::span<const std::byte> /*body*/) override {
    const auto op = static_cast<Op>(frame.op);
    switch (op) {
      case Op::connect:
        loop_->send(from, answer_frame(op, frame.number, 0, ConnectAnswer{.boot = 1}));
        return;
      case Op::describe:
        loop_->send(from, answer_frame(op, frame.number, 0, DescribeAnswer{.json = describe()}));
        return;
      case Op::stop:
        loop_->send(from, answer_frame(op, frame.number, 0, Empty{}));
        loop_->stop();
        return;
      default:
        loop_->send(from, answer_frame(op, frame.number, ENOTSUP, Empty{}));
    }
  }
  void closed(ConnectionId /*connection*/) override {}

 private:
  void keep(ClientParams& params) {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      lock.unlock();
      params.update();
      lock.lock();
      changed_.wait_for(lock, 1s, [this] { return stop_; });
    }
  }

  std::string describe() const {
    FsClient& files = mount_->client();
    nlohmann::ordered_json json;
    json["node"] = name_;
    json["mount"] = where_;
    json["mds_connected"] = files.mds_connected();
    json["oss_connected"] = nlohmann::ordered_json::array();
    for (std::uint32_t i = 0; i < config_.oss_count; ++i) json["oss_connected"].push_back(files.connected(i));
    json["locks"] = files.locks();
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    for (std::uint32_t i = 0; i < config_.ost_count(); ++i) {
      const OstTraffic traffic = files.traffic(i);
      read += traffic.reads.bytes;
      written += traffic.writes.bytes;
    }
    json["read_bytes"] = read;
    json["written_bytes"] = written;
    return json.dump();
  }

  const Config config_;
  const std::string name_;
  const std::string where_;
  const std::uint64_t client_;
  SystemClock clock_;
  std::unique_ptr<ServerLoop> loop_;
  std::unique_ptr<FuseMount> mount_;
  std::atomic<bool> kernel_done_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
};

}  // namespace

std::string mount_path(const Config& config, std::uint32_t client) { return config.dir + "/mnt/client" + std::to_string(client); }

Result<void> serve_client(const Config& config, std::uint32_t index, Logger& log) {
  // Before any thread starts: each must leave these signals to the loop.
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&ours, signal);
  ::pthread_sigmask(SIG_BLOCK, &ours, nullptr);

  const std::string where = mount_path(config, index);
  // Left by a process that was killed.
  while (is_mounted(where)) {
    log.info("mount of a dead process", {{"path", where}});
    if (const int error = unmount(where, true); error != 0) return fail_errno(error, where);
  }
  std::error_code error;
  fs::create_directories(where, error);
  if (error) return fail_errno(error.value(), where);
  IEZ_TRY(const std::uint64_t client, identity(config, "client" + std::to_string(index)));
  Node node(config, index, where, client);
  return node.run();
}

}  // namespace iez::lab
