#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.hpp"

namespace iez::store {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StoreUrl, OfFiles) {
  EXPECT_EQ(parse_store_url("sqlite:/a/b.db")->path, "/a/b.db");
  EXPECT_EQ(parse_store_url("sqlite:///a/b.db")->path, "/a/b.db");
  EXPECT_EQ(parse_store_url("b.db")->path, "b.db");
  EXPECT_EQ(to_string(*parse_store_url("/a/b.db")), "sqlite:/a/b.db");
  EXPECT_EQ(default_store_url("/home/ann/.local/state/iez"), "sqlite:/home/ann/.local/state/iez/iez.db");
}

TEST(StoreUrl, OfServers) {
  const auto url = parse_store_url("mysql://ann:p%40ss%2fword@db.site:3307/iez?password_file=/etc/pw&tls=off&ca=/ca.pem");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_TRUE(url->server);
  EXPECT_EQ(url->user, "ann");
  EXPECT_EQ(url->password, "p@ss/word");
  EXPECT_EQ(url->host, "db.site");
  EXPECT_EQ(url->port, 3307);
  EXPECT_EQ(url->database, "iez");
  EXPECT_EQ(url->password_file, "/etc/pw");
  EXPECT_EQ(url->ca_file, "/ca.pem");
  EXPECT_EQ(url->tls, false);
  EXPECT_EQ(to_string(*url), "mysql://ann@db.site:3307/iez");
  const auto six = parse_store_url("mariadb://ann@[::1]/iez?socket=/run/my.sock");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->port, 3306);
  EXPECT_EQ(six->socket, "/run/my.sock");
}

TEST(StoreUrl, ThatIsWrongNeverShowsThePassword) {
  for (const char* const text :
       {"mysql://ann:secret@host", "mysql://ann:secret@host/", "mysql://ann:secret@host:0/db", "mysql://ann:secret@host:99999/db",
        "mysql://ann:secret%zz@host/db", "mysql://ann:secret@host/db?colour=red", "mysql://secret/db", "ftp://ann:secret@host/db",
        "mysql://ann:secret@/db", "mysql://ann:secret@[::1/db", "mysql://ann:secret%2@host/db",
        "mysql://ann:secret@host/db?tls=maybe"}) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error().message, Not(HasSubstr("secret"))) << text;
    EXPECT_EQ(url.error().code, Errc::invalid_argument);
  }
  EXPECT_FALSE(parse_store_url(""));
  EXPECT_FALSE(parse_store_url("sqlite:"));
  EXPECT_FALSE(parse_store_url("/a/folder/"));
}

}  // namespace
}  // namespace iez::store
