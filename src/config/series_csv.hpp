// One numeric series from a text file: a column of a CSV file with a header, or bare numbers, one a line.
//
//     value,period          540218368
//     540218368,8           541119363
//     541119363,8           NA
//
// An empty field, "NA" and "NaN" are missing values. RFC 4180 quoting. A first line of which no field is a number is the header.
//
// Thread safety: pure functions. One pass; memory: the values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::config {

struct Series {
  std::string column;          // its title; empty: the file has no header
  std::vector<double> values;  // NaN: missing
};

// `column`: the title, or its number from 1 where there is no header; empty: "value" if there is such a title, else the first.
// An error names the file and the line, the column, what was found and what is expected. A file without values is no error.
[[nodiscard]] Result<Series> parse_series(std::string_view text, std::string_view file_name, std::string_view column = {});

}  // namespace iez::config
