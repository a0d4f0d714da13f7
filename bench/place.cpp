#include "place.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "measure.hpp"
#include "peer.hpp"
#include "place_data.hpp"
#include "place_instances.hpp"
#include "placement/balanced.hpp"
#include "placement/bounds.hpp"
#include "placement/classes.hpp"
#include "placement/online.hpp"

namespace iez::bench {

namespace {

constexpr std::chrono::seconds kPeerLimit{300};
constexpr double kEqual = 1e-9;  // relative: the same but for rounding
constexpr std::size_t kBoundSizes = 1000;
constexpr std::array<std::string_view, 4> kRivals{"lustre-rr", "lustre-qos", "paper", "paper-sequential"};

struct Scale {
  std::uint64_t random_instances = 2000;
  std::size_t peer_files = 1000;
  std::size_t peer_targets = 480;
  int peer_rounds = 101;
  std::size_t files = 100'000;
  std::size_t targets = 10'000;
  int one_class_rounds = 5;
  std::size_t application_files = 700;
  int applications_rounds = 3;
  std::size_t online_placements = 200'000;
};

constexpr Scale kQuick{.random_instances = 100,
                       .peer_files = 100,
                       .peer_targets = 48,
                       .files = 10'000,
                       .targets = 1000,
                       .application_files = 70,
                       .online_placements = 20'000};

// The largest utilisation when all is written; none if the policy found no room. A placement that breaks the rules must not win:
// it is an error.
Result<std::optional<double>> largest_utilisation(const Instance& instance, const placement::Assignment& assignment) {
  if (assignment.shortage) return std::nullopt;
  std::vector<Bytes> added(instance.table.targets.size());
  std::vector<std::size_t> last(added.size());  // the latest demand, counted from 1, that has an object there
  for (std::size_t i = 0; i < instance.demands.size(); ++i) {
    const placement::Demand& demand = instance.demands[i];
    const auto chosen = assignment.of(i);
    if (chosen.size() != demand.count) {
      return fail(Errc::io, fmt::format("file {} got {} objects of {}", i, chosen.size(), demand.count));
    }
    for (const std::uint32_t target : chosen) {
      if (std::exchange(last[target], i + 1) == i + 1) return fail(Errc::io, fmt::format("file {} has a target twice", i));
      added[target] += demand.object_bytes;
    }
  }
  return placement::balance(instance.table, added).max_utilisation;
}

struct Timed {
  std::vector<double> seconds;
  double reached = 0;
};

Result<Timed> time_assign(const Instance& instance, int rounds) {
  Timed timed;
  for (int round = 0; round < rounds; ++round) {
    placement::BalancedPolicy policy;
    const auto start = Clock::now();
    IEZ_TRY(const placement::Assignment assignment, policy.assign(instance.table, instance.demands));
    timed.seconds.push_back(seconds_since(start));
    if (round > 0) continue;
    IEZ_TRY(const auto reached, largest_utilisation(instance, assignment));
    if (!reached) return fail(Errc::io, "balanced found no room where there is enough");
    timed.reached = *reached;
  }
  return timed;
}

double bound_of(const Instance& instance) {
  return placement::lower_bound(instance.table, placement::make_classes(instance.demands), kBoundSizes).value();
}

Result<void> add_golden(std::vector<Figure>& figures) {
  IEZ_TRY(const std::vector<KnownCase> cases, parse_known_cases(kAllocCases));
  struct Worst {
    double ratio = 0;
    std::string name;
    std::size_t cases = 0;
  };
  std::array<Worst, 2> worst;  // unproven, proven
  for (const KnownCase& known : cases) {
    IEZ_TRY(const Timed timed, time_assign(known.instance, 1));
    Worst& of = worst[known.proven ? 1 : 0];
    const double ratio = timed.reached / (known.proven ? known.optimum : known.bound);
    ++of.cases;
    if (ratio > of.ratio) {
      of.ratio = ratio;
      of.name = known.name;
    }
  }
  const auto add = [&](std::string name, const Worst& of, double target, std::string_view what) {
    figures.push_back({.name = std::move(name),
                       .value = of.cases > 0 ? std::optional(of.ratio) : std::nullopt,
                       .unit = "x",
                       .higher_is_better = false,
                       .target = target,
                       .note = fmt::format("largest utilisation over {}; worst of {}: {}", what, of.cases, of.name)});
  };
  add("place.golden_worst", worst[1], 1.000001, "the proven optimum");
  add("place.golden_unproven", worst[0], 1.016, "the bound, where no optimum is proven");
  return {};
}

struct RandomOutcome {
  std::vector<double> ratios;
  std::size_t worst = 0;          // position of the worst ratio; the seed is one more
  std::uint64_t by_existing = 0;  // instances in which the fullest target is so already
  double sum_others = 0;          // of the ratios of the rest
  std::uint64_t losses = 0;
  std::string lost;  // the first
};

Result<void> try_rivals(const Instance& instance, std::uint64_t seed, double reached, RandomOutcome& outcome) {
  std::string_view winner;
  for (const std::string_view name : kRivals) {
    IEZ_TRY(const auto policy, placement::make_policy(name, seed));
    IEZ_TRY(const placement::Assignment assignment, policy->assign(instance.table, instance.demands));
    IEZ_TRY(const auto rival, largest_utilisation(instance, assignment));
    if (rival && *rival < reached * (1 - kEqual)) winner = name;
  }
  if (winner.empty()) return {};
  if (outcome.losses++ == 0) outcome.lost = fmt::format("; the first: seed {}, to {}", seed, winner);
  return {};
}

Result<void> add_random(const Scale& scale, std::vector<Figure>& figures) {
  RandomOutcome outcome;
  for (std::uint64_t seed = 1; seed <= scale.random_instances; ++seed) {
    IEZ_TRY(const Instance instance, random_instance(seed));
    const auto timed = time_assign(instance, 1);
    if (!timed) return with_context(timed.error(), fmt::format("random instance {}", seed));
    const auto bound = placement::lower_bound(instance.table, placement::make_classes(instance.demands), kBoundSizes);
    const double ratio = timed->reached / bound.value();
    if (bound.existing == bound.value()) {
      ++outcome.by_existing;
    } else {
      outcome.sum_others += ratio;
    }
    outcome.ratios.push_back(ratio);
    if (ratio > outcome.ratios[outcome.worst]) outcome.worst = outcome.ratios.size() - 1;
    IEZ_CHECK(try_rivals(instance, seed, timed->reached, outcome));
  }
  const auto count = outcome.ratios.size();
  const double sum = std::accumulate(outcome.ratios.begin(), outcome.ratios.end(), 0.0);
  const std::uint64_t others = count - outcome.by_existing;
  figures.push_back(
      {.name = "place.random_mean",
       .value = sum / static_cast<double>(count),
       .unit = "x",
       .higher_is_better = false,
       .target = 1.005,
       .note = fmt::format("largest utilisation over its lower bound, {} mixed instances; without the {} whose fullest "
                           "target was so before: {:.5f}",
                           count, outcome.by_existing, others > 0 ? outcome.sum_others / static_cast<double>(others) : 1)});
  figures.push_back({.name = "place.random_worst",
                     .value = outcome.ratios[outcome.worst],
                     .unit = "x",
                     .higher_is_better = false,
                     .target = 1.03,
                     .note = fmt::format("seed {}; {} instances above 1.01", outcome.worst + 1,
                                         std::ranges::count_if(outcome.ratios, [](double ratio) { return ratio > 1.01; }))});
  figures.push_back(
      {.name = "place.random_losses",
       .value = static_cast<double>(outcome.losses),
       .unit = "of " + std::to_string(count),
       .higher_is_better = false,
       .target = 0,
       .note = fmt::format("instances in which {} has a smaller largest utilisation{}", fmt::join(kRivals, ", "), outcome.lost)});
  return {};
}

struct PeerAnswer {
  double seconds = 0;
  double reached = 0;
  std::string name;  // of the algorithm, if there are several
};

Result<PeerAnswer> parse_answer(const std::string& output) {
  std::string_view rest = output;
  const auto seconds = text::parse_double(text::take_word(rest));
  const auto reached = text::parse_double(text::take_word(rest));
  if (!seconds || !reached || *seconds <= 0) return fail(Errc::parse, "the peer printed: " + output);
  return PeerAnswer{.seconds = *seconds, .reached = *reached, .name = std::string(text::take_word(rest))};
}

Result<PeerAnswer> ask_networkx(const std::string& path) {
  IEZ_TRY(const std::string python, python_with("networkx", "python3-networkx"));
  IEZ_TRY(const std::string output, output_of({python, "-c", std::string(kNetworkxLiteral), path}, kPeerLimit));
  return parse_answer(output);
}

Result<PeerAnswer> ask_lemon(const std::string& path) {
  IEZ_TRY(const std::string program, peer_program("iez-peer-lemon", "liblemon-dev"));
  IEZ_TRY(const std::string output, output_of({program, path}, kPeerLimit));
  return parse_answer(output);
}

Result<void> add_peers(const Settings& settings, const Scale& scale, std::vector<Figure>& figures) {
  IEZ_TRY(const Instance instance, one_class(scale.peer_files, scale.peer_targets));
  IEZ_TRY(const TemporaryFile file, TemporaryFile::make());
  IEZ_CHECK(write_text(file.path(), to_text(instance)));
  IEZ_TRY(const Timed timed, time_assign(instance, scale.peer_rounds));
  const double seconds = median(timed.seconds);
  const std::string ours = fmt::format("{} files x {} targets, count 8: iez {:.3f} ms, median of {}, largest utilisation {:.4f}",
                                       scale.peer_files, scale.peer_targets, seconds * 1e3, scale.peer_rounds, timed.reached);

  settings.progress("placing the same files with LEMON");
  const auto lemon = ask_lemon(file.path());
  if (!lemon && lemon.error().code != Errc::not_found) return std::unexpected(lemon.error());
  // Convex costs make LEMON's answer optimal; so is that for one class.
  if (lemon && lemon->reached < timed.reached * (1 - kEqual)) {
    return fail(Errc::io, fmt::format("LEMON reaches {:.12f}, iez only {:.12f}", lemon->reached, timed.reached));
  }
  settings.progress(fmt::format("placing them with networkx (at most {} s)", kPeerLimit.count()));
  const auto networkx = ask_networkx(file.path());
  const bool stopped = !networkx && networkx.error().code == Errc::limit;
  if (!networkx && !stopped && networkx.error().code != Errc::not_found) return std::unexpected(networkx.error());

  Figure vs_networkx{.name = "place.vs_networkx", .unit = "x", .target = 1000};
  if (networkx) {
    vs_networkx.value = networkx->seconds / seconds;
    vs_networkx.note = fmt::format("{}; literal flow {:.3g} s, once, {:.4f}", ours, networkx->seconds, networkx->reached);
  } else if (stopped) {
    vs_networkx.value = static_cast<double>(kPeerLimit.count()) / seconds;
    vs_networkx.note = fmt::format("{}; at least, as networkx was stopped after {} s", ours, kPeerLimit.count());
  } else {
    vs_networkx.note = "skipped: " + networkx.error().message;
  }
  figures.push_back(std::move(vs_networkx));
  figures.push_back(
      {.name = "place.vs_lemon",
       .value = lemon ? std::optional(lemon->seconds / seconds) : std::nullopt,
       .unit = "x",
       .target = 10,
       .note = lemon ? fmt::format("{}; {} of the collapsed convex network {:.3f} ms, best of 5, solving only, {:.4f}", ours,
                                   lemon->name, lemon->seconds * 1e3, lemon->reached)
                     : "skipped: " + lemon.error().message});
  return {};
}

// Peak memory of a process that makes and places the instance, in KiB. What this process has already is part of it.
Result<std::uint64_t> peak_of_applications(const Scale& scale) {
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    const auto instance = many_applications(20, scale.application_files, scale.targets);
    placement::BalancedPolicy policy;
    ::_exit(instance && policy.assign(instance->table, instance->demands) ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return fail_errno(errno, "wait4");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(Errc::io, "the process that measures memory failed");
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

Result<void> add_batches(const Scale& scale, std::vector<Figure>& figures) {
  IEZ_TRY(const std::uint64_t peak_kib, peak_of_applications(scale));
  {
    IEZ_TRY(const Instance instance, one_class(scale.files, scale.targets));
    IEZ_TRY(const Timed timed, time_assign(instance, scale.one_class_rounds));
    figures.push_back({.name = "place.batch_1class_ms",
                       .value = median(timed.seconds) * 1e3,
                       .unit = "ms",
                       .higher_is_better = false,
                       .target = 10,
                       .note = fmt::format("{} files x {} targets, count 8; median of {}, best {:.2f}", scale.files,
                                           scale.targets, scale.one_class_rounds, std::ranges::min(timed.seconds) * 1e3)});
  }
  IEZ_TRY(const Instance instance, many_applications(20, scale.application_files, scale.targets));
  IEZ_TRY(const Timed timed, time_assign(instance, scale.applications_rounds));
  figures.push_back(
      {.name = "place.batch_20apps_s",
       .value = median(timed.seconds),
       .unit = "s",
       .higher_is_better = false,
       .target = 0.7,
       .note = fmt::format("20 x {} files, counts 1 to 2000, {:.3g} objects x {} targets; median of {}, best {:.2f}",
                           scale.application_files, static_cast<double>(instance.objects()), scale.targets,
                           scale.applications_rounds, std::ranges::min(timed.seconds))});
  figures.push_back({.name = "place.batch_mib",
                     .value = static_cast<double>(peak_kib) / 1024,
                     .unit = "MiB",
                     .higher_is_better = false,
                     .target = 1024,
                     .note = "peak memory of a process that makes and places the same"});
  figures.push_back({.name = "place.batch_20apps_ratio",
                     .value = timed.reached / bound_of(instance),
                     .unit = "x",
                     .higher_is_better = false,
                     .target = 1.001,
                     .note = "largest utilisation of the same over its lower bound"});
  return {};
}

Result<void> add_online(const Scale& scale, std::vector<Figure>& figures) {
  IEZ_TRY(const Instance instance, one_class(scale.online_placements, scale.targets));
  placement::OnlineAllocator allocator(instance.table);
  Rng rng(1);
  std::vector<placement::Demand> demands = instance.demands;
  // Of half to all of a class's size: mixed, and all fits.
  for (placement::Demand& demand : demands) demand.object_bytes = Bytes::mib(rng.between(512, 1024));
  std::vector<std::uint32_t> targets;
  std::vector<double> times;
  times.reserve(demands.size());
  for (const placement::Demand& demand : demands) {
    const auto start = Clock::now();
    const auto shortage = allocator.place(demand, targets);
    times.push_back(seconds_since(start));
    if (shortage) return fail(Errc::io, "the online allocator found no room where there is enough");
  }
  std::vector<double> nothing(10'001);
  for (double& time : nothing) {
    const auto start = Clock::now();
    time = seconds_since(start);
  }
  const double clock = median(std::move(nothing));
  std::ranges::sort(times);
  const auto quantile = [&](double share) {
    return 1e6 * times[static_cast<std::size_t>(share * static_cast<double>(times.size()))];
  };
  figures.push_back({.name = "place.online_us_p50",
                     .value = quantile(0.5),
                     .unit = "us",
                     .higher_is_better = false,
                     .target = 0.5,
                     .note = fmt::format("one file, count 8, among {} targets; {} files, the clock's {:.3f} us each included",
                                         scale.targets, times.size(), clock * 1e6)});
  figures.push_back({.name = "place.online_us_p999",
                     .value = quantile(0.999),
                     .unit = "us",
                     .higher_is_better = false,
                     .target = 20,
                     .note = fmt::format("the same; the longest {:.0f}", 1e6 * times.back())});
  return {};
}

}  // namespace

Result<std::vector<Figure>> run_place(const Settings& settings) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  std::vector<Figure> figures;
  settings.progress("placing cases with known optima");
  IEZ_CHECK(add_golden(figures));
  settings.progress(fmt::format("placing {} files on {} targets, and 20 applications' files, and one file at a time", scale.files,
                                scale.targets));
  IEZ_CHECK(add_batches(scale, figures));
  IEZ_CHECK(add_online(scale, figures));
  IEZ_CHECK(add_peers(settings, scale, figures));
  settings.progress(fmt::format("placing {} random instances with five policies", scale.random_instances));
  IEZ_CHECK(add_random(scale, figures));
  return figures;
}

}  // namespace iez::bench
