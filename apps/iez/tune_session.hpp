// The life of one tuning, without running anything: what to run next, and what came of it. Pure.
//
// It stands between contention::Tuner, which wants speeds, and the command, which runs each setting `repeat` times and may want
// the smallest number: a value x with goal `min` is told as the speed 1 / x, and shown as what it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "contention/tuner.hpp"
#include "tune.hpp"
#include "tune_metric.hpp"

namespace iez::cli {

std::string_view to_string(TuneGoal goal);

struct TuneRecord {
  contention::Setting setting;
  std::optional<Measured> result;  // none: failed
  std::string reason;              // of the failure
  double seconds = 0;              // it ran
};

// What the tuner's speed stands for.
Measured shown_value(BytesPerSecond mean, TuneGoal goal, MetricUnit unit);

class TuneSession {
 public:
  struct Options {
    std::uint64_t repeat = 1;  // 1 or more
    std::size_t budget = 0;    // runs; 0: no limit
    TuneGoal goal = TuneGoal::max;
  };

  TuneSession(contention::Tuner tuner, Options options) : tuner_(std::move(tuner)), options_(options) {}

  // The same until it is told. Nothing: done.
  std::optional<contention::Setting> next();

  // A result that cannot be used (0 with goal min, or of another unit than the first) becomes a failure; the record as taken is
  // returned. Fails for a setting outside the space.
  [[nodiscard]] Result<TuneRecord> tell(TuneRecord record);

  std::size_t runs() const { return runs_; }
  MetricUnit unit() const { return unit_.value_or(MetricUnit::plain); }
  contention::TuneResult result() const { return tuner_.result(); }

 private:
  contention::Tuner tuner_;
  Options options_;
  std::optional<contention::Setting> current_;
  std::uint64_t left_ = 0;  // runs of current_ to come
  std::optional<MetricUnit> unit_;
  std::size_t runs_ = 0;
};

// "{stripe_count}", "{stripe_size}" (bytes) and "{stripe_size_mib}" replaced in each.
std::vector<std::string> substitute(const std::vector<std::string>& arguments, const contention::Setting& setting);

// "2x1M". `option` is for messages.
[[nodiscard]] Result<contention::Setting> parse_setting(std::string_view option, std::string_view text);

}  // namespace iez::cli
