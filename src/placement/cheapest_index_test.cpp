#include "placement/cheapest_index.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "placement/placement_test_support.hpp"

namespace iez::placement {
namespace {

double full_cost(const Levels& levels, std::uint32_t at, std::uint64_t bytes) {
  const Level& level = levels[at];
  const ServerLevel& server = levels.server(level.server);
  return level.cost() + server.cost() + static_cast<double>(bytes) * (1 / level.capacity + level.per_byte + server.per_byte);
}

TEST(CheapestIndex, NobodyAccepts) {
  const TargetTable table = grid(2, 2);
  const Levels levels(table, {}, {});
  const CheapestIndex index(levels, levels.pool(kAnyPool).sound);
  EXPECT_EQ(index.cheapest(1, [](std::uint32_t) { return false; }), std::nullopt);
  const CheapestIndex empty(levels, {});
  EXPECT_EQ(empty.cheapest(1, [](std::uint32_t) { return true; }), std::nullopt);
}

TEST(CheapestIndex, ALargeObjectPrefersALargeTarget) {
  TargetTable table = grid(2, 1);
  table.targets[1].capacity = Bytes::gib(100);
  fill(table.targets[1], Bytes::gib(10));
  const Levels levels(table, {}, {});
  const CheapestIndex index(levels, levels.pool(kAnyPool).sound);
  const auto any = [](std::uint32_t) { return true; };
  const auto position = [&](Bytes bytes) { return levels[index.cheapest(bytes.count, any).value()].position; };
  EXPECT_EQ(position(Bytes::gib(1)), 0U) << "0.1 against 0.11";
  EXPECT_EQ(position(Bytes::gib(2)), 1U) << "0.2 against 0.12";
}

TEST(CheapestIndex, AgreesWithAScan) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Instance instance = large_instance(rng);
    Levels levels(instance.table, make_classes(instance.demands), {});
    // The index holds a pool, the levels change everywhere.
    const std::vector<std::uint32_t> members = levels.pool(rng.chance(0.5) ? 1 : kAnyPool).sound;
    CheapestIndex index(levels, members);
    for (int step = 0; step < 100; ++step) {
      const std::uint64_t bytes = Bytes::mib(rng.between(1, 4096)).count;
      const std::uint64_t banned = rng.below(levels.size() + 1);
      const auto accepts = [&](std::uint32_t at) { return levels[at].available >= bytes && at != banned; };
      double best = std::numeric_limits<double>::infinity();
      for (const std::uint32_t at : members) {
        if (accepts(at)) best = std::min(best, full_cost(levels, at, bytes));
      }
      const auto found = index.cheapest(bytes, accepts);
      ASSERT_EQ(found.has_value(), best < std::numeric_limits<double>::infinity()) << "step " << step;
      if (found) {
        EXPECT_TRUE(accepts(*found));
        EXPECT_NEAR(full_cost(levels, *found, bytes), best, 1e-12 * (1 + best)) << "step " << step;
      }
      if (levels.size() == 0) break;
      const auto change = static_cast<std::uint32_t>(rng.below(levels.size()));
      if (levels[change].available < bytes) continue;
      levels.add(change, bytes);
      if (rng.chance(0.9)) {
        index.update(change);
      } else {
        index.rebuild();
      }
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace iez::placement
