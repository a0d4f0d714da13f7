// The values of one field over the names of a group, as small numbers in the order of the values.
//
// Rows are the names in order of creation, run after run. Memory: 4 bytes a row, 8 a distinct value.
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace iez::forecast {

class ValueColumn {
 public:
  ValueColumn() = default;
  // segments: the row where each run begins, and the number of rows. REQUIRES: at least one row in each run.
  ValueColumn(std::span<const std::int64_t> column, std::span<const std::uint32_t> segments);

  const std::vector<std::uint32_t>& ids() const { return ids_; }       // for each row
  const std::vector<std::int64_t>& values() const { return values_; }  // for each id, ascending

  bool regular() const { return regular_; }  // at least two values, with a constant stride
  bool rising() const { return rising_; }    // within a run new values come in rising order, but for one in twenty
  bool constant_in_runs() const { return constant_in_runs_; }
  std::uint64_t changes() const { return changes_; }  // rows with another value than the row before

  // For each id of other the id here, if rows that agree there agree here.
  std::optional<std::vector<std::uint32_t>> function_of(const ValueColumn& other) const;

  // A row of the last run for each of its values, ascending by value.
  std::vector<std::uint32_t> last_run_rows() const;

  // Whether runs begin one stride behind the end of the run before: the last two borders between runs, or half of all where
  // the others are gaps, steps that no run wrote. False for a single run.
  bool continues(std::int64_t stride) const;

 private:
  void number(std::span<const std::int64_t> column);
  void look_at_order();

  std::vector<std::uint32_t> ids_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> segments_;
  bool regular_ = false;
  bool rising_ = false;
  bool constant_in_runs_ = true;
  std::uint64_t changes_ = 0;
};

}  // namespace iez::forecast
