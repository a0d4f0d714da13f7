// Where a file stands in its series, counted from the last step: names of steps that go on, or that have a date, are never the
// same again, but a restart always reads the last step of the run before.
//
// Thread safety: of() is safe from any number of threads.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "forecast/name_template.hpp"
#include "forecast/template_index.hpp"

namespace iez::forecast {

struct StepPlace {
  std::uint32_t name_template = 0;
  std::vector<std::int64_t> slot;  // as in run_history.hpp
  std::size_t steps_behind = 0;    // that come after its step

  friend auto operator<=>(const StepPlace&, const StepPlace&) = default;
};

class StepPlaces {
 public:
  // `names`: the files whose steps are counted. REQUIRES: the templates outlive this.
  StepPlaces(std::span<const NameTemplate> templates, std::span<const std::string_view> names);

  // Nothing: no template has such names.
  std::optional<StepPlace> of(std::string_view name) const;

 private:
  std::span<const NameTemplate> templates_;
  TemplateIndex index_;
  std::vector<std::vector<std::int64_t>> steps_;  // of each template, ascending
};

}  // namespace iez::forecast
