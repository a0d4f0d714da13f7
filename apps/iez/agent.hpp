// `iez agent`: publishes samples of this node until it is stopped; `iez agent watch`: what arrives from agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"

namespace iez::cli {

// What is not given is as the settings say.
struct AgentOptions {
  std::vector<std::string> roots;
  std::optional<std::string> name;
  std::optional<std::string> samples;
  std::optional<std::string> requests;
  std::optional<std::string> keys;
  std::optional<Duration> interval;
  std::optional<std::string> jobs_spool;  // where rows of jobs go; empty: none are made
  std::optional<std::string> jobs_cluster;
  std::optional<Duration> jobs_interval;
  bool once = false;   // one sample, then the end; fails if nobody took it
  bool print = false;  // what it would send
};

struct AgentWatchOptions {
  std::optional<Duration> ask;  // agents for samples this often
  Duration every{std::chrono::seconds{2}};
  unsigned long long count = 0;  // pictures; 0: until stopped
  bool json = false;
  bool no_header = false;
};

// SIGTERM and SIGINT end it well: the coordinator is told.
[[nodiscard]] Result<void> run_agent(const AgentOptions& options, Context& context);
// Takes samples, requests and keys of `agent`, but as the coordinator: what is not given is as [serve] says.
[[nodiscard]] Result<void> run_agent_watch(const AgentOptions& agent, const AgentWatchOptions& options, Context& context);

}  // namespace iez::cli
