#include "http/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace iez::http {
namespace {

TEST(Listener, Addresses) {
  EXPECT_EQ(parse_listen("[::1]:80")->host, "::1");
  EXPECT_EQ(parse_listen("127.0.0.1:0")->port, 0);
  for (const char* bad : {"", "host", ":80", "host:", "host:99999", "host:x"}) EXPECT_FALSE(parse_listen(bad)) << bad;
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
}

TEST(Listener, RefusalsAreProblems) {
  const Response refused = refuse(503, "busy", "Busy", "later");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.type, "application/problem+json");
  EXPECT_EQ(refused.body, R"({"type":"urn:iez:busy","title":"Busy","status":503,"detail":"later"})");
  ASSERT_EQ(refused.headers.size(), 1U);
  EXPECT_EQ(refused.headers[0], (std::pair<std::string, std::string>("Retry-After", "2")));
  EXPECT_EQ(refuse(429, "x", "y", "z", 0.2).headers.at(0).second, "1");
  EXPECT_EQ(refuse(401, "x", "y", "z").headers.at(0).first, "WWW-Authenticate");
  EXPECT_EQ(wrong_method("GET, POST").headers.at(0).second, "GET, POST");
}

TEST(Listener, Parameters) {
  const Request request{.method = "HEAD", .path = "/a", .parameters = {{"after", "7"}}, .body = ""};
  EXPECT_TRUE(request.reads());
  EXPECT_EQ(request.parameter("after"), "7");
  EXPECT_EQ(request.parameter("before"), "");
}

// A listener on loopback with a short deadline, and a connection to it.
class SlowPeer : public testing::Test {
 protected:
  void SetUp() override {
    ListenOptions options;
    options.threads = 2;
    options.deadline = std::chrono::milliseconds(300);
    auto log = Logger::make({.level = LogLevel::off});
    ASSERT_TRUE(log);
    log_ = std::make_unique<Logger>(*std::move(log));
    auto opened =
        Listener::open(options,
                       {.document = "{}",
                        .handle = [](const Identity&, const Request& request) { return answer(200, std::string(request.body)); }},
                       clock_, *log_);
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = *std::move(opened);
    runner_ = std::thread([this] { listener_->run(); });
  }
  void TearDown() override {
    if (listener_) listener_->stop();
    if (runner_.joinable()) runner_.join();
  }

  int connected() const {
    const std::string url = listener_->url();
    const HostPort at = parse_listen(url.substr(url.find("//") + 2)).value();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(at.port));
    ::inet_pton(AF_INET, at.host.c_str(), &address.sin_addr);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  // Sends so many bytes one by one, as long as the other side wants them; how many it took.
  static std::size_t trickle(int fd, std::string_view start, std::size_t bytes) {
    if (::send(fd, start.data(), start.size(), MSG_NOSIGNAL) < 0) return 0;
    for (std::size_t sent = 0; sent < bytes; ++sent) {
      if (::send(fd, "x", 1, MSG_NOSIGNAL) != 1) return sent;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return bytes;
  }

  SystemClock clock_;
  std::unique_ptr<Logger> log_;
  std::unique_ptr<Listener> listener_;
  std::thread runner_;
};

TEST_F(SlowPeer, IsHungUpOnThoughEveryByteComesInTime) {
  constexpr std::size_t kFarTooMany = 3000;  // a minute of them
  for (const std::string_view start : {std::string_view("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"),
                                       std::string_view("GET /a HTTP/1.1\r\nX: "), std::string_view("GET /")}) {
    SCOPED_TRACE(start);
    const int fd = connected();
    EXPECT_LT(trickle(fd, start, kFarTooMany), kFarTooMany);
    ::close(fd);
  }
  // Others are served meanwhile: as many slow ones as there are threads, and then a sound one.
  const int first = connected();
  const int second = connected();
  for (const int fd : {first, second}) EXPECT_GT(::send(fd, "GET /", 5, MSG_NOSIGNAL), 0);
  const int sound = connected();
  constexpr std::string_view kRequest = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(sound, kRequest.data(), kRequest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(kRequest.size()));
  std::string answered(4096, '\0');
  const ssize_t got = ::recv(sound, answered.data(), answered.size(), 0);
  EXPECT_GT(got, 0);
  EXPECT_TRUE(answered.starts_with("HTTP/1.1 200")) << answered;
  for (const int fd : {first, second, sound}) ::close(fd);
}

}  // namespace
}  // namespace iez::http
