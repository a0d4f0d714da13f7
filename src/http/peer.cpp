#include "http/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::http {

namespace {

// As the kernel prints it: each 4 bytes as a number of this machine.
std::string end_text(const sockaddr_storage& end) {
  std::string out;
  const auto words = [&](const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, static_cast<const char*>(bytes) + 4 * i, 4);
      out += fmt::format("{:08X}", word);
    }
  };
  if (end.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(end);
    words(&v4.sin_addr, 1);
    return out + fmt::format(":{:04X}", ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(end);
  words(&v6.sin6_addr, 4);
  return out + fmt::format(":{:04X}", ntohs(v6.sin6_port));
}

}  // namespace

std::optional<uid_t> uid_of_socket(std::string_view table, std::string_view local, std::string_view remote) {
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    text::take_word(line);
    if (text::take_word(line) != local || text::take_word(line) != remote) continue;
    for (int skipped = 0; skipped < 4; ++skipped) text::take_word(line);  // state, queues, timer, retransmissions
    const auto uid = text::parse_u64(text::take_word(line));
    if (uid && *uid <= 0xFFFFFFFFU) return static_cast<uid_t>(*uid);
    return std::nullopt;
  }
  return std::nullopt;
}

bool peer_is_own_user(int socket) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) != 0) {
    return false;
  }
  std::ifstream file(here.ss_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  std::ostringstream content;
  content << file.rdbuf();
  const auto uid = uid_of_socket(content.str(), end_text(there), end_text(here));
  return uid && (*uid == ::geteuid() || *uid == 0);
}

}  // namespace iez::http
