// A process of a lab, by the name of its node: "mds", "oss0", "client0". What `iez lab up` starts.
#pragma once

#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "lab/config.hpp"

namespace iez::lab {

// Takes the node's lock, with its pid in it, and runs until it is told to stop. Errc::exists: another process is the node
// already. Its socket and lock file are left behind; both mean nothing without the lock.
[[nodiscard]] Result<void> serve(const Config& config, const std::string& node, Logger& log);

}  // namespace iez::lab
