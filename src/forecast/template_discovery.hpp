// Finds the file-name templates of an application from the names of its past runs.
//
// Problem: given the names that one or more runs created, in order of creation, find the series they belong to, the fields of
// each (rank, step, part, run), their values and strides, so that the names of the next run can be written down and its files
// recognised.
//
// Notation: a group is the set of names with the same literals around their numbers (name_groups.hpp). A column is the values of
// one number over the names of a group.
//
// Algorithm, for each group:
//   1. Columns that spell a date are joined; so are two around a point that only make sense as a fraction.
//   2. A column that never varies is literal text, unless it is the number of ranks.
//   3. Padding is read from leading zeros: %05d where each text is as long as max(5, digits). Where no width explains all texts
//      the field is a word of digits.
//   4. Roles and variables: see field_roles.hpp.
//
// Every name matches its template, and render() of the values gives the name again.
//
// Complexity: linear in the text; n log n in the names of a group for values that are spread widely. Memory, at most: 12 bytes a
// name, and 12 for each field of the largest group; the values stay, 8 bytes a field. Limits: 24 numbers a name (the last ones);
// fewer than 2^32 - 1 names; a name is shorter than 4 GiB.
//
// Thread safety: a plain function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "forecast/name_template.hpp"

namespace iez::forecast {

// In order of creation within a run; the runs may be mixed.
struct ObservedName {
  std::string_view name;
  std::int32_t rank = -1;  // that created it; -1: not known
  std::uint32_t run = 0;   // ascending in time
};

struct Discovery {
  std::vector<NameTemplate> templates;     // by first appearance
  std::vector<std::uint32_t> template_of;  // for each name
  std::vector<std::uint32_t> row_of;       // for each name, its row in the columns of its template
  // columns[t][f][row]: the number of field f; equal words of a template have equal numbers.
  std::vector<std::vector<std::vector<std::int64_t>>> columns;

  std::int64_t value(std::size_t name, std::size_t field) const { return columns[template_of[name]][field][row_of[name]]; }
};

// REQUIRES: the names stay until discover() returns.
Discovery discover(std::span<const ObservedName> names);

}  // namespace iez::forecast
