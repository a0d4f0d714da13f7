// What a site and a user have set for the services and for `iez run`: docs/formats/settings.md tells of every key.
//
// Later ones win: the built-in defaults, /etc/iez/iez.toml, iez.toml in the user's configuration folder, variables IEZ_*. Flags
// of a command are laid over the outcome by the command. A key that is not known is an error that names the nearest one.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace iez::config {

struct Settings {
  bool enabled = true;  // false: `iez run` runs the command, and that is all

  struct Coordinator {
    std::string url;         // empty: none, plan locally
    bool pull = false;       // it fetches predictions from the store; nobody asks it
    std::string token_file;  // holds the bearer token
    std::string ca_file;     // of its certificate; empty: those of the system
    Duration timeout{5'000'000'000};

    bool asked() const { return !url.empty() && !pull; }
  } coordinator;

  struct Store {
    std::string url;  // empty: the file of the user's state folder
  } store;

  struct Serve {
    std::string listen = "127.0.0.1:9850";
    std::string samples = "tcp://127.0.0.1:9851";   // agents publish to it
    std::string requests = "tcp://127.0.0.1:9852";  // agents hear from it
    std::string state;                              // folder; empty: /var/lib/iez for root, the user's state folder else
    std::string keys;                               // folder of `iez keys init`; empty: no encryption
    std::string tokens_file;
    std::string certificate;
    std::string certificate_key;
    double cpu_limit = 0.7;
    double memory_limit = 0.5;
    double rate_limit = 100;        // requests of one user a second; 0: no limit
    std::vector<std::string> pull;  // databases of `iez db serve`
    std::string pull_token_file;    // holds the token for them
    std::string pull_ca_file;       // of their certificates; empty: those of the system
    Duration pull_interval{5'000'000'000};
  } serve;

  struct Agent {
    std::string name;  // empty: the host's
    std::string samples = "tcp://127.0.0.1:9851";
    std::string requests = "tcp://127.0.0.1:9852";
    std::string keys;
    Duration interval{60'000'000'000};
    std::string jobs_spool;  // folder; empty: job_stats are not sampled
    std::string jobs_cluster;
    Duration jobs_interval{60'000'000'000};
  } agent;

  struct Run {
    double unplanned_limit = 0.5;  // share of the files of a run; above it, the next one learns
    double size_limit = 0.25;      // mean relative error of sizes; likewise
    std::uint32_t history = 10;    // runs that a prediction looks at
    double reserve = 0.9;          // the quantile of a size that is reserved
  } run;

  // How far placing may go.
  struct Place {
    bool always = false;  // "when": placed though Lustre's default is predicted to be as good, and though it was slower before
    bool free = false;    // "layout": stripe counts of a directory's default may be replaced; else its template is kept
    Bytes least_file = Bytes::mib(1);  // smaller files are left to Lustre
  } place;

  std::vector<std::string> roots;  // of parameters; empty: this node
};

struct SettingsSources {
  std::vector<std::string> files;                                           // those that are not there are passed over
  std::function<std::optional<std::string>(std::string_view)> environment;  // the value of a variable
};

SettingsSources default_sources();

// "a:b:c", as in $IEZ_ROOT, without empty parts.
std::vector<std::string> split_paths(std::string_view paths);

// Fails for a file that cannot be read, and for a value or a key that makes no sense.
[[nodiscard]] Result<Settings> load_settings(const SettingsSources& sources);

// Where iez keeps what it learns: $IEZ_STATE, $XDG_STATE_HOME/iez, or ~/.local/state/iez. Fails where none of them is set.
[[nodiscard]] Result<std::string> state_folder(const SettingsSources& sources);

}  // namespace iez::config
