// `iez tune`: finds the stripe count and stripe size with which a command writes fastest, by running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

enum class TuneGoal { max, min };

struct TuneOptions {
  std::string counts;  // "1,2,4..160"; empty: up to 160 by doubling
  std::string sizes;   // "1M..256M"
  bool sweep = false;
  std::optional<std::uint64_t> shuffle;  // of a sweep
  std::string start;                     // "2x1M": what is used today
  std::optional<std::size_t> budget;     // runs at most
  std::uint64_t repeat = 1;              // runs of each setting
  std::string noise;                     // "5%"
  std::string directory;
  std::string metric;  // POSIX extended regular expression with a group
  std::optional<TuneGoal> goal;
  bool time = false;  // measure the elapsed time
  std::optional<Duration> timeout;
  std::string state;
  bool dry_run = false;
  bool json = false;
  bool no_header = false;
  std::vector<std::string> command;
};

[[nodiscard]] Result<void> run_tune(const TuneOptions& options, Context& context);

}  // namespace iez::cli
