// The calls of MPI-IO that move data, as the program makes them, in C. Those that are not collective are the MPI's, but for files
// in log mode.
#include <climits>

#include "preload/mpi/exports.hpp"
#include "preload/mpi/transfer.hpp"

namespace iez::preload {

namespace {

// Serves the call, or has the next library in line do it.
template <typename Pass>
int serve(const Call& call, MPI_Status* status, Pass pass) {
  const MpiFunctions* const mpi = mpi_functions();
  const auto open = mpi == nullptr ? nullptr : find_file(call.file);
  if (!open) return pass();
  const Done done = transfer(*mpi, *open, call);
  if (!done.served) {
    if (call.collective) ++open->passed;
    const int result = pass();
    if (call.collective) passed_through(*open);
    return result;
  }
  set_status(*mpi, status, done.bytes);
  if (done.result != MPI_SUCCESS) mpi->File_call_errhandler(call.file, done.result);
  return done.result;
}

// MPI allows a split call to be done as a whole when it begins.
template <typename Pass>
int begin(Call call, Pass pass) {
  const MpiFunctions* const mpi = mpi_functions();
  const auto open = mpi == nullptr ? nullptr : find_file(call.file);
  if (!open) return pass();
  call.ends = false;
  const Done done = transfer(*mpi, *open, call);
  if (!done.served) {
    ++open->passed;
    return pass();
  }
  open->split = done;
  if (done.result != MPI_SUCCESS) mpi->File_call_errhandler(call.file, done.result);
  return done.result;
}

template <typename Pass>
int start(const Call& call, MPI_Request* request, Pass pass) {
  const MpiFunctions* const mpi = mpi_functions();
  const auto open = mpi == nullptr ? nullptr : find_file(call.file);
  if (open && start_transfer(*mpi, open, call, request)) return MPI_SUCCESS;
  if (open && call.collective) ++open->passed;
  return pass();
}

// The shared file pointer is the MPI's, which would write behind the log's back.
template <typename Pass>
int pass_shared(MPI_File file, Pass pass) {
  const MpiFunctions* const mpi = mpi_functions();
  const auto open = mpi == nullptr ? nullptr : find_file(file);
  if (!open || !open->log) return pass();
  mpi->File_call_errhandler(file, MPI_ERR_UNSUPPORTED_OPERATION);
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

template <typename Pass>
int end(MPI_File file, MPI_Status* status, Pass pass) {
  const MpiFunctions* const mpi = mpi_functions();
  const auto open = mpi == nullptr ? nullptr : find_file(file);
  if (!open || !open->split) return pass();
  const Done done = *open->split;
  open->split.reset();
  set_status(*mpi, status, done.bytes);
  return done.result;
}

}  // namespace

}  // namespace iez::preload

using iez::preload::begin;
using iez::preload::Call;
using iez::preload::end;
using iez::preload::next;
using iez::preload::pass_shared;
using iez::preload::serve;
using iez::preload::start;
using iez::preload::Where;

using Bytes = void*;
using ConstBytes = const void*;

// The next library's function of this name, with these arguments.
#define IEZ_PASS(name, ...)                                                     \
  [&] {                                                                         \
    const auto real = next<decltype(&name)>(#name);                             \
    return real == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : real(__VA_ARGS__); \
  }

// Two signatures: without and with an offset. `kind` is const when it writes; `all`: a collective call.
#define IEZ_CALL_OF(is_write, all, place, at)                                                                                  \
  const Call call {                                                                                                            \
    .file = file, .write = is_write, .collective = all, .where = Where::place, .offset = at, .memory = const_cast<void*>(buf), \
    .count = count, .type = type                                                                                               \
  }

#define IEZ_WHOLE(name, is_write, all, place, kind, number)                                           \
  IEZ_EXPORT int name(MPI_File file, kind buf, number count, MPI_Datatype type, MPI_Status* status) { \
    IEZ_CALL_OF(is_write, all, place, 0);                                                             \
    return serve(call, status, IEZ_PASS(name, file, buf, count, type, status));                       \
  }
#define IEZ_WHOLE_AT(name, is_write, all, kind, number)                                                                  \
  IEZ_EXPORT int name(MPI_File file, MPI_Offset offset, kind buf, number count, MPI_Datatype type, MPI_Status* status) { \
    IEZ_CALL_OF(is_write, all, offset, offset);                                                                          \
    return serve(call, status, IEZ_PASS(name, file, offset, buf, count, type, status));                                  \
  }
#define IEZ_BEGIN(name, is_write, place, kind, number)                            \
  IEZ_EXPORT int name(MPI_File file, kind buf, number count, MPI_Datatype type) { \
    IEZ_CALL_OF(is_write, true, place, 0);                                        \
    return begin(call, IEZ_PASS(name, file, buf, count, type));                   \
  }
#define IEZ_BEGIN_AT(name, is_write, kind, number)                                                   \
  IEZ_EXPORT int name(MPI_File file, MPI_Offset offset, kind buf, number count, MPI_Datatype type) { \
    IEZ_CALL_OF(is_write, true, offset, offset);                                                     \
    return begin(call, IEZ_PASS(name, file, offset, buf, count, type));                              \
  }
#define IEZ_END(name, kind)                                          \
  IEZ_EXPORT int name(MPI_File file, kind buf, MPI_Status* status) { \
    return end(file, status, IEZ_PASS(name, file, buf, status));     \
  }
#define IEZ_START(name, is_write, all, kind, number)                                                    \
  IEZ_EXPORT int name(MPI_File file, kind buf, number count, MPI_Datatype type, MPI_Request* request) { \
    IEZ_CALL_OF(is_write, all, pointer, 0);                                                             \
    return start(call, request, IEZ_PASS(name, file, buf, count, type, request));                       \
  }
#define IEZ_START_AT(name, is_write, all, kind, number)                                                                    \
  IEZ_EXPORT int name(MPI_File file, MPI_Offset offset, kind buf, number count, MPI_Datatype type, MPI_Request* request) { \
    IEZ_CALL_OF(is_write, all, offset, offset);                                                                            \
    return start(call, request, IEZ_PASS(name, file, offset, buf, count, type, request));                                  \
  }
#define IEZ_SHARED(name, kind, number, Last)                                                  \
  IEZ_EXPORT int name(MPI_File file, kind buf, number count, MPI_Datatype type, Last* last) { \
    return pass_shared(file, IEZ_PASS(name, file, buf, count, type, last));                   \
  }

#define IEZ_CALLS(verb, is_write, kind, c, number)                               \
  IEZ_WHOLE(MPI_File_##verb##_all##c, is_write, true, pointer, kind, number)     \
  IEZ_WHOLE(MPI_File_##verb##_ordered##c, is_write, true, ordered, kind, number) \
  IEZ_WHOLE_AT(MPI_File_##verb##_at_all##c, is_write, true, kind, number)        \
  IEZ_BEGIN(MPI_File_##verb##_all_begin##c, is_write, pointer, kind, number)     \
  IEZ_BEGIN(MPI_File_##verb##_ordered_begin##c, is_write, ordered, kind, number) \
  IEZ_BEGIN_AT(MPI_File_##verb##_at_all_begin##c, is_write, kind, number)        \
  IEZ_START(MPI_File_i##verb##_all##c, is_write, true, kind, number)             \
  IEZ_START_AT(MPI_File_i##verb##_at_all##c, is_write, true, kind, number)       \
  IEZ_WHOLE(MPI_File_##verb##c, is_write, false, pointer, kind, number)          \
  IEZ_WHOLE_AT(MPI_File_##verb##_at##c, is_write, false, kind, number)           \
  IEZ_START(MPI_File_i##verb##c, is_write, false, kind, number)                  \
  IEZ_START_AT(MPI_File_i##verb##_at##c, is_write, false, kind, number)          \
  IEZ_SHARED(MPI_File_##verb##_shared##c, kind, number, MPI_Status)              \
  IEZ_SHARED(MPI_File_i##verb##_shared##c, kind, number, MPI_Request)

extern "C" {

IEZ_CALLS(write, true, ConstBytes, , int)
IEZ_CALLS(read, false, Bytes, , int)
IEZ_END(MPI_File_write_all_end, ConstBytes)
IEZ_END(MPI_File_write_at_all_end, ConstBytes)
IEZ_END(MPI_File_write_ordered_end, ConstBytes)
IEZ_END(MPI_File_read_all_end, Bytes)
IEZ_END(MPI_File_read_at_all_end, Bytes)
IEZ_END(MPI_File_read_ordered_end, Bytes)
#if MPI_VERSION >= 4
IEZ_CALLS(write, true, ConstBytes, _c, MPI_Count)
IEZ_CALLS(read, false, Bytes, _c, MPI_Count)
#endif

}  // extern "C"
