// `iez top`: which job does how much, from job_stats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace iez::cli {

enum class TopSort { bytes, rate, read, write, operations, size, job };
enum class TopPer { job, ost, server };

struct TopOptions {
  SourceOptions source;
  std::vector<std::string> since;    // an earlier capture of the same roots
  std::optional<Duration> interval;  // between two samples; 0: one sample only
  WatchOptions watch;
  TopSort sort = TopSort::bytes;
  bool reverse = false;
  TopPer per = TopPer::job;
  std::string user;                  // name or number
  std::string job;                   // shell pattern over job ids and scheduler numbers
  std::optional<std::size_t> limit;  // rows; 0: all
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_top(const TopOptions& options, Context& context);

}  // namespace iez::cli
