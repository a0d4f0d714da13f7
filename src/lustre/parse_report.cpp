#include "lustre/parse_report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::lustre {

std::string to_string(const ParseReport::Problem& problem) {
  return fmt::format("{} line {}: {}", text::printable(problem.origin), problem.line, text::printable(problem.message));
}

}  // namespace iez::lustre
