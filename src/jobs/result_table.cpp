#include "jobs/result_table.hpp"

#include <algorithm>

#include "base/result.hpp"

namespace iez::jobs {

std::size_t ResultTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  IEZ_ASSERT(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

double ResultTable::number(std::size_t row, std::string_view name) const {
  const Value& value = rows[row][column(name)];
  if (const auto* const whole_number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole_number);
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  return 0;
}

std::int64_t ResultTable::integer(std::size_t row, std::string_view name) const {
  const Value& value = rows[row][column(name)];
  if (const auto* const whole_number = std::get_if<std::int64_t>(&value)) return *whole_number;
  return static_cast<std::int64_t>(number(row, name));
}

std::string ResultTable::text(std::size_t row, std::string_view name) const {
  const auto* const value = std::get_if<std::string>(&rows[row][column(name)]);
  return value == nullptr ? std::string{} : *value;
}

bool ResultTable::absent(std::size_t row, std::string_view name) const {
  return std::holds_alternative<std::monostate>(rows[row][column(name)]);
}

}  // namespace iez::jobs
