#include "http/access.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace iez::http {
namespace {

TEST(Tokens, OneLineEach) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 68U);
  EXPECT_NE(token, make_token());
  const auto tokens = Tokens::parse(
      "# site tokens\n\nplain-0123456789abcdef ann /scratch/{user} /proj/x/\n" + digest_of(token) + " bob admin  # the boss\n",
      "t");
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(tokens->size(), 2U);
  ASSERT_NE(tokens->find("plain-0123456789abcdef"), nullptr);
  EXPECT_EQ(*tokens->find("plain-0123456789abcdef"), (Identity{.user = "ann", .below = {"/scratch/ann/", "/proj/x/"}}));
  EXPECT_EQ(*tokens->find(token), (Identity{.user = "bob", .admin = true}));
  EXPECT_EQ(tokens->find(digest_of(token)), nullptr) << "what the file holds opens nothing";
  EXPECT_EQ(tokens->find(""), nullptr);
  EXPECT_EQ(tokens->find("plain-0123456789abcdeg"), nullptr);
}

TEST(Tokens, ErrorsNameTheLineButNotTheToken) {
  EXPECT_EQ(Tokens::parse("\nshort ann", "t").error().message, "t:2: a token of less than 16 characters");
  EXPECT_EQ(Tokens::parse("0123456789abcdef", "t").error().message, "t:1: expected a user behind the token");
  EXPECT_EQ(Tokens::parse("0123456789abcdef u boss", "t").error().message,
            "t:1: found 'boss', expected admin or an absolute directory");
  EXPECT_FALSE(Tokens::parse("sha256:12 u", "t"));
  EXPECT_FALSE(Tokens::parse("0123456789abcdef u /a/../b", "t"));
  EXPECT_FALSE(Tokens::parse("0123456789abcdef u\n0123456789abcdef v", "t"));
}

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/iez-access-XXXXXX";
    path = ::mkdtemp(name.data());
    ::chmod(path.c_str(), 0755);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

TEST(Tokens, TheirFileIsPrivate) {
  const Folder folder;
  const std::string path = folder.path + "/tokens";
  std::ofstream(path) << "0123456789abcdef ann\n";
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(Tokens::read(path).error().code, Errc::permission);
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(Tokens::read(path).value().size(), 1U);
}

TEST(Permissions, ModesOfTheDirectoryDecide) {
  const Folder folder;
  Permissions permissions;
  const Identity stranger{.user = "54321"};  // a uid that nobody has
  EXPECT_FALSE(permissions.may_write(stranger, folder.path));
  ::chmod(folder.path.c_str(), 0777);
  EXPECT_TRUE(permissions.may_write(stranger, folder.path));
  EXPECT_TRUE(permissions.may_write(stranger, folder.path + "/not/there/yet"));
  ::chmod(folder.path.c_str(), 0772);  // to write but not to pass
  EXPECT_FALSE(permissions.may_write(stranger, folder.path));
  std::ofstream(folder.path + "/file") << "x";
  ::chmod(folder.path.c_str(), 0777);
  EXPECT_FALSE(permissions.may_write(stranger, folder.path + "/file"));
  EXPECT_FALSE(permissions.may_write({.user = "nobody-of-this-name"}, folder.path));
  EXPECT_TRUE(permissions.may_write({.user = "nobody-of-this-name", .admin = true}, folder.path));
}

TEST(Permissions, TokensMayNameDirectories) {
  Permissions permissions;
  const Identity user{.user = "54321", .below = {"/nowhere-here/u/"}};
  EXPECT_TRUE(permissions.may_write(user, "/nowhere-here/u"));
  EXPECT_TRUE(permissions.may_write(user, "/nowhere-here/u/deep/er"));
  EXPECT_FALSE(permissions.may_write(user, "/nowhere-here/us"));
  EXPECT_FALSE(permissions.may_write(user, "/nowhere-here"));
  EXPECT_FALSE(permissions.may_write({.user = "54321"}, "/nowhere-here/u"));
  EXPECT_TRUE(permissions.may_write({.user = "54321", .trusted = true}, "/nowhere-here/u"));
  // Below it, and to be seen: then modes decide, too.
  const Folder folder;
  EXPECT_FALSE(permissions.may_write({.user = "54321", .below = {"/tmp/"}}, folder.path));
}

TEST(Buckets, GiveABurstAndThenTheRate) {
  Buckets buckets(10);
  Duration now{0};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(buckets.take("a", now), 0) << i;
  EXPECT_NEAR(buckets.take("a", now), 0.1, 1e-9);
  EXPECT_EQ(buckets.take("b", now), 0);
  now += std::chrono::milliseconds(100);
  EXPECT_EQ(buckets.take("a", now), 0);
  EXPECT_GT(buckets.take("a", now), 0);
  Buckets open(0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(open.take("a", now), 0);
}

}  // namespace
}  // namespace iez::http
