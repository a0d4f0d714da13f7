#include "planning/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "planning/phase_bound.hpp"
#include "planning/phase_solver.hpp"
#include "planning/read_bound.hpp"
#include "planning/room_bound.hpp"
#include "planning/stripe_choice.hpp"

namespace iez::planning {

namespace {

// The phase in which exactly those files are written that are read in this one, if these are all that there is in both.
std::optional<std::uint32_t> written_and_read_alike(const Problem& problem, const PhaseFiles& files, std::uint32_t phase) {
  const auto read = files.of(phase);
  if (read.empty()) return std::nullopt;
  const std::uint32_t written = problem.files[read.front()].phase;
  if (written == phase || written >= problem.phases.size() || files.of(written).size() != read.size()) return std::nullopt;
  const bool alike = std::ranges::all_of(read, [&](std::uint32_t i) { return problem.files[i].phase == written; });
  return alike ? std::optional(written) : std::nullopt;
}

// What the bounds of phases are made from.
class Bounds {
 public:
  Bounds(const Problem& problem, const Placement& placement)
      : problem_(problem), placement_(placement), scored_(score(problem, placement)), files_(problem) {
    for (std::uint32_t j = 0; j < problem.table.targets.size(); ++j) {
      room_.push_back(problem.table.targets[j].available.count);
      if (problem.table.targets[j].exclusion == placement::Exclusion::none) targets_.push_back(j);
    }
    for (std::uint32_t p = 0; p < problem.phases.size(); ++p) {
      const PhaseItems items = items_of(p, false);
      apart_.push_back(bound_of(p, items, room_for(items, room_)));
    }
  }

  const std::vector<double>& apart() const { return apart_; }

  // What the phase, and that in which its very files are written, take longer than the sum of their bounds: they have one
  // placement, so what the one leaves of its time is all the room that the other has. 0 for other phases.
  double together(std::uint32_t phase) const {
    const auto written = written_and_read_alike(problem_, files_, phase);
    if (!written) return 0;
    PhaseLoad first(problem_);
    first.begin(problem_.phases[*written]);
    const PhaseItems items = items_of(phase, false);
    const std::vector<std::uint64_t> room = room_for(items, room_);
    const double apart = apart_[*written] + apart_[phase];
    const double most = scored_.phases[*written] + scored_.phases[phase];
    double least = most;
    for (int cell = 0; cell < kCells && apart < most; ++cell) {
      // The first phase takes from `low` to `high`.
      const double low = apart_[*written] + (most - apart) * cell / kCells;
      const double high = apart_[*written] + (most - apart) * (cell + 1) / kCells;
      std::vector<std::uint64_t> left = room;
      for (const std::uint32_t j : targets_) {
        const double spare = std::max(0.0, high * (1 + 1e-9) * first.speed_of(j) - first.of(j));
        left[j] = std::min(left[j], static_cast<std::uint64_t>(spare) + 1);
      }
      least = std::min(least, low + bound_of(phase, items, left));
    }
    return std::max(0.0, least - apart);
  }

  // What all phases take longer than that because they share room; see room_bound.hpp.
  double by_room() const {
    // What each target would hold, were room no matter, and what it can.
    std::vector<double> wanted(room_.size());
    for (std::uint32_t p = 0; p < problem_.phases.size(); ++p) {
      PhaseLoad load(problem_);
      load.begin(problem_.phases[p]);
      for (const std::uint32_t j : targets_) wanted[j] += std::max(0.0, scored_.phases[p] * load.speed_of(j) - load.of(j));
    }
    double best = 0;
    std::size_t tried = 0;
    for (const double share : kShares) {
      std::vector<std::uint32_t> outside;
      double room = 0;
      for (const std::uint32_t j : targets_) {
        if (static_cast<double>(room_[j]) < wanted[j] * share) {
          room += static_cast<double>(room_[j]);
        } else {
          outside.push_back(j);
        }
      }
      if (outside.size() + tried == targets_.size() || outside.empty()) continue;
      tried = targets_.size() - outside.size();
      RoomBound bound(room);
      for (std::uint32_t p = 0; p < problem_.phases.size(); ++p) {
        PhaseLoad load(problem_);
        load.begin(problem_.phases[p]);
        const PhaseItems home = items_of(p, true);
        PhaseBound phase(load, home.items, outside, room_for(home, room_));
        bound.add_phase(phase, apart_[p], home.room_per_byte);
      }
      best = std::max(best, bound.value());
    }
    return best;
  }

  // What all phases take longer than that because files of several are read together; see read_bound.hpp. The most that one of
  // the phases in which files are read makes of it.
  double by_reading() const {
    std::vector<std::map<std::uint32_t, double>> read_from(problem_.phases.size());  // by phase: bytes that others have of it
    for (std::size_t i = 0; i < problem_.files.size(); ++i) {
      const File& file = problem_.files[i];
      const Placed& placed = placement_.files[i];
      if (file.read_phase >= problem_.phases.size() || placed.stripes == 0) continue;
      read_from[file.read_phase][file.phase < problem_.phases.size() ? file.phase : file.read_phase] +=
          static_cast<double>(placed.object_bytes.count) * placed.stripes;
    }
    const double most = scored_.seconds - std::accumulate(apart_.begin(), apart_.end(), 0.0);
    std::vector<double> speed;
    std::vector<double> room;
    PhaseLoad load(problem_);
    for (const std::uint32_t j : targets_) {
      speed.push_back(load.speed_of(j));
      room.push_back(static_cast<double>(room_[j]));
    }
    const auto phase_of = [&](std::uint32_t p) {
      load.begin(problem_.phases[p]);
      ReadBound::Phase phase{.load = {}, .least = apart_[p]};
      for (const std::uint32_t j : targets_) phase.load.push_back(load.of(j));
      return phase;
    };
    double best = 0;
    for (std::uint32_t p = 0; p < problem_.phases.size(); ++p) {
      if (read_from[p].empty()) continue;
      ReadBound bound(speed, room, phase_of(p));
      for (const auto& [written, bytes] : read_from[p]) {
        if (written == p) {
          bound.add_read_only(bytes);
        } else {
          bound.add_written(phase_of(written), bytes);
        }
      }
      best = std::max(best, bound.value(most));
    }
    return best;
  }

 private:
  struct PhaseItems {
    std::vector<Item> items;
    double room_per_byte = 1;  // that each object needs at least
  };
  // home: only those that are placed with the phase.
  PhaseItems items_of(std::uint32_t phase, bool home) const {
    PhaseItems out{.room_per_byte = std::numeric_limits<double>::infinity()};
    for (const std::uint32_t i : files_.of(phase)) {
      const File& file = problem_.files[i];
      const Placed& placed = placement_.files[i];
      if (placed.stripes == 0 || (home && file.phase != phase && file.phase < problem_.phases.size())) continue;
      const Item item{.bytes = static_cast<double>(placed.object_bytes.count),
                      .room = objects_of(file, placed.stripes).room.count,
                      .count = placed.stripes};
      out.items.push_back(item);
      out.room_per_byte = std::min(out.room_per_byte, static_cast<double>(item.room) / item.bytes);
    }
    if (out.items.empty()) out.room_per_byte = 1;
    return out;
  }

  // The bytes that fit where there is so much room.
  static std::vector<std::uint64_t> room_for(const PhaseItems& items, std::span<const std::uint64_t> room) {
    std::vector<std::uint64_t> out(room.size());
    for (std::size_t j = 0; j < room.size(); ++j) {
      out[j] = static_cast<std::uint64_t>(static_cast<double>(room[j]) / items.room_per_byte * (1 + 1e-9)) + 1;
    }
    return out;
  }

  double bound_of(std::uint32_t phase, const PhaseItems& items, std::span<const std::uint64_t> room) const {
    PhaseLoad load(problem_);
    load.begin(problem_.phases[phase]);
    return PhaseBound(load, items.items, targets_, room).value(scored_.phases[phase]);
  }

  static constexpr std::array<double, 4> kShares{0.1, 0.3, 0.6, 1.0};
  static constexpr int kCells = 32;

  const Problem& problem_;
  const Placement& placement_;
  Score scored_;
  PhaseFiles files_;
  std::vector<std::uint32_t> targets_;
  std::vector<std::uint64_t> room_;
  std::vector<double> apart_;
};

}  // namespace

std::vector<double> phase_bounds(const Problem& problem, const Placement& placement) {
  return Bounds(problem, placement).apart();
}

double lower_bound(const Problem& problem, const Placement& placement) {
  const Bounds bounds(problem, placement);
  double sum = std::accumulate(bounds.apart().begin(), bounds.apart().end(), 0.0);
  double together = 0;
  for (std::uint32_t p = 0; p < problem.phases.size(); ++p) together += bounds.together(p);
  return sum + std::max({together, bounds.by_room(), bounds.by_reading()});
}

}  // namespace iez::planning
