// The calls of this library as Fortran makes them: mpif.h and `use mpi` by four spellings of each name, `use mpi_f08` by other
// names: those that all of Open MPI's calls come to, and those of MPICH's that take no data (the others call C by its name).
//
// Each converts its arguments and calls the C function of this library, never the MPI's Fortran function: one that calls C by its
// name, as MPICH's do, would have a call served twice, and one that calls PMPI, as Open MPI's do, not at all.
#include <cstddef>
#include <string>

#include "preload/mpi/exports.hpp"
#include "preload/mpi/mpi_functions.hpp"

namespace iez::preload {

namespace {

// Conversions of handles are macros in some MPIs and functions in others.
#define IEZ_CONVERT(name, result, given, otherwise)           \
  static const auto convert = next<result (*)(given)>(#name); \
  return convert == nullptr ? (otherwise) : convert(handle)

MPI_File file_of(MPI_Fint handle) {
#ifdef MPI_File_f2c
  return MPI_File_f2c(handle);
#else
  IEZ_CONVERT(MPI_File_f2c, MPI_File, MPI_Fint, MPI_FILE_NULL);
#endif
}

MPI_Fint number_of(MPI_File handle) {
#ifdef MPI_File_c2f
  return MPI_File_c2f(handle);
#else
  IEZ_CONVERT(MPI_File_c2f, MPI_Fint, MPI_File, 0);
#endif
}

MPI_Comm communicator_of(MPI_Fint handle) {
#ifdef MPI_Comm_f2c
  return MPI_Comm_f2c(handle);
#else
  IEZ_CONVERT(MPI_Comm_f2c, MPI_Comm, MPI_Fint, MPI_COMM_NULL);
#endif
}

MPI_Datatype type_of(MPI_Fint handle) {
#ifdef MPI_Type_f2c
  return MPI_Type_f2c(handle);
#else
  IEZ_CONVERT(MPI_Type_f2c, MPI_Datatype, MPI_Fint, MPI_DATATYPE_NULL);
#endif
}

MPI_Info info_of(MPI_Fint handle) {
#ifdef MPI_Info_f2c
  return MPI_Info_f2c(handle);
#else
  IEZ_CONVERT(MPI_Info_f2c, MPI_Info, MPI_Fint, MPI_INFO_NULL);
#endif
}

MPI_Fint info_number_of(MPI_Info handle) {
#ifdef MPI_Info_c2f
  return MPI_Info_c2f(handle);
#else
  IEZ_CONVERT(MPI_Info_c2f, MPI_Fint, MPI_Info, 0);
#endif
}

MPI_Fint request_number_of(MPI_Request handle) {
#ifdef MPI_Request_c2f
  return MPI_Request_c2f(handle);
#else
  IEZ_CONVERT(MPI_Request_c2f, MPI_Fint, MPI_Request, 0);
#endif
}

// Places in Fortran's common blocks that mean something by being what they are.
struct Sentinels {
  const void* bottom = nullptr;
  const MPI_Fint* status_ignore = nullptr;
};

Sentinels find_sentinels() {
  Sentinels found;
#ifndef OPEN_MPI
  // Whose program has not called MPI from Fortran before has not told MPICH where they are.
  auto* const unknown = static_cast<int*>(::dlsym(RTLD_DEFAULT, "MPIR_F_NeedInit"));
  const auto tell = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "mpirinitf_"));
  if (unknown != nullptr && *unknown != 0 && tell != nullptr) {
    tell();
    *unknown = 0;
  }
  if (auto* const bottom = static_cast<void**>(::dlsym(RTLD_DEFAULT, "MPIR_F_MPI_BOTTOM")); bottom != nullptr)
    found.bottom = *bottom;
#else
  for (const char* const spelling : {"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"}) {
    if (found.bottom == nullptr) found.bottom = ::dlsym(RTLD_DEFAULT, spelling);
  }
#endif
  if (auto* const ignore = static_cast<MPI_Fint**>(::dlsym(RTLD_DEFAULT, "MPI_F_STATUS_IGNORE")); ignore != nullptr)
    found.status_ignore = *ignore;
  return found;
}

const Sentinels& sentinels() {
  static const Sentinels found = find_sentinels();
  return found;
}

void* memory_of(void* given) { return given == sentinels().bottom ? MPI_BOTTOM : given; }

// A status of Fortran, while C has it: what a call does not set stays as it was.
class Status {
 public:
  explicit Status(MPI_Fint* theirs) : theirs_(theirs == sentinels().status_ignore ? nullptr : theirs) {
    static const auto convert = next<int (*)(const MPI_Fint*, MPI_Status*)>("MPI_Status_f2c");
    if (theirs_ != nullptr && convert != nullptr) convert(theirs_, &ours_);
  }
  ~Status() {
    static const auto convert = next<int (*)(const MPI_Status*, MPI_Fint*)>("MPI_Status_c2f");
    if (theirs_ != nullptr && convert != nullptr) convert(&ours_, theirs_);
  }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  MPI_Status* get() { return theirs_ == nullptr ? MPI_STATUS_IGNORE : &ours_; }

 private:
  MPI_Fint* theirs_;
  MPI_Status ours_{};
};

class Request {
 public:
  explicit Request(MPI_Fint* theirs) : theirs_(theirs) {}
  ~Request() {
    if (made_) *theirs_ = request_number_of(ours_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  MPI_Request* get() { return &ours_; }
  MPI_Fint keep(int result) {
    made_ = result == MPI_SUCCESS;
    return result;
  }

 private:
  MPI_Fint* theirs_;
  MPI_Request ours_{};
  bool made_ = false;
};

// mpi_f08 lets a program leave it out.
void tell(MPI_Fint* error, int result) {
  if (error != nullptr) *error = result;
}

// Fortran fills text up with blanks.
std::string text_of(const char* text, int length) {
  auto size = static_cast<std::size_t>(length > 0 ? length : 0);
  while (size > 0 && text[size - 1] == ' ') --size;
  return {text, size};
}

}  // namespace

}  // namespace iez::preload

using iez::preload::communicator_of;
using iez::preload::file_of;
using iez::preload::info_number_of;
using iez::preload::info_of;
using iez::preload::memory_of;
using iez::preload::number_of;
using iez::preload::Request;
using iez::preload::Status;
using iez::preload::tell;
using iez::preload::text_of;
using iez::preload::type_of;

// The spellings that Fortran compilers make of one name, and the one for mpi_f08. Lengths of text come last; as 32 bits they are
// right where the caller has pushed 64, too.
#define IEZ_ALIAS(other, name, parameters) IEZ_EXPORT void other parameters __attribute__((alias("mpi_file_" #name "_")))
#ifdef OPEN_MPI
#define IEZ_ALIAS_WITH_DATA(name, parameters) IEZ_ALIAS(ompi_file_##name##_f, name, parameters)
#define IEZ_ALIAS_WITHOUT_DATA(name, parameters) IEZ_ALIAS(ompi_file_##name##_f, name, parameters)
#else
#define IEZ_ALIAS_WITH_DATA(name, parameters) static_assert(true)
#define IEZ_ALIAS_WITHOUT_DATA(name, parameters) IEZ_ALIAS(mpi_file_##name##_f08_, name, parameters)
#endif
#define IEZ_FORTRAN(name, NAME, parameters, of_module) \
  IEZ_EXPORT void mpi_file_##name##_ parameters;       \
  IEZ_ALIAS(mpi_file_##name, name, parameters);        \
  IEZ_ALIAS(mpi_file_##name##__, name, parameters);    \
  IEZ_ALIAS(MPI_FILE_##NAME, name, parameters);        \
  of_module(name, parameters);                         \
  void mpi_file_##name##_ parameters

#define IEZ_WHOLE(name, NAME)                                                                                               \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* status, MPI_Fint* error), \
              IEZ_ALIAS_WITH_DATA) {                                                                                        \
    Status told(status);                                                                                                    \
    tell(error, MPI_File_##name(file_of(*file), memory_of(buf), *count, type_of(*type), told.get()));                       \
  }
#define IEZ_WHOLE_AT(name, NAME)                                                                                             \
  IEZ_FORTRAN(                                                                                                               \
      name, NAME,                                                                                                            \
      (MPI_Fint * file, MPI_Offset * offset, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* status, MPI_Fint* error), \
      IEZ_ALIAS_WITH_DATA) {                                                                                                 \
    Status told(status);                                                                                                     \
    tell(error, MPI_File_##name(file_of(*file), *offset, memory_of(buf), *count, type_of(*type), told.get()));               \
  }
#define IEZ_BEGIN(name, NAME)                                                                                                    \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* error), IEZ_ALIAS_WITH_DATA) { \
    tell(error, MPI_File_##name(file_of(*file), memory_of(buf), *count, type_of(*type)));                                        \
  }
#define IEZ_BEGIN_AT(name, NAME)                                                                                               \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, MPI_Offset * offset, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* error), \
              IEZ_ALIAS_WITH_DATA) {                                                                                           \
    tell(error, MPI_File_##name(file_of(*file), *offset, memory_of(buf), *count, type_of(*type)));                             \
  }
#define IEZ_END(name, NAME)                                                                                       \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, void* buf, MPI_Fint* status, MPI_Fint* error), IEZ_ALIAS_WITH_DATA) { \
    Status told(status);                                                                                          \
    tell(error, MPI_File_##name(file_of(*file), memory_of(buf), told.get()));                                     \
  }
#define IEZ_START(name, NAME)                                                                                                \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* request, MPI_Fint* error), \
              IEZ_ALIAS_WITH_DATA) {                                                                                         \
    Request made(request);                                                                                                   \
    tell(error, made.keep(MPI_File_##name(file_of(*file), memory_of(buf), *count, type_of(*type), made.get())));             \
  }
#define IEZ_START_AT(name, NAME)                                                                                              \
  IEZ_FORTRAN(                                                                                                                \
      name, NAME,                                                                                                             \
      (MPI_Fint * file, MPI_Offset * offset, void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* request, MPI_Fint* error), \
      IEZ_ALIAS_WITH_DATA) {                                                                                                  \
    Request made(request);                                                                                                    \
    tell(error, made.keep(MPI_File_##name(file_of(*file), *offset, memory_of(buf), *count, type_of(*type), made.get())));     \
  }

#define IEZ_CALLS(verb, VERB)                            \
  IEZ_WHOLE(verb, VERB)                                  \
  IEZ_WHOLE(verb##_shared, VERB##_SHARED)                \
  IEZ_WHOLE_AT(verb##_at, VERB##_AT)                     \
  IEZ_START(i##verb, I##VERB)                            \
  IEZ_START(i##verb##_shared, I##VERB##_SHARED)          \
  IEZ_START_AT(i##verb##_at, I##VERB##_AT)               \
  IEZ_WHOLE(verb##_all, VERB##_ALL)                      \
  IEZ_WHOLE(verb##_ordered, VERB##_ORDERED)              \
  IEZ_WHOLE_AT(verb##_at_all, VERB##_AT_ALL)             \
  IEZ_BEGIN(verb##_all_begin, VERB##_ALL_BEGIN)          \
  IEZ_BEGIN(verb##_ordered_begin, VERB##_ORDERED_BEGIN)  \
  IEZ_BEGIN_AT(verb##_at_all_begin, VERB##_AT_ALL_BEGIN) \
  IEZ_END(verb##_all_end, VERB##_ALL_END)                \
  IEZ_END(verb##_ordered_end, VERB##_ORDERED_END)        \
  IEZ_END(verb##_at_all_end, VERB##_AT_ALL_END)          \
  IEZ_START(i##verb##_all, I##VERB##_ALL)                \
  IEZ_START_AT(i##verb##_at_all, I##VERB##_AT_ALL)

extern "C" {

IEZ_CALLS(write, WRITE)
IEZ_CALLS(read, READ)

IEZ_FORTRAN(open, OPEN,
            (MPI_Fint * comm, const char* name, MPI_Fint* mode, MPI_Fint* info, MPI_Fint* file, MPI_Fint* error, int length),
            IEZ_ALIAS_WITHOUT_DATA) {
  MPI_File opened = MPI_FILE_NULL;
  const int result = MPI_File_open(communicator_of(*comm), text_of(name, length).c_str(), *mode, info_of(*info), &opened);
  if (result == MPI_SUCCESS) *file = number_of(opened);
  tell(error, result);
}

IEZ_FORTRAN(close, CLOSE, (MPI_Fint * file, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  MPI_File closed = file_of(*file);
  const int result = MPI_File_close(&closed);
  if (result == MPI_SUCCESS) *file = number_of(closed);
  tell(error, result);
}

IEZ_FORTRAN(set_view, SET_VIEW,
            (MPI_Fint * file, MPI_Offset* start, MPI_Fint* etype, MPI_Fint* filetype, const char* representation, MPI_Fint* info,
             MPI_Fint* error, int length),
            IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_set_view(file_of(*file), *start, type_of(*etype), type_of(*filetype),
                                text_of(representation, length).c_str(), info_of(*info)));
}

// A LOGICAL: compilers differ in what is true, not in what is false.
IEZ_FORTRAN(set_atomicity, SET_ATOMICITY, (MPI_Fint * file, MPI_Fint* flag, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_set_atomicity(file_of(*file), *flag == 0 ? 0 : 1));
}

IEZ_FORTRAN(set_info, SET_INFO, (MPI_Fint * file, MPI_Fint* info, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_set_info(file_of(*file), info_of(*info)));
}

IEZ_FORTRAN(get_info, GET_INFO, (MPI_Fint * file, MPI_Fint* info, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  MPI_Info told = MPI_INFO_NULL;
  const int result = MPI_File_get_info(file_of(*file), &told);
  if (result == MPI_SUCCESS) *info = info_number_of(told);
  tell(error, result);
}

#define IEZ_TAKES_SIZE(name, NAME)                                                                          \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, MPI_Offset * size, MPI_Fint * error), IEZ_ALIAS_WITHOUT_DATA) { \
    tell(error, MPI_File_##name(file_of(*file), *size));                                                    \
  }
#define IEZ_SEEK(name, NAME)                                                                                                     \
  IEZ_FORTRAN(name, NAME, (MPI_Fint * file, MPI_Offset * offset, MPI_Fint * whence, MPI_Fint * error), IEZ_ALIAS_WITHOUT_DATA) { \
    tell(error, MPI_File_##name(file_of(*file), *offset, *whence));                                                              \
  }

IEZ_TAKES_SIZE(set_size, SET_SIZE)
IEZ_TAKES_SIZE(preallocate, PREALLOCATE)
IEZ_SEEK(seek, SEEK)
IEZ_SEEK(seek_shared, SEEK_SHARED)

IEZ_FORTRAN(get_size, GET_SIZE, (MPI_Fint * file, MPI_Offset* size, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_get_size(file_of(*file), size));
}

IEZ_FORTRAN(sync, SYNC, (MPI_Fint * file, MPI_Fint* error), IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_sync(file_of(*file)));
}

IEZ_FORTRAN(delete, DELETE, (const char* name, MPI_Fint* info, MPI_Fint* error, int length), IEZ_ALIAS_WITHOUT_DATA) {
  tell(error, MPI_File_delete(text_of(name, length).c_str(), info_of(*info)));
}

}  // extern "C"
