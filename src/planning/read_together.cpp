#include "planning/read_together.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "planning/stripe_choice.hpp"

namespace iez::planning {

namespace {

constexpr int kRounds = 2;
constexpr int kAttempts = 4;
// Of refill(), and of even_out(), after which no attempt begins: files, and for each call.
constexpr std::uint64_t kMostWork = 3'000'000;
constexpr std::uint64_t kCall = 1000;
constexpr std::uint64_t kLooksPerWork = 16;  // at targets
constexpr double kWorthAnother = 0.998;
constexpr std::array<double, 6> kShares{0, 0.01, 0.04, 0.12, 0.4, 4};

}  // namespace

ReadTogether::ReadTogether(const Problem& problem, const PhaseFiles& files, PhaseSolver& solver, std::vector<std::uint64_t>& used,
                           std::vector<std::uint64_t>& available, Placement& placement)
    : problem_(problem), files_(files), solver_(solver), used_(used), available_(available), out_(placement), load_(problem) {}

std::vector<double>& ReadTogether::load_of(std::uint32_t phase) {
  auto [found, fresh] = loads_.try_emplace(phase);
  if (fresh) {
    PhaseLoad load(problem_);
    load.begin(problem_.phases[phase]);
    found->second.resize(used_.size());
    for (std::uint32_t j = 0; j < used_.size(); ++j) found->second[j] = load.of(j);
  }
  return found->second;
}

void ReadTogether::add(std::uint32_t file) {
  const std::uint32_t second = second_of(problem_, problem_.files[file]);
  if (second == kNoPhase) return;
  const Placed& placed = out_.files[file];
  std::vector<double>& load = load_of(second);
  for (const std::uint32_t target : out_.of(placed)) load[target] += static_cast<double>(placed.object_bytes.count);
}

void ReadTogether::count_anew() {
  loads_.clear();
  for (std::uint32_t i = 0; i < problem_.files.size(); ++i) add(i);
}

// Files were placed so that the phases in which they are written are fast. Now those in which they are read together: objects
// change places as far as no other phase gets slower, or, in further attempts, not by more than a share; with the files of all
// phases placed anew before that, and without. The best counts.
void ReadTogether::improve() {
  if (loads_.empty()) return;
  std::vector<std::uint32_t> written;
  for (const File& file : problem_.files) {
    if (second_of(problem_, file) != kNoPhase) written.push_back(file.phase);
  }
  std::ranges::sort(written);
  written.erase(std::ranges::unique(written).begin(), written.end());
  State best = state();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const State begin = best;
    for (const double share : kShares) {
      for (const bool anew : {true, false}) {
        if (work_ > kMostWork) break;
        restore(begin);
        for (std::size_t k = 0; anew && k < written.size(); ++k) refill(written[k], share);
        for (int round = 0; round < kRounds; ++round) {
          for (const auto& [phase, unused] : begin.loads) even_out(phase, round == 0 ? share : 0);
          for (const std::uint32_t phase : written) even_out(phase, 0);
        }
        State now = state();
        if (now.seconds < best.seconds) best = std::move(now);
      }
    }
    if (best.seconds > begin.seconds * kWorthAnother) break;
  }
  restore(best);
}

ReadTogether::State ReadTogether::state() const {
  return {out_.targets, used_, available_, loads_, score(problem_, out_).seconds};
}
void ReadTogether::restore(const State& state) {
  out_.targets = state.targets;
  used_ = state.used;
  available_ = state.available;
  loads_ = state.loads;
}

// Places the files of a phase anew, each where least is read together with it as long as the phase does not take longer than it
// does, by a share. What is placed so badly that the phase takes longer, even_out() may mend.
void ReadTogether::refill(std::uint32_t phase, double share) {
  const double limit = second_phase(phase, share).limit;
  load_.begin(problem_.phases[phase]);
  std::vector<std::uint32_t> members;
  for (const std::uint32_t i : files_.of(phase)) {
    const Placed& at = out_.files[i];
    if (at.stripes == 0) continue;
    if (home_of(problem_, problem_.files[i]) != phase) {
      for (const std::uint32_t target : out_.of(at)) load_.add(target, static_cast<double>(at.object_bytes.count));
      continue;
    }
    members.push_back(i);
  }
  const std::uint64_t work = kCall + members.size() * used_.size() / kLooksPerWork;
  if (work_ + work > kMostWork) return;
  work_ += work;
  // The largest first, as ever.
  std::ranges::stable_sort(members, std::greater<>(), [&](std::uint32_t i) { return out_.files[i].object_bytes; });
  const std::vector<std::uint32_t> before = out_.targets;
  for (const std::uint32_t i : members) book(i, false);
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (find_targets(members[k], limit)) {
      book(members[k], true);
      continue;
    }
    // Where room is so short, all stay where they were.
    for (std::size_t done = 0; done < k; ++done) book(members[done], false);
    out_.targets = before;
    for (const std::uint32_t i : members) book(i, true);
    return;
  }
}

// Enters the objects of a file where it is placed, or takes them out; its phase is not looked at.
void ReadTogether::book(std::uint32_t i, bool in) {
  const File& file = problem_.files[i];
  const Placed& at = out_.files[i];
  const std::uint64_t room = objects_of(file, at.stripes).room.count;
  std::vector<double>* second = second_of(problem_, file) == kNoPhase ? nullptr : &load_of(file.read_phase);
  for (const std::uint32_t target : out_.of(at)) {
    // Unsigned numbers wrap, so that this subtracts as well.
    used_[target] += in ? at.object_bytes.count : -at.object_bytes.count;
    available_[target] += in ? -room : room;
    const auto bytes = static_cast<double>(at.object_bytes.count);
    if (second != nullptr) (*second)[target] += in ? bytes : -bytes;
  }
}

// Targets for a file of the phase in load_: those that have least of what is read together with it, of those on which the phase
// stays within the limit; where there are none, those that the phase reaches first. False: there is no room.
bool ReadTogether::find_targets(std::uint32_t i, double limit) {
  const File& file = problem_.files[i];
  const Placed& at = out_.files[i];
  const auto bytes = static_cast<double>(at.object_bytes.count);
  const std::uint64_t room = objects_of(file, at.stripes).room.count;
  const std::vector<double>* later = second_of(problem_, file) == kNoPhase ? nullptr : &load_of(file.read_phase);
  struct Candidate {
    double over = 0;  // the limit
    double time = 0;  // of what is read together, or else of the phase
    std::uint32_t target = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  for (const std::uint32_t j : solver_.sound_members(file.pool)) {
    if (available_[j] < room) continue;
    double time = (load_.of(j) + bytes) / load_.speed_of(j);
    if (!load_.has_fast_servers()) {
      const std::uint32_t server = load_.server_of(j);
      time = std::max(time, (load_.of_server(server) + bytes) / load_.speed_of_server(server));
    }
    candidates.push_back({std::max(0.0, time - limit), later == nullptr ? time : ((*later)[j] + bytes) / load_.speed_of(j), j});
  }
  if (candidates.size() < at.stripes) return false;
  const auto end = candidates.begin() + at.stripes;
  std::ranges::partial_sort(candidates, end);
  for (std::uint32_t k = 0; k < at.stripes; ++k) {
    out_.targets[at.first + k] = candidates[k].target;
    load_.add(candidates[k].target, bytes);
  }
  return true;
}

// The objects of one phase, while the others that they belong to get slower by that share at most.
void ReadTogether::even_out(std::uint32_t phase, double share) {
  work_ += kCall + files_.of(phase).size();
  std::vector<std::uint32_t> members;
  std::vector<Item> items;
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> placed;
  std::vector<std::uint32_t> others;  // phases
  std::vector<std::uint32_t> second;
  for (const std::uint32_t i : files_.of(phase)) {
    const File& file = problem_.files[i];
    const Placed& at = out_.files[i];
    if (at.stripes == 0) continue;
    if (file.pool != problem_.files[files_.of(phase).front()].pool) return;  // several pools are not searched
    members.push_back(i);
    items.push_back({.bytes = static_cast<double>(at.object_bytes.count),
                     .room = objects_of(file, at.stripes).room.count,
                     .count = at.stripes,
                     .pool = file.pool});
    placed.insert(placed.end(), out_.of(at).begin(), out_.of(at).end());
    first.push_back(static_cast<std::uint32_t>(placed.size()));
    const std::uint32_t other = second_of(problem_, file) == kNoPhase ? kNoPhase
                                : file.phase == phase                 ? file.read_phase
                                                                      : file.phase;
    second.push_back(ExchangeSearch::kNoSecond);
    if (other == kNoPhase) continue;
    const auto known = std::ranges::find(others, other);
    second.back() = static_cast<std::uint32_t>(known - others.begin());
    if (known == others.end()) others.push_back(other);
  }
  if (members.empty()) return;
  std::vector<SecondPhase> seconds;
  for (const std::uint32_t other : others) seconds.push_back(second_phase(other, share));
  load_.begin(problem_.phases[phase]);
  const std::vector<std::uint32_t> before = placed;
  solver_.search(load_, items, first, placed, second, seconds);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const File& file = problem_.files[members[k]];
    Placed& at = out_.files[members[k]];
    for (std::uint32_t n = first[k]; n < first[k + 1]; ++n) {
      if (placed[n] == before[n]) continue;
      out_.targets[at.first + (n - first[k])] = placed[n];
      used_[before[n]] -= at.object_bytes.count;
      used_[placed[n]] += at.object_bytes.count;
      available_[before[n]] += items[k].room;
      available_[placed[n]] -= items[k].room;
      if (second_of(problem_, file) == kNoPhase) continue;
      std::vector<double>& load = load_of(file.read_phase);
      load[before[n]] -= items[k].bytes;
      load[placed[n]] += items[k].bytes;
    }
  }
}

// A phase as it is placed now.
SecondPhase ReadTogether::second_phase(std::uint32_t phase, double share) {
  load_.begin(problem_.phases[phase]);
  std::vector<std::uint32_t> touched;
  for (const std::uint32_t i : files_.of(phase)) {
    const Placed& at = out_.files[i];
    for (const std::uint32_t target : out_.of(at)) {
      load_.add(target, static_cast<double>(at.object_bytes.count));
      touched.push_back(target);
    }
  }
  SecondPhase out{.load = std::vector<double>(used_.size()), .limit = load_.time(touched) * (1 + share + 1e-9)};
  for (std::uint32_t j = 0; j < used_.size(); ++j) out.load[j] = load_.of(j);
  return out;
}

}  // namespace iez::planning
