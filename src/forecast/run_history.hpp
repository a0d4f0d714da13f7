// What earlier runs wrote under one file-name template, in order: by slot, by step, by run.
//
// A slot is what a file is within one step: its rank, its part, or both - every field of the name but the step, the run and what
// cannot be known. A step is counted from 0 within its run, in ascending order of the step field; a template without one has step
// 0 only. So (slot, step) is the same file in every run, and its sizes over the runs are a series.
//
// Thread safety: plain values. Memory: 16 bytes a file, and 8 for each slot and field of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forecast/template_discovery.hpp"

namespace iez::forecast {

// The field that counts the steps; none: the template has no steps.
std::optional<std::size_t> step_field(const NameTemplate& name_template);

// The fields that make the slot.
std::vector<std::size_t> slot_fields(const NameTemplate& name_template);

// One file of one run.
struct Cell {
  std::uint32_t slot = 0;
  std::uint32_t step = 0;
  std::uint32_t run = 0;
  std::uint32_t file = 0;  // its number among all names given to discover()
};

class TemplateHistory {
 public:
  // `names` are those of template t of the discovery.
  TemplateHistory(const Discovery& discovery, std::uint32_t t, std::span<const std::uint32_t> names,
                  std::span<const ObservedName> observed);

  std::size_t slots() const { return fields_.empty() ? 1 : keys_.size() / fields_.size(); }
  std::uint32_t steps() const { return steps_; }  // the most that a run had

  // The slot of a name of this template; none: no run had it. `values` as match() gives them.
  std::optional<std::uint32_t> slot_of(std::span<const FieldValue> values) const;

  // Oldest run first; empty: never seen.
  std::span<const Cell> at(std::uint32_t slot, std::uint32_t step) const;
  std::span<const Cell> of_slot(std::uint32_t slot) const;  // by step, then by run
  std::span<const Cell> all() const { return cells_; }      // by slot, step, run

 private:
  std::vector<std::size_t> fields_;  // slot_fields()
  std::vector<std::int64_t> keys_;   // their values, slot after slot, ascending
  std::vector<Cell> cells_;
  std::vector<std::size_t> first_;  // of each slot in cells_, and the end
  std::uint32_t steps_ = 1;
};

}  // namespace iez::forecast
