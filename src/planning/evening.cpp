#include "planning/evening.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "placement/stripe_size.hpp"

namespace iez::planning {

namespace {

constexpr std::uint64_t kSeed = 22;
constexpr std::size_t kSample = 64;  // targets that a step looks at
constexpr std::size_t kNear = 4;     // objects on either side of the best size to come back
constexpr double kLeastGain = 1e-4;  // of a utilisation: less is not worth a step
constexpr double kSame = 1 + 1e-9;   // of the time of a phase
constexpr double kMostOfIt = 0.75;   // of what is above the mean: a step that takes so much is not compared with others
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

struct Object {
  double bytes = 0;
  std::uint32_t file = 0;
  std::uint32_t at = 0;  // place in Placement::targets
};

std::pair<double, std::uint32_t> key(const Object& object) { return {object.bytes, object.at}; }

struct Space {
  double used = 0;
  double capacity = 0;

  double with(double bytes) const { return capacity > 0 ? (used + bytes) / capacity : 0; }
  double utilisation() const { return with(0); }
};

class Evening {
 public:
  Evening(const Problem& problem, Placement& placement, std::uint64_t effort)
      : problem_(problem),
        placement_(placement),
        left_(effort),
        objects_(problem.table.targets.size()),
        room_of_(problem.files.size()),
        target_(problem.table.targets.size()),
        server_(problem.table.servers.size()),
        delta_(problem.phases.size()),
        of_from_(problem.phases.size()),
        of_to_(problem.phases.size()),
        rng_(kSeed) {
    for (const placement::Target& target : problem.table.targets) {
      left_room_.push_back(target.available.count);
      Space& space = target_[left_room_.size() - 1];
      space = {.used = static_cast<double>(target.used.count), .capacity = static_cast<double>(target.capacity.count)};
    }
    for (std::uint32_t pool = 0; pool < problem.table.pools.size(); ++pool) {
      const placement::Usable usable = placement::usable(problem.table, pool);
      std::vector<bool>& takes = takes_.emplace_back(target_.size());
      for (const std::uint32_t j : usable.sound.empty() ? usable.second : usable.sound) takes[j] = true;
    }
    for (std::uint32_t i = 0; i < problem.files.size(); ++i) enter(i);
    for (auto& objects : objects_) std::ranges::sort(objects, {}, key);
    Space all;
    for (std::uint32_t j = 0; j < target_.size(); ++j) {
      if (target_[j].capacity <= 0) continue;
      Space& server = server_[problem.table.targets[j].server];
      for (Space* const sum : {&server, &all}) {
        sum->used += target_[j].used;
        sum->capacity += target_[j].capacity;
      }
      if (problem.table.targets[j].exclusion == placement::Exclusion::none) open_.push_back(j);
    }
    mean_ = all.utilisation();
    measure_phases();
  }

  void run() {
    if (open_.size() < 2) return;
    server_limit_ = mean_ * (1 + kMoreEven);
    for (const Space& server : server_) server_limit_ = std::max(server_limit_, server.utilisation());
    while (left_ > 0) {
      // One that is full of something else cannot be helped.
      const auto fullest =
          std::ranges::max_element(open_, {}, [this](std::uint32_t j) { return objects_[j].empty() ? -1 : utilisation(j); });
      Step best{.after = utilisation(*fullest) * (1 - kLeastGain)};
      find(*fullest, best);
      if (best.to == kNobody) break;
      apply(best);
    }
    even_servers_ = true;
    for (const std::uint32_t j : open_) target_limit_ = std::max(target_limit_, utilisation(j));
    while (left_ > 0) {
      const auto fullest = std::ranges::max_element(server_, {}, &Space::utilisation);
      Step best{.after = fullest->utilisation() * (1 - kLeastGain)};
      std::vector<std::uint32_t> targets = open_;
      std::erase_if(targets, [&](std::uint32_t j) { return server_of(j) != fullest - server_.begin(); });
      for (const std::uint32_t j : targets) {
        find(j, best);
        if (is_enough(best)) break;
      }
      if (best.to == kNobody) return;
      apply(best);
    }
  }

 private:
  struct Step {
    double after = 0;  // utilisation of the fuller of both targets, or servers
    std::uint32_t from = 0;
    std::uint32_t to = kNobody;
    std::uint32_t object = 0;         // of `from`
    std::int64_t returned = -1;       // of `to`; -1: none
    std::uint32_t bundle = kNoPhase;  // all objects of both that are written in this phase
  };

  double utilisation(std::uint32_t target) const { return target_[target].utilisation(); }
  std::uint32_t server_of(std::uint32_t target) const { return problem_.table.targets[target].server; }
  bool is_phase(std::uint32_t phase) const { return phase < problem_.phases.size(); }

  // The phase that a file makes a bundle in; kNoPhase: in none.
  std::uint32_t home_of(std::uint32_t file) const {
    const File& one = problem_.files[file];
    return is_phase(one.phase) ? one.phase : is_phase(one.read_phase) ? one.read_phase : kNoPhase;
  }

  template <typename Visit>
  void for_each_phase(std::uint32_t file, Visit visit) const {
    const File& one = problem_.files[file];
    if (is_phase(one.phase)) visit(one.phase);
    if (is_phase(one.read_phase) && one.read_phase != one.phase) visit(one.read_phase);
  }

  void enter(std::uint32_t file) {
    const Placed& placed = placement_.files[file];
    if (placed.stripes == 0) return;
    const Bytes room = std::max({problem_.files[file].bytes, problem_.files[file].room, Bytes{1}});
    room_of_[file] = placement::largest_object(room, placed.stripe_size, placed.stripes).count;
    const auto bytes = static_cast<double>(placed.object_bytes.count);
    for (std::uint32_t k = 0; k < placed.stripes; ++k) {
      const auto at = static_cast<std::uint32_t>(placed.first + k);
      const std::uint32_t target = placement_.targets[at];
      objects_[target].push_back({bytes, file, at});
      target_[target].used += bytes;
      left_room_[target] -= room_of_[file];
    }
  }

  void measure_phases() {
    const PhaseLoad none(problem_);
    loads_.reserve(problem_.phases.size());
    for (const Phase& phase : problem_.phases) {
      loads_.push_back(none);
      loads_.back().begin(phase);
    }
    // File by file, as most are in the order of their phases.
    const auto for_each_load = [&](auto visit) {
      for (std::uint32_t i = 0; i < problem_.files.size(); ++i) {
        const Placed& placed = placement_.files[i];
        for_each_phase(i, [&](std::uint32_t phase) {
          for (const std::uint32_t j : placement_.of(placed)) visit(phase, j, static_cast<double>(placed.object_bytes.count));
        });
      }
    };
    for_each_load([&](std::uint32_t phase, std::uint32_t j, double bytes) { loads_[phase].add(j, bytes); });
    limit_.resize(problem_.phases.size());
    for_each_load([&](std::uint32_t phase, std::uint32_t j, double) {
      limit_[phase] = std::max(limit_[phase], loads_[phase].time(std::span(&j, 1)) * kSame);
    });
  }

  // What the fuller of both comes to when so many bytes go from the one to the other.
  double after(std::uint32_t from, std::uint32_t to, double bytes) const {
    if (!even_servers_) return std::max(target_[from].with(-bytes), target_[to].with(bytes));
    return std::max(server_[server_of(from)].with(-bytes), server_[server_of(to)].with(bytes));
  }

  // Bytes after which both are equally full.
  double wanted(std::uint32_t from, std::uint32_t to) const {
    const Space& a = even_servers_ ? server_[server_of(from)] : target_[from];
    const Space& b = even_servers_ ? server_[server_of(to)] : target_[to];
    return (a.used * b.capacity - b.used * a.capacity) / (a.capacity + b.capacity);
  }

  bool is_enough(const Step& step) const {
    if (step.to == kNobody) return false;
    const double now = even_servers_ ? server_[server_of(step.from)].utilisation() : utilisation(step.from);
    return step.after <= now - (now - mean_) * kMostOfIt;
  }

  // Neither a server, on the way to more even targets, nor a target, on the way to more even servers, gets too full.
  bool other_goal_allows(std::uint32_t from, std::uint32_t to, double bytes) const {
    if (even_servers_) return target_[to].with(bytes) <= target_limit_;
    return server_of(from) == server_of(to) || server_[server_of(to)].with(bytes) <= server_limit_;
  }

  bool holds(std::uint32_t target, std::uint32_t file) const {
    return std::ranges::find(placement_.of(placement_.files[file]), target) != placement_.of(placement_.files[file]).end();
  }

  void shift(std::span<const Object> objects, double sign) {
    for (const Object& object : objects) {
      for_each_phase(object.file, [&](std::uint32_t phase) {
        delta_[phase] += sign * object.bytes;
        touched_.push_back(phase);
      });
    }
  }

  // So much more of the phase on that target.
  bool phase_allows(std::uint32_t phase, std::uint32_t target, double bytes, bool other_server) const {
    const PhaseLoad& load = loads_[phase];
    if ((load.of(target) + bytes) / load.speed_of(target) > limit_[phase]) return false;
    if (load.has_fast_servers() || !other_server) return true;
    const std::uint32_t server = server_of(target);
    return (load.of_server(server) + bytes) / load.speed_of_server(server) <= limit_[phase];
  }

  // Room, pools, and the time of every phase. `alone`: not as bundles, of which each file goes with all of its objects.
  bool allows(std::uint32_t from, std::span<const Object> there, std::uint32_t to, std::span<const Object> back, bool alone) {
    std::uint64_t room_there = 0;
    std::uint64_t room_back = 0;
    for (const Object& object : there) {
      if (!takes_[problem_.files[object.file].pool][to] || (alone && holds(to, object.file))) return false;
      room_there += room_of_[object.file];
    }
    for (const Object& object : back) {
      if (!takes_[problem_.files[object.file].pool][from] || (alone && holds(from, object.file))) return false;
      room_back += room_of_[object.file];
    }
    if (left_room_[to] + room_back < room_there || left_room_[from] + room_there < room_back) return false;
    shift(there, 1);
    shift(back, -1);
    const bool apart = server_of(from) != server_of(to);
    bool sound = true;
    for (const std::uint32_t phase : touched_) {
      const double more = std::exchange(delta_[phase], 0);
      if (more > 0) sound = sound && phase_allows(phase, to, more, apart);
      if (more < 0) sound = sound && phase_allows(phase, from, -more, apart);
    }
    touched_.clear();
    return sound;
  }

  void look_at(std::uint32_t from, std::uint32_t object, std::uint32_t to, std::int64_t returned, Step& best) {
    left_ -= std::min<std::uint64_t>(left_, 1);
    const Object& there = objects_[from][object];
    const Object* const back = returned < 0 ? nullptr : &objects_[to][static_cast<std::size_t>(returned)];
    const double bytes = there.bytes - (back == nullptr ? 0 : back->bytes);
    const double then = after(from, to, bytes);
    if (then >= best.after || !other_goal_allows(from, to, bytes)) return;
    if (!allows(from, std::span(&there, 1), to, std::span(back, back == nullptr ? 0U : 1U), true)) return;
    best = {.after = then, .from = from, .to = to, .object = object, .returned = returned};
  }

  // Moves and swaps.
  void look_at_objects(std::uint32_t from, std::uint32_t to, Step& best) {
    const double ideal = wanted(from, to);
    if (ideal <= 0) return;
    for (std::uint32_t i = 0; i < objects_[from].size() && left_ > 0; ++i) {
      look_at(from, i, to, -1, best);
      const double bytes = objects_[from][i].bytes;
      const auto nearest = std::ranges::lower_bound(objects_[to], bytes - ideal, {}, &Object::bytes) - objects_[to].begin();
      const auto begin = static_cast<std::size_t>(nearest) - std::min(kNear, static_cast<std::size_t>(nearest));
      const std::size_t end = std::min(objects_[to].size(), static_cast<std::size_t>(nearest) + kNear);
      for (std::size_t k = begin; k < end && objects_[to][k].bytes < bytes; ++k) {
        look_at(from, i, to, static_cast<std::int64_t>(k), best);
      }
    }
  }

  void add_up(std::uint32_t target, std::vector<double>& of_phase, double sign) const {
    for (const Object& object : objects_[target]) {
      if (home_of(object.file) != kNoPhase) of_phase[home_of(object.file)] += sign * object.bytes;
    }
  }

  std::vector<Object> bundle(std::uint32_t target, std::uint32_t phase) const {
    std::vector<Object> out;
    for (const Object& object : objects_[target]) {
      if (home_of(object.file) == phase) out.push_back(object);
    }
    return out;
  }

  // `phases`: in which `from` is written to; of_from_ has their bytes.
  void look_at_bundles(std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> phases, Step& best) {
    left_ -= std::min<std::uint64_t>(left_, 1 + objects_[to].size() / 8 + phases.size());
    add_up(to, of_to_, 1);
    for (const std::uint32_t phase : phases) {
      const double bytes = of_from_[phase] - of_to_[phase];
      const double then = bytes > 0 ? after(from, to, bytes) : std::numeric_limits<double>::infinity();
      if (then >= best.after || !other_goal_allows(from, to, bytes)) continue;
      const std::vector<Object> there = bundle(from, phase);
      const std::vector<Object> back = bundle(to, phase);
      left_ -= std::min<std::uint64_t>(left_, there.size() + back.size());
      if (allows(from, there, to, back, false)) best = {.after = then, .from = from, .to = to, .bundle = phase};
    }
    add_up(to, of_to_, -1);
  }

  // Targets that a step may go to: all, or half of the sample the emptiest and half at random.
  std::span<const std::uint32_t> sample() {
    if (open_.size() <= kSample) return open_;
    left_ -= std::min<std::uint64_t>(left_, open_.size() / 8);
    std::ranges::nth_element(open_, open_.begin() + kSample / 2, {}, [this](std::uint32_t j) { return utilisation(j); });
    for (std::size_t i = kSample / 2; i < kSample; ++i) std::swap(open_[i], open_[i + rng_.below(open_.size() - i)]);
    return std::span(open_).first(kSample);
  }

  void find(std::uint32_t from, Step& best) {
    std::vector<std::uint32_t> phases;
    for (const Object& object : objects_[from]) {
      if (home_of(object.file) != kNoPhase) phases.push_back(home_of(object.file));
    }
    std::ranges::sort(phases);
    phases.erase(std::ranges::unique(phases).begin(), phases.end());
    add_up(from, of_from_, 1);
    for (const std::uint32_t to : sample()) {
      if (left_ == 0 || is_enough(best)) break;
      if (to == from || (even_servers_ && server_of(to) == server_of(from))) continue;
      look_at_objects(from, to, best);
      look_at_bundles(from, to, phases, best);
    }
    add_up(from, of_from_, -1);
  }

  void move(std::span<const Object> objects, std::uint32_t from, std::uint32_t to) {
    for (const Object& object : objects) {
      std::erase_if(objects_[from], [&](const Object& one) { return one.at == object.at; });
      objects_[to].insert(std::ranges::lower_bound(objects_[to], key(object), {}, key), object);
      placement_.targets[object.at] = to;
      target_[from].used -= object.bytes;
      target_[to].used += object.bytes;
      server_[server_of(from)].used -= object.bytes;
      server_[server_of(to)].used += object.bytes;
      // Between the two moves of a swap room may be below nothing: it is counted modulo 2^64.
      left_room_[from] += room_of_[object.file];
      left_room_[to] -= room_of_[object.file];
      for_each_phase(object.file, [&](std::uint32_t phase) {
        loads_[phase].add(from, -object.bytes);
        loads_[phase].add(to, object.bytes);
      });
    }
  }

  void apply(const Step& step) {
    std::vector<Object> there;
    std::vector<Object> back;
    if (step.bundle != kNoPhase) {
      there = bundle(step.from, step.bundle);
      back = bundle(step.to, step.bundle);
    } else {
      there.push_back(objects_[step.from][step.object]);
      if (step.returned >= 0) back.push_back(objects_[step.to][static_cast<std::size_t>(step.returned)]);
    }
    move(there, step.from, step.to);
    move(back, step.to, step.from);
  }

  const Problem& problem_;
  Placement& placement_;
  std::uint64_t left_;
  std::vector<std::vector<Object>> objects_;  // by target, the smallest first
  std::vector<std::uint64_t> room_of_;        // by file: of each of its objects
  std::vector<std::uint64_t> left_room_;      // by target
  std::vector<std::vector<bool>> takes_;      // by pool and target
  std::vector<Space> target_;
  std::vector<Space> server_;
  std::vector<std::uint32_t> open_;  // targets that take objects, in any order
  std::vector<PhaseLoad> loads_;     // by phase
  std::vector<double> limit_;        // by phase: its time
  double mean_ = 0;                  // utilisation
  double server_limit_ = 0;
  double target_limit_ = 0;
  bool even_servers_ = false;  // targets are even already
  // By phase; nothing between two looks.
  std::vector<double> delta_;
  std::vector<std::uint32_t> touched_;
  std::vector<double> of_from_;
  std::vector<double> of_to_;
  Rng rng_;
};

// Files that are next to nothing beside what is there already cannot make it more or less even.
bool matters(const Problem& problem, const Placement& placement) {
  std::vector<Bytes> added(problem.table.targets.size());
  for (const Placed& placed : placement.files) {
    for (const std::uint32_t target : placement.of(placed)) added[target] += placed.object_bytes;
  }
  const double least = placement::balance(problem.table, added).mean_utilisation * kLeastGain;
  for (std::size_t j = 0; j < added.size(); ++j) {
    if (static_cast<double>(added[j].count) > least * static_cast<double>(problem.table.targets[j].capacity.count)) return true;
  }
  return false;
}

}  // namespace

void even_out_space(const Problem& problem, Placement& placement, std::uint64_t effort) {
  if (problem.phases.size() * problem.table.targets.size() > kMostLoads || !matters(problem, placement)) return;
  Evening(problem, placement, effort).run();
}

}  // namespace iez::planning
