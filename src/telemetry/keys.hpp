// CURVE keys of the coordinator and of agents, as files: `iez keys`.
//
// A folder at the coordinator has
//   coordinator.key, coordinator.pub   its own pair
//   agent.key, agent.pub               a pair that agents may share
//   agents/NAME.pub                    of the agent NAME alone, which then speaks for itself only; NAME.key until it is carried
//   off
// and at an agent coordinator.pub and agent.key (a copy of agent.key, or of agents/NAME.key). A file is one line,
// "iez-key-1 public KEY" or "iez-key-1 secret KEY", the key in ZeroMQ's Z85. Secret files have mode 0600, and one that others may
// read is refused.
//
// Thread safety: pure but for the files; AgentKeys is for one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace iez::telemetry {

struct KeyPair {
  std::string public_key;  // 40 characters
  std::string secret_key;
};

[[nodiscard]] Result<KeyPair> make_keys();

// The pair of NAME.key in the folder; its public half is computed.
[[nodiscard]] Result<KeyPair> load_pair(const std::string& folder, std::string_view name);
[[nodiscard]] Result<std::string> load_public(const std::string& folder, std::string_view name);

enum class Overwrite { no, yes };

// Makes the folder (0700) and both pairs. Errc::exists, and nothing is changed, if one of the files is there and may not be
// overwritten.
[[nodiscard]] Result<void> init_keys(const std::string& folder, Overwrite overwrite);

// A pair for one agent, or its public key if that was made elsewhere: below agents/. name: letters, digits, '.', '-', '_'.
[[nodiscard]] Result<void> add_agent_key(const std::string& folder, std::string_view name,
                                         const std::optional<std::string>& public_key, Overwrite overwrite);

struct ListedKey {
  std::string name;  // "coordinator", "agent" (the shared one), or that of an agent
  std::string public_key;
  bool secret_here = false;
  std::string path;
};
[[nodiscard]] Result<std::vector<ListedKey>> list_keys(const std::string& folder);

// Which agent a key belongs to. Files that come, go and change are noticed by look().
class AgentKeys {
 public:
  explicit AgentKeys(std::string folder) : folder_(std::move(folder)) {}

  // Reads the folder again if it changed, at most once a second; files that cannot be used are passed over and told in
  // problems().
  void look(const Clock& clock);
  // "" for the shared key; nothing for a key that is not known.
  std::optional<std::string> name_of(std::string_view public_key) const;
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void read();

  // The times of what is looked at, and the newest of them.
  struct Seen {
    std::string text;
    WallTime newest;
  };
  Seen fingerprint() const;

  std::string folder_;
  std::map<std::string, std::string, std::less<>> names_;  // by public key
  std::vector<std::string> problems_;
  std::string seen_;
};

// Whether an endpoint stays on this machine: ipc, inproc, tcp to 127.0.0.0/8, [::1] or localhost.
bool is_loopback(std::string_view endpoint);

// Errc::invalid_argument, with the remedy, for an endpoint that leaves the machine without keys.
[[nodiscard]] Result<void> require_keys(std::string_view endpoint, std::string_view keys_folder);

}  // namespace iez::telemetry
