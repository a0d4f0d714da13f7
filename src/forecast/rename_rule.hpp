// From the temporary name that a file is written under to the name it gets in the end.
//
// Many programs write "ckpt.0003.tmp" or ".ckpt.3.XyZ12a" and rename it when it is complete. The layout is fixed when the
// temporary file is created, so it must be planned for the name that follows. A rule is learnt from pairs seen in past runs: both
// sides are made templates, and each field of the final name is fed by a field of the temporary name that had the same value in
// every pair.
//
// A pair without siblings gives a rule for that name alone; names with a random word need three pairs.
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/name_template.hpp"

namespace iez::forecast {

struct RenamedFile {
  std::string_view temporary;
  std::string_view final;
};

struct RenameRule {
  NameTemplate temporary;
  NameTemplate final;
  std::vector<std::uint32_t> source;  // for each field of final, the field of temporary that feeds it
  std::uint64_t pairs = 0;            // it was learnt from; it holds for all of them

  // Nothing if name is not such a temporary name.
  std::optional<std::string> apply(std::string_view name) const;
};

// Rules by the number of their pairs, most first. No rule where the final name cannot be told from the temporary one, or where
// names of one template end in different templates. REQUIRES: the names stay until it returns.
std::vector<RenameRule> learn_renames(std::span<const RenamedFile> pairs);

}  // namespace iez::forecast
