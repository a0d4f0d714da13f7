// Calls that move bytes.
#include <cerrno>

#include "interpose.hpp"

namespace iez::preload {

namespace {

// A position that a call took from memory of the program's and moved on: where it began.
std::int64_t began_at(const off_t* position, ssize_t done) { return position == nullptr ? kAtPosition : *position - done; }

// pwritev2() and its kin take -1 for "at the position".
std::int64_t offset_or_position(off_t offset) { return offset == -1 ? kAtPosition : static_cast<std::int64_t>(offset); }

}  // namespace

#define IEZ_INTERPOSE_TRANSFER(name, parameters, arguments, record, fd, offset)                         \
  IEZ_INTERPOSE(ssize_t, name, parameters) {                                                            \
    if (IEZ_LIKELY(!active.tracing)) return next.name arguments;                                        \
    const std::int64_t start = transfer_start(fd, &(record) == &record_write ? kHasWritten : kHasRead); \
    const ssize_t done = next.name arguments;                                                           \
    record(fd, done, offset, start);                                                                    \
    return done;                                                                                        \
  }

IEZ_INTERPOSE_TRANSFER(write, (int fd, const void* from, std::size_t size), (fd, from, size), record_write, fd, kAtPosition)
IEZ_INTERPOSE_TRANSFER(pwrite, (int fd, const void* from, std::size_t size, off_t at), (fd, from, size, at), record_write, fd, at)
IEZ_INTERPOSE_TRANSFER(pwrite64, (int fd, const void* from, std::size_t size, off_t at), (fd, from, size, at), record_write, fd,
                       at)
IEZ_INTERPOSE_TRANSFER(writev, (int fd, const iovec* from, int count), (fd, from, count), record_write, fd, kAtPosition)
IEZ_INTERPOSE_TRANSFER(pwritev, (int fd, const iovec* from, int count, off_t at), (fd, from, count, at), record_write, fd, at)
IEZ_INTERPOSE_TRANSFER(pwritev64, (int fd, const iovec* from, int count, off_t at), (fd, from, count, at), record_write, fd, at)
IEZ_INTERPOSE_TRANSFER(pwritev2, (int fd, const iovec* from, int count, off_t at, int flags), (fd, from, count, at, flags),
                       record_write, fd, offset_or_position(at))
IEZ_INTERPOSE_TRANSFER(pwritev64v2, (int fd, const iovec* from, int count, off_t at, int flags), (fd, from, count, at, flags),
                       record_write, fd, offset_or_position(at))

IEZ_INTERPOSE_TRANSFER(read, (int fd, void* to, std::size_t size), (fd, to, size), record_read, fd, kAtPosition)
IEZ_INTERPOSE_TRANSFER(pread, (int fd, void* to, std::size_t size, off_t at), (fd, to, size, at), record_read, fd, at)
IEZ_INTERPOSE_TRANSFER(pread64, (int fd, void* to, std::size_t size, off_t at), (fd, to, size, at), record_read, fd, at)
IEZ_INTERPOSE_TRANSFER(readv, (int fd, const iovec* to, int count), (fd, to, count), record_read, fd, kAtPosition)
IEZ_INTERPOSE_TRANSFER(preadv, (int fd, const iovec* to, int count, off_t at), (fd, to, count, at), record_read, fd, at)
IEZ_INTERPOSE_TRANSFER(preadv64, (int fd, const iovec* to, int count, off_t at), (fd, to, count, at), record_read, fd, at)
IEZ_INTERPOSE_TRANSFER(preadv2, (int fd, const iovec* to, int count, off_t at, int flags), (fd, to, count, at, flags),
                       record_read, fd, offset_or_position(at))
IEZ_INTERPOSE_TRANSFER(preadv64v2, (int fd, const iovec* to, int count, off_t at, int flags), (fd, to, count, at, flags),
                       record_read, fd, offset_or_position(at))
IEZ_INTERPOSE_TRANSFER(__read_chk, (int fd, void* to, std::size_t size, std::size_t room), (fd, to, size, room), record_read, fd,
                       kAtPosition)
IEZ_INTERPOSE_TRANSFER(__pread_chk, (int fd, void* to, std::size_t size, off_t at, std::size_t room), (fd, to, size, at, room),
                       record_read, fd, at)
IEZ_INTERPOSE_TRANSFER(__pread64_chk, (int fd, void* to, std::size_t size, off_t at, std::size_t room), (fd, to, size, at, room),
                       record_read, fd, at)

#define IEZ_INTERPOSE_SEEK(name)                                 \
  IEZ_INTERPOSE(off_t, name, (int fd, off_t offset, int from)) { \
    const off_t position = next.name(fd, offset, from);          \
    if (active.tracing) record_seek(fd, position);               \
    return position;                                             \
  }
IEZ_INTERPOSE_SEEK(lseek)
IEZ_INTERPOSE_SEEK(lseek64)

// ---- From one file to another -------------------------------------------------------------------------------------------------

#define IEZ_INTERPOSE_SENDFILE(name)                                              \
  IEZ_INTERPOSE(ssize_t, name, (int to, int from, off_t* at, std::size_t size)) { \
    if (IEZ_LIKELY(!active.tracing)) return next.name(to, from, at, size);        \
    const std::int64_t start = transfer_start(from, kHasRead);                    \
    const std::int64_t write_start = transfer_start(to, kHasWritten);             \
    const ssize_t done = next.name(to, from, at, size);                           \
    if (done > 0) {                                                               \
      record_read(from, done, began_at(at, done), start);                         \
      record_write(to, done, kAtPosition, write_start);                           \
    }                                                                             \
    return done;                                                                  \
  }
IEZ_INTERPOSE_SENDFILE(sendfile)
IEZ_INTERPOSE_SENDFILE(sendfile64)

#define IEZ_INTERPOSE_COPY(name)                                                                                     \
  IEZ_INTERPOSE(ssize_t, name, (int from, off_t* from_at, int to, off_t* to_at, std::size_t size, unsigned flags)) { \
    if (IEZ_LIKELY(!active.tracing)) return next.name(from, from_at, to, to_at, size, flags);                        \
    const std::int64_t start = transfer_start(from, kHasRead);                                                       \
    const std::int64_t write_start = transfer_start(to, kHasWritten);                                                \
    const ssize_t done = next.name(from, from_at, to, to_at, size, flags);                                           \
    if (done > 0) {                                                                                                  \
      record_read(from, done, began_at(from_at, done), start);                                                       \
      record_write(to, done, began_at(to_at, done), write_start);                                                    \
    }                                                                                                                \
    return done;                                                                                                     \
  }
IEZ_INTERPOSE_COPY(copy_file_range)
IEZ_INTERPOSE_COPY(splice)

// ---- Asynchronous, by threads of libc: counted when the program asks what became of it -------------------------------------

#define IEZ_INTERPOSE_AIO(name)                                                                                    \
  IEZ_INTERPOSE(ssize_t, name, (aiocb * request)) {                                                                \
    const ssize_t done = next.name(request);                                                                       \
    if (!active.tracing || done <= 0) return done;                                                                 \
    const std::int64_t start = call_start();                                                                       \
    if (request->aio_lio_opcode == LIO_WRITE) record_write(request->aio_fildes, done, request->aio_offset, start); \
    if (request->aio_lio_opcode == LIO_READ) record_read(request->aio_fildes, done, request->aio_offset, start);   \
    return done;                                                                                                   \
  }
IEZ_INTERPOSE_AIO(aio_return)
IEZ_INTERPOSE_AIO(aio_return64)

// ---- Formatted, on a descriptor --------------------------------------------------------------------------------------------

IEZ_INTERPOSE(int, vdprintf, (int fd, const char* format, va_list arguments)) {
  const std::int64_t start = active.tracing ? transfer_start(fd, kHasWritten) : 0;
  const int done = next.vdprintf(fd, format, arguments);
  if (active.tracing) record_write(fd, done, kAtPosition, start);
  return done;
}
IEZ_INTERPOSE(int, __vdprintf_chk, (int fd, int check, const char* format, va_list arguments)) {
  const std::int64_t start = active.tracing ? transfer_start(fd, kHasWritten) : 0;
  const int done = next.__vdprintf_chk(fd, check, format, arguments);
  if (active.tracing) record_write(fd, done, kAtPosition, start);
  return done;
}
IEZ_INTERPOSE(int, dprintf, (int fd, const char* format, ...)) {
  va_list arguments;
  va_start(arguments, format);
  const int done = interposed_vdprintf(fd, format, arguments);
  va_end(arguments);
  return done;
}
IEZ_INTERPOSE(int, __dprintf_chk, (int fd, int check, const char* format, ...)) {
  va_list arguments;
  va_start(arguments, format);
  const int done = interposed___vdprintf_chk(fd, check, format, arguments);
  va_end(arguments);
  return done;
}

// ---- Waiting for what was written ------------------------------------------------------------------------------------------

#define IEZ_INTERPOSE_SYNC(name)                                                   \
  IEZ_INTERPOSE(int, name, (int fd)) {                                             \
    if (IEZ_LIKELY(!active.tracing)) return next.name(fd);                         \
    const std::uint32_t file = written_file(fd);                                   \
    const std::int64_t start = call_start();                                       \
    const int status = next.name(fd);                                              \
    if (status == 0 && active.calls) record_call_of(fd, abi::kCallSync, 0, start); \
    if (file != abi::kNoSlot) record_written_until_now(file);                      \
    return status;                                                                 \
  }
IEZ_INTERPOSE_SYNC(fsync)
IEZ_INTERPOSE_SYNC(fdatasync)

// ---- Noted only among single calls -----------------------------------------------------------------------------------------

#define IEZ_INTERPOSE_NOTED(name, parameters, arguments, operation, offset)                    \
  IEZ_INTERPOSE(int, name, parameters) {                                                       \
    if (IEZ_LIKELY(!active.calls)) return next.name arguments;                                 \
    const std::int64_t start = call_start();                                                   \
    const int status = next.name arguments;                                                    \
    if (status == 0) record_call_of(fd, operation, static_cast<std::uint64_t>(offset), start); \
    return status;                                                                             \
  }
IEZ_INTERPOSE_NOTED(ftruncate, (int fd, off_t size), (fd, size), abi::kCallTruncate, size)
IEZ_INTERPOSE_NOTED(ftruncate64, (int fd, off_t size), (fd, size), abi::kCallTruncate, size)

}  // namespace iez::preload
