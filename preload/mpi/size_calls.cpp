// Calls about how long a file is: of one in log mode only the log knows.
#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "preload/mpi/exports.hpp"
#include "preload/mpi/flattening.hpp"
#include "preload/mpi/mpi_functions.hpp"
#include "preload/mpi/open_files.hpp"
#include "preload/mpi/transfer.hpp"
#include "rank_log/log_files.hpp"

namespace iez::preload {

namespace {

std::shared_ptr<OpenFile> find_logged(MPI_File file) {
  auto open = find_file(file);
  return open && open->log && !open->log->is_over() ? open : nullptr;
}

int tell(MPI_File file, int error) {
  if (error == 0) return MPI_SUCCESS;
  const int result = class_of(error);
  mpi_functions()->File_call_errhandler(file, result);
  return result;
}

// A guest's calls are not those of all ranks.
void next_sequence(const OpenFile& open) {
  if (open.guest) {
    open.log->look_again();
  } else {
    open.log->next_sequence();
  }
}

// Collective. `enlarge`: never shorter than it is.
int set_size(OpenFile& open, MPI_Offset size, bool enlarge) {
  next_sequence(open);
  int error = open.team->largest(size < 0 ? EINVAL : 0);
  if (error == 0 && open.team->rank() == 0) {
    std::int64_t now = 0;
    if (enlarge) error = open.log->size(now);
    if (error == 0 && (!enlarge || now < size)) error = open.log->put_size(size);
  }
  return open.team->largest(error);
}

// Room for what the log will bring. A file system that cannot reserve any is none the worse for it. Collective.
int preallocate(OpenFile& open, MPI_Offset size) {
  int error = 0;
  if (open.team->rank() == 0 && size > 0) {
    const rank_log::Descriptor file(::open(open.path.c_str(), O_WRONLY | O_CLOEXEC));
    error = file ? ::posix_fallocate(file.get(), 0, size) : errno;
    if (error == EOPNOTSUPP || error == EINVAL) error = 0;
  }
  error = open.team->largest(error);
  return error != 0 ? error : set_size(open, size, true);
}

// What is `offset` behind the end of the file, in etypes. False: the MPI will say what is wrong.
bool from_end(OpenFile& open, MPI_Offset& offset) {
  std::int64_t size = 0;
  return open.log->size(size) == 0 && !__builtin_add_overflow(offset, etypes_before(open, size), &offset);
}

}  // namespace

}  // namespace iez::preload

using iez::preload::find_logged;
using iez::preload::next;
using iez::preload::tell;

extern "C" {

IEZ_EXPORT int MPI_File_set_size(MPI_File file, MPI_Offset size) {
  if (const auto open = find_logged(file)) return tell(file, iez::preload::set_size(*open, size, false));
  const auto real = next<decltype(&MPI_File_set_size)>("MPI_File_set_size");
  return real == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : real(file, size);
}

IEZ_EXPORT int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
  if (const auto open = find_logged(file)) return tell(file, iez::preload::preallocate(*open, size));
  const auto real = next<decltype(&MPI_File_preallocate)>("MPI_File_preallocate");
  return real == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : real(file, size);
}

IEZ_EXPORT int MPI_File_get_size(MPI_File file, MPI_Offset* size) {
  if (const auto open = find_logged(file)) {
    std::int64_t bytes = 0;
    const int error = open->log->size(bytes);
    if (error == 0) *size = bytes;
    return tell(file, error);
  }
  const auto real = next<decltype(&MPI_File_get_size)>("MPI_File_get_size");
  return real == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : real(file, size);
}

IEZ_EXPORT int MPI_File_sync(MPI_File file) {
  const auto real = next<decltype(&MPI_File_sync)>("MPI_File_sync");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (const auto open = find_logged(file)) {
    const int error = open->team->largest(open->log->sync());
    iez::preload::next_sequence(*open);
    if (error != 0) return tell(file, error);
  }
  return real(file);
}

IEZ_EXPORT int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence) {
  const auto real = next<decltype(&MPI_File_seek)>("MPI_File_seek");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (const auto open = whence == MPI_SEEK_END ? find_logged(file) : nullptr; open && iez::preload::from_end(*open, offset)) {
    whence = MPI_SEEK_SET;
  }
  return real(file, offset, whence);
}

// Collective: the end is where the first rank sees it.
IEZ_EXPORT int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
  const auto real = next<decltype(&MPI_File_seek_shared)>("MPI_File_seek_shared");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (const auto open = whence == MPI_SEEK_END ? find_logged(file) : nullptr) {
    iez::preload::next_sequence(*open);
    struct {
      MPI_Offset offset;
      bool known;
    } end{.offset = offset, .known = false};
    end.known = iez::preload::from_end(*open, end.offset);
    open->team->broadcast(&end, sizeof end);
    if (end.known) return real(file, end.offset, MPI_SEEK_SET);
  }
  return real(file, offset, whence);
}

IEZ_EXPORT int MPI_File_delete(const char* name, MPI_Info info) {
  const auto real = next<decltype(&MPI_File_delete)>("MPI_File_delete");
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int result = real(name, info);
  if (result == MPI_SUCCESS) iez::preload::discard_log_of(iez::preload::without_file_system(name));
  return result;
}

}  // extern "C"
