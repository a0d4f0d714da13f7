// What a query answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace iez::jobs {

// Absent, a whole number, a number, a text.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// An answer of moderate size, all in memory.
struct ResultTable {
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;

  // REQUIRES: there is such a column; its name is part of the SQL that was asked.
  std::size_t column(std::string_view name) const;
  // Absent values are 0 and "".
  double number(std::size_t row, std::string_view name) const;
  std::int64_t integer(std::size_t row, std::string_view name) const;
  std::string text(std::size_t row, std::string_view name) const;
  bool absent(std::size_t row, std::string_view name) const;
};

}  // namespace iez::jobs
