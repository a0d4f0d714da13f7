#include "forecast/rename_rule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "forecast/template_discovery.hpp"

namespace iez::forecast {

namespace {

Discovery discover_side(std::span<const RenamedFile> pairs, std::string_view RenamedFile::* side) {
  std::vector<ObservedName> names;
  names.reserve(pairs.size());
  for (const RenamedFile& pair : pairs) names.push_back({.name = pair.*side});
  return discover(names);
}

// The values as FieldValue, since the numbers of words of the two sides are not comparable.
bool agrees(const FieldValue& a, const Field& field_a, const FieldValue& b, const Field& field_b) {
  return field_a.kind == field_b.kind && field_a.decimals == field_b.decimals && a == b;
}

std::optional<RenameRule> rule_for(const NameTemplate& temporary, const NameTemplate& final,
                                   std::span<const RenamedFile* const> pairs) {
  std::vector<std::vector<bool>> fits(final.fields.size(), std::vector<bool>(temporary.fields.size(), true));
  std::vector<FieldValue> from;
  std::vector<FieldValue> to;
  for (const RenamedFile* pair : pairs) {
    if (!match(temporary, pair->temporary, from) || !match(final, pair->final, to)) return std::nullopt;
    for (std::size_t f = 0; f < to.size(); ++f) {
      for (std::size_t t = 0; t < from.size(); ++t) {
        if (fits[f][t] && !agrees(from[t], temporary.fields[t], to[f], final.fields[f])) fits[f][t] = false;
      }
    }
  }
  RenameRule rule{.temporary = temporary, .final = final, .pairs = pairs.size()};
  for (const std::vector<bool>& fit : fits) {
    const auto source = std::ranges::find(fit, true);
    if (source == fit.end()) return std::nullopt;
    rule.source.push_back(static_cast<std::uint32_t>(source - fit.begin()));
  }
  return rule;
}

}  // namespace

std::optional<std::string> RenameRule::apply(std::string_view name) const {
  std::vector<FieldValue> from;
  if (!match(temporary, name, from)) return std::nullopt;
  std::vector<FieldValue> to;
  to.reserve(source.size());
  for (const std::uint32_t field : source) to.push_back(from[field]);
  return render(final, to);
}

std::vector<RenameRule> learn_renames(std::span<const RenamedFile> pairs) {
  const Discovery temporary = discover_side(pairs, &RenamedFile::temporary);
  const Discovery final = discover_side(pairs, &RenamedFile::final);
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<const RenamedFile*>>> routes;
  for (std::size_t i = 0; i < pairs.size(); ++i) routes[temporary.template_of[i]][final.template_of[i]].push_back(&pairs[i]);
  std::vector<RenameRule> rules;
  for (const auto& [from, targets] : routes) {
    if (targets.size() != 1) continue;
    const auto& [to, members] = *targets.begin();
    if (auto rule = rule_for(temporary.templates[from], final.templates[to], members)) rules.push_back(*std::move(rule));
  }
  std::ranges::sort(rules, [](const RenameRule& a, const RenameRule& b) {
    return std::pair(b.pairs, a.temporary.pattern()) < std::pair(a.pairs, b.temporary.pattern());
  });
  return rules;
}

}  // namespace iez::forecast
