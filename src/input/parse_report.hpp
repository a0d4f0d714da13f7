// What a parser could not use. Outside text is never trusted: a row that does not follow the format is skipped, counted, and the
// first ones are kept with their line, so that a user sees "job_stats line 17: ..." and not a wrong number.
//
// Thread safety: plain value. Memory: bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iez::input {

struct ParseReport {
  static constexpr std::size_t kKept = 8;

  struct Problem {
    std::string origin;      // the file
    std::uint64_t line = 0;  // 0: of the file as a whole
    std::string message;
  };

  std::uint64_t rows = 0;         // used
  std::uint64_t skipped = 0;      // not used
  std::vector<Problem> problems;  // the first kKept of them

  void skip(std::string_view origin, std::uint64_t line, std::string message) {
    ++skipped;
    if (problems.size() < kKept) problems.push_back({.origin = std::string(origin), .line = line, .message = std::move(message)});
  }

  void merge(const ParseReport& other) {
    rows += other.rows;
    skipped += other.skipped;
    for (const Problem& problem : other.problems) {
      if (problems.size() < kKept) problems.push_back(problem);
    }
  }
};

// "PATH line 17: MESSAGE"; without a line, "PATH: MESSAGE"
std::string to_string(const ParseReport::Problem& problem);

}  // namespace iez::input
