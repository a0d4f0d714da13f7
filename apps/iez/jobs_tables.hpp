// Tables of a report as people read them: titles in plain words, durations, weekdays and ranges by name, and the cluster only
// where there are several. JSON and CSV have the tables as the analyses answered them.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/report.hpp"

namespace iez::cli {

struct PageTable {
  std::string caption;
  std::vector<std::string> titles;
  std::vector<bool> right;  // a column of numbers
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;  // rows behind these
};

// None of a table that is empty, or that a picture of the page shows.
std::optional<PageTable> page_table(std::string_view sql, const jobs::AnswerTable& table, const jobs::AnalysisOptions& options,
                                    bool several_clusters);

// A threshold that people can set.
struct Threshold {
  std::string what;
  std::string value;
  std::string option;
};

std::vector<Threshold> thresholds(const jobs::AnalysisOptions& options);

}  // namespace iez::cli
