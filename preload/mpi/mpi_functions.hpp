// The functions of MPI that this library calls, looked up in the program: nothing of MPI is linked. By their profiling names, so
// that tools do not count them as the program's.
//
// Thread safety: the table is filled once, before it is shown.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <dlfcn.h>
#include <mpi.h>

#ifdef OPEN_MPI
// Its constants are objects of the program's MPI.
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_int32_t
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_mpi_op_max
#pragma weak ompi_mpi_short_int
#pragma weak ompi_mpi_op_sum
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_request_null
#pragma weak ompi_mpi_file_null
#endif

namespace iez::preload {

#define IEZ_MPI_FUNCTIONS(take)                                                                                                \
  take(Allgather) take(Allreduce) take(Bcast) take(Comm_dup) take(Comm_free) take(Comm_rank) take(Comm_set_errhandler)         \
      take(Comm_size) take(Comm_split) take(Comm_split_type) take(Error_class) take(Get_elements_x) take(File_call_errhandler) \
          take(File_get_position) take(File_get_position_shared) take(File_seek) take(File_seek_shared) take(File_write_at)    \
              take(File_read_at) take(Gather) take(Grequest_complete) take(Grequest_start) take(Info_get) take(Info_get_nkeys) \
                  take(Info_get_nthkey) take(Info_set) take(Iprobe) take(Comm_create_keyval) take(Comm_get_attr)               \
                      take(Comm_set_attr) take(Pack) take(Query_thread) take(Recv) take(Scan) take(Send)                       \
                          take(Status_set_cancelled) take(Status_set_elements_x) take(Type_free) take(Type_get_contents)       \
                              take(Type_get_envelope) take(Type_get_extent_x) take(Type_size_x) take(Unpack)

struct MpiFunctions {
#define IEZ_MPI_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  IEZ_MPI_FUNCTIONS(IEZ_MPI_MEMBER)
#undef IEZ_MPI_MEMBER
};

// Null if this program's MPI lacks one of them.
const MpiFunctions* mpi_functions();

// Of the library that comes behind this one: tools that stack take their turn.
template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace iez::preload
