#include "forecast/run_history.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/result.hpp"

namespace iez::forecast {

std::optional<std::size_t> step_field(const NameTemplate& name_template) {
  for (std::size_t f = 0; f < name_template.fields.size(); ++f) {
    const Field& field = name_template.fields[f];
    if (field.role == FieldRole::step && field.kind != FieldKind::word && !field.open) return f;
  }
  return std::nullopt;
}

std::vector<std::size_t> slot_fields(const NameTemplate& name_template) {
  std::vector<std::size_t> fields;
  for (std::size_t f = 0; f < name_template.fields.size(); ++f) {
    const Field& field = name_template.fields[f];
    const bool tells = field.role == FieldRole::rank || field.role == FieldRole::part || field.role == FieldRole::other;
    if (tells && field.kind != FieldKind::word && !field.open && field.same_as == f) fields.push_back(f);
  }
  return fields;
}

TemplateHistory::TemplateHistory(const Discovery& discovery, std::uint32_t t, std::span<const std::uint32_t> names,
                                 std::span<const ObservedName> observed)
    : fields_(slot_fields(discovery.templates[t])) {
  const auto step = step_field(discovery.templates[t]);
  const auto key_less = [&](std::uint32_t a, std::uint32_t b) {
    for (const std::size_t f : fields_) {
      const std::int64_t left = discovery.value(a, f);
      const std::int64_t right = discovery.value(b, f);
      if (left != right) return left < right;
    }
    return false;
  };
  std::vector<std::uint32_t> order(names.begin(), names.end());
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (key_less(a, b)) return true;
    if (key_less(b, a)) return false;
    return a < b;
  });

  std::map<std::uint32_t, std::vector<std::int64_t>> steps_of;  // by run
  if (step) {
    for (const std::uint32_t name : order) steps_of[observed[name].run].push_back(discovery.value(name, *step));
    for (auto& [run, values] : steps_of) {
      std::ranges::sort(values);
      values.erase(std::ranges::unique(values).begin(), values.end());
      steps_ = std::max(steps_, static_cast<std::uint32_t>(values.size()));
    }
  }

  cells_.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t name = order[i];
    if (i == 0 || key_less(order[i - 1], name)) {
      first_.push_back(i);
      for (const std::size_t f : fields_) keys_.push_back(discovery.value(name, f));
    }
    Cell cell{.slot = static_cast<std::uint32_t>(first_.size() - 1), .run = observed[name].run, .file = name};
    if (step) {
      const auto& values = steps_of[cell.run];
      cell.step = static_cast<std::uint32_t>(std::ranges::lower_bound(values, discovery.value(name, *step)) - values.begin());
    }
    cells_.push_back(cell);
  }
  first_.push_back(cells_.size());
  std::ranges::sort(cells_, {}, [](const Cell& cell) { return std::tuple(cell.slot, cell.step, cell.run, cell.file); });
}

std::optional<std::uint32_t> TemplateHistory::slot_of(std::span<const FieldValue> values) const {
  std::size_t low = 0;
  std::size_t high = slots();
  const auto compare = [&](std::size_t slot) {  // of the slot with the values
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto order = keys_[slot * fields_.size() + i] <=> values[fields_[i]].number;
      if (order != 0) return order;
    }
    return std::strong_ordering::equal;
  };
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const auto order = compare(middle);
    if (order == 0) return static_cast<std::uint32_t>(middle);
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::nullopt;
}

std::span<const Cell> TemplateHistory::of_slot(std::uint32_t slot) const {
  IEZ_ASSERT(slot + 1 < first_.size());
  return std::span(cells_).subspan(first_[slot], first_[slot + 1] - first_[slot]);
}

std::span<const Cell> TemplateHistory::at(std::uint32_t slot, std::uint32_t step) const {
  const auto cells = of_slot(slot);
  const auto [first, last] = std::ranges::equal_range(cells, step, {}, &Cell::step);
  return {first, last};
}

}  // namespace iez::forecast
