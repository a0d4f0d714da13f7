// Finds the stripe count and stripe size with which an application writes fastest, by running it.
//
// The tuner does not run anything. Ask it for the next setting, run the application with it, tell it the speed; until it has
// nothing more to ask. So the same search drives real runs, the simulator and tests.
//
//     Tuner tuner = *Tuner::make(space, options);
//     while (auto setting = tuner.next()) {
//       const auto speed = run(*setting);
//       if (speed) (void)tuner.tell(*setting, *speed); else (void)tuner.tell_failed(*setting);
//     }
//     use(tuner.result().best);
//
// Problem. A grid of counts x sizes, both ascending; an unknown, noisy speed at each point; runs are dear. Find the point with
// the highest mean speed in few runs.
//
// Strategy `sweep`: every point once, in order or shuffled (a shuffled sweep is not fooled by a machine that slows down by the
// hour).
//
// Strategy `search`:
//  1. Spread: the default setting if there is one, and five points: the middle, and one in each quarter.
//  2. Leap: fit a quadratic surface to the speeds, all in logarithms, nearer points to the best weighing more (ridge regression,
//     so that few points do), and run its highest point that was not run yet, as long as that promises more than the best.
//     Two leaps in a row that disappoint end this step until the best has moved, or step 3 is at its end: then two more.
//  3. Climb: run the up to eight neighbours of the best, the most promising by the surface first. A better one becomes the best,
//     and step 2 follows. None better: the peak is reached.
//  4. Confirm, if `noise` is given: settings that the noise could have confused with the best are run again, up to
//     kMaxRepeats times each, until they are told apart. The mean of a setting's runs counts.
//
// Complexity: a call of next() costs grid x 6 and one 6 x 6 solve. Memory: one record a point.
// Limits: finds the peak of a surface with one peak, and follows ridges; one that is more than three times as long as wide and
// runs between the points of the grid may stop it early. With several peaks it finds one, usually the one that the spread points
// see; only a sweep is sure. A speed that jumps between neighbours without order defeats it.
//
// Equal speeds go to fewer stripes, then to the smaller size: the harm to others is less.
// Deterministic: the same answers give the same questions.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::contention {

struct Setting {
  std::uint32_t stripes = 0;
  Bytes stripe_size;

  friend bool operator==(const Setting&, const Setting&) = default;
};

// Ascending, without repetition.
struct TuneSpace {
  std::vector<std::uint32_t> counts;
  std::vector<Bytes> sizes;

  std::size_t points() const { return counts.size() * sizes.size(); }
};

// Counts 1, 2, 4, ... and the largest, with 3/4 steps in the upper half (96 between 64 and 128); sizes in powers of two.
// REQUIRES: max_stripes >= 1, 64 KiB <= smallest <= largest.
TuneSpace doubling_space(std::uint32_t max_stripes, Bytes smallest, Bytes largest);

enum class TuneStrategy : std::uint8_t { sweep, search };

struct TunerOptions {
  TuneStrategy strategy = TuneStrategy::search;
  std::optional<Setting> standard;       // what is used today: run first, and compared with. Must be in the space
  std::size_t budget = 0;                // runs at most, failed and repeated ones included; 0: no limit
  double noise = 0;                      // relative scatter between equal runs (standard deviation); 0: not to be confirmed
  std::optional<std::uint64_t> shuffle;  // the seed of the sweep's order; none: ascending
};

struct Trial {
  Setting setting;
  BytesPerSecond mean;
  std::uint32_t runs = 0;  // that succeeded
  bool failed = false;     // at least one run failed: never chosen

  friend bool operator==(const Trial&, const Trial&) = default;
};

struct TuneResult {
  std::optional<Trial> best;   // none: no run succeeded
  std::vector<Trial> trials;   // in the order of their first run
  std::size_t runs = 0;        // told, failed and repeated ones included
  double gain = 1;             // best / standard, or best / first that succeeded if there is no standard
  bool finished = false;       // nothing more to ask
  bool out_of_budget = false;  // and not for want of ideas
};

class Tuner {
 public:
  static constexpr std::uint32_t kMaxRepeats = 4;  // runs of one setting in all

  // Fails for an empty or unordered space, a stripe size that Lustre would refuse, a standard outside the space, or a noise that
  // is negative or 1 and more.
  [[nodiscard]] static Result<Tuner> make(TuneSpace space, TunerOptions options);

  // What to run next; the same until it is told. Nothing: done, see result().
  std::optional<Setting> next();

  // Any setting of the space may be told, asked for or not. Fails for one outside, and for a speed that is negative or no number.
  [[nodiscard]] Result<void> tell(const Setting& setting, BytesPerSecond speed);
  [[nodiscard]] Result<void> tell_failed(const Setting& setting);

  TuneResult result() const;

 private:
  struct Point {
    double sum = 0;
    std::uint32_t runs = 0;
    bool failed = false;
    std::size_t order = 0;  // of its first run

    bool tried() const { return runs > 0 || failed; }
    bool usable() const { return runs > 0 && !failed; }
    double mean() const { return sum / runs; }
  };

  Tuner(TuneSpace space, TunerOptions options);

  std::size_t rows() const { return space_.counts.size(); }
  std::size_t columns() const { return space_.sizes.size(); }
  Setting setting_at(std::size_t point) const;
  [[nodiscard]] Result<std::size_t> point_of(const Setting& setting) const;
  Point& record(std::size_t point);
  std::optional<std::size_t> best() const;
  std::optional<std::size_t> choose();
  std::optional<std::size_t> choose_by_search();
  std::optional<std::size_t> leap(std::size_t best, const std::vector<double>& surface, std::size_t max_failed);
  std::optional<std::size_t> neighbour(std::size_t best, const std::vector<double>& surface) const;
  std::optional<std::size_t> to_confirm(std::size_t best) const;
  std::vector<double> surface(std::size_t best) const;

  TuneSpace space_;
  TunerOptions options_;
  std::vector<Point> points_;              // row by row: count, then size
  std::vector<std::size_t> spread_;        // to run first, in this order
  std::optional<std::size_t> asked_;       // by next(), not told yet
  std::optional<std::size_t> leapt_from_;  // the best at the last leap
  std::size_t failed_leaps_ = 0;           // in a row, from the same best
  std::size_t runs_ = 0;
  std::size_t tried_ = 0;
};

}  // namespace iez::contention
