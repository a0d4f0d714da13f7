// Where libiez.so and its companions for MPI are: beside this program, as it was installed or as it was built.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::cli {

// The whole path of libiez.so, or of libiez-mpi-FLAVOUR.so. $IEZ_LIBDIR comes first, if it is set. Errc::not_found names all
// places that were looked at.
[[nodiscard]] Result<std::string> find_preload_library();
[[nodiscard]] Result<std::string> find_mpi_library(std::string_view flavour);

}  // namespace iez::cli
