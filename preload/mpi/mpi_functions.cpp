#include "preload/mpi/mpi_functions.hpp"

#include <mutex>

namespace iez::preload {

const MpiFunctions* mpi_functions() {
  static MpiFunctions table;
  static bool complete = false;
  static std::once_flag once;
  std::call_once(once, [] {
    complete = true;
#define IEZ_MPI_LOOK_UP(name)                               \
  table.name = next<decltype(&PMPI_##name)>("PMPI_" #name); \
  complete = complete && table.name != nullptr;
    IEZ_MPI_FUNCTIONS(IEZ_MPI_LOOK_UP)
#undef IEZ_MPI_LOOK_UP
  });
  return complete ? &table : nullptr;
}

}  // namespace iez::preload
