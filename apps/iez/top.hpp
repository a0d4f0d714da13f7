// `iez top`: which job does how much, from job_stats.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"

namespace iez::cli {

enum class TopSort { bytes, rate, read, write, operations, size, job };
using TopSortName = std::pair<std::string_view, TopSort>;
inline constexpr std::array<TopSortName, 7> kTopSorts{{{"bytes", TopSort::bytes},
                                                       {"rate", TopSort::rate},
                                                       {"read", TopSort::read},
                                                       {"write", TopSort::write},
                                                       {"ops", TopSort::operations},
                                                       {"size", TopSort::size},
                                                       {"job", TopSort::job}}};
enum class TopPer { job, ost, server };

struct TopOptions {
  SourceOptions source;
  std::vector<std::string> since;    // an earlier capture of the same roots
  std::optional<Duration> interval;  // between two samples; 0: one sample only
  WatchOptions watch;
  std::optional<TopSort> sort;  // none: by rate where rates are over an interval, else by bytes
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
