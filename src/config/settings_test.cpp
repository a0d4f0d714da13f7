#include "config/settings.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

namespace iez::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/settings.XXXXXX";
    folder_ = mkdtemp(name.data());
    sources_.environment = [this](std::string_view key) -> std::optional<std::string> {
      const auto found = variables_.find(std::string(key));
      return found == variables_.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    sources_.files.push_back(path);
  }

  std::string folder_;
  SettingsSources sources_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, NothingSetGivesTheDefaults) {
  sources_.files.push_back(folder_ + "/none.toml");
  const auto settings = load_settings(sources_);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->enabled);
  EXPECT_EQ(settings->serve.listen, "127.0.0.1:9850");
  EXPECT_EQ(settings->agent.interval, Duration(60'000'000'000));
  EXPECT_DOUBLE_EQ(settings->serve.cpu_limit, 0.7);
  EXPECT_DOUBLE_EQ(settings->serve.memory_limit, 0.5);
  EXPECT_EQ(settings->coordinator.url, "");
}

TEST_F(SettingsTest, LaterFilesAndVariablesWinKeyByKey) {
  write("site.toml", "roots = [\"/a\"]\n[coordinator]\nurl = \"http://one\"\ntoken_file = \"/t\"\n[run]\nhistory = 5\n");
  write("user.toml", "enabled = false\n[coordinator]\nurl = \"http://two\"\n");
  auto settings = load_settings(sources_);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->coordinator.url, "http://two");
  EXPECT_EQ(settings->coordinator.token_file, "/t");
  EXPECT_EQ(settings->run.history, 5U);
  EXPECT_FALSE(settings->enabled);
  EXPECT_THAT(settings->roots, ElementsAre("/a"));

  variables_ = {{"IEZ_COORDINATOR", "http://three"}, {"IEZ_ROOT", "/x::/y"}, {"IEZ_STORE", "sqlite:/s.db"}};
  settings = load_settings(sources_);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->coordinator.url, "http://three");
  EXPECT_EQ(settings->store.url, "sqlite:/s.db");
  EXPECT_THAT(settings->roots, ElementsAre("/x", "/y"));
}

TEST_F(SettingsTest, Pull) {
  EXPECT_FALSE(load_settings(sources_)->coordinator.pull);
  write("site.toml",
        "[coordinator]\nurl = \"http://one\"\nmode = \"pull\"\n[serve]\npull = [\"http://a:1\", \"http://b:2\"]\n"
        "pull_token_file = \"/t\"\npull_ca_file = \"/c\"\npull_interval = \"2s\"\n");
  auto settings = load_settings(sources_);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->coordinator.pull);
  EXPECT_FALSE(settings->coordinator.asked());
  EXPECT_THAT(settings->serve.pull, ElementsAre("http://a:1", "http://b:2"));
  EXPECT_EQ(settings->serve.pull_token_file, "/t");
  EXPECT_EQ(settings->serve.pull_ca_file, "/c");
  EXPECT_EQ(settings->serve.pull_interval, Duration(2'000'000'000));
  variables_ = {{"IEZ_COORDINATOR_MODE", "push"}};
  settings = load_settings(sources_);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->coordinator.asked());
}

TEST_F(SettingsTest, AWrongKeyNamesFileLineAndTheNearestRightOne) {
  write("site.toml", "[serve]\nlisten = \"127.0.0.1:1\"\nmemory_limt = 0.3\n");
  const auto settings = load_settings(sources_);
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().message, HasSubstr("site.toml:3"));
  EXPECT_THAT(settings.error().message, HasSubstr("memory_limit"));
}

TEST_F(SettingsTest, WrongValuesAreErrors) {
  for (const std::string text :
       {"enabled = 1", "roots = [1]", "[run]\nunplanned_limit = 2.0", "[agent]\ninterval = \"0 s\"", "[serve]\npull = \"x\"",
        "[coordinator]\nmode = \"both\"", "[store]\nurl = 5", "[agent]\nkeys = \"~/keys\"", "serve = 3", "[run\n"}) {
    SCOPED_TRACE(text);
    sources_.files.clear();
    write("bad.toml", text);
    EXPECT_FALSE(load_settings(sources_));
  }
}

TEST_F(SettingsTest, TheStateFolderFollowsTheEnvironment) {
  EXPECT_FALSE(state_folder(sources_));
  variables_["HOME"] = "/home/u";
  EXPECT_EQ(*state_folder(sources_), "/home/u/.local/state/iez");
  variables_["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(*state_folder(sources_), "/state/iez");
  variables_["IEZ_STATE"] = "/here";
  EXPECT_EQ(*state_folder(sources_), "/here");
}

}  // namespace
}  // namespace iez::config
