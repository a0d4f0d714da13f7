#include "api/plan_json.hpp"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"

namespace iez::api {
namespace {

std::string random_text(Rng& rng, std::size_t most, bool utf8) {
  std::string out;
  for (std::size_t i = rng.below(most + 1); i > 0; --i) {
    out.push_back(static_cast<char>(utf8 ? rng.between(32, 126) : rng.between(1, 255)));
  }
  return out;
}

PlanRequest random_request(Rng& rng) {
  PlanRequest request{.application = random_text(rng, 20, true)};
  request.file_system = random_text(rng, 5, true);
  request.run = random_text(rng, 5, true);
  request.host = random_text(rng, 5, true);
  request.ttl_s = rng.chance(0.5) ? rng.bits() : 0;
  request.keep_earlier = rng.chance(0.5);
  for (std::uint64_t i = rng.below(5); i > 0; --i) {
    FileRequest file{.name = random_text(rng, 40, rng.chance(0.5)), .bytes = rng.bits(), .high = rng.bits()};
    file.files = rng.below(10);
    file.stripe_count = static_cast<std::int32_t>(rng.below(100)) - 1;
    file.stripe_size = rng.below(3) * 65536;
    file.pool = random_text(rng, 4, true);
    file.rank = static_cast<std::int64_t>(rng.below(10)) - 1;
    file.shared = rng.chance(0.5);
    file.phase = static_cast<std::uint32_t>(rng.chance(0.5) ? rng.below(4) : kMaxPhase - rng.below(4));
    file.read_phase = static_cast<std::int64_t>(rng.below(5)) - 1;
    file.left_alone = rng.chance(0.3);
    file.default_stripe_count = static_cast<std::int32_t>(rng.below(5)) - 1;
    file.default_stripe_size = rng.below(3) * 65536;
    request.files.push_back(file);
  }
  request.gap_s = rng.chance(0.5) ? 86'400.5 * rng.unit() : 0;
  request.idle_s = rng.chance(0.5) ? 3600 * rng.unit() : 0;
  request.ran_s = rng.chance(0.5) ? 3600 * rng.unit() : 0;
  request.always = rng.chance(0.5);
  for (std::uint64_t i = rng.below(4); i > 0; --i) request.phase_seconds.push_back(rng.chance(0.5) ? 100 * rng.unit() : 0);
  for (std::uint64_t i = rng.below(3); i > 0; --i) request.spread.push_back(random_text(rng, 10, true));
  for (std::uint64_t i = rng.below(3); i > 0; --i)
    request.freed.push_back({static_cast<std::uint32_t>(rng.below(100)), rng.below(1 << 30)});
  for (std::uint64_t i = rng.below(3); i > 0; --i)
    request.slow.push_back({static_cast<std::uint32_t>(rng.below(100)), 1 - rng.unit()});
  return request;
}

TEST(PlanJson, RequestsComeBackAsTheyWere) {
  const std::uint64_t seed = 4711;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    const PlanRequest request = random_request(rng);
    const std::string text = to_json(request);
    ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    const auto back = parse_plan_request(text);
    ASSERT_TRUE(back) << back.error().message << '\n' << text;
    ASSERT_EQ(*back, request) << text;
  }
}

TEST(PlanJson, AnswersComeBackAsTheyWere) {
  const std::uint64_t seed = 4712;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (int round = 0; round < 500; ++round) {
    PlanAnswer answer{
        .plan = "00112233445566aa", .revision = rng.below(10) + 1, .made_ns = 5, .expires_ns = 6, .application = "ior"};
    answer.policy = "balanced";
    answer.file_system = "lab";
    answer.reasons = {"8 of 15 usable OSTs", "one \"quoted\""};
    for (std::uint64_t i = rng.below(5); i > 0; --i) {
      FileAnswer file{.reason = static_cast<std::uint32_t>(rng.below(2))};
      for (std::uint64_t k = rng.below(3) + 1; k > 0; --k) {
        PlannedLayout layout{.stripe_size = 65536 * rng.below(100)};
        for (std::uint64_t j = rng.below(9); j > 0; --j) layout.osts.push_back(static_cast<std::uint32_t>(rng.below(10'000)));
        file.layouts.push_back(layout);
      }
      answer.files.push_back(file);
    }
    answer.weights = {{0, 100}, {3, 1}};
    answer.before = {1.25, rng.unit()};
    answer.after = {1.0254, 1};
    answer.notes = {"OST 3 is full"};
    if (rng.chance(0.5)) {
      answer.verdict = "predicted to take 52 % of the default's time";
      answer.gain = 1 + rng.unit();
    }
    const std::string text = to_json(answer);
    ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    const auto back = parse_plan_answer(text);
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(*back, answer) << text;
  }
}

TEST(PlanJson, AnAnswerWithoutAPlanSaysWhy) {
  PlanAnswer answer{.application = "ior", .verdict = "Lustre's default is as good", .gain = 1.01};
  answer.files.resize(2);
  const auto back = parse_plan_answer(to_json(answer));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, answer);
  answer.files[1].layouts = {{.stripe_size = 65536, .osts = {1}}};
  EXPECT_EQ(parse_plan_answer(to_json(answer)).error().message, "layouts without the id of their plan");
  EXPECT_FALSE(parse_plan_answer(R"({"files":[{"layouts":[]}]})")) << "neither a plan nor a verdict";
  // As a coordinator of 0.1 answers: neither a verdict nor a gain.
  const auto old = parse_plan_answer(R"({"plan":"00112233445566aa","files":[]})");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->verdict, "");
  EXPECT_EQ(old->gain, 1);
}

TEST(PlanJson, PhasesHaveBounds) {
  const auto with = [](const std::string& fields) {
    return parse_plan_request(R"({"application":"a","files":[{"name":"/a","bytes":1,)" + fields + "}]}");
  };
  EXPECT_EQ(with(R"("phase":4294967294)").value().files[0].phase, kMaxPhase);
  EXPECT_FALSE(with(R"("phase":4294967295)"));
  EXPECT_FALSE(with(R"("phase":-1)"));
  EXPECT_EQ(with(R"("read_phase":-1)").value().files[0].read_phase, -1);
  EXPECT_FALSE(with(R"("read_phase":-2)"));
  EXPECT_FALSE(with(R"("read_phase":4294967295)"));
  EXPECT_FALSE(with(R"("default_stripe_count":-2)"));
  const auto seconds = [](const std::string& list) {
    return parse_plan_request(R"({"application":"a","files":[{"name":"/a","bytes":1}],"phase_seconds":[)" + list + "]}");
  };
  EXPECT_EQ(seconds("0,1.5").value().phase_seconds, (std::vector<double>{0, 1.5}));
  EXPECT_FALSE(seconds("-1"));
  EXPECT_FALSE(seconds("1e999"));
  std::string many = "0";
  for (std::size_t i = 1; i < kMaxPhaseSeconds; ++i) many += ",0";
  EXPECT_TRUE(seconds(many));
  EXPECT_FALSE(seconds(many + ",0"));
  const auto slow = [](const std::string& list) {
    return parse_plan_request(R"({"application":"a","files":[{"name":"/a","bytes":1}],"slow":[)" + list + "]}");
  };
  EXPECT_EQ(slow("[3,0.25],[4,1]").value().slow, (std::vector<SlowOst>{{3, 0.25}, {4, 1}}));
  for (const char* const wrong : {"[3,0]", "[3,-1]", "[3,1.5]", "[3]", "3", "[-1,0.5]", "[3,null]"}) {
    EXPECT_FALSE(slow(wrong)) << wrong;
  }
  std::string all = "[0,1]";
  for (std::size_t i = 1; i < kMaxSlowOsts; ++i) all += ",[0,1]";
  EXPECT_TRUE(slow(all));
  EXPECT_FALSE(slow(all + ",[0,1]"));
  EXPECT_FALSE(parse_plan_request(R"({"application":"a","gap_s":-1})"));
  EXPECT_FALSE(parse_plan_request(R"({"application":"a","idle_s":-1})"));
  EXPECT_FALSE(parse_plan_request(R"({"application":"a","ran_s":-1})"));
}

TEST(PlanJson, SmallMessagesComeBackAsTheyWere) {
  const CreatedRequest created{.all = true, .files = {{0, 0}, {7, 12}}};
  EXPECT_EQ(parse_created_request(to_json(created)).value(), created);
  EXPECT_EQ(parse_created_request(R"({"files": [[4]]})").value(), (CreatedRequest{.files = {{4, 0}}}));
  const Ticket ticket{.plan = "ab", .retry_after_s = 5, .why = "CPU 91 %", .busy = true};
  EXPECT_EQ(parse_ticket(to_json(ticket)).value(), ticket);
  const Problem problem{.status = 409, .type = "urn:iez:no-room", .title = "No room", .detail = "file 'a'"};
  EXPECT_EQ(parse_problem(to_json(problem)).value(), problem);
  const std::vector<PlanRow> rows{{.plan = "1",
                                   .application = "a",
                                   .user = "u",
                                   .file_system = "f",
                                   .state = "pending",
                                   .revision = 2,
                                   .made_ns = 3,
                                   .expires_ns = 4,
                                   .files = 5,
                                   .created = 1,
                                   .reserved = 7}};
  EXPECT_EQ(parse_plan_rows(to_json(rows)).value(), rows);
  const std::vector<OstWeight> weights{{1, 2}, {3, 100}};
  EXPECT_EQ(parse_weights(to_json("lab", weights)).value(), weights);
}

// As the first client wrote it, with the fewest fields; and what a later one may add.
TEST(PlanJson, OldAndNewClientsAreUnderstood) {
  const auto old = parse_plan_request(R"({"application":"ior","files":[{"name":"/scratch/a","bytes":1048576}]})");
  ASSERT_TRUE(old);
  EXPECT_EQ(*old, (PlanRequest{.application = "ior", .files = {{.name = "/scratch/a", .bytes = 1048576}}}));
  EXPECT_TRUE(check(*old));
  const auto newer = parse_plan_request(
      R"({"colour":{"deep":[1,{"x":null}]},"application":"ior","files":[{"name":"/scratch/a","bytes":1048576,"mood":[],"pool":null}]})");
  ASSERT_TRUE(newer);
  EXPECT_EQ(*newer, *old);
}

TEST(PlanJson, ErrorsNameTheField) {
  EXPECT_EQ(parse_plan_request(R"({"application": 5})").error().message, "field 'application' (at byte 16): expected a text");
  EXPECT_EQ(parse_plan_request(R"({"files": [{"bytes": -1}]})").error().message,
            "field 'bytes' (at byte 23): expected a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(parse_plan_request("[]").error().message, "at byte 0: expected an object");
  EXPECT_FALSE(parse_plan_request(R"({"files":[{"name_hex":"4"}]})"));
  EXPECT_FALSE(parse_plan_answer("{}"));
  EXPECT_FALSE(parse_plan_answer(R"({"plan":"a","files":[{"layouts":[],"reason":3}]})"));
}

TEST(PlanJson, ChecksPaths) {
  const auto verdict = [](const std::string& name) {
    return check({.application = "a", .files = {{.name = name, .bytes = 1}}}).has_value();
  };
  for (const char* good : {"/a", "/a/b.c", "/a/..b", "/a/...", "/a/{step}.{rank}"}) EXPECT_TRUE(verdict(good)) << good;
  for (const char* bad : {"", "a", "a/b", "/", "/a/", "//a", "/a//b", "/a/./b", "/a/../b", "/..", "/a/.."}) {
    EXPECT_FALSE(verdict(bad)) << bad;
  }
  EXPECT_FALSE(verdict(std::string("/a\0b", 4)));
  EXPECT_FALSE(check({.application = "", .files = {{.name = "/a", .bytes = 1}}}));
  EXPECT_FALSE(check({.application = "a"}));
  EXPECT_FALSE(check({.application = "a", .files = {{.name = "/a", .bytes = 0}}}));
  EXPECT_FALSE(check({.application = "a", .files = {{.name = "/a", .bytes = 1, .files = 2}}}));
  EXPECT_TRUE(check({.application = "a", .files = {{.name = "/a{rank}", .bytes = 1, .files = 1'000'000}}}));
  EXPECT_FALSE(check({.application = "a", .files = {{.name = "/a{rank}", .bytes = 1, .files = 1'000'001}}}));
}

}  // namespace
}  // namespace iez::api
