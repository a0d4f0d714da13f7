// What the fields of a template mean: the second half of discover().
//
// Problem: given the values of each field over the names of one group, in order of creation, say which field is the rank, the
// step, the run, and how each follows from an index.
//
// Notation: f is a function of g if names with the same g have the same f.
//
// Algorithm:
//   1. A field that is the same within each run and differs between runs marks the run, or is the number of ranks. The number of
//      a run goes on by its usual stride, also behind a gap; where none is to be seen it stays open. Fields that always agree are
//      tied; only the first is looked at further.
//   2. If the ranks are known: fields that are the rank plus a constant, the rank divided by a constant (one file per node), its
//      remainder beside such a one, or that tell ranks apart one to one, belong to the variable "rank".
//   3. Of the others, those with most values first: a field that is a function of a variable joins it, else it is a new
//      variable. A field without rule, different in most names, stays open.
//   4. The step is the variable whose new values come in rising order; with more than one, the words before the fields decide,
//      then strides other than one, then which changes least often. If ranks are not known, the rank is guessed: by words, by a
//      constant that equals its number of values, or as what runs densely from 0 or 1 beside the step. Creation order is a race
//      between ranks, but each rank goes through the steps in order, so first appearances of steps rise.
//
// Complexity: linear in the names for each pair of variables at worst; n log n for widely spread values.
// Thread safety: a plain function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "forecast/name_template.hpp"

namespace iez::forecast {

struct RoleEvidence {
  // For each field; empty for a field that never varies, whose value is Field::least then.
  std::span<const std::vector<std::int64_t>> columns;
  std::span<const std::uint32_t> segments;      // the row where each run begins, and the number of rows
  std::span<const std::int32_t> ranks;          // for each row; empty: not known
  std::span<const std::uint32_t> ranks_of_run;  // for each run; 0: not known
};

// Sets all but the text form of the fields, and the variables of the template. A field that never varies gets the role count,
// or stays other: it is literal text then.
// REQUIRES: at least one row; literals and the text form of fields are set.
void assign_roles(NameTemplate& name_template, const RoleEvidence& evidence);

}  // namespace iez::forecast
