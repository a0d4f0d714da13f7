// How much a plan counts that waits for its application to run again.
//
// A plan that waits is space on its targets: its files will come. But the longer its application stays away, measured by how
// often it usually runs, the less likely they are. So a plan counts whole for one usual gap between the runs of its application,
// then less and less, and for nothing after three gaps:
//
//     share(age) = min(1, max(0, (3 - age / gap) / 2))
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace iez::planning {

inline constexpr int kGapsWhole = 1;
inline constexpr int kGapsGone = 3;

// 0 to 1. gap_s: 0 where nobody knows, and a day is assumed.
double waiting_share(double age_s, double gap_s);

// The same in steps, for who keeps sums and must take off exactly what was added: the share rounded up to eighths, and the age
// at which it is the next time less.
struct WaitingStep {
  std::uint32_t eighths = 8;
  std::int64_t until = 0;  // age; no meaning with 0 eighths
};

// Ages in any unit, the same for both. life: the age from which on nothing counts, three gaps; above 0.
WaitingStep waiting_step(std::int64_t age, std::int64_t life);

}  // namespace iez::planning
