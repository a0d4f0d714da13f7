// MPI datatypes as maps of bytes.
//
// Thread safety: reentrant.
#pragma once

#include <cstdint>
#include <optional>

#include "collective/data_map.hpp"
#include "preload/mpi/mpi_functions.hpp"

namespace iez::preload {

// Where the bytes of consecutive elements of a type lie, from `start` on. None if the type has no bytes, or so many pieces
// without any regularity that a list of them is not worth having. Does not check that it is committed.
std::optional<collective::DataMap> map_of(const MpiFunctions& mpi, MPI_Datatype type, std::int64_t start);

}  // namespace iez::preload
