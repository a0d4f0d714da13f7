// Layouts as people write and read them.
//
// One component in words, as `iez layout set --component` takes it: its end, then what it wants, e.g.
//     4M:count=1          64M:count=4,size=1M,pool=flash          eof:osts=3+1+2,size=4M          1M:mdt eof:count=-1,overstripe
// Keys: count (-1: all OSTs), size, pool, osts (joined by '+'), first; words: mdt, overstripe.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/layout.hpp"

namespace iez::model {

// "3,1,2" (or with another separator) and ranges "0-5".
[[nodiscard]] Result<std::vector<OstIndex>> parse_ost_list(std::string_view text, char separator);

// A stripe count: 1 to 2000, or -1 for all.
[[nodiscard]] Result<std::uint16_t> parse_stripe_count(std::string_view text);

// A progressive layout from its components in order; each starts where the one before ends.
[[nodiscard]] Result<Layout> parse_components(std::span<const std::string> specs);

std::string_view to_string(Pattern pattern);  // "raid0", "mdt"

}  // namespace iez::model
