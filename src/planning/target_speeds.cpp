#include "planning/target_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace iez::planning {

namespace {

constexpr std::size_t kNamed = 4;  // slow targets that are named to people

struct Stretch {
  OstIndex ost;
  double bytes = 0;
  double seconds = 0;
  std::uint32_t place = 0;  // of the last of its files

  double rate() const { return bytes / seconds; }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The files of one target, by their ends. Nothing: they are too small.
std::optional<Stretch> best_stretch(OstIndex ost, std::span<const WrittenFile* const> files) {
  Stretch all{.ost = ost};
  std::optional<Stretch> best;
  std::int64_t begin = files.front()->time.begin;
  for (const WrittenFile* const file : files) {
    begin = std::min(begin, file->time.begin);
    all.bytes += static_cast<double>(file->time.bytes.count);
    all.seconds = std::max(static_cast<double>(file->time.end - begin) * 1e-9, 1e-9);
    all.place = file->place;
    if (all.bytes < static_cast<double>(kLeastBytes.count)) continue;
    if (!best || all.rate() > best->rate()) best = all;
  }
  return best;
}

std::vector<Stretch> stretches_of(std::span<const WrittenFile* const> phase) {
  double bytes = 0;
  double unknown = 0;
  std::set<OstIndex> mixed;  // with objects of striped files
  std::map<OstIndex, std::vector<const WrittenFile*>> by_ost;
  for (const WrittenFile* const file : phase) {
    const auto count = static_cast<double>(file->time.bytes.count);
    bytes += count;
    if (file->osts.empty()) {
      unknown += count;
    } else if (file->osts.size() > 1 || !file->only_calls) {
      mixed.insert(file->osts.begin(), file->osts.end());
    } else {
      by_ost[file->osts.front()].push_back(file);
    }
  }
  std::vector<Stretch> out;
  if (unknown > kUnknown * bytes) return out;
  for (auto& [ost, files] : by_ost) {
    if (mixed.contains(ost)) continue;
    std::ranges::stable_sort(files, {}, [](const WrittenFile* file) { return std::pair(file->time.end, file->place); });
    if (const auto best = best_stretch(ost, files)) out.push_back(*best);
  }
  return out;
}

// The stretches that targets are compared with, those with most bytes first.
class Peers {
 public:
  Peers(std::span<const Stretch> all, std::span<const OstIndex> suspects) {
    for (const Stretch& one : all) {
      if (std::ranges::find(suspects, one.ost) == suspects.end()) by_bytes_.push_back(&one);
    }
    std::ranges::stable_sort(by_bytes_, std::ranges::greater(), &Stretch::bytes);
  }

  // How fast a target is beside them; nothing: they do not say.
  std::optional<double> speed_of(const Stretch& own, bool suspect) const {
    std::vector<double> times;
    std::vector<double> rates;
    std::vector<double> shares;
    for (const Stretch* const peer : by_bytes_) {
      if (peer->bytes < kAsMuch * own.bytes || shares.size() == kMost) break;
      if (peer->ost == own.ost) continue;
      times.push_back(peer->seconds);
      rates.push_back(peer->rate());
      shares.push_back(std::max(peer->seconds, kShort) / own.seconds * std::max(1.0, own.bytes / peer->bytes));
    }
    if (shares.empty()) return std::nullopt;
    const double by_rate = own.rate() / median(rates);
    const double by_time = median(shares);
    if (by_rate >= kNormal) {
      const bool waited = own.seconds >= kShort && median(times) >= kShort;
      return waited ? std::optional(std::min(1.0, by_rate)) : std::nullopt;
    }
    if (own.seconds < kLeastSeconds) return std::nullopt;
    if (by_time < kNormal) return by_time;
    return suspect ? std::optional(by_rate) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMost = 64;  // that each is compared with

  std::vector<const Stretch*> by_bytes_;
};

// What is thought of a target.
struct Thought {
  double speed = 1;
  std::uint32_t seen = 0;   // slow
  std::uint32_t tries = 0;  // that found it slow again
  bool suspect = false;
  std::uint64_t runs_since = 0;
  std::int64_t last_ns = 0;
};

// Whether it is time to try it.
bool due(const Thought& thought, std::uint64_t runs_since, std::int64_t now_ns) {
  const std::uint32_t doublings = std::min<std::uint32_t>(thought.tries, 20);
  return runs_since >= std::min(kMostRuns, kFirstRuns << doublings) &&
         now_ns - thought.last_ns >= std::min(kMostWait, kFirstWait << doublings);
}

using Place = std::pair<std::int64_t, std::uint32_t>;  // application, place of a file

// Places whose files are slow wherever they lie.
std::set<Place> slow_by_habit(std::span<const SeenRun> runs) {
  std::map<Place, std::set<OstIndex>> slow;
  std::set<Place> fast;
  for (const SeenRun& run : runs) {
    for (const SeenTarget& one : run.targets) {
      const Place place(run.application, one.place);
      if (one.speed < kNormal) {
        slow[place].insert(one.ost);
      } else {
        fast.insert(place);
      }
    }
  }
  std::set<Place> out;
  for (const auto& [place, osts] : slow) {
    if (osts.size() >= kHabit && !fast.contains(place)) out.insert(place);
  }
  return out;
}

void learn(Thought& thought, double speed, std::int64_t when) {
  speed = std::max(speed, kSlowest);
  thought.speed = thought.seen == 0 ? speed : std::sqrt(thought.speed * speed);
  ++thought.seen;
  // This run is among those since.
  if (thought.suspect && due(thought, thought.runs_since - 1, when)) ++thought.tries;
  thought.suspect = thought.suspect || thought.seen >= 2 || speed <= kExtreme;
  thought.runs_since = 0;
  thought.last_ns = when;
}

// Of the slow ones, those that planning reckons with among these targets.
std::vector<SlowTarget> reckoned(std::span<const SlowTarget> slow, std::span<const OstIndex> targets) {
  std::vector<SlowTarget> out;
  for (const SlowTarget& one : slow) {
    if (!one.tried && std::ranges::find(targets, one.ost) != targets.end()) out.push_back(one);
  }
  if (out.size() * 2 >= targets.size()) out.clear();
  return out;
}

}  // namespace

std::vector<SeenTarget> observe(std::span<const WrittenFile> files, std::span<const OstIndex> suspects) {
  std::map<std::uint32_t, std::vector<const WrittenFile*>> phases;
  for (const WrittenFile& file : files) phases[file.phase].push_back(&file);
  std::map<OstIndex, SeenTarget> seen;
  for (const auto& [number, phase] : phases) {
    const std::vector<Stretch> stretches = stretches_of(phase);
    const Peers peers(stretches, suspects);
    for (const Stretch& own : stretches) {
      const bool suspect = std::ranges::find(suspects, own.ost) != suspects.end();
      const auto speed = peers.speed_of(own, suspect);
      if (!speed) continue;
      const SeenTarget now{.ost = own.ost, .speed = *speed, .place = own.place};
      const auto [known, fresh] = seen.try_emplace(own.ost, now);
      if (!fresh && now.speed > known->second.speed) known->second = now;
    }
  }
  std::vector<SeenTarget> out;
  for (const auto& [ost, one] : seen) out.push_back(one);
  return out;
}

std::vector<SlowTarget> judge(std::span<const SeenRun> runs, std::int64_t now_ns) {
  std::vector<SeenRun> recent;
  for (const SeenRun& run : runs) {
    if (run.ended_ns > now_ns - kForgotten) recent.push_back(run);
  }
  std::ranges::stable_sort(recent, {}, &SeenRun::ended_ns);
  const std::set<Place> habits = slow_by_habit(recent);
  std::map<OstIndex, Thought> thoughts;
  for (const SeenRun& run : recent) {
    for (auto& [ost, thought] : thoughts) ++thought.runs_since;
    for (const SeenTarget& one : run.targets) {
      if (one.speed >= kNormal) {
        thoughts.erase(one.ost);
      } else if (!habits.contains({run.application, one.place})) {
        learn(thoughts[one.ost], one.speed, run.ended_ns);
      }
    }
  }
  std::vector<SlowTarget> out;
  SlowTarget* tried = nullptr;
  std::int64_t longest = 0;
  out.reserve(thoughts.size());
  for (const auto& [ost, thought] : thoughts) {
    if (!thought.suspect) continue;
    out.push_back({.ost = ost, .speed = thought.speed, .tried = false, .seen = thought.seen});
    if (!due(thought, thought.runs_since, now_ns)) continue;
    if (tried != nullptr && thought.last_ns >= longest) continue;
    tried = &out.back();
    longest = thought.last_ns;
  }
  if (tried != nullptr) tried->tried = true;
  return out;
}

std::string suspicion_text(const SlowTarget& slow) {
  return fmt::format("OST {} works at about {:.2f} of the others' speed, as {} saw it: {}", slow.ost.value, slow.speed,
                     slow.seen == 1 ? std::string("one run") : fmt::format("{} runs in a row", slow.seen),
                     slow.tried ? "it is tried again" : "it gets less");
}

std::vector<double> speeds_of(std::span<const SlowTarget> slow, std::span<const OstIndex> targets) {
  const std::vector<SlowTarget> those = reckoned(slow, targets);
  if (those.empty()) return {};
  std::vector<double> out(targets.size(), 1.0);
  for (const SlowTarget& one : those) {
    out[static_cast<std::size_t>(std::ranges::find(targets, one.ost) - targets.begin())] = one.speed;
  }
  return out;
}

std::string slow_text(std::span<const SlowTarget> slow, std::span<const OstIndex> targets) {
  const std::vector<SlowTarget> those = reckoned(slow, targets);
  if (those.empty()) return "";
  if (those.size() == 1) {
    return fmt::format("OST {} works at about {:.2f} of the others' speed and gets less", those.front().ost.value,
                       those.front().speed);
  }
  std::vector<std::uint32_t> named;
  for (const SlowTarget& one : those) {
    if (named.size() < kNamed) named.push_back(one.ost.value);
  }
  const auto [least, most] = std::ranges::minmax(those, {}, &SlowTarget::speed);
  const std::string more = those.size() > kNamed ? fmt::format(" and {} more", those.size() - kNamed) : "";
  return fmt::format("OSTs {}{} work at about {:.2f} to {:.2f} of the others' speed and get less", fmt::join(named, ", "), more,
                     least.speed, most.speed);
}

}  // namespace iez::planning
