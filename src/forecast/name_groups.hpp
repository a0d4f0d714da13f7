// Puts the names of past runs into groups of one shape: the first half of discover().
//
// Problem: names of one series differ in numbers, sometimes in words. Which names belong together?
//
// Algorithm:
//   1. Names with equal literals around their numbers are a group.
//   2. A whole component with a point is taken for one number ("0.05"); where the texts of a group cannot be fractions ("100.1"
//      and "100.10", or each step with each part) its names are grouped again with two numbers.
//   3. Names that are nearly alone and have a word that looks random are grouped by what is around that word; kept where at least
//      three names share it. A small group whose words happen to look ordinary joins
//      by their length.
//   4. Groups of one run each, which differ in a single directory or random word between runs, are one group: the word is the
//      run. Words that people chose, such as the fields U, p, phi of OpenFOAM, are never merged within a run: they are
//      different series.
//
// Cost: linear in the text for 1 to 3; 4 looks at up to 16 directories of up to kMaxRunGroups groups. Memory: 4 bytes a name,
// and about 150 for each group.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "forecast/name_lexer.hpp"
#include "forecast/template_discovery.hpp"

namespace iez::forecast {

struct NameGroup {
  std::uint32_t first = 0;  // a name of it
  std::uint32_t count = 0;
  bool one_run = true;     // all its names are of the run of first
  bool pointed = false;    // a number of it has decimals
  std::uint32_t next = 0;  // with the same hash, while groups are made; 0: none
  LexMode mode;
  std::vector<std::pair<std::uint32_t, std::string_view>> components;  // for each run, the directory that stands for it
};

class NameGroups {
 public:
  static constexpr std::size_t kMaxRunGroups = 20'000;

  // REQUIRES: the names outlive the object; fewer than 2^32 - 1.
  explicit NameGroups(std::span<const ObservedName> names);

  const std::vector<NameGroup>& groups() const { return groups_; }  // those with count 0 are to be ignored
  const std::vector<std::uint32_t>& group_of() const { return group_of_; }

  // The tokens of a name as its group sees them: the same number of tokens for all names of a group.
  void lex_member(std::uint32_t name, LexedName& out) const;

 private:
  class Builder;

  void group_all();
  void split_false_fractions();
  void merge_random_words();
  void join_models(std::span<const std::uint32_t> models, std::uint32_t first_model);
  void merge_runs();
  void adopt(std::uint32_t name, std::uint32_t group);
  std::vector<std::vector<std::uint32_t>> members(const std::vector<bool>& wanted) const;

  std::span<const ObservedName> names_;
  std::vector<NameGroup> groups_;
  std::vector<std::uint32_t> group_of_;
};

}  // namespace iez::forecast
