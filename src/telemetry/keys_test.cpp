#include "telemetry/keys.hpp"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <filesystem>

#include "lustre/tree_test_support.hpp"

namespace iez::telemetry {
namespace {

using lustre::TemporaryTree;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

TEST(Keys, InitMakesPairsThatBelongTogether) {
  const TemporaryTree tree;
  const std::string folder = tree.path("a/b/keys");
  ASSERT_TRUE(init_keys(folder, Overwrite::no));
  EXPECT_EQ(mode_of(folder), 0700U);
  for (const std::string name : {"coordinator", "agent"}) {
    EXPECT_EQ(mode_of(folder + '/' + name + ".key"), 0600U);
    EXPECT_EQ(mode_of(folder + '/' + name + ".pub"), 0644U);
    const auto pair = load_pair(folder, name);
    ASSERT_TRUE(pair) << pair.error().message;
    EXPECT_EQ(pair->public_key, load_public(folder, name).value());
  }
  const std::string before = load_public(folder, "agent").value();
  const auto again = init_keys(folder, Overwrite::no);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::exists);
  EXPECT_EQ(load_public(folder, "agent").value(), before);
  ASSERT_TRUE(init_keys(folder, Overwrite::yes));
  EXPECT_NE(load_public(folder, "agent").value(), before);
}

TEST(Keys, OneFileIsEnoughToStopInit) {
  const TemporaryTree tree;
  tree.write("keys/agent.pub", "mine\n");
  EXPECT_FALSE(init_keys(tree.path("keys"), Overwrite::no));
  EXPECT_FALSE(std::filesystem::exists(tree.path("keys/coordinator.key")));
  EXPECT_EQ(tree.read("keys/agent.pub"), "mine\n");
}

TEST(Keys, ASecretThatOthersMayReadIsRefused) {
  const TemporaryTree tree;
  const std::string folder = tree.path("keys");
  ASSERT_TRUE(init_keys(folder, Overwrite::no));
  ASSERT_EQ(::chmod((folder + "/agent.key").c_str(), 0640), 0);
  const auto pair = load_pair(folder, "agent");
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().code, Errc::permission);
  EXPECT_NE(pair.error().message.find("mode 0640"), std::string::npos) << pair.error().message;
  EXPECT_NE(pair.error().message.find("chmod 600"), std::string::npos);
}

TEST(Keys, DamagedFilesAreNamed) {
  const TemporaryTree tree;
  const std::string folder = tree.path("keys");
  ASSERT_TRUE(init_keys(folder, Overwrite::no));
  const std::string good = tree.read("keys/agent.pub");
  for (const std::string& bad : {std::string(), std::string("iez-key-1 public short\n"), good + good,
                                 "iez-key-2" + good.substr(9), tree.read("keys/agent.key")}) {
    tree.write("keys/agent.pub", bad);
    const auto key = load_public(folder, "agent");
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, Errc::parse);
  }
  EXPECT_EQ(load_pair(tree.path("nowhere"), "agent").error().code, Errc::not_found);
}

TEST(Keys, AgentsOfTheirOwn) {
  const TemporaryTree tree;
  const std::string folder = tree.path("keys");
  EXPECT_EQ(add_agent_key(folder, "oss1", std::nullopt, Overwrite::no).error().code, Errc::not_found);
  ASSERT_TRUE(init_keys(folder, Overwrite::no));
  ASSERT_TRUE(add_agent_key(folder, "oss1", std::nullopt, Overwrite::no));
  EXPECT_EQ(add_agent_key(folder, "oss1", std::nullopt, Overwrite::no).error().code, Errc::exists);
  for (const char* const name : {"", "../x", ".x", "-x", "a b", "a/b", "a\n"}) {
    EXPECT_EQ(add_agent_key(folder, name, std::nullopt, Overwrite::no).error().code, Errc::invalid_argument) << name;
  }
  const KeyPair made = make_keys().value();
  EXPECT_FALSE(add_agent_key(folder, "oss2", "short", Overwrite::no));
  ASSERT_TRUE(add_agent_key(folder, "oss2", made.public_key, Overwrite::no));
  const auto keys = list_keys(folder).value();
  ASSERT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys[2].name, "oss1");
  EXPECT_TRUE(keys[2].secret_here);
  EXPECT_EQ(keys[3].public_key, made.public_key);
  EXPECT_FALSE(keys[3].secret_here);
  EXPECT_EQ(list_keys(tree.path("nowhere")).error().code, Errc::not_found);
}

TEST(AgentKeys, NoticesWhatComesAndGoes) {
  const TemporaryTree tree;
  const std::string folder = tree.path("keys");
  ASSERT_TRUE(init_keys(folder, Overwrite::no));
  const SystemClock clock;
  AgentKeys keys(folder);
  keys.look(clock);
  EXPECT_EQ(keys.name_of(load_public(folder, "agent").value()), "");
  const KeyPair made = make_keys().value();
  EXPECT_EQ(keys.name_of(made.public_key), std::nullopt);
  ASSERT_TRUE(add_agent_key(folder, "oss1", made.public_key, Overwrite::no));
  keys.look(clock);
  EXPECT_EQ(keys.name_of(made.public_key), "oss1");
  tree.write("keys/agents/bad.pub", "rubbish\n");
  std::filesystem::remove(folder + "/agents/oss1.pub");
  keys.look(clock);
  EXPECT_EQ(keys.name_of(made.public_key), std::nullopt);
  EXPECT_EQ(keys.problems().size(), 1U);
  EXPECT_EQ(keys.size(), 1U);
}

TEST(Endpoints, Loopback) {
  for (const char* const local :
       {"ipc:///run/x", "inproc://x", "tcp://127.0.0.1:9851", "tcp://127.3.2.1:*", "tcp://[::1]:5", "tcp://localhost:5"}) {
    EXPECT_TRUE(is_loopback(local)) << local;
    EXPECT_TRUE(require_keys(local, ""));
  }
  for (const char* const remote : {"tcp://10.0.0.1:9851", "tcp://*:9851", "tcp://0.0.0.0:9851", "tcp://[::]:9851",
                                   "tcp://mds:9851", "tcp://127.0.0.1.example.org:1", "tcp://127.example.org:1",
                                   "tcp://localhost.example.org:1", "pgm://127.0.0.1:1", "tcp://127.0.0.1", ""}) {
    EXPECT_FALSE(is_loopback(remote)) << remote;
    const auto required = require_keys(remote, "");
    ASSERT_FALSE(required);
    EXPECT_NE(required.error().message.find("iez keys init"), std::string::npos);
    EXPECT_TRUE(require_keys(remote, "/etc/iez/keys"));
  }
}

}  // namespace
}  // namespace iez::telemetry
