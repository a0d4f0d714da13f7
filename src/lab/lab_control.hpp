// Starts, looks at and ends the processes of a lab.
//
// One call of start() or stop() at a time works on a lab: DIR/lab.lock. A start that was killed half-way is continued by the
// next, and undone by stop().
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lab/config.hpp"
#include "lab/mounts.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

using Say = std::function<void(const std::string&)>;  // progress, a line each

// Servers first.
std::vector<std::string> nodes_of(const Config& config);

// Whether the lab may be made, or is there, with these settings. Errc::exists names the first setting that differs, or says that
// the folder holds other things.
[[nodiscard]] Result<void> check_folder(const Config& config);

// Starts every process that does not run, and waits until all of them answer and every client is mounted. program: `iez` itself.
[[nodiscard]] Result<void> start(const Config& config, const std::string& program, const Say& say);

struct BusyMount {
  std::string path;
  std::vector<MountUser> users;
};
struct Stopped {
  std::vector<std::string> nodes;     // that ran
  std::vector<BusyMount> busy;        // unmounted all the same
  std::vector<std::string> leftover;  // in the folder, and not of the lab; the folder stays for them
};

// Unmounts, ends every process - those that do not listen, after 5 s, by SIGKILL - and removes what the lab wrote.
[[nodiscard]] Result<Stopped> stop(const Config& config, const Say& say);

struct NodeState {
  std::string node;
  int pid = 0;           // 0: does not run
  std::string answer;    // what it says of itself, as JSON; empty: it does not answer
  bool mounted = false;  // of a client
};
std::vector<NodeState> look(const Config& config);

// One request to a node, and its answer's error. Waits at most 2 s.
[[nodiscard]] Result<std::string> describe(const Config& config, const std::string& node);
[[nodiscard]] Result<void> inject(const Config& config, const std::string& node, const FaultRequest& fault);

// SIGKILL. Errc::not_found: it does not run.
[[nodiscard]] Result<int> kill_node(const Config& config, const std::string& node);

}  // namespace iez::lab
