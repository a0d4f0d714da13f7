#include "planning/phases.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace iez::planning {

namespace {

// The ends of the files of a phase: the later half in one heap, the earlier half in the other.
class Ends {
 public:
  void add(std::int64_t end) {
    if (later_.empty() || end >= later_.top()) {
      later_.push(end);
    } else {
      earlier_.push(end);
    }
    // The later half is as large as the earlier one, or larger by one.
    if (later_.size() > earlier_.size() + 1) {
      earlier_.push(later_.top());
      later_.pop();
    } else if (later_.size() < earlier_.size()) {
      later_.push(earlier_.top());
      earlier_.pop();
    }
  }
  std::int64_t middle() const { return later_.top(); }

 private:
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> later_;
  std::priority_queue<std::int64_t> earlier_;
};

// What a rank has begun, in the order of the phases.
struct RankFile {
  std::int64_t end = 0;
  std::uint32_t phase = 0;
};

constexpr std::size_t kOpen = 64;  // phases that a file may still join: ranks are not further apart

}  // namespace

SeenPhases find_phases(std::span<const FileTime> files) {
  SeenPhases out{.of_file = std::vector<std::uint32_t>(files.size()), .phases = {}};
  std::vector<std::uint32_t> order(files.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple(files[i].begin, files[i].end, i); });
  std::vector<Ends> ends;
  std::unordered_map<std::int32_t, std::vector<RankFile>> by_rank;
  for (const std::uint32_t i : order) {
    const FileTime& file = files[i];
    std::uint32_t first = 0;  // that it may join
    std::vector<RankFile>* own = nullptr;
    if (file.rank >= 0) {
      own = &by_rank[file.rank];
      for (const RankFile& before : *own) {
        if (before.end <= file.begin) first = std::max(first, before.phase + 1);
      }
      // Finished ones are remembered by the last of them.
      std::erase_if(*own, [&](const RankFile& before) { return before.end <= file.begin && before.phase + 1 < first; });
    }
    if (ends.size() > kOpen) first = std::max(first, static_cast<std::uint32_t>(ends.size() - kOpen));
    std::uint32_t phase = first;
    while (phase < ends.size() && ends[phase].middle() <= file.begin) ++phase;
    if (phase == ends.size()) {
      ends.emplace_back();
      out.phases.push_back({.begin = file.begin, .end = file.end});
    }
    ends[phase].add(file.end);
    SeenPhase& seen = out.phases[phase];
    seen.begin = std::min(seen.begin, file.begin);
    seen.end = std::max(seen.end, file.end);
    seen.bytes += file.bytes;
    ++seen.files;
    out.of_file[i] = phase;
    if (own != nullptr) own->push_back({.end = file.end, .phase = phase});
  }
  return out;
}

}  // namespace iez::planning
