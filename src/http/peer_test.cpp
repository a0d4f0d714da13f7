#include "http/peer.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace iez::http {
namespace {

TEST(Peer, ReadsTheKernelsTable) {
  constexpr std::string_view kTable =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:267A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n"
      "   1: 0100007F:9C40 0100007F:267A 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0\n";
  EXPECT_EQ(uid_of_socket(kTable, "0100007F:9C40", "0100007F:267A"), 1001U);
  EXPECT_EQ(uid_of_socket(kTable, "0100007F:267A", "0100007F:9C40"), std::nullopt);
  EXPECT_EQ(uid_of_socket("", "a", "b"), std::nullopt);
  EXPECT_EQ(uid_of_socket("0: a b 1", "a", "b"), std::nullopt);
}

TEST(Peer, KnowsAConnectionOfItsOwn) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int server = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  ASSERT_GE(server, 0);
  EXPECT_TRUE(peer_is_own_user(server));
  ::close(client);
  ::close(server);
  ::close(listening);
}

}  // namespace
}  // namespace iez::http
