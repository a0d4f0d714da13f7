// What completion offers beyond the command tree: applications of the database, OSTs of a mount or a lab, labs.
//
// From what is at hand: what cannot be read, or not soon, is not offered. Thread safety: none.
#pragma once

#include <span>
#include <vector>

#include "base/clock.hpp"
#include "completion.hpp"

namespace iez::cli {

// given: the options of the line so far; --store, --root, --fs, --cluster, --name and --dir are heeded.
std::vector<OfferedWord> gather_words(Gathered what, std::span<const GivenOption> given, Clock& clock);

}  // namespace iez::cli
