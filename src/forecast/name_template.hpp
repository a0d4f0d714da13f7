// The name of a series of files: literal text and fields, as "/scratch/{run}/ckpt.{step:5}.{rank:4}".
//
// A template tells which names belong to it (match), writes a name for given values (render, the exact inverse), and lists the
// names of a run that has not happened yet (enumerate). It is found by discover().
//
// Variables: fields move together. The two numbers of "processor12/data.12", or a step and its date, are one variable: the value
// of each field is a function of the index of the variable. A run has one name for each combination of the indices of all
// variables; coverage tells how far that was true for the last run seen.
//
// Matching needs no search: a number ends where its digits end, a word where its letters end. So it is linear in the name.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/name_fields.hpp"

namespace iez::forecast {

struct Variable {
  FieldRole role = FieldRole::other;  // rank, step, part or other
  std::uint64_t count = 1;            // indices in the last run
  bool continues = false;             // step: each run began where the one before it ended

  // Rank: index i belongs to rank slots.at(i).
  Series slots;
};

struct NameTemplate {
  std::vector<std::string> literals;  // one more than fields: before, between and behind them
  std::vector<Field> fields;
  std::vector<Variable> variables;  // the step first, the rank last

  std::uint64_t names = 0;  // seen, over all runs
  std::uint32_t runs = 0;   // it was seen in
  std::uint32_t ranks = 0;  // of the last run; 0: not known
  double coverage = 1;      // names of the last run / combinations of its variables; above 1 where an open field varies

  // "{role}", with ":5" for a padded number, ":date" for a date, "*" behind an open field. Braces of the name are not escaped.
  std::string pattern() const;
};

// REQUIRES: values has one entry for each field.
std::string render(const NameTemplate& name_template, std::span<const FieldValue> values);

// Whether name belongs to the template; values has its fields then. The texts of words point into name.
bool match(const NameTemplate& name_template, std::string_view name, std::vector<FieldValue>& values);

struct NextRunShape {
  std::uint32_t ranks = 0;       // 0: as many as in the last run
  std::uint64_t steps = 0;       // 0: as many as in the last run
  std::uint32_t runs_ahead = 1;  // 1: the next run; 0: the last one again
  std::uint64_t max_names = 0;   // stop behind this many; 0: no limit
  // Of the open fields in their order, tied ones once, where the caller knows them; else "*" is written.
  std::span<const FieldValue> open_values;
};

struct NextName {
  std::string_view name;   // valid during the call
  bool open = false;       // it has a "*" for a field whose value cannot be known
  std::int64_t rank = -1;  // -1: no field tells
  std::uint64_t step = 0;  // index of the step in its run
};

// Calls visit for each name, steps in order, ranks within a step; stops when it returns false. Returns whether it went through
// all. Names differ from each other unless the series of a field repeats a value.
bool enumerate(const NameTemplate& name_template, const NextRunShape& shape, const std::function<bool(const NextName&)>& visit);

}  // namespace iez::forecast
