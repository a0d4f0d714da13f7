#include "forecast/value_column.hpp"

#include <algorithm>

#include "forecast/name_fields.hpp"

namespace iez::forecast {

namespace {
constexpr std::uint32_t kNone = ~0U;
}

ValueColumn::ValueColumn(std::span<const std::int64_t> column, std::span<const std::uint32_t> segments)
    : ids_(column.size()), segments_(segments.begin(), segments.end()) {
  number(column);
  look_at_order();
  regular_ = values_.size() >= 2 && make_series(values_, false).values.empty();
}

void ValueColumn::number(std::span<const std::int64_t> column) {
  const auto [least, greatest] = std::ranges::minmax(column);
  const std::uint64_t range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  if (range <= 4 * column.size() + 1'024) {
    std::vector<std::uint32_t> id_of(range + 1, kNone);
    for (const std::int64_t value : column) id_of[static_cast<std::size_t>(value - least)] = 0;
    for (std::size_t i = 0; i < id_of.size(); ++i) {
      if (id_of[i] == kNone) continue;
      id_of[i] = static_cast<std::uint32_t>(values_.size());
      values_.push_back(least + static_cast<std::int64_t>(i));
    }
    for (std::size_t row = 0; row < column.size(); ++row) ids_[row] = id_of[static_cast<std::size_t>(column[row] - least)];
    return;
  }
  values_.assign(column.begin(), column.end());
  std::ranges::sort(values_);
  const auto rest = std::ranges::unique(values_);
  values_.erase(rest.begin(), rest.end());
  values_.shrink_to_fit();
  for (std::size_t row = 0; row < column.size(); ++row) {
    ids_[row] = static_cast<std::uint32_t>(std::ranges::lower_bound(values_, column[row]) - values_.begin());
  }
}

void ValueColumn::look_at_order() {
  std::vector<std::uint32_t> seen_in(values_.size(), kNone);
  std::uint64_t risen = 0;
  std::uint64_t fallen = 0;
  for (std::uint32_t run = 0; run + 1 < segments_.size(); ++run) {
    std::uint32_t greatest = ids_[segments_[run]];
    seen_in[greatest] = run;
    for (std::uint32_t row = segments_[run] + 1; row < segments_[run + 1]; ++row) {
      const std::uint32_t id = ids_[row];
      if (id != ids_[row - 1]) ++changes_;
      if (seen_in[id] == run) continue;
      seen_in[id] = run;
      constant_in_runs_ = false;
      if (id > greatest) {
        greatest = id;
        ++risen;
      } else {
        ++fallen;
      }
    }
  }
  rising_ = risen > 0 && fallen * 20 <= risen;
}

std::optional<std::vector<std::uint32_t>> ValueColumn::function_of(const ValueColumn& other) const {
  if (values_.size() > other.values_.size()) return std::nullopt;
  std::vector<std::uint32_t> map(other.values_.size(), kNone);
  for (std::size_t row = 0; row < ids_.size(); ++row) {
    std::uint32_t& entry = map[other.ids_[row]];
    if (entry == kNone)
      entry = ids_[row];
    else if (entry != ids_[row])
      return std::nullopt;
  }
  return map;
}

std::vector<std::uint32_t> ValueColumn::last_run_rows() const {
  std::vector<std::uint32_t> row_of(values_.size(), kNone);
  for (std::uint32_t row = segments_[segments_.size() - 2]; row < segments_.back(); ++row) {
    if (row_of[ids_[row]] == kNone) row_of[ids_[row]] = row;
  }
  std::erase(row_of, kNone);
  return row_of;
}

bool ValueColumn::continues(std::int64_t stride) const {
  std::size_t borders = 0;
  std::size_t kept = 0;      // borders where the next run began one stride behind
  std::size_t in_a_row = 0;  // of them, up to the last one
  bool forward = true;
  std::int64_t last = 0;
  for (std::size_t run = 0; run + 1 < segments_.size(); ++run) {
    const auto [low, high] = std::ranges::minmax(std::span(ids_).subspan(segments_[run], segments_[run + 1] - segments_[run]));
    if (run > 0) {
      const bool next = values_[low] - stride == last;
      ++borders;
      kept += next ? 1U : 0U;
      in_a_row = next ? in_a_row + 1 : 0;
      forward &= values_[low] > last;
    }
    last = values_[high];
  }
  return kept > 0 && (in_a_row >= 2 || (forward && 2 * kept >= borders));
}

}  // namespace iez::forecast
