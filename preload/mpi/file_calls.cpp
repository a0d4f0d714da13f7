// Calls on open files that are not about data: what the engine has to know of them, and what it has to tell.
#include "preload/mpi/counters.hpp"
#include "preload/mpi/datatype.hpp"
#include "preload/mpi/exports.hpp"
#include "preload/mpi/mpi_functions.hpp"
#include "preload/mpi/open_files.hpp"
#include "preload/mpi/transfer.hpp"

#include <cstring>

namespace iez::preload {

namespace {

// The view as the engine sees it; none: it is the MPI's.
void take_view(const MpiFunctions& mpi, OpenFile& open, MPI_Offset start, MPI_Datatype etype, MPI_Datatype filetype,
               const char* representation) {
  open.view.reset();
  MPI_Count size = 0;
  if (std::strcmp(representation, "native") != 0 || mpi.Type_size_x(etype, &size) != MPI_SUCCESS || size <= 0) return;
  open.etype_bytes = static_cast<std::int64_t>(size);
  if (start < 0) return;
  MPI_Count bytes = 0;
  mpi.Type_size_x(filetype, &bytes);
  open.empty_view = bytes == 0;
  open.view = open.empty_view ? collective::DataMap::contiguous(start) : map_of(mpi, filetype, start);
  if (open.view && (!open.view->ascending() || open.view->offset_of(0) < 0)) open.view.reset();
}

// A log that could not be brought into the file: the program would go on without what is in it.
int told_error(const OpenFile& open, MPI_File file) {
  if (open.log_error == 0) return MPI_SUCCESS;
  mpi_functions()->File_call_errhandler(file, class_of(open.log_error));
  return class_of(open.log_error);
}

}  // namespace

}  // namespace iez::preload

using iez::preload::find_file;
using iez::preload::mpi_functions;
using iez::preload::next;
using iez::preload::take_info;

// These are collective, and may fail on one rank alone: it keeps what it had, and agrees with the others all the same.
extern "C" {

IEZ_EXPORT int MPI_File_set_view(MPI_File file, MPI_Offset start, MPI_Datatype etype, MPI_Datatype filetype,
                                 const char* representation, MPI_Info info) {
  const auto real = next<decltype(&MPI_File_set_view)>("MPI_File_set_view");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int result = real(file, start, etype, filetype, representation, info);
  if (const auto open = find_file(file)) {
    bool new_hints = false;
    if (result == MPI_SUCCESS) {
      new_hints = take_info(*mpi_functions(), info, *open);
      iez::preload::take_view(*mpi_functions(), *open, start, etype, filetype, representation);
    }
    iez::preload::agree_on_view(*open, new_hints);
    if (result == MPI_SUCCESS) return iez::preload::told_error(*open, file);
  }
  return result;
}

IEZ_EXPORT int MPI_File_set_atomicity(MPI_File file, int flag) {
  const auto real = next<decltype(&MPI_File_set_atomicity)>("MPI_File_set_atomicity");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int result = real(file, flag);
  if (const auto open = find_file(file)) {
    if (result == MPI_SUCCESS) open->atomic = flag != 0;
    iez::preload::agree_on_view(*open, false);
    if (result == MPI_SUCCESS) return iez::preload::told_error(*open, file);
  }
  return result;
}

IEZ_EXPORT int MPI_File_set_info(MPI_File file, MPI_Info info) {
  const auto real = next<decltype(&MPI_File_set_info)>("MPI_File_set_info");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int result = real(file, info);
  if (const auto open = find_file(file)) {
    iez::preload::agree_on_hints(*open, result == MPI_SUCCESS && take_info(*mpi_functions(), info, *open));
  }
  return result;
}

// What the MPI tells, and the hints that are in force here. Not collective: before the first collective call nothing is chosen
// yet, and only what was given is told.
IEZ_EXPORT int MPI_File_get_info(MPI_File file, MPI_Info* info) {
  const auto real = next<decltype(&MPI_File_get_info)>("MPI_File_get_info");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int result = real(file, info);
  const auto open = find_file(file);
  if (result != MPI_SUCCESS || !open || (open->tried && !open->session)) return result;
  const auto hints = open->session ? open->session->hints_in_force() : open->hints;
  hints.each([info](const char* key, const char* value) { mpi_functions()->Info_set(*info, key, value); });
  return result;
}

IEZ_EXPORT int MPI_File_close(MPI_File* file) {
  const auto real = next<decltype(&MPI_File_close)>("MPI_File_close");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  int error = MPI_SUCCESS;
  if (file != nullptr) {
    if (const auto open = iez::preload::remove_file(*file)) {
      open->worker.reset();
      iez::preload::end_session(*open);
      iez::preload::tell_counters(*open);
      iez::preload::end_log(*open);
      error = iez::preload::told_error(*open, *file);
    }
  }
  const int result = real(file);
  return error != MPI_SUCCESS ? error : result;
}

}  // extern "C"
