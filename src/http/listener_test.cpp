#include "http/listener.hpp"

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

}  // namespace
}  // namespace iez::http
