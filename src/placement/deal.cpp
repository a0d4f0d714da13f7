#include "placement/deal.hpp"

#include <numeric>
#include <vector>

namespace iez::placement {

namespace {

// A step through 0..count-1 that visits all and leaps far: coprime with count, near the golden section of it.
std::uint32_t far_step(std::uint32_t count) {
  if (count < 3) return 1;
  auto step = static_cast<std::uint32_t>(static_cast<double>(count) * 0.618);
  while (step > 1 && std::gcd(step, count) != 1) --step;
  return step;
}

// Where a round of dealing stands: the target whose objects it gives, and how many it still has.
struct Cursor {
  std::uint32_t entry = 0;
  std::uint32_t left = 0;
};

// Round r begins with card r * files.
std::vector<Cursor> start_rounds(std::span<const TargetCount> counts, std::uint32_t rounds, std::uint64_t files) {
  std::vector<Cursor> cursors(rounds);
  std::uint64_t passed = 0;  // cards of the entries before
  std::uint32_t entry = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint64_t card = round * files;
    while (passed + counts[entry].objects <= card) passed += counts[entry++].objects;
    cursors[round] = {entry, static_cast<std::uint32_t>(passed + counts[entry].objects - card)};
  }
  return cursors;
}

}  // namespace

void deal(const DemandClass& group, std::span<const TargetCount> counts, Assignment& assignment) {
  const std::uint32_t count = group.demand.count;
  const std::uint32_t step = far_step(count);
  const auto files = static_cast<std::uint32_t>(group.files());
  const std::uint32_t file_step = far_step(files);
  std::uint32_t file = 0;
  // All rounds go on at once, file by file, so that each list is written from front to back.
  std::vector<Cursor> cursors = start_rounds(counts, count, group.files());
  std::uint32_t first = 0;  // the round that gives the file its first stripe
  for (std::uint32_t dealt = 0; dealt < files; ++dealt) {
    std::uint32_t* const stripes = assignment.targets.data() + assignment.offsets[group.members[file]];
    std::uint32_t round = first;
    for (std::uint32_t stripe = 0; stripe < count; ++stripe) {
      Cursor& cursor = cursors[round];
      // The next entry is looked up only when there is another card: the last round ends with the entries.
      while (cursor.left == 0) cursor = {cursor.entry + 1, counts[cursor.entry + 1].objects};
      --cursor.left;
      stripes[stripe] = counts[cursor.entry].target;
      round += step;
      if (round >= count) round -= count;
    }
    if (++first == count) first = 0;
    file = file + file_step < files ? file + file_step : file + file_step - files;
  }
}

}  // namespace iez::placement
