#include <gtest/gtest.h>

#include <limits>

#include "placement/lustre_qos.hpp"
#include "placement/lustre_test_support.hpp"

namespace iez::placement {
namespace {

using std::chrono::seconds;

// The whole allocator once more, for all targets, in the plainest arithmetic.
class Plain {
 public:
  Plain(const TargetTable& table, std::uint64_t seed, std::int64_t gap)
      : table_(table),
        rng_(seed),
        gap_(gap),
        p_(table.targets.size()),
        q_(table.servers.size()),
        used_(p_),
        server_used_(q_),
        free_(p_) {
    for (std::size_t i = 0; i < p_.size(); ++i) free_[i] = static_cast<std::int64_t>(table.targets[i].available.count);
    view_.refresh(table);
    rings_.begin(table);
  }

  std::vector<std::uint32_t> place(std::uint32_t count, Bytes bytes) {
    std::vector<std::uint32_t> taken = weighted(count);
    if (taken.empty()) {
      rings_.place(table_, view_, {.count = count, .minimum = count}, rng_, taken);
    }
    for (const std::uint32_t target : taken) {
      free_[target] -= static_cast<std::int64_t>(bytes.count);
      dirty_ = dirty_ || bytes.count > 0;
    }
    now_ += gap_;
    return taken;
  }

 private:
  bool active(std::size_t i) const { return table_.targets[i].exclusion == Exclusion::none; }

  void age(std::int64_t& penalty, std::int64_t used) const {
    const std::int64_t idle = (now_ - used) / 8;
    if (reset_ || idle > 160) penalty = 0;
    for (std::int64_t i = 0; idle > 5 && i < idle / 5; ++i) penalty /= 2;
  }

  void recompute() {
    active_ = 0;
    servers_ = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    std::vector<std::int64_t> sum(q_.size());
    std::vector<std::int64_t> targets(q_.size());
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const std::size_t k = table_.targets[i].server;
      ++targets[k];
      if (!active(i)) continue;
      ++active_;
      if (sum[k] == 0) ++servers_;
      sum[k] += free_[i] / 256;
      least = std::min(least, free_[i] / 256);
      most = std::max(most, free_[i] / 256);
    }
    if (active_ < 2) return;
    u_.assign(p_.size(), 0);
    v_.assign(q_.size(), 0);
    for (std::size_t i = 0; i < p_.size(); ++i) {
      if (!active(i)) continue;
      u_[i] = 26 * (free_[i] / 256) / 512 / (active_ - 1) * (servers_ == 1 ? 2 : 1);
      age(p_[i], used_[i]);
    }
    for (std::size_t k = 0; k < q_.size(); ++k) {
      if (targets[k] == 0) continue;
      v_[k] = 26 * sum[k] / 256 / (targets[k] * std::max<std::int64_t>(servers_ - 1, 1)) / 2;
      age(q_[k], server_used_[k]);
    }
    balanced_ = most * 213 / 256 < least;
    reset_ = balanced_;
    dirty_ = false;
  }

  std::vector<std::uint32_t> weighted(std::uint32_t count) {
    if (dirty_) recompute();
    if (active_ < 2 || balanced_) return {};
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < p_.size(); ++i) {
      if (active(i) && !table_.targets[i].degraded) candidates.push_back(i);
    }
    if (candidates.size() < count) return {};
    std::vector<std::uint32_t> taken;
    while (taken.size() < count) {
      const auto weight = [&](std::uint32_t i) {
        return std::max<std::int64_t>(0, free_[i] / 256 - p_[i] - q_[table_.targets[i].server]);
      };
      std::int64_t total = 0;
      for (const std::uint32_t i : candidates) total += weight(i);
      std::int64_t left = total > 0 ? static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(total))) : 0;
      std::uint32_t chosen = 0;
      for (const std::uint32_t i : candidates) {
        chosen = i;
        left -= weight(i);
        if (left <= 0) break;
      }
      const std::size_t k = table_.targets[chosen].server;
      p_[chosen] = p_[chosen] / 2 + u_[chosen] * active_;
      q_[k] = q_[k] / 2 + v_[k] * servers_;
      used_[chosen] = server_used_[k] = now_;
      for (std::size_t i = 0; i < p_.size(); ++i) p_[i] = active(i) ? std::max<std::int64_t>(0, p_[i] - u_[i]) : p_[i];
      for (std::size_t i = 0; i < q_.size(); ++i) q_[i] = std::max<std::int64_t>(0, q_[i] - v_[i]);
      taken.push_back(chosen);
      std::erase(candidates, chosen);
    }
    return taken;
  }

  const TargetTable& table_;
  Rng rng_;
  std::int64_t gap_;
  std::int64_t now_ = 0;
  bool dirty_ = true;
  bool reset_ = true;
  bool balanced_ = false;
  std::int64_t active_ = 0;
  std::int64_t servers_ = 0;
  std::vector<std::int64_t> p_, q_, used_, server_used_, free_, u_, v_;
  LustreView view_{false};
  LustreRings rings_;
};

TEST(LustreQos, IsThePlainAllocator) {
  std::size_t files = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    TargetTable table = random_table(rng);
    // Far from full, and sometimes nearly even, so that both allocators have their turn.
    const bool near = rng.chance(0.5);
    for (Target& target : table.targets) target.available = Bytes::gib(near ? rng.between(40, 50) : rng.between(20, 90));
    const bool visible = rng.chance(0.5);
    const auto gap = static_cast<std::int64_t>(rng.below(60));
    LustreQos policy({.seed = seed, .bytes_visible = visible, .between_creates = seconds{gap}});
    Plain plain(table, seed, gap);
    std::vector<Demand> demands = random_demands(table, rng, 60);
    for (Demand& demand : demands) {
      demand.pool = kAnyPool;
      demand.count = demand.count / demand.per_target + 1;
      demand.per_target = 1;
      const auto active = std::ranges::count(table.targets, Exclusion::none, &Target::exclusion);
      demand.count = std::min(demand.count, static_cast<std::uint32_t>(active));
    }
    const auto answer = policy.assign(table, demands);
    ASSERT_TRUE(answer);
    for (std::size_t i = 0; i < demands.size(); ++i, ++files) {
      ASSERT_EQ(targets_of(*answer, i), plain.place(demands[i].count, visible ? demands[i].object_bytes : Bytes{})) << i;
    }
  }
  EXPECT_EQ(files, 300U * 60);
}

}  // namespace
}  // namespace iez::placement
