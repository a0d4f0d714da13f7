// What this node's client of a file system counted, beside what a run's trace has: what the library did not see.
//
// llite counters are of all programs of the node, and on Lustre root alone may read them; those of a lab are its user's, and up
// to a second late.
//
// Thread safety: none beyond that of the files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::runs {

// Bytes written to the file system since it was mounted here, over all of its mounts. Nothing: they cannot be read. roots: of
// parameters, empty for this node.
std::optional<Bytes> client_written(const std::vector<std::string>& roots, std::string_view file_system);

// One sentence if much of what the client wrote in a run of that length is in no trace; else empty. Counters that are late and
// short runs give none. Pure.
std::string unseen_text(Bytes client, Bytes traced, Duration lasted);

}  // namespace iez::runs
