#include "jobs/name_numbers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace iez::jobs {

namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::uint32_t NameNumbers::of(std::uint32_t group, std::string_view text) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads neighbours
  if (2 * names_.size() >= slots_.size()) grow();
  const std::uint64_t hash = std::hash<std::string_view>{}(text) ^ (group * kGoldenRatio);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].number != kNone; at = (at + 1) & mask) {
    if (slots_[at].hash != hash) continue;
    const Name& name = names_[slots_[at].number];
    if (name.group == group && name.text == text) return slots_[at].number;
  }
  slots_[at] = {.hash = hash, .number = static_cast<std::uint32_t>(names_.size())};
  names_.push_back({.group = group, .text = std::string(text)});
  return slots_[at].number;
}

void NameNumbers::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max(kFirstSlots, 2 * slots_.size())));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kNone) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].number != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace iez::jobs
