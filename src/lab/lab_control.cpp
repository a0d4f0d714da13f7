#include "lab/lab_control.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "lab/client_node.hpp"
#include "lab/node_lock.hpp"
#include "lab/unix_socket.hpp"

namespace iez::lab {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration kPatience = 30s;  // for a process to answer
constexpr Duration kPolite = 5s;     // before SIGKILL
constexpr Duration kPause = 20ms;
constexpr const char* kControlLock = "lab.lock";
constexpr const char* kConfigFile = "lab.json";
constexpr const char* kUnfinished = "lab.json.new";  // of a start that was killed

Duration now() { return SystemClock().monotonic(); }

bool is_client(const std::string& node) { return node.starts_with("client"); }
std::uint32_t number_of(const std::string& client) { return static_cast<std::uint32_t>(std::stoul(client.substr(6))); }
std::string log_path(const Config& config, const std::string& node) { return config.dir + '/' + node + ".log"; }

// ---- One request ----

bool send_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

// The answer's bytes behind its errno.
template <typename Message>
Result<std::vector<std::byte>> ask(const Config& config, const std::string& node, Op op, const Message& message) {
  IEZ_TRY(const input::UniqueFd fd, connect_to(socket_path(config, node)));
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  Frame header;
  const auto silent = [&] { return fail(Errc::io, fmt::format("{}: does not answer", node)); };
  if (!send_all(fd.get(), request_frame(op, 1, message))) return silent();
  if (!receive_all(fd.get(), std::as_writable_bytes(std::span(&header, 1)))) return silent();
  if (header.size < sizeof header + sizeof(std::int32_t) || header.size > kMaxFrame) return silent();
  std::vector<std::byte> body(header.size - sizeof header);
  if (!receive_all(fd.get(), body)) return silent();
  std::int32_t error = 0;
  std::memcpy(&error, body.data(), sizeof error);
  if (error != 0) return fail_errno(error, node);
  body.erase(body.begin(), body.begin() + sizeof error);
  return body;
}

// ---- Starting ----

// The last lines of a log, for a process that died.
std::string tail(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > 5) lines.erase(lines.begin());
  }
  return fmt::format("{}", fmt::join(lines, "\n  "));
}

// A full disk takes no log either.
std::string why_silent(const Config& config) {
  constexpr std::uintmax_t kLittle = std::uintmax_t{1} << 20U;
  std::error_code error;
  const fs::space_info space = fs::space(config.dir, error);
  return !error && space.available < kLittle ? fmt::format(": {}: {}", config.dir, std::generic_category().message(ENOSPC)) : "";
}

// In a session of its own: Ctrl-C is for who started the lab, not for the lab.
Result<pid_t> spawn(const Config& config, const std::string& program, const std::string& node) {
  std::array<std::string, 6> words{program, "lab", "serve", node, "--dir", config.dir};
  std::array<char*, 7> arguments{};
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  const std::string log = log_path(config, node);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // Nothing that was open here may stay open as long as the lab runs: a pipe that somebody reads to its end.
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  ::posix_spawn_file_actions_addchdir_np(&files, "/");
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return fail_errno(failed, program);
  return child;
}

// A node is up when it is of use: the metadata server when it reaches every OST, else the first files would lie on the few that
// it knows; a client when it reaches all.
bool answers(const Config& config, const std::string& node) {
  const auto said = describe(config, node);
  if (!said) return false;
  const auto json = nlohmann::json::parse(*said, nullptr, false);
  if (!json.is_object()) return false;
  if (node == "mds") {
    return std::ranges::all_of(json.value("osts", nlohmann::json::array()),
                               [](const nlohmann::json& ost) { return ost.value("connected", false); });
  }
  if (!is_client(node)) return true;
  if (!json.value("mds_connected", false)) return false;
  for (const auto& connected : json.value("oss_connected", nlohmann::json::array())) {
    if (!connected.is_boolean() || !connected.get<bool>()) return false;
  }
  struct stat root{};
  const std::string path = mount_path(config, number_of(node));
  return is_mounted(path) && ::stat(path.c_str(), &root) == 0 && root.st_ino == kRootInode;
}

Result<void> bring_up(const Config& config, const std::string& program, const std::vector<std::string>& nodes, const Say& say) {
  std::map<std::string, pid_t> started;
  for (const std::string& node : nodes) {
    if (NodeLock::holder(lock_path(config, node)) != 0) continue;
    IEZ_TRY(started[node], spawn(config, program, node));
  }
  const Duration until = now() + kPatience;
  for (const std::string& node : nodes) {
    while (!answers(config, node)) {
      const auto child = started.find(node);
      if (child != started.end() && ::waitpid(child->second, nullptr, WNOHANG) == child->second) {
        const std::string words = tail(log_path(config, node));
        if (words.empty()) return fail(Errc::io, fmt::format("{} ended without a word{}", node, why_silent(config)));
        return fail(Errc::io, fmt::format("{} ended; its last words:\n  {}", node, words));
      }
      if (now() > until) {
        return fail(Errc::io,
                    fmt::format("{} does not answer after {}; see {}", node, to_string(kPatience), log_path(config, node)));
      }
      std::this_thread::sleep_for(kPause);
    }
    say(fmt::format("{} {}", node, started.contains(node) ? "started" : "runs already"));
  }
  return {};
}

// ---- Stopping ----

void end_process(const Config& config, const std::string& node) {
  const std::string lock = lock_path(config, node);
  int pid = NodeLock::holder(lock);
  if (pid == 0) return;
  ::kill(pid, SIGTERM);
  ::kill(pid, SIGCONT);
  const Duration until = now() + kPolite;
  while ((pid = NodeLock::holder(lock)) != 0) {
    if (now() > until) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

// Never through a mount: it is another file system, and not the lab's files.
void remove_files(const Config& config) {
  std::error_code ignored;
  const fs::path dir = config.dir;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(dir / "mnt", ignored), end; !ignored && at != end; at.increment(ignored))
    found.push_back(at->path());
  for (const fs::path& path : found) ::rmdir(path.c_str());
  ::rmdir((dir / "mnt").c_str());
  fs::remove_all(dir / "params", ignored);
  for (const std::string& node : nodes_of(config)) {
    fs::remove_all(dir / node, ignored);
    for (const char* const suffix : {".sock", ".lock", ".log"}) fs::remove(dir / (node + suffix), ignored);
  }
  fs::remove(dir / kUnfinished, ignored);
  fs::remove(dir / kConfigFile, ignored);
  fs::remove(dir / kControlLock, ignored);
  ::rmdir(dir.c_str());
}

Result<NodeLock> take_control(const Config& config) {
  auto lock = NodeLock::take(config.dir + '/' + kControlLock);
  if (!lock && lock.error().code == Errc::exists) {
    return fail(Errc::exists, fmt::format("{}: another 'iez lab' works on it at the moment", config.dir));
  }
  return lock;
}

struct Difference {
  const char* field;
  bool differs;
};

std::string first_difference(const Config& a, const Config& b) {
  const std::array<Difference, 17> fields{{{"name", a.name != b.name},
                                           {"oss", a.oss_count != b.oss_count},
                                           {"osts", a.osts_per_oss != b.osts_per_oss},
                                           {"clients", a.clients != b.clients},
                                           {"ost-size", a.ost_size != b.ost_size},
                                           {"rate", a.rate != b.rate},
                                           {"seek", a.seek != b.seek},
                                           {"threads", a.threads != b.threads},
                                           {"rpc-size", a.rpc_size != b.rpc_size},
                                           {"rpcs", a.rpcs_in_flight != b.rpcs_in_flight},
                                           {"dirty", a.dirty != b.dirty},
                                           {"stripe-count", a.stripe_count != b.stripe_count},
                                           {"stripe-size", a.stripe_size != b.stripe_size},
                                           {"law", a.law != b.law},
                                           {"goal", a.law_goal != b.law_goal},
                                           {"job-variable", a.job_variable != b.job_variable},
                                           {"seed", a.seed != b.seed}}};
  for (const Difference& field : fields) {
    if (field.differs) return field.field;
  }
  return "";
}

}  // namespace

std::vector<std::string> nodes_of(const Config& config) {
  std::vector<std::string> nodes{"mds"};
  for (std::uint32_t i = 0; i < config.oss_count; ++i) nodes.push_back("oss" + std::to_string(i));
  for (std::uint32_t i = 0; i < config.clients; ++i) nodes.push_back("client" + std::to_string(i));
  return nodes;
}

Result<void> check_folder(const Config& config) {
  std::error_code error;
  const fs::path dir = config.dir;
  if (fs::exists(dir / kConfigFile, error)) {
    IEZ_TRY(const Config found, load_config(config.dir));
    const std::string field = first_difference(found, config);
    if (field.empty()) return {};
    return fail(Errc::exists, fmt::format("{}: there is a lab with another --{}; end it by 'iez lab down', or choose another "
                                          "--name or --dir",
                                          config.dir, field));
  }
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == kControlLock || name == kUnfinished) continue;
    return fail(Errc::exists, fmt::format("{}: is not empty, and no lab; a lab needs a folder of its own", config.dir));
  }
  return {};
}

namespace {

// All nodes, and the mounts of the clients.
Result<Stopped> stop_nodes(const Config& config, const Say& say) {
  Stopped stopped;
  std::vector<std::string> nodes = nodes_of(config);
  std::ranges::reverse(nodes);
  for (const std::string& node : nodes) {
    const bool ran = NodeLock::holder(lock_path(config, node)) != 0;
    if (is_client(node)) {
      const std::string path = mount_path(config, number_of(node));
      if (is_mounted(path)) {
        if (auto users = users_of(path); !users.empty()) stopped.busy.push_back({.path = path, .users = std::move(users)});
      }
      // Several, if a start was killed at a bad moment. Lazily: nobody's cache of a lab that ends is worth waiting for.
      while (is_mounted(path)) {
        if (const int error = unmount(path, true); error != 0) return fail_errno(error, path);
      }
    }
    if (!ran) continue;
    end_process(config, node);
    stopped.nodes.push_back(node);
    say(fmt::format("{} stopped", node));
  }
  return stopped;
}

// Before anything is started: what a mount says of it is hard to read.
Result<void> check_fuse() {
  const int fd = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    return {};
  }
  const int why = errno;
  auto failed = fail_errno(why, "/dev/fuse");
  failed.error().message +=
      "; clients mount by FUSE (in a container: --device /dev/fuse --cap-add SYS_ADMIN); --clients 0 does without";
  return failed;
}

Result<void> start_nodes(const Config& config, const std::string& program, const Say& say) {
  std::error_code error;
  if (!fs::exists(fs::path(config.dir) / kConfigFile, error)) IEZ_CHECK(save_config(config));
  std::vector<std::string> servers;
  std::vector<std::string> clients;
  for (const std::string& node : nodes_of(config)) (is_client(node) ? clients : servers).push_back(node);
  IEZ_CHECK(bring_up(config, program, servers, say));
  return bring_up(config, program, clients, say);
}

}  // namespace

Result<void> start(const Config& config, const std::string& program, const Say& say) {
  IEZ_CHECK(check(config));
  IEZ_CHECK(check_folder(config));  // once more below, when nobody else can make it
  if (config.clients > 0) IEZ_CHECK(check_fuse());
  std::error_code error;
  fs::create_directories(config.dir, error);
  if (error) return fail_errno(error.value(), config.dir);
  IEZ_TRY(const NodeLock lock, take_control(config));
  IEZ_CHECK(check_folder(config));
  const bool is_new = !fs::exists(fs::path(config.dir) / kConfigFile, error);
  auto started = start_nodes(config, program, say);
  if (!started && is_new) {
    // What was there before is left as it is: its files may be wanted, and 'iez lab up' may bring up the rest.
    if (const auto stopped = stop_nodes(config, say); stopped) remove_files(config);
  }
  return started;
}

Result<Stopped> stop(const Config& config, const Say& say) {
  IEZ_TRY(const NodeLock lock, take_control(config));
  IEZ_TRY(Stopped stopped, stop_nodes(config, say));
  remove_files(config);
  std::error_code error;
  for (fs::directory_iterator at(config.dir, error), end; !error && at != end; at.increment(error)) {
    stopped.leftover.push_back(at->path().string());
  }
  return stopped;
}

std::vector<NodeState> look(const Config& config) {
  std::vector<NodeState> states;
  for (const std::string& node : nodes_of(config)) {
    NodeState state{.node = node, .pid = NodeLock::holder(lock_path(config, node))};
    if (state.pid != 0) state.answer = describe(config, node).value_or("");
    if (is_client(node)) state.mounted = is_mounted(mount_path(config, number_of(node)));
    states.push_back(std::move(state));
  }
  return states;
}

Result<std::string> describe(const Config& config, const std::string& node) {
  IEZ_TRY(const std::vector<std::byte> body, ask(config, node, Op::describe, Empty{}));
  FrameReader reader(body);
  DescribeAnswer answer;
  reader(answer);
  if (!reader.good()) return fail(Errc::parse, fmt::format("{}: an answer that makes no sense", node));
  return answer.json;
}

Result<void> inject(const Config& config, const std::string& node, const FaultRequest& fault) {
  if (auto answer = ask(config, node, Op::fault, fault); !answer) return std::unexpected(std::move(answer).error());
  return {};
}

Result<int> kill_node(const Config& config, const std::string& node) {
  const std::string lock = lock_path(config, node);
  const int pid = NodeLock::holder(lock);
  if (pid == 0) return fail(Errc::not_found, fmt::format("{}: does not run", node));
  if (::kill(pid, SIGKILL) != 0) return fail_errno(errno, node);
  while (NodeLock::holder(lock) == pid) std::this_thread::sleep_for(kPause);
  return pid;
}

}  // namespace iez::lab
