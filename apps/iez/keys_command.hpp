// `iez keys init|add|list|show`: the CURVE keys of coordinator and agents.
#pragma once

#include <optional>
#include <string>

#include "command.hpp"

namespace iez::cli {

struct KeysOptions {
  std::string dir;  // empty: as the settings say, else /etc/iez/keys for root and keys in the user's configuration folder
  std::string name;
  std::optional<std::string> public_key;
  bool force = false;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_keys_init(const KeysOptions& options, Context& context);
[[nodiscard]] Result<void> run_keys_add(const KeysOptions& options, Context& context);
[[nodiscard]] Result<void> run_keys_list(const KeysOptions& options, Context& context);
[[nodiscard]] Result<void> run_keys_show(const KeysOptions& options, Context& context);

}  // namespace iez::cli
