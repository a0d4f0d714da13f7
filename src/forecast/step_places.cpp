#include "forecast/step_places.hpp"

#include <algorithm>

#include "forecast/run_history.hpp"

namespace iez::forecast {

StepPlaces::StepPlaces(std::span<const NameTemplate> templates, std::span<const std::string_view> names)
    : templates_(templates), index_(templates), steps_(templates.size()) {
  std::vector<FieldValue> values;
  for (const std::string_view name : names) {
    const auto t = index_.match(name, values);
    if (!t) continue;
    if (const auto step = step_field(templates_[*t])) steps_[*t].push_back(values[*step].number);
  }
  for (std::vector<std::int64_t>& steps : steps_) {
    std::ranges::sort(steps);
    steps.erase(std::ranges::unique(steps).begin(), steps.end());
  }
}

std::optional<StepPlace> StepPlaces::of(std::string_view name) const {
  const auto found = index_.match(name);
  if (!found) return std::nullopt;
  const NameTemplate& name_template = templates_[found->name_template];
  StepPlace place{.name_template = found->name_template, .slot = {}, .steps_behind = 0};
  for (const std::size_t field : slot_fields(name_template)) place.slot.push_back(found->values[field].number);
  if (const auto step = step_field(name_template)) {
    const std::vector<std::int64_t>& steps = steps_[found->name_template];
    place.steps_behind = static_cast<std::size_t>(steps.end() - std::ranges::upper_bound(steps, found->values[*step].number));
  }
  return place;
}

}  // namespace iez::forecast
