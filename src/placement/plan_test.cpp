#include "placement/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "placement/balanced.hpp"
#include "placement/placement_test_support.hpp"
#include "placement/stripe_size.hpp"

namespace iez::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Plan> try_plan(const TargetTable& table, const std::vector<Request>& requests) {
  BalancedPolicy policy;
  return plan_files(table, requests, policy);
}

Plan plan_of(const TargetTable& table, const std::vector<Request>& requests) {
  auto plan = try_plan(table, requests);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : Plan{};
}

Error error_of(const TargetTable& table, const std::vector<Request>& requests) {
  const auto plan = try_plan(table, requests);
  EXPECT_FALSE(plan);
  if (plan) return {};
  const auto again = try_plan(table, requests);
  EXPECT_FALSE(again);
  if (!again) {
    EXPECT_EQ(plan.error().message, again.error().message) << "same question, same answer";
  }
  return plan.error();
}

TargetTable table_of(const model::Cluster& cluster, const TargetOptions& options = {}) {
  auto table = make_targets(cluster, options);
  EXPECT_TRUE(table);
  return table ? *std::move(table) : TargetTable{};
}

std::string reason_of(const Plan& plan, std::size_t file = 0) {
  return to_string(plan.files[file].reason, plan.files[file].stripes);
}

// All components of each request make a layout that Lustre takes.
void expect_valid_layouts(const Plan& plan, const TargetTable& table) {
  for (std::size_t i = 0; i < plan.files.size();) {
    std::size_t end = i;
    while (end < plan.files.size() && plan.files[end].request == plan.files[i].request) ++end;
    const model::Layout layout = layout_of(plan, std::span(plan.files).subspan(i, end - i), table);
    const auto valid = model::validate_request(layout);
    EXPECT_TRUE(valid) << "request " << plan.files[i].request << ": " << valid.error().message;
    for (const model::Component& component : layout.components) {
      EXPECT_GT(component.stripe_count, 0);
      if (!component.osts.empty()) {
        EXPECT_EQ(component.osts.size(), component.stripe_count);
      }
      // The MDS refuses a component whose end is no multiple of its stripe size.
      if (component.extent.end != model::Extent::kEof) {
        EXPECT_EQ(component.extent.end % component.stripe_size.count, 0U);
      }
    }
    i = end;
  }
}

TEST(Plan, NoFiles) {
  const Plan plan = plan_of(paper_table(), {});
  EXPECT_EQ(plan.policy, "balanced");
  EXPECT_THAT(plan.files, IsEmpty());
  EXPECT_EQ(plan.added.size(), 15U);
  EXPECT_EQ(plan.after.max_utilisation, 0);
}

TEST(Plan, OneFileByHand) {
  TargetTable table = grid(2, 2);
  fill(table.targets[1], Bytes::gib(2));
  const Plan plan = plan_of(table, {request_of("a", Bytes::gib(1), 2)});
  ASSERT_EQ(plan.files.size(), 1U);
  const Planned& file = plan.files[0];
  EXPECT_EQ(file.stripes, 2U);
  EXPECT_EQ(file.stripe_size, Bytes::mib(4));
  EXPECT_EQ(file.object_bytes, Bytes::mib(512));
  EXPECT_FALSE(file.overstriped);
  EXPECT_EQ(file.extent, model::Extent{});
  EXPECT_EQ(plan.osts.size(), 2U);
  EXPECT_THAT(plan.osts, testing::Contains(OstIndex{0}));
  EXPECT_DOUBLE_EQ(plan.before.max_utilisation, 0.2);
  EXPECT_DOUBLE_EQ(plan.after.max_utilisation, 0.2);
  EXPECT_DOUBLE_EQ(plan.after.mean_utilisation, 3.0 / 40);
  EXPECT_DOUBLE_EQ(plan.bound, 0.2);
  EXPECT_THAT(plan.over, IsEmpty());
  EXPECT_THAT(plan.avoided, IsEmpty());
  EXPECT_EQ(reason_of(plan), "2 of 4 usable OSTs, 5.0 % full afterwards");
  expect_valid_layouts(plan, table);
}

TEST(Plan, WithRoomExpectedSizesDecide) {
  TargetTable table = grid(1, 2);  // of 10 GiB
  fill(table.targets[0], Bytes::gib(3));
  const std::vector<Request> requests{request_of("a", Bytes::gib(1), 1), request_of("b", Bytes::gib(2), 1),
                                      request_of("c", Bytes::gib(1), 1)};
  BalancedPolicy policy;
  // 7 GiB in all: 3 + 1 against 2 + 1, whatever room is kept.
  for (const Bytes room : {Bytes{}, Bytes::gib(3)}) {
    const auto plan = plan_with_room(table, requests, std::vector<Bytes>(3, room), policy);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_DOUBLE_EQ(plan->after.max_utilisation, 0.4);
    EXPECT_EQ(plan->added, (std::vector<Bytes>{Bytes::gib(1), Bytes::gib(3)}));
  }
  // 6 GiB for each do not fit twice on the second.
  const auto plan = plan_with_room(table, requests, std::vector<Bytes>{Bytes::gib(6), Bytes::gib(6), Bytes::gib(1)}, policy);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NE(plan->osts[0], plan->osts[1]);
  const auto none = plan_with_room(table, requests, std::vector<Bytes>(3, Bytes::gib(8)), policy);
  EXPECT_FALSE(none) << "no room is no plan";
}

TEST(Plan, BadRequestsAreNamed) {
  const TargetTable table = grid(1, 4);
  const auto bad = [&](const Request& request) {
    const Request good = request_of("good", Bytes::mib(1), 1);
    const Error error = error_of(table, {good, request});
    EXPECT_EQ(error.code, Errc::invalid_argument);
    return error.message;
  };
  EXPECT_EQ(bad(request_of("", Bytes::mib(1), 1)), "a file has no name");
  EXPECT_EQ(bad(request_of("x", Bytes{}, 1)), "file 'x': has 0 bytes: a file that stays empty needs no placement");
  EXPECT_EQ(bad(request_of("x", Bytes{~std::uint64_t{0}}, 1)), "file 'x': is larger than 4 EiB");
  EXPECT_EQ(bad(request_of("x", Bytes{(std::uint64_t{1} << 62U) + 1}, 1)), "file 'x': is larger than 4 EiB");
  EXPECT_EQ(bad(request_of("x", Bytes::mib(1), 0)), "file 'x': a stripe count of 0: expected 1 or more, or -1 for all targets");
  EXPECT_EQ(bad(request_of("x", Bytes::mib(1), -2)), "file 'x': a stripe count of -2: expected 1 or more, or -1 for all targets");
  EXPECT_EQ(bad(request_of("good", Bytes::mib(2), 1)), "file 'good' is asked for twice");
  Request odd = request_of("x", Bytes::mib(1), 1);
  odd.stripe_size = Bytes{100'000};
  EXPECT_EQ(bad(odd), "file 'x': stripe size 100000: Lustre takes multiples of 64 KiB below 4 GiB");
  odd.stripe_size = Bytes::gib(4);
  EXPECT_THAT(bad(odd), HasSubstr("stripe size 4294967296"));
  EXPECT_THAT(bad(request_of("a\tb", Bytes{}, 1)), HasSubstr("file 'a\\x09b'"));
}

TEST(Plan, BadComponents) {
  const TargetTable table = grid(1, 4);
  Request request = request_of("x", Bytes::mib(100), 1);
  const auto bad = [&](std::vector<RequestComponent> components) {
    request.components = std::move(components);
    const Error error = error_of(table, {request});
    EXPECT_EQ(error.code, Errc::invalid_argument);
    return error.message;
  };
  EXPECT_EQ(bad({{.end = Bytes::mib(4).count}}), "file 'x': its last component must reach the end of the file (eof)");
  EXPECT_EQ(bad({{.end = Bytes::mib(4).count}, {.end = Bytes::mib(4).count}, {.end = model::Extent::kEof}}),
            "file 'x': a component ends before it starts");
  EXPECT_EQ(bad({{.end = 0}, {.end = model::Extent::kEof}}), "file 'x': a component ends before it starts");
  EXPECT_THAT(bad({{.end = Bytes::mib(4).count}, {.end = model::Extent::kEof, .stripe_count = 0}}),
              HasSubstr("a stripe count of 0"));
  EXPECT_THAT(bad({{.end = Bytes::mib(4).count, .pool = "none"}, {.end = model::Extent::kEof}}), HasSubstr("no pool 'none'"));
  EXPECT_THAT(bad({{.end = Bytes::mib(4).count, .stripe_size = Bytes{1}}, {.end = model::Extent::kEof}}),
              HasSubstr("stripe size 1:"));
}

TEST(Plan, AComponentThatEndsBesideLustresAlignmentIsRefused) {
  Request request = request_of("x", Bytes::mib(100), 1);
  request.components = {{.end = 1'000'000}, {.end = model::Extent::kEof}};
  EXPECT_EQ(error_of(grid(1, 4), {request}).code, Errc::invalid_argument);
}

TEST(Plan, UnknownPools) {
  model::Cluster cluster = cluster_of(1, 4);
  Request request = request_of("x", Bytes::mib(1), 1);
  request.pool = "flsh";
  EXPECT_EQ(error_of(table_of(cluster), {request}).message, "file 'x': no pool 'flsh'; the cluster has no pools");
  cluster.pools = {{.name = "flash", .osts = {{0}}}, {.name = "disk", .osts = {{1}}}};
  EXPECT_EQ(error_of(table_of(cluster), {request}).message, "file 'x': no pool 'flsh'; did you mean 'flash'?");
  request.pool = "completely-else";
  EXPECT_EQ(error_of(table_of(cluster), {request}).message, "file 'x': no pool 'completely-else'; there are: flash, disk");
}

TEST(Plan, PoolsAreKept) {
  model::Cluster cluster = cluster_of(2, 4);
  cluster.pools = {{.name = "flash", .osts = {{1}, {5}, {6}}}};
  const TargetTable table = table_of(cluster);
  std::vector<Request> requests;
  for (int i = 0; i < 9; ++i) {
    requests.push_back(request_of(std::to_string(i), Bytes::mib(300), 2));
    if (i % 3 == 0) requests.back().pool = "flash";
  }
  const Plan plan = plan_of(table, requests);
  for (const Planned& file : plan.files) {
    if (requests[file.request].pool.empty()) continue;
    EXPECT_EQ(file.reason.usable, 3U);
    for (const OstIndex ost : plan.osts_of(file)) EXPECT_TRUE(ost.value == 1 || ost.value == 5 || ost.value == 6);
    EXPECT_EQ(layout_of(plan, std::span(&file, 1), table).components[0].pool, "flash");
  }
  expect_valid_layouts(plan, table);
}

TEST(Plan, AllTargetsAndMoreThanThereAre) {
  const TargetTable table = grid(1, 4);
  const Plan plan = plan_of(table, {request_of("all", Bytes::gib(1), kAllTargets), request_of("more", Bytes::gib(1), 20)});
  EXPECT_EQ(plan.files[0].stripes, 4U);
  EXPECT_EQ(plan.files[0].reason.cut, CountCut::none);
  EXPECT_EQ(reason_of(plan, 0), "all 4 usable OSTs, 5.0 % full afterwards");
  EXPECT_EQ(plan.files[1].stripes, 4U);
  EXPECT_EQ(plan.files[1].reason.cut, CountCut::usable_targets);
  EXPECT_EQ(reason_of(plan, 1),
            "all 4 usable OSTs, 5.0 % full afterwards; 20 stripes were asked for, but no more OSTs take objects");
}

TEST(Plan, LustresLimitOfStripes) {
  const TargetTable table = grid(21, 100);
  for (const std::int32_t count : {kAllTargets, 2001, 2'000'000'000}) {
    const Plan plan = plan_of(table, {request_of("wide", Bytes::gib(100), count)});
    EXPECT_EQ(plan.files[0].stripes, 2000U);
    EXPECT_EQ(plan.files[0].reason.cut, CountCut::lustre_limit);
    EXPECT_THAT(reason_of(plan), HasSubstr("2000 of 2100 usable OSTs"));
    EXPECT_THAT(reason_of(plan), HasSubstr("; Lustre allows 2000 stripes"));
    expect_valid_layouts(plan, table);
  }
}

TEST(Plan, NothingUsableSaysWhy) {
  model::Cluster cluster = cluster_of(1, 6);
  cluster.osts[0].state.active = cluster.osts[1].state.active = false;
  cluster.osts[2].state.read_only = true;
  cluster.osts[3].available = {};
  cluster.osts[4].total = {};
  const Request request = request_of("x", Bytes::mib(1), 1);
  const Error error = error_of(table_of(cluster, {.excluded = {{5}}}), {request});
  EXPECT_EQ(error.code, Errc::not_found);
  EXPECT_EQ(error.message,
            "file 'x': no OST of the cluster takes new objects: 2 inactive, 1 read-only, 1 full, 1 of no size, 1 excluded");
  EXPECT_EQ(error_of(table_of({}), {request}).message, "file 'x': the cluster has no OSTs");
  model::Cluster pools = cluster_of(1, 2);
  pools.pools = {{.name = "none", .osts = {}}, {.name = "one", .osts = {{1}}}};
  Request pooled = request;
  pooled.pool = "none";
  EXPECT_EQ(error_of(table_of(pools), {pooled}).message, "file 'x': pool 'none' has no OSTs");
  pooled.pool = "one";
  EXPECT_EQ(error_of(table_of(pools, {.excluded = {{1}}}), {pooled}).message,
            "file 'x': no OST of pool 'one' takes new objects: 1 excluded");
}

TEST(Plan, NotEnoughSpaceInTotal) {
  const TargetTable table = grid(1, 4);
  const Error error = error_of(table, {request_of("small", Bytes::gib(1), 4), request_of("large", Bytes::gib(50), 4)});
  EXPECT_EQ(error.code, Errc::limit);
  EXPECT_EQ(error.message,
            "not enough space for file 'large' (53.7 GB): all files together need 54.8 GB, 4 usable OSTs have 42.9 GB; nothing "
            "was placed");
  EXPECT_EQ(error_of(table, {request_of("absurd", Bytes{std::uint64_t{1} << 62U}, -1)}).code, Errc::limit);
}

TEST(Plan, EnoughSpaceButNotOnSoMany) {
  TargetTable table = grid(1, 8);
  for (std::size_t j = 2; j < 8; ++j) fill(table.targets[j], Bytes::gib(10) - Bytes::mib(64));
  const Plan plan = plan_of(table, {request_of("x", Bytes::gib(4), 8)});
  EXPECT_EQ(plan.files[0].stripes, 2U);
  EXPECT_EQ(plan.files[0].object_bytes, Bytes::gib(2));
  EXPECT_EQ(plan.files[0].reason.cut, CountCut::space);
  EXPECT_THAT(reason_of(plan), HasSubstr("2 of 8 usable OSTs"));
  EXPECT_THAT(reason_of(plan), HasSubstr("; of 8 stripes asked for, since too few OSTs have room for so many"));
  expect_valid_layouts(plan, table);
}

TEST(Plan, AGivenStripeSizeOutlivesTheCut) {
  TargetTable table = grid(1, 8);
  for (std::size_t j = 2; j < 8; ++j) fill(table.targets[j], Bytes::gib(10) - Bytes::mib(64));
  Request plain = request_of("x", Bytes::gib(4), 8);
  plain.stripe_size = Bytes::mib(1);
  Plan plan = plan_of(table, {plain});
  EXPECT_EQ(plan.files[0].stripes, 2U);
  EXPECT_EQ(plan.files[0].stripe_size, Bytes::mib(1));
  EXPECT_EQ(plan.files[0].object_bytes, Bytes::gib(2));
  Request progressive = request_of("x", Bytes::gib(4), 8);
  progressive.components = {{.end = model::Extent::kEof, .stripe_count = 8, .stripe_size = Bytes::mib(1)}};
  plan = plan_of(table, {progressive});
  EXPECT_EQ(plan.files[0].stripes, 2U);
  EXPECT_EQ(plan.files[0].stripe_size, Bytes::mib(1));
}

TEST(Plan, SmallFilesGetFewerStripes) {
  const TargetTable table = grid(1, 8);
  const Plan plan = plan_of(table, {request_of("x", Bytes::kib(200), 8), request_of("y", Bytes{1}, kAllTargets)});
  EXPECT_EQ(plan.files[0].stripes, 4U);
  EXPECT_EQ(plan.files[0].reason.cut, CountCut::small_file);
  EXPECT_THAT(reason_of(plan, 0), HasSubstr("; of 8 stripes asked for the others would stay empty"));
  EXPECT_EQ(plan.files[1].stripes, 1U);
  EXPECT_EQ(plan.files[1].object_bytes, Bytes{1});
  EXPECT_THAT(reason_of(plan, 1), HasSubstr("1 of 8 usable OSTs, 0.0 % full afterwards"));
  Request fixed = request_of("z", Bytes::mib(10), 8);
  fixed.stripe_size = Bytes::mib(4);
  EXPECT_EQ(plan_of(table, {fixed}).files[0].stripes, 3U);
}

TEST(Plan, ProgressiveFilesFillTheirComponentsInOrder) {
  const TargetTable table = grid(2, 4);
  Request request = request_of("x", Bytes::mib(100), 1);
  request.components = {{.end = Bytes::mib(4).count, .stripe_count = 1},
                        {.end = Bytes::mib(64).count, .stripe_count = 4, .stripe_size = Bytes::mib(1)},
                        {.end = Bytes::gib(1).count, .stripe_count = 8, .stripe_size = Bytes::mib(4)},
                        {.end = model::Extent::kEof, .stripe_count = kAllTargets}};
  const Plan plan = plan_of(table, {request, request_of("plain", Bytes::mib(10), 1)});
  ASSERT_EQ(plan.files.size(), 5U);
  EXPECT_EQ(plan.files[0].bytes, Bytes::mib(4));
  EXPECT_EQ(plan.files[0].stripes, 1U);
  EXPECT_EQ(plan.files[1].extent, (model::Extent{Bytes::mib(4).count, Bytes::mib(64).count}));
  EXPECT_EQ(plan.files[1].bytes, Bytes::mib(60));
  EXPECT_EQ(plan.files[1].object_bytes, Bytes::mib(15));
  EXPECT_EQ(plan.files[2].bytes, Bytes::mib(36));
  EXPECT_EQ(plan.files[2].stripes, 8U);
  EXPECT_EQ(plan.files[3].bytes, Bytes{});
  EXPECT_EQ(plan.files[3].stripes, 0U) << "not reached: left to the file system";
  EXPECT_EQ(plan.files[3].wanted, 8U);
  EXPECT_THAT(plan.osts_of(plan.files[3]), IsEmpty());
  EXPECT_EQ(reason_of(plan, 3), "beyond the expected end of the file: left to the file system");
  EXPECT_EQ(plan.files[4].request, 1U);
  expect_valid_layouts(plan, table);
  const model::Layout layout = layout_of(plan, std::span(plan.files).first(4), table);
  EXPECT_TRUE(layout.composite);
  ASSERT_EQ(layout.components.size(), 4U);
  EXPECT_EQ(layout.components[3].stripe_count, 8);
  EXPECT_THAT(layout.components[3].osts, IsEmpty());
  EXPECT_EQ(layout.components[1].osts.size(), 4U);
  EXPECT_EQ(layout.components[3].extent.end, model::Extent::kEof);
}

TEST(Plan, ChosenStripeSizesOfComponentsSuitLustre) {
  // 60 MiB over 4 are evenest in stripes of 5 MiB, but those do not divide the component's end at 64 MiB.
  const TargetTable table = grid(2, 4);
  Request request = request_of("x", Bytes::gib(10), 1);
  request.components = {{.end = Bytes::mib(4).count, .stripe_count = 1},
                        {.end = Bytes::mib(64).count, .stripe_count = 4},
                        {.end = model::Extent::kEof, .stripe_count = 8}};
  expect_valid_layouts(plan_of(table, {request}), table);
  request.bytes = Bytes::mib(70);
  expect_valid_layouts(plan_of(table, {request}), table);
  request.bytes = Bytes::mib(7);
  expect_valid_layouts(plan_of(table, {request}), table);
  // Beyond the expected end, too.
  request.bytes = Bytes::kib(512);
  request.components = {{.end = Bytes::mib(1).count}, {.end = Bytes::mib(3).count}, {.end = model::Extent::kEof}};
  expect_valid_layouts(plan_of(table, {request}), table);
}

TEST(Plan, AGivenStripeSizeThatDoesNotDivideItsComponentIsRefused) {
  Request request = request_of("x", Bytes::mib(100), 1);
  request.components = {{.end = Bytes::mib(64).count, .stripe_size = Bytes::mib(5)}, {.end = model::Extent::kEof}};
  EXPECT_EQ(error_of(grid(1, 4), {request}).code, Errc::invalid_argument);
}

TEST(Plan, ComponentsCutForSpaceStillSuitLustre) {
  // 60 MiB on four targets, of which two have room for their part.
  TargetTable table = grid(1, 4);
  for (std::size_t j = 2; j < 4; ++j) fill(table.targets[j], Bytes::gib(10) - Bytes::mib(8));
  Request request = request_of("x", Bytes::mib(64), 1);
  request.components = {
      {.end = Bytes::mib(4).count}, {.end = Bytes::mib(64).count, .stripe_count = 4}, {.end = model::Extent::kEof}};
  const Plan plan = plan_of(table, {request});
  EXPECT_EQ(plan.files[1].stripes, 2U);
  EXPECT_EQ(plan.files[1].reason.cut, CountCut::space);
  expect_valid_layouts(plan, table);
}

TEST(Plan, Overstriping) {
  const TargetTable table = grid(1, 4);
  Request request = request_of("x", Bytes::gib(1), 10);
  request.overstripe = true;
  const Plan plan = plan_of(table, {request});
  EXPECT_EQ(plan.files[0].stripes, 10U);
  EXPECT_TRUE(plan.files[0].overstriped);
  EXPECT_THAT(reason_of(plan), HasSubstr("10 stripes on 4 usable OSTs"));
  for (std::uint32_t j = 0; j < 4; ++j) {
    const auto here = std::ranges::count(plan.osts, OstIndex{j});
    EXPECT_TRUE(here == 2 || here == 3) << here;
  }
  EXPECT_TRUE(layout_of(plan, plan.files, table).components[0].overstriped);
  expect_valid_layouts(plan, table);
  // Where there are enough targets, and for all of them, it is a plain file.
  request.stripe_count = 4;
  EXPECT_FALSE(plan_of(table, {request}).files[0].overstriped);
  request.stripe_count = kAllTargets;
  EXPECT_EQ(plan_of(table, {request}).files[0].stripes, 4U);
  request.stripe_count = 3000;
  request.bytes = Bytes::gib(20);
  const Plan wide = plan_of(table, {request});
  EXPECT_EQ(wide.files[0].stripes, 2000U);
  EXPECT_EQ(wide.files[0].reason.cut, CountCut::lustre_limit);
  expect_valid_layouts(wide, table);
}

TEST(Plan, ReservationsOfOtherApplications) {
  model::Cluster cluster = cluster_of(1, 2);
  const TargetTable table = table_of(cluster, {.reservations = {{{0}, Bytes::gib(6)}}});
  const Plan plan = plan_of(table, {request_of("x", Bytes::gib(5), 1)});
  EXPECT_THAT(plan.osts, ElementsAre(OstIndex{1}));
  EXPECT_DOUBLE_EQ(plan.before.max_utilisation, 0.6);
  const TargetTable tight = table_of(cluster, {.reservations = {{{0}, Bytes::gib(6)}, {{1}, Bytes::gib(6)}}});
  EXPECT_EQ(error_of(tight, {request_of("x", Bytes::gib(5), 1)}).code, Errc::limit);
}

TEST(Plan, DegradedTargetsAreTold) {
  TargetTable table = grid(1, 4);
  table.targets[3].degraded = true;
  table.targets[2].exclusion = Exclusion::read_only;
  const Plan plan = plan_of(table, {request_of("two", Bytes::mib(8), 2), request_of("three", Bytes::mib(8), 3)});
  EXPECT_EQ(plan.files[0].reason.second_choice, 0U);
  EXPECT_EQ(plan.files[1].reason.second_choice, 1U);
  EXPECT_THAT(reason_of(plan, 1), HasSubstr("; 1 of them degraded or on a busy server, since the others did not suffice"));
  EXPECT_THAT(plan.avoided, ElementsAre(OstIndex{2}));
}

TEST(Plan, ReasonsAsText) {
  Reason reason{.asked = 8, .usable = 15, .lowest = 0.4125, .highest = 0.4381};
  EXPECT_EQ(to_string(reason, 8), "8 of 15 usable OSTs, 41.2 to 43.8 % full afterwards");
  reason.cut = CountCut::policy;
  EXPECT_EQ(to_string(reason, 6),
            "6 of 15 usable OSTs, 41.2 to 43.8 % full afterwards; 8 stripes were asked for, the file system gives fewer");
  reason.asked = 0;
  EXPECT_THAT(to_string(reason, 6), HasSubstr("; 15 stripes were asked for"));
  reason.cut = CountCut::space;
  EXPECT_THAT(to_string(reason, 6), HasSubstr("; of 15 stripes asked for"));
}

TEST(Plan, PoliciesThatIgnoreSpaceAreToldOn) {
  TargetTable table = grid(1, 2);
  fill(table.targets[0], Bytes::gib(9));
  const auto policy = make_policy("lustre-rr", 0);
  ASSERT_TRUE(policy);
  const auto plan = plan_files(table, std::vector<Request>{request_of("x", Bytes::gib(6), 2)}, **policy);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->policy, "lustre-rr");
  EXPECT_THAT(plan->over, ElementsAre(OstIndex{0}));
}

TEST(Plan, Properties) {
  int planned = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Rng rng(seed);
    const TargetTable table = large_instance(rng).table;
    std::vector<Request> requests;
    const std::uint64_t files = rng.between(1, 20);
    for (std::uint64_t i = 0; i < files; ++i) {
      Request request = request_of(std::to_string(i), Bytes{rng.between(1, std::uint64_t{1} << rng.between(4, 36))},
                                   rng.chance(0.1) ? kAllTargets : static_cast<std::int32_t>(rng.between(1, 30)));
      request.overstripe = rng.chance(0.2);
      if (rng.chance(0.3)) request.pool = "some";
      if (rng.chance(0.3)) request.stripe_size = Bytes::kib(64 * rng.between(1, 100));
      requests.push_back(std::move(request));
    }
    for (const std::string_view name : policy_names()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", policy " + std::string(name));
      const auto plan = plan_files(table, requests, **make_policy(name, seed));
      if (!plan) {
        EXPECT_EQ(plan.error().code, Errc::limit) << plan.error().message;
        continue;
      }
      ++planned;
      ASSERT_EQ(plan->files.size(), requests.size());
      std::vector<Bytes> added(table.targets.size());
      for (std::size_t i = 0; i < plan->files.size(); ++i) {
        const Planned& file = plan->files[i];
        EXPECT_EQ(file.request, i);
        EXPECT_EQ(file.object_bytes, largest_object(file.bytes, file.stripe_size, file.stripes));
        EXPECT_EQ(file.stripes < file.wanted, file.reason.cut == CountCut::small_file || file.reason.cut == CountCut::space ||
                                                  file.reason.cut == CountCut::policy);
        EXPECT_FALSE(reason_of(*plan, i).empty());
        const auto osts = plan->osts_of(file);
        EXPECT_EQ(osts.size(), file.stripes);
        if (!file.overstriped) {
          EXPECT_EQ(std::set<OstIndex>(osts.begin(), osts.end()).size(), osts.size());
        }
        for (const OstIndex ost : osts) {
          EXPECT_EQ(table.targets[ost.value].exclusion, Exclusion::none);
          EXPECT_TRUE(std::ranges::binary_search(table.pools[file.pool].members, ost.value));
          added[ost.value] += file.object_bytes;
        }
      }
      EXPECT_EQ(added, plan->added);
      const bool heeds_space = name == "balanced" || name.starts_with("paper");
      if (heeds_space) {
        EXPECT_THAT(plan->over, IsEmpty());
        for (std::size_t j = 0; j < added.size(); ++j) EXPECT_LE(added[j], table.targets[j].available);
      }
      EXPECT_LE(plan->bound, plan->after.max_utilisation * (1 + 1e-9)) << "no placement is below the bound";
      EXPECT_LE(plan->before.max_utilisation, plan->after.max_utilisation);
      expect_valid_layouts(*plan, table);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(planned, 250);
}

TEST(Plan, CutsToWhatFitsAndNoFurther) {
  TargetTable table = paper_table();
  table.targets[4].used = Bytes{table.targets[4].capacity.count - Bytes::mib(1).count};
  table.targets[4].available = Bytes::mib(1);
  BalancedPolicy policy;
  const std::vector<Request> requests{request_of("wide", Bytes::gib(15), kAllTargets)};
  const auto plan = plan_files(table, requests, policy);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->files[0].stripes, 14U);
  EXPECT_EQ(plan->files[0].reason.cut, CountCut::space);
}

TEST(Plan, OverstripingEndsWhereACutMakesItNeedless) {
  TargetTable table = grid(1, 4);
  table.targets[0].used = Bytes{table.targets[0].capacity.count - Bytes::mib(1).count};
  table.targets[0].available = Bytes::mib(1);
  Request request = request_of("over", Bytes::gib(4), 8);
  request.overstripe = true;
  BalancedPolicy policy;
  const auto plan = plan_files(table, std::vector<Request>{request}, policy);
  ASSERT_TRUE(plan) << plan.error().message;
  const Planned& file = plan->files[0];
  const auto osts = plan->osts_of(file);
  std::vector<OstIndex> distinct(osts.begin(), osts.end());
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  EXPECT_EQ(file.overstriped, distinct.size() < osts.size());
}

TEST(Plan, ComponentsBeyondTheEndKeepTheirOverstriping) {
  Request request{.name = "deep", .bytes = Bytes::mib(10)};
  request.overstripe = true;
  request.components = {{.end = Bytes::mib(64).count, .stripe_count = 3}, {.end = model::Extent::kEof, .stripe_count = 40}};
  const TargetTable table = paper_table();
  BalancedPolicy policy;
  const auto plan = plan_files(table, std::vector<Request>{request}, policy);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->files[0].overstriped);
  EXPECT_EQ(plan->files[1].stripes, 0U);
  EXPECT_TRUE(plan->files[1].overstriped);
}

TEST(Plan, ABusyServerIsBetterThanNone) {
  model::Cluster cluster = cluster_of(2, 2);
  cluster.servers[0].cpu = 0.97;
  cluster.pools = {{"flash", {{0}, {1}}}};
  const auto table = make_targets(cluster, {});
  ASSERT_TRUE(table) << table.error().message;
  Request request = request_of("hot", Bytes::gib(1), 2);
  request.pool = "flash";
  BalancedPolicy policy;
  const auto plan = plan_files(*table, std::vector<Request>{request}, policy);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->files[0].reason.second_choice, 2U);
}

}  // namespace
}  // namespace iez::placement
