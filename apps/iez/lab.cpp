#include "lab.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.hpp"
#include "lab/lab_control.hpp"
#include "lab/serve.hpp"
#include "lab_view.hpp"

namespace iez::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "IEZ_LAB";
constexpr const char* kDefaultName = "iez";
constexpr int kCannotRun = 126;  // as env(1) has it
constexpr int kNotFound = 127;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<fs::path> labs_folder() {
  const std::string state = variable("XDG_STATE_HOME");
  const std::string home = variable("HOME");
  if (state.empty() && home.empty()) return fail(Errc::invalid_argument, "$HOME is not set: say where by --dir");
  const fs::path base = state.empty() ? fs::path(home) / ".local/state" : fs::path(state);
  return base / "iez/lab";
}

Result<std::string> folder_of(const LabChoice& choice) {
  std::string dir = choice.dir;
  if (dir.empty() && choice.name.empty()) dir = variable(kVariable);
  if (dir.empty()) {
    IEZ_TRY(const fs::path labs, labs_folder());
    dir = (labs / (choice.name.empty() ? kDefaultName : choice.name)).string();
  }
  std::error_code error;
  dir = fs::absolute(dir, error).lexically_normal().string();
  if (error) return fail_errno(error.value(), dir);
  while (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
  return dir;
}

template <typename T, typename U>
void take(T& to, const std::optional<U>& from) {
  if (from) to = *from;
}

std::string own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : path.string();
}

// A client learns of its OSTs one server after the other: what plans by its statistics should see all of them.
void await_statistics(const lab::Config& config, const std::string& root, Clock& clock) {
  constexpr int kTries = 50;
  const fs::path devices = fs::path(root) / "sys/fs/lustre/osc";
  for (int i = 0; i < kTries; ++i) {
    std::uint32_t known = 0;
    std::error_code error;
    for (fs::directory_iterator entry(devices, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      if (fs::exists(entry->path() / "kbytestotal", ignored)) ++known;
    }
    if (known >= config.ost_count()) return;
    clock.sleep(std::chrono::milliseconds(100));
  }
}

void say_progress(const std::string& line) { fmt::print(stderr, "{}\n", line); }

}  // namespace

Result<lab::Config> lab_config(const LabChoice& choice) {
  IEZ_TRY(const std::string dir, folder_of(choice));
  auto config = lab::load_config(dir);
  if (!config && config.error().code == Errc::not_found) {
    return fail(Errc::not_found, fmt::format("no lab in {}; 'iez lab up' makes one", dir));
  }
  return config;
}

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  const auto folder = labs_folder();
  if (!folder) return names;
  std::error_code error;
  for (fs::directory_iterator entry(*folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (fs::exists(entry->path() / "lab.json", ignored)) names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<void> run_lab_up(const LabUpOptions& options, Context& context) {
  IEZ_TRY(const std::string dir, folder_of(options.lab));
  lab::Config config;
  auto known = lab::load_config(dir);
  if (known) {
    config = *known;
  } else if (known.error().code != Errc::not_found) {
    return std::unexpected(known.error());
  }
  config.dir = dir;
  if (!options.lab.name.empty()) config.name = options.lab.name;
  take(config.oss_count, options.oss);
  take(config.osts_per_oss, options.osts);
  take(config.clients, options.clients);
  take(config.ost_size, options.ost_size);
  take(config.rate, options.rate);
  take(config.seek, options.seek);
  take(config.threads, options.threads);
  take(config.rpc_size, options.rpc_size);
  take(config.rpcs_in_flight, options.rpcs);
  take(config.dirty, options.dirty);
  take(config.stripe_count, options.stripe_count);
  take(config.stripe_size, options.stripe_size);
  take(config.law, options.law);
  take(config.law_goal, options.goal);
  take(config.job_variable, options.job_variable);
  take(config.seed, options.seed);
  IEZ_CHECK(lab::start(config, own_program(), say_progress));
  // Whoever plans by a mount from now on finds its OSTs.
  for (std::uint32_t client = 0; client < config.clients; ++client)
    await_statistics(config, lab::params_root(config, fmt::format("client{}", client)), context.clock);
  const auto states = lab::look(config);
  if (options.json) return print(lab_status_json(config, states));
  return print(lab_status_text(config, states, context.terminal, true));
}

Result<void> run_lab_down(const LabDownOptions& options, Context&) {
  IEZ_TRY(const lab::Config config, lab_config(options.lab));
  IEZ_TRY(const lab::Stopped stopped, lab::stop(config, say_progress));
  for (const lab::BusyMount& mount : stopped.busy) {
    for (const lab::MountUser& user : mount.users) {
      fmt::print(stderr, "{} was in use by process {} ({})\n", mount.path, user.pid, text::printable(user.program));
    }
  }
  for (const std::string& path : stopped.leftover) fmt::print(stderr, "{}: not of the lab, left\n", text::printable(path));
  // Folders of ours that are empty now: where all labs are, and above.
  if (options.lab.dir.empty() && stopped.leftover.empty()) {
    fs::path above = fs::path(config.dir).parent_path();
    for (const char* const name : {"lab", "iez"}) {
      if (above.filename() != name || ::rmdir(above.c_str()) != 0) break;
      above = above.parent_path();
    }
  }
  if (options.json) return print(lab_down_json(config, stopped));
  return {};
}

Result<void> run_lab_status(const LabStatusOptions& options, Context& context) {
  IEZ_TRY(const lab::Config config, lab_config(options.lab));
  const auto states = lab::look(config);
  if (options.json) return print(lab_status_json(config, states));
  return print(lab_status_text(config, states, context.terminal, !options.no_header));
}

Result<void> run_lab_df(const LabDfOptions& options, Context& context) {
  IEZ_TRY(const lab::Config config, lab_config(options.lab));
  const auto rows = lab_df_rows(config, lab::look(config));
  if (options.json) return print(lab_df_json(config, rows));
  return print(lab_df_text(config, rows, context.terminal, !options.no_header));
}

Result<void> run_lab_exec(const LabExecOptions& options, Context& context) {
  IEZ_TRY(const lab::Config config, lab_config(options.lab));
  if (options.client >= config.clients) {
    return fail(Errc::invalid_argument,
                fmt::format("--client {}: lab {} has {}", options.client, config.name, lab_clients_text(config)));
  }
  const std::string path = lab_mount_path(config, options.client);
  if (!lab::is_mounted(path)) return fail(Errc::not_found, fmt::format("{}: not mounted; 'iez lab up' mounts it", path));
  if (::chdir(path.c_str()) != 0) return fail_errno(errno, path);
  ::setenv(kVariable, config.dir.c_str(), 1);
  // What `iez run` plans by: the statistics of this client, as a user has them.
  const std::string root = lab::params_root(config, fmt::format("client{}", options.client));
  await_statistics(config, root, context.clock);
  ::setenv("IEZ_ROOT", root.c_str(), 1);
  ::setenv("PWD", path.c_str(), 1);
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int reason = errno;
  fmt::print(stderr, "iez lab exec: {}\n", fail_errno(reason, text::printable(words.front())).error().message);
  ::_exit(reason == ENOENT ? kNotFound : kCannotRun);
}

Result<void> run_lab_fault(const LabFaultOptions& options, Context&) {
  IEZ_TRY(const lab::Config config, lab_config(options.lab));
  IEZ_TRY(const LabFault fault, lab_fault_of(config, options.kind, options.target, options.value));
  for (const std::string& node : fault.kill) {
    if (const auto killed = lab::kill_node(config, node); !killed) return std::unexpected(killed.error());
  }
  for (const auto& [node, request] : fault.requests) {
    // Clearing all: a node that is down has no faults.
    if (auto done = lab::inject(config, node, request); !done && !fault.best_effort) return done;
  }
  if (options.json) return print(lab_fault_json(config, options.kind, options.target, options.value));
  return {};
}

Result<void> run_lab_serve(const LabServeOptions& options, Context& context) {
  IEZ_TRY(const lab::Config config, lab::load_config(options.dir));
  return lab::serve(config, options.node, context.log);
}

}  // namespace iez::cli
