#include "demo_stage.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "base/exec_strings.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "input/parse_report.hpp"
#include "json.hpp"
#include "lab/lab_control.hpp"
#include "lab_view.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/layout_codec.hpp"
#include "model/cluster.hpp"
#include "model/layout.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr int kCannotStart = 127;
constexpr auto kLook = 50ms;      // between two looks at something that is waited for
constexpr auto kPatience = 20s;   // for what takes a second
constexpr auto kLongest = 300s;   // of one run
constexpr auto kAgents = 1300ms;  // in which every agent publishes once
constexpr const char* kLabName = "demo";

std::string own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : path.string();
}

struct Spawn {
  std::vector<std::string> words;
  std::string folder;  // to start in; empty: this one
  Environment environment;
  std::string output;  // files; empty: nowhere
  std::string talk;
};

// Only what may be called between fork and exec.
void redirect(const std::string& path, int to) {
  const int fd = path.empty() ? ::open("/dev/null", O_WRONLY) : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd >= 0) ::dup2(fd, to);
}

// The process ends when this one does.
Result<pid_t> spawn(Spawn what) {
  ExecStrings words(std::move(what.words));
  ExecStrings environment = environment_with(what.environment);
  char* const* const arguments = words.get();
  char* const* const variables = environment.get();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);
  if (const int nothing = ::open("/dev/null", O_RDONLY); nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  redirect(what.output, STDOUT_FILENO);
  redirect(what.talk, STDERR_FILENO);
  if (!what.folder.empty() && ::chdir(what.folder.c_str()) != 0) ::_exit(kCannotStart);
  ::execve(arguments[0], arguments, variables);
  ::_exit(kCannotStart);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

std::string last_line(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return "";
  std::string_view rest = text::trim(*text);
  const std::size_t end = rest.rfind('\n');
  return std::string(end == std::string_view::npos ? rest : rest.substr(end + 1));
}

// Until a process has written a line, or has ended.
Result<std::string> first_line(pid_t pid, const std::string& path, const std::string& talk, const std::string& name) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < limit) {
    if (const auto text = read_text_file(path); text && text->find('\n') != std::string::npos) {
      return text->substr(0, text->find('\n'));
    }
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) return fail(Errc::io, fmt::format("{} ended: {}", name, last_line(talk)));
    std::this_thread::sleep_for(kLook);
  }
  return fail(Errc::io, fmt::format("{} says nothing", name));
}

// Bytes that a node says are in use on all OSTs it knows.
Result<std::uint64_t> used_below(const std::string& root) {
  IEZ_TRY(const auto sources, open_sources({root}));
  input::ParseReport report;
  IEZ_TRY(const auto reading, lustre::read_clusters(sources, {}, report));
  std::uint64_t used = 0;
  for (const auto& view : reading.file_systems) {
    for (const model::Ost& ost : view.cluster.osts) used += model::used(ost).count;
  }
  return used;
}

// Runs a command of this program to its end.
Result<void> run_quietly(std::vector<std::string> words, const std::string& talk) {
  words.insert(words.begin(), own_program());
  const std::string name = words.size() > 2 ? words[1] + ' ' + words[2] : words.back();
  IEZ_TRY(const pid_t pid, spawn({.words = std::move(words), .talk = talk}));
  const int status = wait_for(pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(Errc::io, fmt::format("iez {} failed: {}", name, last_line(talk)));
}

}  // namespace

std::string DemoStage::mount(std::uint32_t client) const { return fmt::format("{}/mnt/client{}", lab(), client); }

Result<DemoStage> DemoStage::set_up(const DemoStageOptions& options) {
  const char* const given = std::getenv("TMPDIR");
  std::string path = std::string(given != nullptr && *given == '/' ? given : "/tmp") + "/iez-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, path);
  DemoStage stage(path);
  IEZ_CHECK(stage.start_guardian());
  IEZ_CHECK(stage.start_lab(options));
  stage.environment_ = {{"IEZ_STATE", path + "/state"},
                        {"IEZ_STORE", "sqlite:" + path + "/iez.db"},
                        {"IEZ_OVERRIDE_DIRECTORIES", "1"},
                        {"IEZ_LAB", stage.lab()}};
  if (options.coordinator) IEZ_CHECK(stage.start_services());
  return stage;
}

DemoStage::DemoStage(DemoStage&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      leash_(std::move(other.leash_)),
      guardian_(std::exchange(other.guardian_, 0)),
      services_(std::exchange(other.services_, {})),
      environment_(std::move(other.environment_)),
      coordinator_(other.coordinator_) {}

DemoStage::~DemoStage() {
  for (const pid_t service : services_) ::kill(service, SIGTERM);
  for (const pid_t service : services_) static_cast<void>(wait_for(service));
  leash_.reset();
  if (guardian_ > 0) static_cast<void>(wait_for(guardian_));
}

// It holds the other end of a pipe: when nobody has this end any more, the demo is over.
Result<void> DemoStage::start_guardian() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  input::UniqueFd hold(ends[0]);
  leash_ = input::UniqueFd(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid > 0) {
    guardian_ = pid;
    return {};
  }
  leash_.reset();
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  redirect("", STDOUT_FILENO);
  redirect("", STDERR_FILENO);
  std::array<char, 1> byte{};
  while (::read(hold.get(), byte.data(), byte.size()) < 0 && errno == EINTR) {
  }
  static_cast<void>(run_quietly({"lab", "down", "--dir", lab()}, ""));
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  ::_exit(0);
}

Result<void> DemoStage::start_lab(const DemoStageOptions& options) {
  return run_quietly({"lab", "up", "--dir", lab(), "--name", kLabName, "--oss", std::to_string(kDemoServers), "--osts",
                      std::to_string(kDemoOstsPerServer), "--clients", std::to_string(kDemoClients), "--ost-size", "1G", "--rate",
                      fmt::format("{:.0f}B/s", options.ost_rate.value)},
                     folder_ + "/lab.log");
}

Result<void> DemoStage::start_services() {
  const std::string program = own_program();
  const std::string samples = fmt::format("ipc://{}/samples", folder_);
  const std::string requests = fmt::format("ipc://{}/requests", folder_);
  const auto start = [this](const std::string& name, std::vector<std::string> words) -> Result<pid_t> {
    IEZ_TRY(const pid_t pid, spawn({.words = std::move(words),
                                    .environment = environment_,
                                    .output = fmt::format("{}/{}.out", folder_, name),
                                    .talk = fmt::format("{}/{}.log", folder_, name)}));
    services_.push_back(pid);
    return pid;
  };
  // Its node is the whole lab, and busy with that: nobody waits for a quieter moment.
  IEZ_TRY(const pid_t serve,
          start("serve", {program, "serve", "--listen", "127.0.0.1:0", "--samples", samples, "--requests", requests, "--state",
                          folder_ + "/serve", "--cpu-limit", "1", "--memory-limit", "1", "--rate-limit", "0", "--json"}));
  const auto line = first_line(serve, folder_ + "/serve.out", folder_ + "/serve.log", "iez serve");
  if (!line) {
    services_.clear();  // it has been waited for
    return std::unexpected(line.error());
  }
  const auto told = ordered_json::parse(*line, nullptr, false);
  if (!told.is_object() || !told.contains("url") || !told["url"].is_string()) {
    return fail(Errc::io, fmt::format("iez serve says '{}': expected where it listens", text::printable(*line)));
  }
  coordinator_ = true;
  environment_.emplace_back("IEZ_COORDINATOR", told["url"].get<std::string>());
  std::vector<std::string> nodes{"mds"};
  for (std::uint32_t server = 0; server < kDemoServers; ++server) nodes.push_back(fmt::format("oss{}", server));
  for (const std::string& node : nodes) {
    IEZ_CHECK(start(node, {program, "agent", "--root", fmt::format("{}/params/{}", lab(), node), "--name", node, "--samples",
                           samples, "--requests", requests, "--interval", "1s"}));
  }
  return {};
}

Result<std::string> DemoStage::folder(std::uint32_t client, const std::string& name, std::uint16_t stripe_count) const {
  const std::string path = mount(client) + '/' + name;
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return fail_errno(error.value(), path);
  if (stripe_count == 0) return path;
  IEZ_TRY(const auto request,
          lustre::encode_request(model::Layout{.components = {{.stripe_size = Bytes::mib(1), .stripe_count = stripe_count}}}));
  if (::setxattr(path.c_str(), "lustre.lov", request.data(), request.size(), 0) != 0) return fail_errno(errno, path);
  return path;
}

Result<std::vector<DemoStage::Output>> DemoStage::run(const std::vector<Command>& commands, const Tell& tell) const {
  struct Running {
    pid_t pid = 0;
    std::string files;  // what their names begin with
    std::optional<int> status;
  };
  std::vector<Running> running;
  running.reserve(commands.size());
  std::optional<Error> problem;
  for (const Command& command : commands) {
    Spawn what{.words = command.words, .folder = mount(command.client), .environment = environment_};
    what.words.insert(what.words.begin(), own_program());
    what.environment.emplace_back("IEZ_ROOT", fmt::format("{}/params/client{}", lab(), command.client));
    const std::string files = fmt::format("{}/run{}", folder_, running.size());
    what.output = files + ".out";
    what.talk = files + ".log";
    const auto pid = spawn(std::move(what));
    if (!pid) {
      problem = pid.error();
      break;
    }
    running.push_back({.pid = *pid, .files = files});
  }
  const auto limit = std::chrono::steady_clock::now() + kLongest;
  std::size_t left = running.size();
  while (left > 0) {
    for (Running& one : running) {
      int status = 0;
      if (one.status || ::waitpid(one.pid, &status, WNOHANG) != one.pid) continue;
      one.status = status;
      --left;
      if (status != 0) {  // the others may be waiting for it
        for (const Running& other : running) {
          if (!other.status) ::kill(other.pid, SIGTERM);
        }
      }
    }
    if (left > 0 && !problem && std::chrono::steady_clock::now() > limit) {
      problem = fail(Errc::limit, "a run of the demo does not end").error();
      for (const Running& one : running) {
        if (!one.status) ::kill(one.pid, SIGKILL);
      }
    }
    tell();
    if (left > 0) std::this_thread::sleep_for(kLook);
  }
  if (problem) return std::unexpected(*std::move(problem));
  std::vector<Output> outputs;
  outputs.reserve(running.size());
  for (std::size_t i = 0; i < running.size(); ++i) {
    const int status = running[i].status.value_or(0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return fail(Errc::io,
                  fmt::format("iez {} failed: {}", fmt::join(commands[i].words, " "), last_line(running[i].files + ".log")));
    }
    IEZ_TRY(std::string data, read_text_file(running[i].files + ".out"));
    IEZ_TRY(std::string talk, read_text_file(running[i].files + ".log"));
    outputs.push_back({.data = std::move(data), .talk = std::move(talk)});
  }
  return outputs;
}

Result<std::vector<std::uint64_t>> DemoStage::used() const {
  IEZ_TRY(const lab::Config config, lab::load_config(lab()));
  std::vector<std::uint64_t> used;
  for (const LabDfRow& row : lab_df_rows(config, lab::look(config))) {
    if (!row.known) return fail(Errc::io, fmt::format("OST {} does not answer", row.ost));
    used.push_back(row.used);
  }
  return used;
}

Result<void> DemoStage::clear(std::uint32_t client, const std::string& name) const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(mount(client) + '/' + name, error)) {
    if (::unlink(entry.path().c_str()) != 0) return fail_errno(errno, entry.path().string());
  }
  if (error) return fail_errno(error.value(), name);
  return {};
}

Result<void> DemoStage::wait_until(const std::function<Result<bool>()>& is_so, const Tell& tell) const {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < limit) {
    IEZ_TRY(const bool done, is_so());
    if (done) return {};
    tell();
    std::this_thread::sleep_for(kLook);
  }
  return fail(Errc::io, "the OSTs of the lab do not become empty");
}

Result<void> DemoStage::wait_until_empty(const Tell& tell) const {
  const auto is_empty = [this]() -> Result<bool> {
    IEZ_TRY(const auto bytes, used());
    return std::ranges::all_of(bytes, [](std::uint64_t one) { return one == 0; });
  };
  return wait_until(is_empty, tell);
}

// Plans are made by what the nodes tell of themselves, which is a second or two behind: on a real system nobody notices, here a
// run takes no longer than that.
Result<void> DemoStage::wait_until_known_empty(const Tell& tell) const {
  std::vector<std::string> roots;
  for (std::uint32_t client = 0; client < kDemoClients; ++client)
    roots.push_back(fmt::format("{}/params/client{}", lab(), client));
  for (std::uint32_t server = 0; server < kDemoServers; ++server) roots.push_back(fmt::format("{}/params/oss{}", lab(), server));
  const auto is_known = [&roots]() -> Result<bool> {
    for (const std::string& root : roots) {
      IEZ_TRY(const std::uint64_t used, used_below(root));
      if (used != 0) return false;
    }
    return true;
  };
  IEZ_CHECK(wait_until(is_known, tell));
  // Every agent tells it once more.
  for (auto waited = 0ms; coordinator_ && waited < kAgents; waited += kLook) {
    tell();
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

}  // namespace iez::cli
