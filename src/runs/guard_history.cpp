#include "runs/guard_history.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planning/planner.hpp"
#include "runs/target_history.hpp"

namespace iez::runs {

namespace {

constexpr int kSucceeded = 0;
constexpr double kMostBytes = 9e18;

Bytes times(Bytes bytes, std::uint64_t count) {
  std::uint64_t product = 0;
  return Bytes{__builtin_mul_overflow(bytes.count, count, &product) ? ~std::uint64_t{0} : product};
}

bool near(double a, double b) { return a <= b * kSameShape && b <= a * kSameShape; }

bool none_placed(const store::Run& run) { return run.mode != store::RunMode::place || run.planned == 0; }

struct Moved {
  double bytes = 0;
  double seconds = 0;

  double rate() const { return seconds > 0 ? bytes / seconds : 0; }
};

void add(Moved& to, const store::RunPhase& phase) {
  to.bytes += static_cast<double>(phase.bytes.count);
  to.seconds += phase.seconds;
}

enum class Kind : std::uint8_t { writes, reads, both };

Moved moved_by(const store::Run& run, Kind kind) {
  Moved moved;
  for (const store::RunPhase& phase : run.phases) {
    if (kind == Kind::both || (kind == Kind::reads) == phase.reads) add(moved, phase);
  }
  return moved;
}

double rate_of(const store::Run& run, Kind kind) {
  const Moved moved = moved_by(run, kind);
  return moved.seconds < kTooShort ? 0 : moved.rate();
}

// By position among those of its kind; nullptr: it has fewer.
const store::RunPhase* phase_of(const store::Run& run, Kind kind, std::size_t number) {
  for (const store::RunPhase& phase : run.phases) {
    if (phase.reads == (kind == Kind::reads) && number-- == 0) return &phase;
  }
  return nullptr;
}

// `placed_before`: by runs before it, as far as known.
Way way_of(const store::Run& run, bool placed_before, const FactsOf& facts_of) {
  if (run.exit_status != kSucceeded) return Way::failed;
  if (moved_by(run, Kind::both).seconds < kTooShort) return Way::too_short;
  const RunFacts facts = facts_of.run ? facts_of.run(run) : RunFacts{};
  if (none_placed(run)) {
    if (facts.created) return *facts.created >= kClearly ? Way::by_default : Way::written_over;
    return placed_before ? Way::not_known : Way::by_default;
  }
  const std::uint64_t files = facts.plan_files.value_or(shape_of(run).files);
  const bool most = static_cast<double>(run.planned) >= kMost * static_cast<double>(files) && run.planned >= run.unplanned;
  return most ? Way::placed : Way::partly_placed;
}

bool same_ranks(std::uint32_t a, std::uint32_t b) { return a == 0 || b == 0 || a == b; }

// How many runs are newer than the oldest one of which anything was placed; 0 where there is none such.
std::size_t after_first_placed(std::span<const store::Run> newest_first) {
  const auto last = std::ranges::find_if_not(newest_first.rbegin(), newest_first.rend(), none_placed);
  if (last == newest_first.rend()) return 0;
  return static_cast<std::size_t>(newest_first.rend() - last) - 1;
}

// Of the newest runs with as many ranks, one in five was to compare with: sizes that change all the time ask for no more.
bool often_by_default(std::span<const store::Run> newest_first, std::uint32_t ranks) {
  std::size_t seen = 0;
  std::size_t by_default = 0;
  for (const store::Run& run : newest_first) {
    if (!same_ranks(run.ranks, ranks)) continue;
    if (none_placed(run)) ++by_default;
    if (++seen == kRetry) break;
  }
  return by_default >= kRetry / 5;
}

struct Counted {
  const store::Run* run = nullptr;
  bool reads = false;  // what it read lies as what it wrote
};

// Runs that are compared: of one shape, ended well, and not placed before the last pause that was long enough.
struct Compared {
  std::vector<Counted> by_default;  // newest first
  std::vector<Counted> placed;
  std::size_t since_placed = 0;  // runs that placed nothing after the newest placed one
  std::size_t too_short = 0;
  bool tried = false;  // a run after a placed one placed nothing, and still does not count as by default
};

// The newest run that wrote before this one wrote what it reads. Where none is known, Lustre placed that.
bool reads_own_way(std::span<const store::Run> newest_first, std::size_t number) {
  const store::Run& run = newest_first[number];
  if (moved_by(run, Kind::reads).seconds < kTooShort) return false;
  const auto older = newest_first.subspan(number + 1);
  const auto wrote = std::ranges::find_if(older, [](const store::Run& one) { return one.written.count > 0; });
  return none_placed(run) == (wrote == older.end() || none_placed(*wrote));
}

// Runs by default after a placed one, if it was slow, until the next is placed.
std::size_t pause_after(const store::Run& placed, std::int64_t then_ns, const FactsOf& facts_of) {
  return facts_of.changed && facts_of.changed(placed, then_ns) ? kChanged : kRetry;
}

Compared runs_of(std::span<const store::Run> newest_first, const RunShape& shape, const FactsOf& facts_of) {
  Compared out;
  if (newest_first.empty()) return out;
  const std::int64_t oldest = newest_first.front().started_ns - kOldest;
  const std::size_t placed_from = after_first_placed(newest_first);
  const store::Run* placed = nullptr;  // the last one that was met
  bool forgotten = false;              // those before it
  std::size_t pause = 0;
  std::size_t like = 0;
  bool in_vain = false;
  for (std::size_t i = 0; i < newest_first.size() && like < kLike; ++i) {
    const store::Run& run = newest_first[i];
    if (run.started_ns < oldest || !alike(shape_of(run), shape)) continue;
    // Reading the files of a run takes a while; where nothing was placed, or enough is known, it is for nothing.
    const bool asks = placed_from > 0 && (!none_placed(run) || out.by_default.size() < kOfEach);
    const Way way = way_of(run, i < placed_from, asks ? facts_of : FactsOf{});
    if (way == Way::failed) continue;
    ++like;
    if (way == Way::too_short) ++out.too_short;
    if (way == Way::placed) {
      out.tried = out.tried || in_vain;
      forgotten =
          forgotten || (placed != nullptr && pause >= kChanged && pause >= pause_after(run, placed->started_ns, facts_of));
      if (forgotten) continue;
      if (out.placed.size() < kOfEach) out.placed.push_back({&run, reads_own_way(newest_first, i)});
      placed = &run;
      pause = 0;
    } else if (none_placed(run)) {
      in_vain = in_vain || way == Way::written_over || way == Way::too_short;
      if (way == Way::too_short) continue;
      ++pause;
      if (out.placed.empty()) ++out.since_placed;
      if (way == Way::by_default && out.by_default.size() < kOfEach) {
        out.by_default.push_back({&run, reads_own_way(newest_first, i)});
      }
    }
  }
  return out;
}

// Of them, those whose reads are compared.
Compared readers_of(const Compared& runs) {
  Compared out;
  const auto newest = std::ranges::find(runs.placed, true, &Counted::reads);
  if (newest == runs.placed.end()) return out;
  const double bytes = moved_by(*newest->run, Kind::reads).bytes;
  const auto alike = [bytes](const Counted& one) { return one.reads && near(moved_by(*one.run, Kind::reads).bytes, bytes); };
  std::ranges::copy_if(runs.by_default, std::back_inserter(out.by_default), alike);
  std::ranges::copy_if(runs.placed, std::back_inserter(out.placed), alike);
  return out;
}

template <typename Rate>
planning::Comparison compare(const Compared& runs, const Rate& rate) {
  std::vector<double> by_default;
  std::vector<double> placed;
  for (const Counted& one : runs.by_default) by_default.push_back(rate(*one.run));
  for (const Counted& one : runs.placed) placed.push_back(rate(*one.run));
  return planning::compare_rates(by_default, placed);
}

planning::Comparison compare(const Compared& runs, Kind kind) {
  return compare(runs, [kind](const store::Run& run) { return rate_of(run, kind); });
}

std::uint32_t newest_osts(std::span<const Counted> newest_first, Kind kind, std::size_t number) {
  if (newest_first.empty()) return 0;
  const store::RunPhase* const phase = phase_of(*newest_first.front().run, kind, number);
  return phase == nullptr ? 0 : phase->osts;
}

std::vector<PhaseGain> phase_gains(const Compared& runs, Kind kind) {
  std::vector<PhaseGain> out;
  for (std::size_t number = 0; number < store::kMaxPhases; ++number) {
    const auto rate = [&](const store::Run& run) {
      const store::RunPhase* const phase = phase_of(run, kind, number);
      if (phase == nullptr) return 0.0;
      Moved moved;
      add(moved, *phase);
      return moved.rate();
    };
    const planning::Comparison gain = compare(runs, rate);
    if (gain.gain == planning::Gain::unknown) break;
    out.push_back({.gain = gain,
                   .osts_by_default = newest_osts(runs.by_default, kind, number),
                   .osts_placed = newest_osts(runs.placed, kind, number)});
  }
  return out;
}

bool is_clear(const planning::Comparison& gain) {
  return gain.gain == planning::Gain::slower || gain.gain == planning::Gain::faster;
}

// Seems to be slower, but too few runs by default say so.
bool is_doubted(const planning::Comparison& gain) {
  return gain.gain == planning::Gain::unclear && gain.ratio < 1 - planning::kAbout && gain.by_default < gain.placed;
}

// That a plan had layouts for; none: not known any more.
std::optional<std::uint64_t> files_of(const store::Allocation& plan, const store::Run& run) {
  std::uint64_t files = 0;
  for (const store::AllocationRow& row : plan.rows) files += row.layouts.size();
  if (files > 0) return files;
  if (run.planned > plan.row_count) return std::nullopt;  // some were patterns
  return plan.row_count;
}

std::string runs_text(const planning::Comparison& gain) {
  if (gain.placed == gain.by_default) return fmt::format("{} {}", gain.placed, gain.placed == 1 ? "run each" : "runs each");
  return fmt::format("{} by default, {} placed", gain.by_default, gain.placed);
}

}  // namespace

RunShape shape_of(const store::Run& run) {
  RunShape shape{.ranks = run.ranks, .files = 0, .bytes = {}};
  for (const store::RunPhase& phase : run.phases) {
    if (phase.reads) continue;
    shape.files += phase.files;
    shape.bytes += phase.bytes;
  }
  return shape;
}

RunShape shape_of(const store::Prediction& prediction, Bytes least_file, std::span<const store::Run> runs,
                  std::span<const store::FileRow> files) {
  RunShape shape{.ranks = prediction.ranks, .files = 0, .bytes = {}};
  for (const store::PredictionRow& row : prediction.rows) {
    if (row.bytes < least_file) continue;
    shape.files += row.files;
    shape.bytes += times(row.bytes, row.files);
  }
  const auto learnt = std::ranges::find(runs, prediction.run, &store::Run::id);
  if (prediction.run == 0 || learnt == runs.end()) return shape;
  Bytes held;
  for (const store::FileRow& file : files) {
    if (file.phase >= 0 && file.written >= least_file) held += file.written;
  }
  const Bytes written = shape_of(*learnt).bytes;
  if (held.count == 0 || written <= held) return shape;
  const double over = static_cast<double>(written.count) / static_cast<double>(held.count);
  shape.bytes = Bytes{static_cast<std::uint64_t>(std::min(static_cast<double>(shape.bytes.count) * over, kMostBytes))};
  return shape;
}

bool alike(const RunShape& a, const RunShape& b) {
  if (!same_ranks(a.ranks, b.ranks)) return false;
  return near(static_cast<double>(a.files), static_cast<double>(b.files)) &&
         near(static_cast<double>(a.bytes.count), static_cast<double>(b.bytes.count));
}

FactsOf stored_facts(store::Store& store) {
  const auto facts_of = [&store](const store::Run& run) {
    RunFacts facts;
    if (!none_placed(run)) {
      if (const auto plan = store.find_allocation(run.plan); plan && *plan) facts.plan_files = files_of(**plan, run);
      return facts;
    }
    if (run.files_kept == 0) return facts;
    const auto files = store.files(run.id);
    if (!files) return facts;
    double all = 0;
    double created = 0;
    for (const store::FileRow& file : *files) {
      if (file.phase < 0) continue;
      all += static_cast<double>(file.written.count);
      if (file.created) created += static_cast<double>(file.written.count);
    }
    if (all > 0) facts.created = created / all;
    return facts;
  };
  const auto changed = [&store](const store::Run& run, std::int64_t then_ns) {
    for (const store::RunTargets& one : run.targets) {
      const auto then = suspects_at(store, one.file_system, then_ns);
      const auto began = suspects_at(store, one.file_system, run.started_ns);
      const auto ended = suspects_at(store, one.file_system, run.ended_ns);
      if (then && began && ended && (*then != *began || *then != *ended)) return true;
    }
    return false;
  };
  return {.run = facts_of, .changed = changed};
}

std::string_view to_string(Way way) {
  switch (way) {
    case Way::by_default:
      return "default";
    case Way::placed:
      return "placed";
    case Way::partly_placed:
      return "in part";
    case Way::written_over:
      return "overwrote";
    case Way::not_known:
      return "unknown";
    case Way::too_short:
      return "too short";
    case Way::failed:
      return "failed";
  }
  return "";
}

std::vector<Way> ways_of(std::span<const store::Run> newest_first, std::size_t most, const FactsOf& facts_of) {
  const std::size_t placed_from = after_first_placed(newest_first);
  std::vector<Way> out;
  for (std::size_t i = 0; i < std::min(most, newest_first.size()); ++i) {
    out.push_back(way_of(newest_first[i], i < placed_from, facts_of));
  }
  return out;
}

GuardAnswer judge_history(std::span<const store::Run> newest_first, const RunShape& shape, const FactsOf& facts_of) {
  newest_first = newest_first.first(std::min(newest_first.size(), kLookedAt));
  const Compared runs = runs_of(newest_first, shape, facts_of);
  GuardAnswer out;
  const Compared readers = readers_of(runs);
  out.writes = compare(runs, Kind::writes);
  out.reads = compare(readers, Kind::reads);
  out.together = compare(readers, Kind::both);
  out.gain = is_clear(out.together) ? out.together : out.writes;
  if (out.gain.gain == planning::Gain::slower) {
    const std::size_t pause = pause_after(*runs.placed.front().run, newest_first.front().ended_ns, facts_of);
    out.tries_in = pause - std::min(pause, runs.since_placed);
    out.step_back = out.tries_in > 0;
  }
  out.too_short = runs.too_short;
  const bool none = runs.by_default.empty() && !often_by_default(newest_first, shape.ranks);
  const bool doubted = runs.since_placed == 0 && is_doubted(out.gain);
  out.by_default_once = runs.placed.size() >= kAlone && !runs.tried && (none || doubted);
  return out;
}

PhaseGains compare_phases(std::span<const store::Run> newest_first, const RunShape& shape, const FactsOf& facts_of) {
  newest_first = newest_first.first(std::min(newest_first.size(), kLookedAt));
  const Compared runs = runs_of(newest_first, shape, facts_of);
  return {.writes = phase_gains(runs, Kind::writes), .reads = phase_gains(readers_of(runs), Kind::reads)};
}

std::string told_promise(const std::string& verdict, const GuardAnswer& answer) {
  const planning::Comparison& gain = answer.gain;
  if (gain.gain == planning::Gain::unknown || !(gain.ratio > 0)) return verdict;
  const std::size_t runs = gain.by_default + gain.placed;
  const bool unclear = gain.gain == planning::Gain::unclear;
  const std::string measured =
      fmt::format("measured {:.0f} % over {} runs{}", 100 / gain.ratio, runs, unclear ? ", which is not clear yet" : "");
  const std::size_t end = verdict.find(planning::kOfDefault);
  if (!verdict.starts_with(planning::kPromise) || end == std::string::npos) {
    const std::string_view of = planning::kOfDefault;
    return fmt::format("{}; measured {:.0f}{} over {} runs{}", verdict, 100 / gain.ratio, of, runs,
                       unclear ? ", which is not clear yet" : "");
  }
  const std::size_t behind = end + planning::kOfDefault.size();
  return fmt::format("forecast {}, {}{}", verdict.substr(planning::kPromise.size(), behind - planning::kPromise.size()), measured,
                     verdict.substr(behind));
}

bool has_range(const planning::Comparison& gain) { return gain.by_default > 1 && gain.placed > 1; }

std::string ratio_text(const planning::Comparison& gain) {
  if (!has_range(gain)) return fmt::format("{:.2f}x", gain.ratio);
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", gain.ratio, gain.low, gain.high);
}

std::string gain_text(const GuardAnswer& answer) {
  const auto part = [](std::string_view what, const planning::Comparison& gain) {
    switch (gain.gain) {
      case planning::Gain::unknown:
        return std::string();
      case planning::Gain::alike:
        return fmt::format("{} as fast as by default ({:.2f}x, {})", what, gain.ratio, runs_text(gain));
      case planning::Gain::unclear:
        return fmt::format("{} not clear yet ({:.2f}x; {})", what, gain.ratio, runs_text(gain));
      case planning::Gain::faster:
      case planning::Gain::slower:
        return fmt::format("{} {:.2f}x the default's rate ({})", what, gain.ratio, runs_text(gain));
    }
    return std::string();
  };
  std::vector<std::string> parts{part("write", answer.writes), part("read", answer.reads)};
  if (is_clear(answer.together) && answer.together.gain != answer.writes.gain) parts.push_back(part("both", answer.together));
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace iez::runs
