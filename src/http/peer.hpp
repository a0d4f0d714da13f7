// Whose connection a loopback socket is.
//
// Thread safety: pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace iez::http {

// The uid of the socket with these ends in a table of /proc/net/tcp or tcp6, as that writes addresses: "0100007F:1F90".
std::optional<uid_t> uid_of_socket(std::string_view table, std::string_view local, std::string_view remote);

// Whether the other end of this connection, on this node, belongs to this process's user. What cannot be told is no.
bool peer_is_own_user(int socket);

}  // namespace iez::http
