// Whole runs from earlier ones: names, sizes and writers of the files of IOR and HACC-IO.
#include "forecast_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/next_run.hpp"
#include "forecast_workloads.hpp"

namespace iez::bench {

namespace {

constexpr std::size_t kRuns = 16;
constexpr std::size_t kFirst = 3;  // runs that are seen before the first is foretold
constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kQuickSeeds = 2;

// Runs of one application, and the names they point to.
class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {}

  Rng& rng() { return rng_; }

  void start(std::uint32_t ranks) { runs_.push_back({.files = {}, .ranks = ranks}); }

  void write(std::string name, double bytes, std::uint32_t rank) {
    names_.push_back(std::move(name));
    runs_.back().files.push_back({.name = names_.back(),
                                  .bytes = {static_cast<std::uint64_t>(bytes)},
                                  .stripe_count = 8,
                                  .rank = static_cast<std::int32_t>(rank)});
  }

  // Ranks race: the order of creation tells nothing.
  void shuffle() {
    auto& files = runs_.back().files;
    for (std::size_t i = files.size() - 1; i > 0; --i) std::swap(files[i], files[rng_.below(i + 1)]);
  }

  std::span<const forecast::RunSeen> runs() const { return runs_; }

 private:
  Rng rng_;
  std::deque<std::string> names_;
  std::vector<forecast::RunSeen> runs_;
};

// ior -F: every rank writes its blocks to a file of its own. `odd` is a run with twice the block; kRuns: none is.
History ior(std::uint64_t seed, std::size_t odd) {
  constexpr std::uint32_t kRanks = 64;
  History history(seed);
  const double block = static_cast<double>(Bytes::mib(64).count * history.rng().between(1, 64));
  for (std::size_t run = 0; run < kRuns; ++run) {
    history.start(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      history.write(fmt::format("/scratch/user/ior/testFile.{:08}", rank), run == odd ? 2 * block : block, rank);
    }
    history.shuffle();
  }
  return history;
}

// A header of 24 MiB and 38 bytes a particle; particles move between ranks, so that each has some more or fewer in every run.
History hacc(std::uint64_t seed) {
  constexpr std::uint32_t kRanks = 32;
  constexpr double kParticles = 20'480'000;
  constexpr double kParticleBytes = 38;
  constexpr double kMoving = 0.003;
  const auto header = static_cast<double>(Bytes::mib(24).count);
  History history(seed);
  for (std::size_t run = 0; run < kRuns; ++run) {
    history.start(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const double particles = std::round(kParticles * (1 + kMoving * normal(history.rng())));
      history.write(fmt::format("/scratch/user/hacc/FPP1-Part{:08}-of-{:08}.data", rank, kRanks),
                    header + kParticleBytes * particles, rank);
    }
    history.shuffle();
  }
  return history;
}

struct Outcome {
  double sum = 0;
  std::uint64_t runs = 0;  // foretold
  std::uint64_t files = 0;
  std::uint64_t missed = 0;   // written, not foretold
  std::uint64_t surplus = 0;  // foretold, not written
  std::uint64_t within = 0;   // at or below the size to reserve

  double mean() const { return sum / static_cast<double>(runs); }
};

// Every run from those before it. A file whose name was not foretold counts as an accuracy of 0.
Result<void> foretell(const History& history, std::size_t first, Outcome& outcome) {
  const auto runs = history.runs();
  for (std::size_t next = first; next < runs.size(); ++next) {
    IEZ_TRY(const forecast::NextRun said, forecast::predict_next_run(runs.first(next)));
    const forecast::Score score = forecast::score(said, runs[next]);
    outcome.sum += score.accuracy.value_or(0) * static_cast<double>(score.met) / static_cast<double>(score.written);
    ++outcome.runs;
    outcome.files += score.written;
    outcome.missed += score.written - score.met;
    outcome.surplus += score.predicted - std::min(score.predicted, score.met);
    outcome.within += score.within;
  }
  return {};
}

Figure figure(std::string_view name, double target, std::string_view what, const Outcome& outcome) {
  return {
      .name = std::string(name),
      .value = outcome.mean(),
      .unit = "%",
      .target = target,
      .note = fmt::format("{}; {} runs foretold from those before, {} files: {} names missed, {} too many, {:.1f} % at or below "
                          "the size to reserve",
                          what, outcome.runs, outcome.files, outcome.missed, outcome.surplus,
                          100 * static_cast<double>(outcome.within) / static_cast<double>(outcome.files))};
}

}  // namespace

Result<void> add_run_forecasts(const Settings& settings, std::vector<Figure>& figures) {
  const std::uint64_t seeds = settings.quick ? kQuickSeeds : kSeeds;
  settings.progress(fmt::format("foretelling runs of IOR and HACC-IO, {} histories of {} runs each", seeds, kRuns));
  Outcome of_ior;
  Outcome after_odd;
  Outcome of_hacc;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    constexpr std::size_t kOdd = kRuns / 2;
    IEZ_CHECK(foretell(ior(seed, kRuns), kFirst, of_ior));
    IEZ_CHECK(foretell(ior(seed, kOdd), kOdd + 1, after_odd));
    IEZ_CHECK(foretell(hacc(seed), kFirst, of_hacc));
  }
  figures.push_back(figure(
      "forecast.ior", 99.1,
      fmt::format("IOR, a file a process, 64 ranks racing, the same block in all runs; after a run with twice the block: {:.2f}",
                  after_odd.mean()),
      of_ior));
  figures.push_back(
      figure("forecast.hacc", 98.3, "HACC-IO, a file a process, 32 ranks racing, particles of a rank vary by 0.3 %", of_hacc));
  return {};
}

}  // namespace iez::bench
