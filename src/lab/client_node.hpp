// The process of a client of a lab: mounts DIR/mnt/clientN, answers describe and stop at its socket, keeps its parameter tree.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "lab/config.hpp"

namespace iez::lab {

std::string mount_path(const Config& config, std::uint32_t client);

// Until SIGTERM, SIGINT, a stop request, or somebody unmounts. Ends the process itself if calls of the kernel are still under way
// then: they may wait for servers for ever.
[[nodiscard]] Result<void> serve_client(const Config& config, std::uint32_t index, Logger& log);

}  // namespace iez::lab
