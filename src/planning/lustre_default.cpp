#include "planning/lustre_default.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/rng.hpp"
#include "placement/lustre_qos.hpp"
#include "placement/stripe_size.hpp"

namespace iez::planning {

namespace {

constexpr std::uint64_t kDraws = 12;
constexpr double kNextToNothing = 0.01;      // of all bytes
constexpr std::uint64_t kWork = 40'000'000;  // objects, or objects times targets where lots are drawn, of all draws

// Files in the order of creation, those of a phase in any order.
std::vector<std::uint32_t> order_of(const Problem& problem, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint32_t> order(problem.files.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && problem.files[order[end]].phase == problem.files[order[begin]].phase) ++end;
    for (std::size_t i = end; i > begin + 1; --i) std::swap(order[i - 1], order[begin + rng.below(i - begin)]);
    begin = end;
  }
  return order;
}

const placement::TargetTable& seen_by_lustre(const Problem& problem) {
  return problem.seen != nullptr ? *problem.seen : problem.table;
}

// Lustre's own test: are lots drawn?
bool uneven(const Problem& problem) {
  const placement::TargetTable& table = seen_by_lustre(problem);
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const placement::Target& target : table.targets) {
    if (target.exclusion != placement::Exclusion::none || target.available.count == 0) continue;
    least = std::min(least, target.available.count);
    most = std::max(most, target.available.count);
  }
  constexpr std::uint64_t kThreshold = 43;  // of 256, as Lustre has it
  return most / 256 * (256 - kThreshold) >= least;
}

std::uint64_t objects_in(const Problem& problem) {
  return std::accumulate(problem.files.begin(), problem.files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const File& file) { return sum + file.default_stripes; });
}

struct Part {
  std::vector<File> files;
  std::vector<std::uint32_t> whole;  // phases of which no file is missing
};

// All files of every k-th phase in which any are created. A phase in which files are read that are not among them is not whole.
Part some_phases(const Problem& problem, std::uint64_t step) {
  const std::size_t phases = problem.phases.size();
  std::vector<bool> creates(phases);
  const auto home = [&](const File& file) { return home_of(problem, file); };
  for (const File& file : problem.files) {
    if (home(file) < phases) creates[home(file)] = true;
  }
  std::vector<bool> chosen(phases);
  std::uint64_t number = 0;
  for (std::size_t p = 0; p < phases; ++p) chosen[p] = creates[p] && number++ % step == 0;
  Part part;
  std::vector<bool> used(phases);
  std::vector<bool> cut(phases);
  for (const File& file : problem.files) {
    const bool in = home(file) < phases && chosen[home(file)];
    if (in) part.files.push_back(file);
    for (const std::uint32_t p : {file.phase, file.read_phase}) {
      if (p < phases) (in ? used : cut)[p] = true;
    }
  }
  for (std::uint32_t p = 0; p < phases; ++p) {
    if (used[p] && !cut[p]) part.whole.push_back(p);
  }
  return part;
}

}  // namespace

Result<Placement> lustre_default(const Problem& problem, std::uint64_t seed) {
  const std::vector<std::uint32_t> order = order_of(problem, seed);
  std::vector<placement::Demand> demands;
  demands.reserve(order.size());
  for (const std::uint32_t i : order) {
    const File& file = problem.files[i];
    const auto stripes = std::max(1U, file.default_stripes);
    const Bytes size = file.default_stripe_size.count == 0 ? Bytes::mib(1) : file.default_stripe_size;
    const Bytes bytes = std::max(file.bytes, Bytes{1});
    // Stripes that a small file does not fill are there, and empty.
    demands.push_back(
        {.object_bytes = placement::largest_object(bytes, size, stripes), .count = stripes, .per_target = 1, .pool = file.pool});
  }
  placement::LustreQosOptions options;
  options.seed = seed;
  options.count_is_default = true;
  placement::LustreQos lustre(options);
  for (placement::Demand& demand : demands) {
    const auto members = static_cast<std::uint32_t>(problem.table.pools[demand.pool].members.size());
    demand.count = std::clamp(demand.count, 1U, std::max(1U, members));
  }
  IEZ_TRY(const placement::Assignment assigned, lustre.assign(seen_by_lustre(problem), demands));
  Placement out;
  out.files.resize(problem.files.size());
  out.targets = assigned.targets;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const File& file = problem.files[order[at]];
    Placed& placed = out.files[order[at]];
    placed.stripes = static_cast<std::uint32_t>(assigned.of(at).size());
    placed.stripe_size = file.default_stripe_size;
    placed.object_bytes = demands[at].object_bytes;
    placed.first = assigned.offsets[at];
  }
  return out;
}

Result<DefaultScore> score_default(const Problem& problem) {
  const std::uint64_t cost =
      std::max<std::uint64_t>(1, objects_in(problem) * (uneven(problem) ? problem.table.targets.size() : 1));
  const std::uint64_t draws = std::clamp<std::uint64_t>(kWork / cost, 1, kDraws);
  const std::uint64_t step = std::clamp<std::uint64_t>(cost / kWork, 1, std::max<std::size_t>(1, problem.phases.size()));
  Part some;
  if (step > 1) some = some_phases(problem, step);
  const Problem part{.table = problem.table,
                     .files = step > 1 ? std::span<const File>(some.files) : problem.files,
                     .phases = problem.phases,
                     .speed = problem.speed,
                     .load = problem.load,
                     .seen = problem.seen};
  DefaultScore out{
      .phases = std::vector<double>(problem.phases.size()), .looked_at = std::move(some.whole), .ost_cost = 0, .oss_cost = 0};
  if (step == 1) {
    out.looked_at.resize(problem.phases.size());
    std::iota(out.looked_at.begin(), out.looked_at.end(), 0U);
  }
  const double share = 1.0 / static_cast<double>(draws);
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    IEZ_TRY(const Placement placement, lustre_default(part, draw + 1));
    const Score scored = score(part, placement);
    for (const std::uint32_t p : out.looked_at) {
      out.phases[p] += scored.phases[p] * share;
      out.seconds += scored.phases[p] * share;
    }
    out.ost_cost += scored.balance.ost_cost * share;
    out.oss_cost += scored.balance.oss_cost * share;
  }
  return out;
}

Result<Score> score_with_left(const Problem& problem, const Placement& plan) {
  std::vector<File> left;
  std::vector<std::uint32_t> place;  // in the problem
  double bytes = 0;
  double left_bytes = 0;
  for (std::uint32_t i = 0; i < problem.files.size(); ++i) {
    bytes += static_cast<double>(problem.files[i].bytes.count);
    if (plan.files[i].stripes != 0) continue;
    left.push_back(problem.files[i]);
    place.push_back(i);
    left_bytes += static_cast<double>(problem.files[i].bytes.count);
  }
  if (left_bytes <= kNextToNothing * bytes) return score(problem, plan);
  Problem part{.table = problem.table,
               .files = left,
               .phases = problem.phases,
               .speed = problem.speed,
               .load = problem.load,
               .seen = problem.seen};
  const std::uint64_t cost =
      std::max<std::uint64_t>(1, objects_in(problem) + objects_in(part) * (uneven(problem) ? problem.table.targets.size() : 1));
  const std::uint64_t draws = std::clamp<std::uint64_t>(kWork / cost, 1, kDraws);
  const double share = 1.0 / static_cast<double>(draws);
  Score out{.phases = std::vector<double>(problem.phases.size()), .balance = {.ost_cost = 0, .oss_cost = 0}};
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    // Other draws than those of the default: luck of the one is not that of the other.
    IEZ_TRY(const Placement theirs, lustre_default(part, kDraws + draw + 1));
    Placement both = plan;
    for (std::size_t k = 0; k < left.size(); ++k) {
      both.files[place[k]] = theirs.files[k];
      both.files[place[k]].first += plan.targets.size();
    }
    both.targets.insert(both.targets.end(), theirs.targets.begin(), theirs.targets.end());
    Score scored = score(problem, both);
    for (std::size_t p = 0; p < scored.phases.size(); ++p) out.phases[p] += scored.phases[p] * share;
    out.seconds += scored.seconds * share;
    out.balance.ost_cost += scored.balance.ost_cost * share;
    out.balance.oss_cost += scored.balance.oss_cost * share;
    out.balance.max_utilisation += scored.balance.max_utilisation * share;
    out.balance.mean_utilisation = scored.balance.mean_utilisation;
    out.added = std::move(scored.added);
  }
  return out;
}

}  // namespace iez::planning
