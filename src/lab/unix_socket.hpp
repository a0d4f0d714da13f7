// Unix stream sockets by path. A path longer than sockaddr_un has room for is reached through its folder (/proc/self/fd/N).
//
// Thread safety: safe from any thread.
#pragma once

#include <string>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::lab {

// Non-blocking and close-on-exec. A socket that a dead process left at `path` is replaced; Errc::exists if somebody listens
// there, or if it is not a socket.
[[nodiscard]] Result<input::UniqueFd> listen_at(const std::string& path);

// Close-on-exec, and blocking: a server that is alive accepts at once. Errors carry errno (ENOENT, ECONNREFUSED: nobody there).
[[nodiscard]] Result<input::UniqueFd> connect_to(const std::string& path);

}  // namespace iez::lab
