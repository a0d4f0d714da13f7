// The papers whose figures `iez repro` repeats. docs/guide/papers.md has them all.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace iez::cli {

// A sentence that cites the paper of a section. REQUIRES: the id of a section of `iez repro`.
std::string_view paper_of(std::string_view section);

}  // namespace iez::cli
