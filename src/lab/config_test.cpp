#include "lab/config.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using testing::HasSubstr;

Config odd_lab(const std::string& dir) {
  Config config;
  config.name = "odd_1";
  config.dir = dir;
  config.oss_count = 2;
  config.osts_per_oss = 7;
  config.clients = 3;
  config.ost_size = Bytes::gib(5);
  config.rate = {20e6};
  config.seek = std::chrono::microseconds(4500);
  config.threads = 3;
  config.rpc_size = Bytes::mib(4);
  config.rpcs_in_flight = 64;
  config.dirty = Bytes::mib(32);
  config.stripe_count = 0xFFFF;
  config.stripe_size = Bytes::kib(192);
  config.law = "goal";
  config.law_goal = std::chrono::milliseconds(30);
  config.job_variable = "SLURM_JOB_ID";
  config.seed = ~std::uint64_t{0};
  return config;
}

TEST(ConfigTest, comes_back_as_it_was_saved) {
  const lustre::TemporaryTree tree;
  const Config saved = odd_lab(tree.path("some/lab"));
  ASSERT_TRUE(save_config(saved).has_value());
  const auto loaded = load_config(saved.dir + "/");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->dir, saved.dir);
  EXPECT_EQ(loaded->name, saved.name);
  EXPECT_EQ(loaded->oss_count, saved.oss_count);
  EXPECT_EQ(loaded->osts_per_oss, saved.osts_per_oss);
  EXPECT_EQ(loaded->clients, saved.clients);
  EXPECT_EQ(loaded->ost_size, saved.ost_size);
  EXPECT_EQ(loaded->rate, saved.rate);
  EXPECT_EQ(loaded->seek, saved.seek);
  EXPECT_EQ(loaded->threads, saved.threads);
  EXPECT_EQ(loaded->rpc_size, saved.rpc_size);
  EXPECT_EQ(loaded->rpcs_in_flight, saved.rpcs_in_flight);
  EXPECT_EQ(loaded->dirty, saved.dirty);
  EXPECT_EQ(loaded->stripe_count, saved.stripe_count);
  EXPECT_EQ(loaded->stripe_size, saved.stripe_size);
  EXPECT_EQ(loaded->law, saved.law);
  EXPECT_EQ(loaded->law_goal, saved.law_goal);
  EXPECT_EQ(loaded->job_variable, saved.job_variable);
  EXPECT_EQ(loaded->seed, saved.seed);
  EXPECT_FALSE(std::filesystem::exists(saved.dir + "/lab.json.new"));
}

TEST(ConfigTest, who_has_which_ost) {
  const Config config = odd_lab("/lab");
  EXPECT_EQ(config.ost_count(), 14U);
  EXPECT_EQ(config.oss_of(6), 0U);
  EXPECT_EQ(config.oss_of(7), 1U);
  EXPECT_EQ(socket_path(config, "oss1"), "/lab/oss1.sock");
  EXPECT_EQ(lock_path(config, "mds"), "/lab/mds.lock");
  EXPECT_EQ(params_root(config, "client0"), "/lab/params/client0");
}

TEST(ConfigTest, what_makes_no_sense_is_named) {
  const std::vector<std::pair<std::function<void(Config&)>, std::string>> wrong = {
      {[](Config& c) { c.name = ""; }, "name: '' is not 1 to 8"},
      {[](Config& c) { c.name = "ninechars"; }, "name: 'ninechars'"},
      {[](Config& c) { c.name = "a-OST"; }, "name: 'a-OST'"},
      {[](Config& c) { c.dir = "lab"; }, "dir: 'lab' is not an absolute path"},
      {[](Config& c) { c.oss_count = 0; }, "--oss: 0 is not between 1 and 1024"},
      {[](Config& c) { c.osts_per_oss = 0; }, "--osts: 0"},
      {[](Config& c) { c.oss_count = c.osts_per_oss = 100; }, "OSTs in all (--oss times --osts): 10000"},
      {[](Config& c) { c.clients = 65; }, "--clients: 65"},
      {[](Config& c) { c.ost_size = Bytes{100}; }, "--ost-size: 100"},
      {[](Config& c) { c.rate = {-1}; }, "--rate: -1"},
      {[](Config& c) { c.seek = Duration(-1); }, "--seek:"},
      {[](Config& c) { c.threads = 0; }, "--threads: 0"},
      {[](Config& c) { c.rpc_size = Bytes::mib(17); }, "--rpc-size: 17825792"},
      {[](Config& c) { c.rpcs_in_flight = 257; }, "--rpcs: 257"},
      {[](Config& c) { c.dirty = Bytes{0}; }, "--dirty: 0"},
      {[](Config& c) { c.stripe_count = 0; }, "--stripe-count: 0"},
      {[](Config& c) { c.stripe_count = 2001; }, "--stripe-count: 2001"},
      {[](Config& c) { c.stripe_size = Bytes{65537}; }, "--stripe-size: 65537 is not a multiple of 65536"},
      {[](Config& c) { c.stripe_size = Bytes{0}; }, "--stripe-size: 0"},
      {[](Config& c) { c.law = "fair"; }, "--law: 'fair' is none of none, cc, goal"},
      {[](Config& c) { c.law_goal = Duration{0}; }, "--goal: law 'goal' needs"},
  };
  ASSERT_TRUE(check(odd_lab("/lab")).has_value());
  ASSERT_TRUE(check([] {
                Config plain;
                plain.dir = "/lab";
                return plain;
              }())
                  .has_value());
  for (const auto& [spoil, message] : wrong) {
    Config config = odd_lab("/lab");
    spoil(config);
    const auto checked = check(config);
    ASSERT_FALSE(checked.has_value()) << message;
    EXPECT_EQ(checked.error().code, Errc::invalid_argument);
    EXPECT_THAT(checked.error().message, HasSubstr(message));
    EXPECT_FALSE(save_config(config).has_value());
  }
}

TEST(ConfigTest, damaged_files_are_named) {
  const lustre::TemporaryTree tree;
  EXPECT_EQ(load_config(tree.path("none")).error().code, Errc::not_found);
  ASSERT_TRUE(save_config(odd_lab(tree.root())).has_value());
  const std::string good = tree.read("lab.json");
  const auto error_of = [&](const std::string& text) {
    tree.write("lab.json", text);
    const auto loaded = load_config(tree.root());
    return loaded ? std::string("loaded") : loaded.error().message;
  };
  EXPECT_EQ(error_of(good), "loaded");
  EXPECT_THAT(error_of(good.substr(0, good.size() / 2)), HasSubstr("lab.json: expected a JSON object"));
  EXPECT_THAT(error_of("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("lab.json: name is missing"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return error_of(text.replace(at, from.size(), to));
  };
  EXPECT_THAT(with("\"clients\": 3", "\"clients\": \"3\""),
              HasSubstr("clients: expected a whole number, not negative, found \"3\""));
  EXPECT_THAT(with("\"clients\": 3", "\"clients\": -3"), HasSubstr("clients: expected a whole number"));
  EXPECT_THAT(with("\"clients\": 3", "\"clients\": 99999999999"), HasSubstr("clients: 99999999999 is too large"));
  EXPECT_THAT(with("\"clients\": 3", "\"clients\": 300"), HasSubstr("lab.json: --clients: 300 is not between 0 and 64"));
}

}  // namespace
}  // namespace iez::lab
