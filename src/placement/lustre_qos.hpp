// Lustre's default allocator: weighted lots while free space is uneven ("QOS"), round robin while it is even.
//
// Notation. b_i = free bytes of target i / 256. W = 256 - prio_free of 256 (26 by default): the wish to spread. Na active
// targets, S servers that have an active target with free space, n_k targets of server k, active or not. All divisions round
// down.
//
// Penalties. Target i carries P_i, server k carries Q_k; 0 at first. Units, made anew when the view of free space is dirty:
//   u_i = ((W * b_i) / 512) / (Na - 1), twice that if S is 1
//   v_k = (((W * sum of b on k) / 256) / (n_k * max(S - 1, 1))) / 2
// On that occasion idle ones age: with a = seconds since the last pick / 8, the penalty becomes 0 if a > 32 * maxage, or if the
// state before was balanced; else it is halved a / maxage times if a > maxage.
//
// Balanced: max b * (256 - threshold) / 256 < min b, over active targets with free space; the threshold is 43 by default, i.e.
// the least free one has more than 83.2 % of the freest. Then, or with fewer than two targets, round robin.
//
// Algorithm for a file of c objects:
//   1. Candidates: active members of the pool that are not degraded. Fewer than the minimum (lustre_view.hpp): round robin.
//   2. For each object: weight of a candidate w = max(0, b - P - Q of its server). r uniform in [0, sum of w); the first
//      candidate in the order of the pool at which the sum so far is at least r is taken, and no candidate any more.
//   3. After each: P_i = P_i / 2 + u_i * Na, Q_k = Q_k / 2 + v_k * S for the one taken; then every P falls by u, every Q by v,
//      not below 0.
// Since a target taken is out for this file, QOS never puts two objects on one target.
//
// Pools. P, Q and v are those of the whole file system. u is made anew for the members before each file, with the number of
// members for Na, without regard to the balanced state before; the verdict "balanced" holds for maxage.
//
// Complexity: O(targets) an object, O(targets) a file.
//
// Limits. Follows lod_ost_alloc_qos(), ltd_qos_penalties_calc() and ltd_qos_update() of lustre-release c881f8ebcb with these
// exceptions: a candidate never fails once chosen, so that an attempt that began is never given up; in a pool, Lustre's sum of
// weights may count targets outside of it; targets that other components or mirrors of the file use are not avoided, as a demand
// does not tell them. Free space above 16 PiB a target counts as 16 PiB.
//
// Thread safety: none; one policy for each thread. Deterministic: same seed and calls, same answers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/units.hpp"
#include "placement/lustre_round_robin.hpp"
#include "placement/lustre_view.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

struct LustreQosOptions {
  std::uint64_t seed = 0;
  std::uint32_t qos_threshold_rr = 17;  // percent; 100: always round robin
  std::uint32_t qos_prio_free = 90;     // percent
  std::chrono::seconds qos_maxage{5};
  bool count_is_default = false;  // counts come from a default layout: a quarter less will do
  // A file's bytes are seen before the next is placed, as when creates are more than 2 * qos_maxage apart. Otherwise all files of
  // one call fall within one look at the free space.
  bool bytes_visible = false;
  Duration between_creates{};  // for the ageing of idle targets and the verdict of pools; not below 0
};

// Units, penalties and the balanced verdict. Time is in seconds since anywhere, and does not go back.
class LustrePenalties {
 public:
  // REQUIRES, but for this call itself: percentages up to 100, qos_maxage of at least 1 s.
  explicit LustrePenalties(const LustreQosOptions& options);

  void restart(const TargetTable& table);  // other targets: forget everything
  void mark_dirty() { dirty_ = true; }

  // Brings units and penalties up to date for a file in that pool. False: round robin is due.
  bool prepare(const TargetTable& table, const LustreView& view, std::uint32_t pool, std::int64_t now);

  void charge(const LustreView& view, std::uint32_t target, std::int64_t now);

  std::uint64_t weight(const LustreView& view, std::uint32_t target) const;
  std::uint64_t target_unit(std::uint32_t target) const { return targets_.unit[target]; }
  std::uint64_t target_penalty(std::uint32_t target) const { return targets_.penalty[target]; }
  std::uint64_t server_unit(std::uint32_t server) const { return servers_.unit[server]; }
  std::uint64_t server_penalty(std::uint32_t server) const { return servers_.penalty[server]; }

 private:
  // Of targets or servers; apart, as all penalties change with every object.
  struct Loads {
    std::vector<std::uint64_t> unit;
    std::vector<std::uint64_t> penalty;
    std::vector<std::int64_t> used;  // when it was last picked

    void restart(std::size_t count);
    void charge(std::size_t which, std::uint64_t others, std::int64_t now);
    void relax(std::size_t which) { penalty[which] -= penalty[which] < unit[which] ? penalty[which] : unit[which]; }
    void age(std::size_t which, std::int64_t now, std::int64_t maxage, bool reset);
  };
  struct Verdict {
    bool balanced = false;
    std::int64_t until = 0;
  };

  void recompute(const LustreView& view, std::int64_t now);
  bool recompute_pool(const LustreView& view, std::span<const std::uint32_t> members, std::int64_t now);  // balanced?
  bool balanced(std::uint64_t least, std::uint64_t most) const { return most * (256 - threshold_) / 256 < least; }

  std::uint64_t threshold_;  // of 256
  std::uint64_t wide_;       // of 256: W
  std::int64_t maxage_;      // seconds

  bool dirty_ = true;
  bool reset_ = true;  // was balanced at the last recomputation
  bool balanced_ = false;
  std::uint64_t active_servers_ = 0;  // S
  Loads targets_;
  Loads servers_;
  std::vector<std::uint32_t> server_of_;   // by target
  std::vector<std::uint64_t> targets_on_;  // by server: n
  std::map<std::string, Verdict> pools_;
};

class LustreQos final : public Policy {
 public:
  explicit LustreQos(const LustreQosOptions& options);

  std::string_view name() const override { return "lustre-qos"; }

  // May exceed free space. Fails (not_found) for a demand whose pool has no active target left, and (invalid_argument) for
  // options out of range. Penalties are forgotten when the table has other targets or servers than before; the rings' counters
  // stay.
  [[nodiscard]] Result<Assignment> assign(const TargetTable& table, std::span<const Demand> demands) override;

  // Time that passed between two calls, besides between_creates. REQUIRES: not below 0.
  void advance(Duration passed) { clock_ += std::min(passed, Duration::max() - clock_); }

 private:
  // The number of objects; 0: round robin is due.
  std::size_t draw(const TargetTable& table, const LustreWant& want, std::int64_t now, std::vector<std::uint32_t>& targets);

  LustreQosOptions options_;
  Rng rng_;
  LustreView view_;
  LustreRings rings_;
  LustrePenalties penalties_;
  Duration clock_{};
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint64_t> sums_;  // of the candidates' weights, so far
};

}  // namespace iez::placement
