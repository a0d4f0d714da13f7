// What was counted of a file while it was open, told when it is closed.
//
// With IEZ_COLLECTIVE_COUNTERS=FILE in the environment of the first rank, it appends a line of JSON for every file that had a
// session (collective/file_report.hpp). It takes one gather of all ranks at close; without the variable nothing.
//
// Thread safety: as of the file.
#pragma once

#include "preload/mpi/open_files.hpp"

namespace iez::preload {

// Whether this process's environment asks for it.
bool counters_wanted();

// Keeps what the session counted. Afterwards there is none, and the next collective call begins one.
void end_session(OpenFile& open);

// At close, when no session is left. Collective.
void tell_counters(OpenFile& open);

}  // namespace iez::preload
