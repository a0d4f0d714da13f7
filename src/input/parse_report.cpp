#include "input/parse_report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::input {

std::string to_string(const ParseReport::Problem& problem) {
  // An error of opening or reading names its file already.
  if (problem.message.starts_with(problem.origin)) return text::printable(problem.message);
  if (problem.line == 0) return fmt::format("{}: {}", text::printable(problem.origin), text::printable(problem.message));
  return fmt::format("{} line {}: {}", text::printable(problem.origin), problem.line, text::printable(problem.message));
}

}  // namespace iez::input
