// Finds the template of a file name.
//
// Templates are kept by a hash of their literals with all numbers masked; a name is lexed the same way, so that one or two
// templates are compared in full. Templates with words have no such hash: they are tried one after the other, those with the
// longest first literal first.
//
// Cost of match(): linear in the name, plus a comparison of the first literal for each template with words. No allocation but
// the values. Where more than one template fits, one without words is preferred, then the first given.
//
// Thread safety: match() is safe from any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "forecast/name_template.hpp"

namespace iez::forecast {

struct Match {
  std::uint32_t name_template = 0;  // its number in the span given
  std::vector<FieldValue> values;   // texts point into the name
};

class TemplateIndex {
 public:
  // REQUIRES: the templates outlive the index.
  explicit TemplateIndex(std::span<const NameTemplate> templates);

  std::optional<Match> match(std::string_view name) const;

  // The same into a vector that the caller keeps.
  std::optional<std::uint32_t> match(std::string_view name, std::vector<FieldValue>& values) const;

 private:
  std::optional<std::uint32_t> match_hashed(std::uint64_t hash, std::string_view name, std::vector<FieldValue>& values) const;

  std::span<const NameTemplate> templates_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<std::uint32_t> with_words_;
};

}  // namespace iez::forecast
