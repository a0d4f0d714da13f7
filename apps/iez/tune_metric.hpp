// How good a run was: a number from the command's output, or its elapsed time. Pure.
//
// Known output, the first of these that is there: "Max Write: 123.4 MiB/sec" of IOR; a line of IOR's table, "write 123.4 ...",
// in MiB/s; "bandwidth: 123.4 MB/s", where no unit is MB/s; any "123.4 MB/s" (kB to TB, KiB to TiB; /s or /sec), as dd prints it.
// Of several the last counts. Lines are cut after kMaxLine bytes.
#pragma once

#include <regex.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::cli {

enum class MetricUnit { bytes_per_second, seconds, plain };
std::string_view to_string(MetricUnit unit);

struct Measured {
  double value = 0;  // finite, not negative
  MetricUnit unit = MetricUnit::plain;
};

std::string to_string(const Measured& measured);

// A POSIX extended regular expression with a group.
class MetricPattern {
 public:
  static constexpr std::size_t kMaxLine = 4096;

  // Fails for what is no such expression, and for one without a group.
  [[nodiscard]] static Result<MetricPattern> make(const std::string& pattern);

  // The first group of the last line that matches; a line counts once, by its first match.
  std::optional<std::string> last_match(std::string_view output) const;

 private:
  struct Free {
    void operator()(regex_t* expression) const;
  };
  using Expression = std::unique_ptr<regex_t, Free>;

  explicit MetricPattern(Expression expression) : expression_(std::move(expression)) {}

  Expression expression_;
};

// By the known patterns; nothing if none is there.
std::optional<Measured> find_rate(std::string_view output);

// By a pattern of the user: a bare number has no unit, a rate ("1.2 GB/s") is in bytes a second. Fails for text that is neither,
// and if no line matches.
[[nodiscard]] Result<Measured> find_metric(const MetricPattern& pattern, std::string_view output);

}  // namespace iez::cli
