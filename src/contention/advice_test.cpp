#include "contention/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "model/layout.hpp"

namespace iez::contention {
namespace {

using testing::HasSubstr;
using testing::Not;

AdviceRequest source_job() { return {.ranks = 1024, .ranks_per_node = 16, .bytes = Bytes::mib(409'600), .block = Bytes::mib(4)}; }

Load others(std::size_t jobs, std::uint32_t stripes) { return *load_of_requests(480, std::vector<std::uint32_t>(jobs, stripes)); }

Advice advised(const AdviceRequest& request, const Machine& machine = kLscratchc) {
  auto advice = advise(machine, request);
  EXPECT_TRUE(advice) << advice.error().message;
  return advice ? *std::move(advice) : Advice{};
}

const Choice& at(const Advice& advice, std::uint32_t stripes) {
  const auto found = std::ranges::find(advice.curve, stripes, &Choice::stripes);
  EXPECT_NE(found, advice.curve.end()) << stripes;
  return *found;
}

TEST(Advice, AloneAndGreedyTakesTheMost) {
  AdviceRequest request = source_job();
  request.accept = 0;
  const Advice advice = advised(request);
  EXPECT_EQ(advice.stripes, 160U);
  EXPECT_EQ(advice.stripe_size, Bytes::mib(64));
  EXPECT_EQ(advice.chosen, advice.fastest);
  EXPECT_EQ(advice.curve.front().stripes, 1U);
  EXPECT_EQ(advice.curve.back().stripes, 160U);
  EXPECT_THAT(advice.reason, HasSubstr("160 stripes: 100 % of the best speed"));
  EXPECT_THAT(advice.reason, Not(HasSubstr("the others")));
  EXPECT_FALSE(advice.aggregation);
}

// The source's experiment: four jobs that all take the advice. Giving up a tenth frees nearly half of the OSTs.
TEST(Advice, FourJobsThatFollow) {
  AdviceRequest request = source_job();
  request.others.jobs = 3;
  request.others_follow = true;
  request.accept = 0.1;
  request.candidates = {32, 64, 96, 128, 160};
  const Advice advice = advised(request);
  EXPECT_EQ(advice.curve[advice.fastest].stripes, 160U);
  EXPECT_EQ(advice.stripes, 64U);
  EXPECT_NEAR(at(advice, 64).expected.after.in_use, 209.20, 0.005);
  EXPECT_NEAR(at(advice, 160).expected.after.in_use, 385.19, 0.005);
  EXPECT_NEAR(at(advice, 160).expected.after.load, 1.66, 0.005);
  EXPECT_NEAR(at(advice, 64).share_of_best, 0.913, 0.001);
  EXPECT_LT(at(advice, 64).expected.slowdown, at(advice, 160).expected.slowdown);
  request.accept = 0;
  EXPECT_EQ(advised(request).stripes, 160U);
  request.accept = 0.3;
  EXPECT_EQ(advised(request).stripes, 32U);
}

TEST(Advice, HeedsOthersThatStayAsTheyAre) {
  AdviceRequest request = source_job();
  request.others = others(3, 160);
  request.accept = 0.1;
  const Advice advice = advised(request);
  EXPECT_EQ(advice.stripes, 40U);  // 32 would reach 83 % only; more differ in slowdown by less than the model can tell
  EXPECT_GE(advice.curve[advice.chosen].share_of_best, 0.9 - 1e-9);
  EXPECT_THAT(advice.reason, HasSubstr("the others lose"));
}

TEST(Advice, OneNodeNeedsFewStripes) {
  AdviceRequest request = source_job();
  request.ranks = 16;
  request.accept = 0;
  const Advice advice = advised(request);
  EXPECT_EQ(advice.stripes, 2U);  // 281 MB/s of the node need two OSTs of 197.5
  EXPECT_THAT(advice.reason, HasSubstr("limited by the client nodes"));
}

TEST(Advice, SmallFilesGetFewStripes) {
  AdviceRequest request = source_job();
  request.bytes = Bytes::mib(3);
  request.accept = 0;
  const Advice advice = advised(request);
  EXPECT_LE(advice.stripes, 3U);
  EXPECT_LE(advice.curve.back().stripes, 3U);
  request.bytes = Bytes{1};
  EXPECT_EQ(advised(request).stripes, 1U);
  request.candidates = {8, 16};  // none of them is useful
  EXPECT_EQ(advised(request).stripes, 1U);
}

AdviceRequest files_of(std::uint64_t ranks) {
  return {.ranks = ranks, .ranks_per_node = 16, .bytes = Bytes::gib(ranks), .files = FileUse::per_process, .accept = 0.05};
}

TEST(Advice, ManyFilesGetOneOrTwoStripes) {
  for (const std::uint64_t ranks : {512U, 1024U, 2048U, 4096U, 65'536U, 1'000'000U}) {
    EXPECT_LE(advised(files_of(ranks)).stripes, 2U) << ranks;
  }
  EXPECT_EQ(advised(files_of(4096)).stripes, 1U);
}

TEST(Advice, TooManyFilesWantFewerWriters) {
  EXPECT_FALSE(advised(files_of(512)).aggregation);
  const Advice advice = advised(files_of(16'384));
  ASSERT_TRUE(advice.aggregation);
  const Aggregation fewer = advice.aggregation.value_or(Aggregation{});
  EXPECT_LT(fewer.writers, 1500U);
  EXPECT_EQ(fewer.writers % 1024, 0U);  // 1,024 nodes: one each
  EXPECT_GT(fewer.speed, advice.curve[advice.fastest].expected.speed);
  EXPECT_LE(expected_usage(480, 1, fewer.writers)->load, 3.0);
  EXPECT_THAT(advice.reason, HasSubstr("16384 files at once contend with each other: 1024 writers would reach"));
}

TEST(Advice, FilesThatFollow) {
  AdviceRequest request = files_of(256);
  request.others.jobs = 3;
  request.others_follow = true;
  const Advice advice = advised(request);
  EXPECT_NEAR(at(advice, 2).expected.after.load, log_structured_usage(480, 1024)->load, 1e-9);
  request.others.jobs = ~std::uint64_t{0};
  EXPECT_THAT(advise(kLscratchc, request).error().message, HasSubstr("too many to count"));
}

// What is chosen is what the rule says, whatever the machine and the load.
TEST(Advice, KeepsItsRule) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Machine machine = kLscratchc;
    machine.osts = static_cast<std::uint32_t>(rng.between(1, 600));
    machine.servers = static_cast<std::uint32_t>(rng.between(1, machine.osts));
    machine.ost_rate = {1e6 * static_cast<double>(rng.between(10, 3000))};
    machine.contention_slope = rng.unit();
    AdviceRequest request{.ranks = rng.between(1, 3000), .ranks_per_node = rng.between(1, 64), .bytes = Bytes{rng.bits() >> 24U}};
    request.bytes += Bytes{1};
    request.files = rng.chance(0.4) ? FileUse::per_process : FileUse::shared;
    request.accept = rng.unit() * 0.5;
    std::vector<std::uint32_t> requests(rng.below(6));
    for (std::uint32_t& each : requests) each = static_cast<std::uint32_t>(rng.between(1, machine.osts));
    request.others = *load_of_requests(machine.osts, requests);
    request.others_follow = rng.chance(0.3);
    const Advice advice = advised(request, machine);
    ASSERT_FALSE(advice.curve.empty());
    const Choice& chosen = advice.curve[advice.chosen];
    EXPECT_EQ(chosen.stripes, advice.stripes);
    EXPECT_GE(chosen.share_of_best, 1 - request.accept - 1e-6);
    for (const Choice& choice : advice.curve) {
      EXPECT_LE(choice.share_of_best, 1 + 1e-6);
      if (choice.share_of_best < 1 - request.accept + 1e-6) continue;
      EXPECT_LE(chosen.expected.slowdown, choice.expected.slowdown + kAlikeSlowdown + 1e-6);
    }
    for (const Choice& fewer : advice.curve) {
      if (fewer.stripes >= chosen.stripes || fewer.share_of_best < 1 - request.accept + 1e-6) continue;
      const bool beaten = std::ranges::any_of(advice.curve, [&](const Choice& better) {
        return better.share_of_best >= 1 - request.accept - 1e-6 &&
               better.expected.slowdown < fewer.expected.slowdown - kAlikeSlowdown + 1e-6;
      });
      EXPECT_TRUE(beaten) << fewer.stripes;
    }
    model::Layout layout;
    layout.components.push_back({.stripe_size = advice.stripe_size, .stripe_count = static_cast<std::uint16_t>(advice.stripes)});
    EXPECT_TRUE(model::validate_request(layout));
  }
}

TEST(Advice, RefusesWhatMakesNoSense) {
  const auto message = [](const AdviceRequest& request) { return advise(kLscratchc, request).error().message; };
  AdviceRequest request = source_job();
  request.ranks = 0;
  EXPECT_THAT(message(request), HasSubstr("0 ranks, 16 per node"));
  request = source_job();
  request.bytes = {};
  EXPECT_THAT(message(request), HasSubstr("bytes is 0"));
  request = source_job();
  request.transfer = {};
  EXPECT_THAT(message(request), HasSubstr("transfer is 0"));
  request = source_job();
  request.block = Bytes{0};
  EXPECT_THAT(message(request), HasSubstr("block is 0"));
  request = source_job();
  request.accept = 1;
  EXPECT_THAT(message(request), HasSubstr("accept: 1"));
  request = source_job();
  request.candidates = {161};
  EXPECT_THAT(message(request), HasSubstr("161 stripes; expected 1 to 160"));
  EXPECT_THAT(advise(Machine{}, source_job()).error().message, HasSubstr("machine: osts"));
}

}  // namespace
}  // namespace iez::contention
