#include "runs/guard_history.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace iez::runs {

namespace {

constexpr int kSucceeded = 0;

Bytes times(Bytes bytes, std::uint64_t count) {
  std::uint64_t product = 0;
  return Bytes{__builtin_mul_overflow(bytes.count, count, &product) ? ~std::uint64_t{0} : product};
}

bool near(double a, double b) { return a <= b * kSameShape && b <= a * kSameShape; }

bool was_placed(const store::Run& run) { return run.mode == store::RunMode::place && run.planned > 0; }

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

double rate_of(const store::Run& run, Kind kind) { return moved_by(run, kind).rate(); }

double rate_of_write_phase(const store::Run& run, std::size_t number) {
  for (const store::RunPhase& phase : run.phases) {
    if (phase.reads) continue;
    if (number-- > 0) continue;
    Moved moved;
    add(moved, phase);
    return moved.rate();
  }
  return 0;
}

// Runs that are compared: of one shape, ended well, and not placed before the last long pause.
struct Compared {
  std::vector<const store::Run*> by_default;  // newest first
  std::vector<const store::Run*> placed;
  std::size_t since_placed = 0;  // runs by default after the newest placed one
};

Compared runs_of(std::span<const store::Run> newest_first, const RunShape& shape) {
  Compared out;
  std::size_t pause = 0;
  for (const store::Run& run : newest_first) {
    if (run.exit_status != kSucceeded || moved_by(run, Kind::both).seconds < kTooShort) continue;
    if (!alike(shape_of(run), shape)) continue;
    if (was_placed(run)) {
      if (!out.placed.empty() && pause >= kRetry) continue;
      if (out.placed.size() < kCompared) out.placed.push_back(&run);
      pause = 0;
    } else {
      ++pause;
      if (out.placed.empty()) ++out.since_placed;
      if (out.by_default.size() < kCompared) out.by_default.push_back(&run);
    }
  }
  return out;
}

template <typename Rate>
planning::Comparison compare(const Compared& runs, const Rate& rate) {
  std::vector<double> by_default;
  std::vector<double> placed;
  for (const store::Run* run : runs.by_default) by_default.push_back(rate(*run));
  for (const store::Run* run : runs.placed) placed.push_back(rate(*run));
  return planning::compare_rates(by_default, placed);
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

RunShape shape_of(const store::Prediction& prediction) {
  RunShape shape{.ranks = prediction.ranks, .files = 0, .bytes = {}};
  for (const store::PredictionRow& row : prediction.rows) {
    if (row.left_alone) continue;
    shape.files += row.files;
    shape.bytes += times(row.bytes, row.files);
  }
  return shape;
}

bool alike(const RunShape& a, const RunShape& b) {
  if (a.ranks != 0 && b.ranks != 0 && a.ranks != b.ranks) return false;
  return near(static_cast<double>(a.files), static_cast<double>(b.files)) &&
         near(static_cast<double>(a.bytes.count), static_cast<double>(b.bytes.count));
}

GuardAnswer judge_history(std::span<const store::Run> newest_first, const RunShape& shape) {
  const Compared runs = runs_of(newest_first, shape);
  GuardAnswer out;
  out.gain = compare(runs, [](const store::Run& run) { return rate_of(run, Kind::both); });
  out.writes = compare(runs, [](const store::Run& run) { return rate_of(run, Kind::writes); });
  out.reads = compare(runs, [](const store::Run& run) { return rate_of(run, Kind::reads); });
  if (out.gain.gain == planning::Gain::slower && runs.since_placed < kRetry) {
    out.step_back = true;
    out.tries_in = kRetry - runs.since_placed;
  }
  return out;
}

std::vector<planning::Comparison> compare_phases(std::span<const store::Run> newest_first, const RunShape& shape) {
  const Compared runs = runs_of(newest_first, shape);
  std::vector<planning::Comparison> out;
  for (std::size_t number = 0; number < store::kMaxPhases; ++number) {
    out.push_back(compare(runs, [number](const store::Run& run) { return rate_of_write_phase(run, number); }));
    if (out.back().gain == planning::Gain::unknown) {
      out.pop_back();
      break;
    }
  }
  return out;
}

std::string gain_text(const GuardAnswer& answer) {
  const auto part = [](std::string_view what, const planning::Comparison& gain) {
    switch (gain.gain) {
      case planning::Gain::unknown:
        return std::string();
      case planning::Gain::alike:
        return fmt::format("{} as fast as by default ({:.2f}x, {})", what, gain.ratio, runs_text(gain));
      case planning::Gain::faster:
      case planning::Gain::slower:
        return fmt::format("{} {:.2f}x the default's rate ({})", what, gain.ratio, runs_text(gain));
    }
    return std::string();
  };
  const std::string writes = part("write", answer.writes);
  const std::string reads = part("read", answer.reads);
  if (writes.empty() || reads.empty()) return writes + reads;
  return writes + ", " + reads;
}

}  // namespace iez::runs
