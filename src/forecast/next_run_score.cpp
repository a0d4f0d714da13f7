#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "forecast/next_run.hpp"
#include "forecast/template_index.hpp"

namespace iez::forecast {

Score score(const NextRun& prediction, const RunSeen& actual) {
  std::vector<NameTemplate> templates;
  templates.reserve(prediction.templates.size());
  for (const PredictedTemplate& one : prediction.templates) templates.push_back(one.name);
  const TemplateIndex index(templates);
  std::unordered_map<std::string_view, const PredictedFile*> by_name;
  by_name.reserve(prediction.files.size());
  for (const PredictedFile& file : prediction.files) by_name.emplace(file.name, &file);

  Score result{.written = actual.files.size()};
  for (const PredictedFile& file : prediction.files) result.predicted += file.files;
  double relative = 0;
  double nonzero = 0;
  double errors = 0;
  double sizes = 0;
  std::vector<FieldValue> values;
  for (const FileSeen& file : actual.files) {
    auto found = by_name.find(file.name);
    if (found == by_name.end()) {
      const auto t = index.match(file.name, values);
      if (t) found = by_name.find(predicted_name(templates[*t], values));
    }
    const auto size = static_cast<double>(file.bytes.count);
    sizes += size;
    if (found == by_name.end()) {
      errors += size;
      continue;
    }
    const PredictedFile& said = *found->second;
    const double error = std::abs(static_cast<double>(said.bytes.count) - size);
    ++result.met;
    errors += error;
    if (size > 0) {
      relative += error / size;
      nonzero += 1;
    }
    if (file.stripe_count > 0) {
      ++result.stripe_known;
      result.stripe_counts += said.stripe_count == file.stripe_count ? 1U : 0U;
    }
    result.modes += said.shared == (file.ranks > 1) ? 1U : 0U;
    result.within += file.bytes <= said.high ? 1U : 0U;
  }
  if (nonzero > 0) result.accuracy = 100 * (1 - relative / nonzero);
  if (sizes > 0) result.by_weight = 100 * (1 - errors / sizes);
  return result;
}

}  // namespace iez::forecast
