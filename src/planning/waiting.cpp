#include "planning/waiting.hpp"

#include <algorithm>

namespace iez::planning {

namespace {

constexpr double kDay = 24 * 3600;
constexpr std::int64_t kEighths = 8;
constexpr std::int64_t kParts = kEighths * kGapsGone / (kGapsGone - kGapsWhole);  // of a life, each of which takes an eighth

}  // namespace

double waiting_share(double age_s, double gap_s) {
  const double gaps = age_s / (gap_s > 0 ? gap_s : kDay);
  return std::clamp((kGapsGone - gaps) / (kGapsGone - kGapsWhole), 0.0, 1.0);
}

WaitingStep waiting_step(std::int64_t age, std::int64_t life) {
  const auto begin_of = [life](std::int64_t part) { return life / kParts * part + life % kParts * part / kParts; };
  std::int64_t eighths = kEighths;
  while (eighths > 0 && age >= begin_of(kParts - eighths + 1)) --eighths;
  return {.eighths = static_cast<std::uint32_t>(eighths), .until = begin_of(kParts - eighths + 1)};
}

}  // namespace iez::planning
