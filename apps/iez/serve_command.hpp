// `iez serve`: the coordinator as a service; `iez token`: who may ask it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct ServeOptions {
  // Empty or none: as the settings say.
  std::string listen;
  std::string samples;
  std::string requests;
  std::string state;
  std::string keys;
  std::string tokens;
  std::string certificate;
  std::string certificate_key;
  std::optional<double> cpu_limit;
  std::optional<double> memory_limit;
  std::optional<double> rate_limit;
  std::vector<std::string> pull;  // databases; none: as the settings say
  std::string pull_token;         // file
  std::string pull_ca;
  std::optional<double> pull_interval;  // seconds
  std::vector<std::string> roots;       // parameters that are read here, without an agent
  bool no_agents = false;               // listen to none
  bool fast = false;                    // commits outlive the process, not the machine
  bool json = false;
};

[[nodiscard]] Result<void> run_serve(const ServeOptions& options, Context& context);

struct TokenOptions {
  std::string user;
  std::string tokens;
  std::string output;  // a new file for the token; empty: stdout
  bool admin = false;
  std::vector<std::string> below;
};

[[nodiscard]] Result<void> run_token(const TokenOptions& options, Context& context);

}  // namespace iez::cli
