// Program files, as `iez run` looks at them.
#pragma once

#include <string>

#include "runs/identity.hpp"

namespace iez::cli {

runs::ProgramProbe program_probe();

// "openmpi" or "mpich", whichever the program or a library of its own wants; empty: none, or not to be told from the file.
std::string mpi_of_program(const std::string& word);

// The same of mpi4py, where this Python finds it: below $PYTHONPATH, $VIRTUAL_ENV, its own folder, or the user's.
std::string mpi_of_python(const std::string& word);

}  // namespace iez::cli
