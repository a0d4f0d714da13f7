#include "doctor.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "api/cluster_counts.hpp"
#include "api/coordinator_client.hpp"
#include "base/text.hpp"
#include "config/settings.hpp"
#include "http/access.hpp"
#include "http/certificate.hpp"
#include "json.hpp"
#include "lustre/cluster_reader.hpp"
#include "preload_library.hpp"
#include "program_file.hpp"
#include "runs/mount_table.hpp"
#include "runs/run_environment.hpp"
#include "runs/space.hpp"
#include "store/store.hpp"
#include "table.hpp"
#include "telemetry/keys.hpp"
#include "wrap.hpp"
#include "writable_folder.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

enum class Health : std::uint8_t {
  good,
  absent,  // not here, which may be as it should
  bad
};

struct Finding {
  std::string what;
  Health health = Health::good;
  std::string found;
  std::string remedy;  // of what is bad
};

std::string_view word_of(Health health) {
  switch (health) {
    case Health::good:
      return "ok";
    case Health::absent:
      return "-";
    case Health::bad:
      return "FAIL";
  }
  return "";
}

class Doctor {
 public:
  explicit Doctor(Context& context) : context_(context) {}

  void look() {
    const config::SettingsSources sources = config::default_sources();
    look_at_settings(sources);
    look_at_libraries();
    look_at_mounts();
    look_at_state(sources);
    look_at_coordinator();
    look_at_serving();
    look_at_agent();
    look_at_labs();
  }

  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void good(std::string what, std::string found) { findings_.push_back({std::move(what), Health::good, std::move(found), ""}); }
  void absent(std::string what, std::string found) {
    findings_.push_back({std::move(what), Health::absent, std::move(found), ""});
  }
  void bad(std::string what, std::string found, std::string remedy) {
    findings_.push_back({std::move(what), Health::bad, std::move(found), std::move(remedy)});
  }

  void look_at_settings(const config::SettingsSources& sources) {
    auto settings = config::load_settings(sources);
    if (!settings) return bad("settings", settings.error().message, "mend the file; docs/formats/settings.md has every key");
    settings_ = *std::move(settings);
    std::vector<std::string> files;
    std::error_code error;
    for (const std::string& file : sources.files) {
      if (fs::is_regular_file(file, error)) files.push_back(file);
    }
    if (!settings_.enabled)
      return bad("settings", "enabled = false: iez run only runs the command", "remove the line, or IEZ_DISABLE");
    good("settings", files.empty() ? "the built-in ones" : fmt::format("{}", fmt::join(files, ", ")));
  }

  void look_at_libraries() {
    if (const auto library = find_preload_library()) {
      good("library", *library);
    } else {
      bad("library", library.error().message, "install iez again (make install), or set IEZ_LIBDIR");
    }
    const runs::ProgramProbe probe = program_probe();
    std::map<std::string, std::string> launchers;  // by flavour
    for (const char* launcher : {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich"}) {
      if (!probe.is_program(launcher)) continue;
      const std::string path = probe.canonical(launcher);
      const std::string flavour(runs::mpi_of_launcher(fs::path(path).filename().string()));
      if (!flavour.empty()) launchers.emplace(flavour, path);
    }
    if (launchers.empty()) absent("mpi", "no mpirun of Open MPI or MPICH in $PATH");
    for (const auto& [flavour, launcher] : launchers) {
      if (const auto library = find_mpi_library(flavour)) {
        good("mpi", fmt::format("{}: {}", flavour, *library));
      } else {
        bad("mpi", fmt::format("{} is here ({}), but no libiez-mpi-{}.so", flavour, launcher, flavour),
            "build iez where the headers of that MPI are; without it collective I/O is as it was, all else works");
      }
    }
  }

  void look_at_mounts() {
    const auto mounts = runs::read_mounts();
    if (!mounts) return bad("lustre", mounts.error().message, "is /proc mounted?");
    for (const runs::LayoutMount& mount : *mounts) {
      const std::string name = fmt::format("{} ({}{})", mount.path, mount.lab ? "lab " : "", mount.file_system);
      if (::access(mount.path.c_str(), R_OK | X_OK) != 0) {
        absent("lustre", fmt::format("{}: not for this user", name));
        continue;
      }
      const auto cluster = runs::read_cluster(runs::roots_of(*mounts, mount.file_system, settings_.roots), mount.file_system);
      if (cluster) {
        good("lustre", fmt::format("{}: {}", name, counted(cluster->osts.size(), "OST")));
      } else if (mount.lab) {  // one that is coming up, or going down
        absent("lustre", fmt::format("{}: {}", name, cluster.error().message));
      } else {
        bad("lustre", fmt::format("{}: {}", name, cluster.error().message),
            "can its parameters be read here (lctl get_param osc.*.kbytesfree)?");
      }
    }
    if (!mounts->empty()) return;
    const auto server = runs::read_cluster(settings_.roots, "");
    if (server) return good("lustre", fmt::format("a server of {}: {} known", server->name, counted(server->osts.size(), "OST")));
    absent("lustre", "neither a mount nor a target of Lustre is here");
  }

  void look_at_state(const config::SettingsSources& sources) {
    const auto state = config::state_folder(sources);
    if (!state) return bad("state", state.error().message, "set HOME, or IEZ_STATE to a folder");
    if (const std::string why = why_not_writable(*state); !why.empty())
      return bad("state", why, "set IEZ_STATE to a folder of yours");
    std::error_code error;
    good("state", fmt::format("{}{}", *state, fs::exists(*state, error) ? "" : ", made by the first run"));
    const std::string url = settings_.store.url.empty() ? store::default_store_url(*state) : settings_.store.url;
    if (const auto parsed = store::parse_store_url(url); parsed && !parsed->server) {
      if (const std::string why = why_not_writable(fs::path(parsed->path).parent_path().string()); !why.empty())
        return bad("store", why, "mend store.url");
    }
    store::OpenOptions opening;
    opening.create = false;
    opening.upgrade = store::Upgrade::never;
    const auto opened = store::Store::open(url, context_.clock, opening);
    if (!opened && opened.error().code == Errc::not_found) return absent("store", "none yet: made by the first run");
    if (!opened)
      return bad("store", opened.error().message, "iez db check, iez db migrate; iez run goes on without one and learns nothing");
    const auto applications = (*opened)->applications();
    good("store", applications ? counted(applications->size(), "application") : std::string("there"));
  }

  void look_at_coordinator() {
    const auto& coordinator = settings_.coordinator;
    if (coordinator.url.empty()) return absent("coordinator", "none is set: this node plans by itself");
    if (coordinator.pull) return good("coordinator", "it fetches predictions from the store (mode = \"pull\")");
    const auto wrong = [this](const Error& error, std::string remedy) { bad("coordinator", error.message, std::move(remedy)); };
    api::CoordinatorClient::Options options{.url = coordinator.url, .token = {}, .ca_file = coordinator.ca_file};
    options.timeout = coordinator.timeout;
    if (!coordinator.token_file.empty()) {
      auto token = api::read_token(coordinator.token_file);
      if (!token)
        return wrong(token.error(), "ask an administrator for a token (iez token USER), and keep it in a file of mode 0600");
      options.token = *std::move(token);
    }
    const auto client = api::CoordinatorClient::make(options);
    if (!client) return wrong(client.error(), "mend coordinator.url");
    const auto body = (*client)->get("/v1/cluster");
    if (!body) {
      return wrong(body.error(),
                   body.error().code == Errc::permission
                       ? "set coordinator.token_file to the file of your token; an administrator makes one by iez token USER"
                       : "is coordinator.url right? On that host: systemctl status iez-serve");
    }
    const auto cluster = api::count_cluster(*body);
    if (!cluster) {
      return bad("coordinator",
                 fmt::format("{}: its answer is not of a coordinator ({})", coordinator.url, cluster.error().message),
                 "is coordinator.url right, and iez of one version there and here?");
    }
    if (cluster->osts == 0)
      return bad("coordinator", fmt::format("{}: it knows no OST", coordinator.url),
                 "do agents run? systemctl status iez-agent on each server");
    if (cluster->stale == cluster->osts) {
      return bad("coordinator", fmt::format("{}: it has not heard of any OST for long", coordinator.url),
                 "do agents run? systemctl status iez-agent on each server");
    }
    good("coordinator", fmt::format("{}: knows {}{}", coordinator.url, counted(cluster->osts, "OST"),
                                    cluster->stale == 0 ? "" : fmt::format(", {} of them not heard of", cluster->stale)));
  }

  // What the user that the unit runs as cannot read, where root asks: root itself can read all.
  std::string not_for_the_service(const std::string& path) const {
    struct passwd entry{};
    struct passwd* user = nullptr;
    std::array<char, 16384> buffer{};
    if (::geteuid() != 0 || ::getpwnam_r("iez", &entry, buffer.data(), buffer.size(), &user) != 0 || user == nullptr) return "";
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || info.st_uid == user->pw_uid || (info.st_mode & S_IROTH) != 0) return "";
    if (info.st_gid == user->pw_gid && (info.st_mode & S_IRGRP) != 0) return "";
    return fmt::format("{}: not for user iez, whom the coordinator runs as", path);
  }

  // The first of these files that this user may not read. Secrets of a service are its own: for an ordinary user that is as it
  // should be, and what is in them is judged when root or the service's user asks.
  static std::string not_for_this_user(std::initializer_list<std::string> files) {
    if (::geteuid() == 0) return "";
    for (const std::string& file : files) {
      if (!file.empty() && ::access(file.c_str(), R_OK) != 0 && errno == EACCES) return file;
    }
    return "";
  }

  // Of the files of a service; says so and is true if they are none of this user's business.
  bool passed_over(const std::string& what, std::initializer_list<std::string> files) {
    const std::string file = not_for_this_user(files);
    if (!file.empty()) absent(what, fmt::format("{}: not for this user", file));
    return !file.empty();
  }

  void judge_file(const std::string& what, const std::string& path, Result<std::string> read, const std::string& remedy) {
    if (!read) return bad(what, read.error().message, remedy);
    if (const std::string why = not_for_the_service(path); !why.empty())
      return bad(what, why, fmt::format("chown -R iez {}", path));
    good(what, *std::move(read));
  }

  void look_at_serving() {
    const auto& serve = settings_.serve;
    if (!serve.keys.empty() && !passed_over("serve keys", {serve.keys, serve.keys + "/coordinator.key"})) {
      const auto read = [&]() -> Result<std::string> {
        IEZ_TRY(const auto pair, telemetry::load_pair(serve.keys, "coordinator"));
        IEZ_TRY(const auto keys, telemetry::list_keys(serve.keys));
        return fmt::format("{}: {}", serve.keys, counted(keys.size(), "key"));
      };
      judge_file("serve keys", serve.keys, read(), "runuser -u iez -- iez keys init " + serve.keys);
    }
    if (!serve.tokens_file.empty() && !passed_over("serve tokens", {serve.tokens_file})) {
      const auto read = [&]() -> Result<std::string> {
        IEZ_TRY(const auto tokens, http::Tokens::read(serve.tokens_file));
        return fmt::format("{}: {}", serve.tokens_file, counted(tokens.size(), "token"));
      };
      judge_file("serve tokens", serve.tokens_file, read(), "make one: iez token USER --tokens " + serve.tokens_file);
    }
    if (serve.certificate.empty() && serve.certificate_key.empty()) return;
    if (passed_over("serve certificate", {serve.certificate, serve.certificate_key})) return;
    const auto read = [&]() -> Result<std::string> {
      IEZ_CHECK(http::check_pair(serve.certificate, serve.certificate_key));
      IEZ_TRY(const auto info, http::read_certificate(serve.certificate));
      const std::int64_t now = std::chrono::floor<std::chrono::seconds>(context_.clock.wall()).time_since_epoch().count();
      const std::string until = fmt::format("{:%Y-%m-%d}", std::chrono::sys_seconds(std::chrono::seconds(info.not_after)));
      if (now > info.not_after || now < info.not_before)
        return fail(Errc::limit, fmt::format("{}: valid until {}, which is not now", serve.certificate, until));
      return fmt::format("{}: for {}, until {}", serve.certificate,
                         info.names.empty() ? std::string("nobody by name") : fmt::format("{}", fmt::join(info.names, ", ")),
                         until);
    };
    judge_file("serve certificate", serve.certificate_key, read(), "serve.certificate and serve.certificate_key: a pair in PEM");
  }

  void look_at_agent() {
    const std::string& keys = settings_.agent.keys;
    if (keys.empty()) return;
    const auto read = [&]() -> Result<void> {
      IEZ_TRY(const auto coordinator, telemetry::load_public(keys, "coordinator"));
      IEZ_TRY(const auto own, telemetry::load_pair(keys, "agent"));
      return {};
    };
    if (passed_over("agent keys", {keys, keys + "/agent.key"})) return;
    if (const auto loaded = read(); !loaded) {
      return bad("agent keys", loaded.error().message,
                 "copy coordinator.pub and agent.key from the coordinator's folder of keys");
    }
    good("agent keys", keys);
  }

  void look_at_labs() {
    const bool device = ::access("/dev/fuse", R_OK | W_OK) == 0;
    const bool mounter = program_probe().is_program("fusermount3");
    if (device && mounter) return good("labs", "FUSE is here: iez lab up");
    absent("labs", device ? "no fusermount3 in $PATH" : "/dev/fuse cannot be opened");
  }

  Context& context_;
  config::Settings settings_;
  std::vector<Finding> findings_;
};

std::string to_text(const std::vector<Finding>& findings, std::size_t width) {
  constexpr std::size_t kIndent = 25;
  std::string out;
  for (const Finding& one : findings) {
    out += fmt::format("{:<4}  {:<17}  {}\n", word_of(one.health), one.what,
                       wrapped(text::printable(one.found), kIndent, kIndent, width));
    if (!one.remedy.empty()) {
      out += fmt::format("{:{}}-> {}\n", "", kIndent, wrapped(text::printable(one.remedy), kIndent + 3, kIndent + 3, width));
    }
  }
  return out;
}

}  // namespace

Result<void> run_doctor(const DoctorOptions& options, Context& context) {
  Doctor doctor(context);
  doctor.look();
  const auto& findings = doctor.findings();
  const auto wrong = std::ranges::count(findings, Health::bad, &Finding::health);
  if (options.json) {
    ordered_json json{{"healthy", wrong == 0}, {"findings", ordered_json::array()}};
    for (const Finding& one : findings) {
      json["findings"].push_back({{"what", one.what},
                                  {"health", one.health == Health::bad    ? "bad"
                                             : one.health == Health::good ? "good"
                                                                          : "absent"},
                                  {"found", one.found},
                                  {"remedy", one.remedy}});
    }
    IEZ_CHECK(print(to_line(json)));
  } else {
    constexpr std::size_t kWidth = 80;
    IEZ_CHECK(print(to_text(findings, kWidth)));
  }
  if (wrong > 0)
    return fail(Errc::not_found, fmt::format("{} of {} {} not work", wrong, findings.size(), wrong == 1 ? "does" : "do"));
  return {};
}

}  // namespace iez::cli
