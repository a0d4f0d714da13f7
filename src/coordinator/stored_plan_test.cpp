#include "coordinator/stored_plan.hpp"

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

StoredPlan sample() {
  GlobalView view(balanced());
  EXPECT_TRUE(view.set_cluster(make_cluster("lab", 2, 4, 1U << 30U), {}));
  api::PlanRequest request = make_request("a", 5, 7U << 20U, 3);
  request.files[1].name += "{rank}";
  request.files[1].files = 4;
  request.freed = {{1, 1000}};
  return view.plan(request, "user", 77, 5, 6).value();
}

TEST(StoredPlan, ComesBackAsItWas) {
  const StoredPlan plan = sample();
  EXPECT_EQ(decode(encode(plan)).value(), plan);
  EXPECT_EQ(plan.layouts.size(), 8U);
  EXPECT_EQ(plan.expires_ns, 11);
}

TEST(StoredPlan, DamageIsNoticedOrHarmless) {
  const auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer));
  Rng rng(5);
  for (int round = 0; round < 5000; ++round) {
    auto damaged = bytes;
    damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.below(256));
    if (const auto plan = decode(damaged)) {
      (void)answer_of(*plan);
      (void)plan->reserved();
    }
  }
}

TEST(StoredPlan, CreatedFilesLeave) {
  const StoredPlan plan = sample();
  const std::uint64_t all = plan.reserved();
  const auto some = with_created(plan, {.files = {{0, 0}, {1, 2}}}).value();
  ASSERT_TRUE(some);
  EXPECT_EQ(some->created(), 3U);
  EXPECT_LT(some->reserved(), all);
  // Told again, or told less: nothing changes.
  EXPECT_EQ(*with_created(*some, {.files = {{1, 1}}}).value(), *some);
  EXPECT_EQ(with_created(*some, {.files = {{1, 99}, {2, 0}, {3, 0}, {4, 0}}}).value(), nullptr);
  EXPECT_EQ(with_created(plan, {.all = true}).value(), nullptr);
  EXPECT_EQ(with_created(plan, {.files = {{5, 0}}}).error().message, "file 5: the plan has 5 files");
}

TEST(StoredPlan, Ids) {
  EXPECT_EQ(id_text(0xABC), "0000000000000abc");
  EXPECT_EQ(parse_id("0000000000000abc"), 0xABCU);
  for (const char* bad : {"", "abc", "0000000000000ABC", "0000000000000ab/", "00000000000000abc"})
    EXPECT_EQ(parse_id(bad), 0U) << bad;
}

}  // namespace
}  // namespace iez::coordinator
