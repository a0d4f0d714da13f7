// Streams. libc writes and reads their buffers by itself, out of our sight, and much of what fills them is a macro. So the bytes
// of a stream that fopen() made are counted by how far its position moved, whenever it is about to be moved otherwise: fseek,
// fflush, fclose, exit, and every MiB of fwrite and fread, so that little is lost when the process is killed. The number of calls
// is that of full buffers. fprintf, putc and the like cost nothing. Times of writing are those of fwrite; of what others put into
// the buffer, when it is looked at.
//
// The position of the standard streams is shared with other processes. There the bytes are counted that leave the buffer in
// fwrite, fflush, fclose and at exit, and those that fread gives. What leaves it in between, in a long row of printf, is unseen,
// and so counted by size.
#include <stdio_ext.h>

#include <cstring>
#include <initializer_list>

#include "interpose.hpp"
#include "placing.hpp"
#include "streams.hpp"

namespace iez::preload {

namespace {

constexpr std::uint64_t kCheckEvery = std::uint64_t{1} << 20U;

// The descriptor that the stream was registered for; null if it was not.
Descriptor* descriptor_of_stream(FILE* stream) {
  Descriptor* const descriptor = stream == nullptr ? nullptr : descriptor_of(stream->_fileno);
  return descriptor != nullptr && __atomic_load_n(&descriptor->stream, __ATOMIC_RELAXED) == stream ? descriptor : nullptr;
}

// A standard stream that freopen() has not made one of our own.
bool is_standard(FILE* stream) {
  return (stream == stdin || stream == stdout || stream == stderr) && descriptor_of_stream(stream) == nullptr;
}

// `timed`: when these bytes were written is noted already.
void count_stream(Descriptor& descriptor, FILE* stream, std::uint64_t from, std::uint64_t bytes, bool timed) {
  const std::uint32_t record = record_of(descriptor);
  if (record < kFirstRecord) return;
  auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  const bool writing = ::__fwriting(stream) != 0;
  const std::size_t buffer = ::__fbufsize(stream);
  const std::uint64_t piece = buffer > 1 && buffer < bytes ? buffer : bytes;
  const std::uint64_t calls = (bytes + piece - 1) / piece;
  TransferCounters to =
      writing ? TransferCounters{file.written, file.write_calls, file.sequential_writes, file.largest_write, descriptor.write_end}
              : TransferCounters{file.read, file.read_calls, file.sequential_reads, file.largest_read, descriptor.read_end};
  count_transfer(to, from, piece);
  add(to.bytes, bytes - piece);
  add(to.calls, calls - 1);
  add(to.sequential, calls - 1);
  __atomic_store_n(&to.last_end, from + bytes, __ATOMIC_RELAXED);
  if (writing) raise_to(file.end, from + bytes);
  // The buffer began to fill after the last time that the file was looked at.
  const std::int64_t start = __atomic_load_n(&file.last_ns, __ATOMIC_RELAXED) - arena.since_start(0);
  const abi::Times* const times = times_of(file);
  timed = timed && times != nullptr && __atomic_load_n(&times->last_write_ns, __ATOMIC_RELAXED) != abi::kNoTime;
  if (writing && !timed) touch_write(file, start);
  if (!writing) touch_read(file, start);
  // fsync() and close() of the descriptor wait for these bytes, too.
  __atomic_fetch_or(&descriptor.flags, writing ? kHasWritten : kHasRead, __ATOMIC_RELAXED);
  __atomic_store_n(&descriptor.position, from + bytes, __ATOMIC_RELAXED);
}

// Counts what the stream did since the last time. REQUIRES: nobody else uses it, or its lock can be waited for.
void check_stream(FILE* stream) {
  Descriptor* const descriptor = descriptor_of_stream(stream);
  if (descriptor == nullptr) return;
  const ErrnoGuard keep;
  const off_t position = next.ftello(stream);
  if (position < 0) return;
  const auto at = static_cast<std::uint64_t>(position);
  const std::uint64_t from = __atomic_exchange_n(&descriptor->stream_at, at, __ATOMIC_RELAXED);
  const std::uint64_t moved = __atomic_exchange_n(&descriptor->pending, 0, __ATOMIC_RELAXED);
  // Each fwrite was noted when it was made; where there was printf, too, this is the first that is seen of it.
  if (at > from) count_stream(*descriptor, stream, from, at - from, at - from <= moved);
}

// After it was moved: from here on.
void restart_stream(FILE* stream) {
  Descriptor* const descriptor = descriptor_of_stream(stream);
  if (descriptor == nullptr) return;
  const ErrnoGuard keep;
  const off_t position = next.ftello(stream);
  if (position >= 0) __atomic_store_n(&descriptor->stream_at, static_cast<std::uint64_t>(position), __ATOMIC_RELAXED);
}

void register_stream(FILE* stream) {
  Descriptor* const descriptor = stream == nullptr ? nullptr : descriptor_of(stream->_fileno);
  if (descriptor == nullptr || record_of(*descriptor) < kFirstRecord || !arena.in_own_process()) return;
  __atomic_store_n(&descriptor->stream_at, __atomic_load_n(&descriptor->position, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&descriptor->stream, stream, __ATOMIC_RELEASE);
}

// The flags of open() for a mode of fopen(); -1: none that we know, and libc decides.
int flags_of(const char* mode) {
  int flags = 0;
  switch (*mode) {
    case 'r':
      flags = O_RDONLY;
      break;
    case 'w':
      flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return -1;
  }
  for (const char* letter = mode + 1; *letter != '\0' && *letter != ','; ++letter) {
    if (*letter == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*letter == 'x') flags |= O_EXCL;
    if (*letter == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

// A planned file is opened here, and the stream made of the descriptor. `opened` false: not planned, libc opens it.
FILE* open_placed_stream(const char* path, const char* mode, int flags, bool& opened) {
  opened = false;
  if (flags < 0 || (flags & O_CREAT) == 0 || std::strchr(mode, ',') != nullptr) return nullptr;
  PlacedOpen placed;
  if (!open_placed(AT_FDCWD, path, flags, 0666, placed)) return nullptr;
  opened = true;
  if (placed.fd < 0) return nullptr;
  FILE* const stream = next.fdopen(placed.fd, mode);
  if (stream == nullptr) {
    const ErrnoGuard keep;
    next.close(placed.fd);
    return nullptr;
  }
  if (active.tracing) record_open(placed.fd, AT_FDCWD, placed.behind_link ? nullptr : path, flags, placed.created);
  return stream;
}

void record_stream_open(FILE* stream, const char* path, int flags) {
  if (stream == nullptr || flags < 0) return;
  const Created created = (flags & O_CREAT) == 0 ? Created::no : (flags & O_EXCL) != 0 ? Created::yes : Created::perhaps;
  record_open(stream->_fileno, AT_FDCWD, path, flags, created);
}

template <typename Call>
FILE* open_stream(const char* path, const char* mode, Call open_plainly) {
  if (IEZ_LIKELY(!active.tracing && !active.placing)) return open_plainly();
  const int flags = path == nullptr || mode == nullptr ? -1 : flags_of(mode);
  bool opened = false;
  FILE* stream = active.placing ? open_placed_stream(path, mode, flags, opened) : nullptr;
  if (!opened) {
    stream = open_plainly();
    if (stream == nullptr && spare_descriptor()) stream = open_plainly();
    if (active.tracing) record_stream_open(stream, path, flags);
  }
  if (active.tracing) register_stream(stream);
  return stream;
}

// A stream of its own keeps its descriptor when it is opened anew, but for another file.
template <typename Call>
FILE* reopen_stream(const char* path, const char* mode, FILE* stream, Call reopen_plainly) {
  if (IEZ_LIKELY(!active.tracing)) return reopen_plainly();
  check_stream(stream);
  if (path != nullptr && stream != nullptr && stream->_fileno >= 0) record_close(stream->_fileno);
  FILE* const reopened = reopen_plainly();
  if (path != nullptr && mode != nullptr) {
    record_stream_open(reopened, path, flags_of(mode));
    register_stream(reopened);
  }
  return reopened;
}

// Files may be opened long before they are written, one after the other, and closed long after, and the bytes are counted only
// when the stream is looked at: so the times of fwrite are noted where it is called, before the first and after each. Where
// printf was first, its bytes are in the buffer, and the file began to be written earlier: then only counting tells.
void note_first_write(FILE* stream) {
  const Descriptor* const descriptor = descriptor_of_stream(stream);
  if (descriptor == nullptr || (__atomic_load_n(&descriptor->flags, __ATOMIC_RELAXED) & kHasWritten) != 0) return;
  if (__atomic_load_n(&descriptor->pending, __ATOMIC_RELAXED) != 0 || ::__fpending(stream) != 0) return;
  const std::uint32_t record = record_of(*descriptor);
  if (record >= kFirstRecord) touch_write(arena.slot<abi::FileSlot>(record - kFirstRecord), 0);
}

void note_last_write(const Descriptor& descriptor) {
  const std::uint32_t record = record_of(descriptor);
  if (record < kFirstRecord) return;
  auto& file = arena.slot<abi::FileSlot>(record - kFirstRecord);
  const abi::Times* const times = times_of(file);
  if (times != nullptr && __atomic_load_n(&times->last_write_ns, __ATOMIC_RELAXED) != abi::kNoTime) touch_write(file, 0);
}

constexpr std::uint64_t kBuffer = 4096;  // of libc, at least

// Streams of fopen() are looked at now and then. False: the stream is none of those.
bool note_moved(FILE* stream, std::size_t bytes, bool writing) {
  Descriptor* const descriptor = descriptor_of_stream(stream);
  if (descriptor == nullptr) return false;
  const std::uint64_t before = __atomic_load_n(&descriptor->pending, __ATOMIC_RELAXED);
  const std::uint64_t pending = before + bytes;
  // A clock takes as long as a tenth of a small fwrite, and libc writes only when its buffer is full.
  if (writing && before / kBuffer != pending / kBuffer) note_last_write(*descriptor);
  __atomic_store_n(&descriptor->pending, pending, __ATOMIC_RELAXED);
  if (pending >= kCheckEvery) check_stream(stream);
  return true;
}

std::size_t waiting_in(FILE* stream) { return is_standard(stream) ? ::__fpending(stream) : 0; }

// Of a standard stream: `bytes` were waiting in its buffer or came to them, and are not there any more.
void note_left(FILE* stream, std::size_t bytes) {
  const std::size_t waiting = ::__fpending(stream);
  if (bytes > waiting) record_write(stream->_fileno, static_cast<ssize_t>(bytes - waiting), kAtPosition, 0);
}

}  // namespace

void check_open_streams() {
  if (!active.tracing || !arena.in_own_process()) return;
  for (int fd = highest_descriptor(); fd >= 0; --fd) {
    FILE* const stream = __atomic_load_n(&descriptors[fd].stream, __ATOMIC_ACQUIRE);
    // A thread may hold its lock for ever, waiting for input.
    if (stream == nullptr || ::ftrylockfile(stream) != 0) continue;
    check_stream(stream);
    ::funlockfile(stream);
  }
  for (FILE* const stream : {stdout, stderr}) {
    if (const std::size_t waiting = waiting_in(stream); waiting > 0)
      record_write(stream->_fileno, static_cast<ssize_t>(waiting), kAtPosition, 0);
  }
}

IEZ_INTERPOSE(FILE*, fopen, (const char* path, const char* mode)) {
  return open_stream(path, mode, [=] { return next.fopen(path, mode); });
}
IEZ_INTERPOSE(FILE*, fopen64, (const char* path, const char* mode)) {
  return open_stream(path, mode, [=] { return next.fopen64(path, mode); });
}
IEZ_INTERPOSE(FILE*, freopen, (const char* path, const char* mode, FILE* stream)) {
  return reopen_stream(path, mode, stream, [=] { return next.freopen(path, mode, stream); });
}
IEZ_INTERPOSE(FILE*, freopen64, (const char* path, const char* mode, FILE* stream)) {
  return reopen_stream(path, mode, stream, [=] { return next.freopen64(path, mode, stream); });
}
IEZ_INTERPOSE(FILE*, fdopen, (int fd, const char* mode)) {
  FILE* const stream = next.fdopen(fd, mode);
  if (active.tracing) register_stream(stream);
  return stream;
}

IEZ_INTERPOSE(int, fclose, (FILE * stream)) {
  if (IEZ_LIKELY(!active.tracing)) return next.fclose(stream);
  std::uint32_t file = abi::kNoSlot;
  if (stream != nullptr) {
    check_stream(stream);
    if (const std::size_t waiting = waiting_in(stream); waiting > 0)
      record_write(stream->_fileno, static_cast<ssize_t>(waiting), kAtPosition, 0);
    // The buffer is not written yet, so the file may look smaller than it will be. What is in there has been counted by now.
    const int fd = stream->_fileno;
    Descriptor* const descriptor = descriptor_of(fd);
    file = written_file(fd);
    if (descriptor != nullptr && record_of(*descriptor) != kUnknown) record_close(fd);
  }
  const std::int64_t start = file == abi::kNoSlot ? 0 : clock_ns(CLOCK_MONOTONIC_COARSE);
  const int status = next.fclose(stream);
  record_flushed(file, start);
  return status;
}

#define IEZ_INTERPOSE_FLUSH(name)                                                                      \
  IEZ_INTERPOSE(int, name, (FILE * stream)) {                                                          \
    if (IEZ_LIKELY(!active.tracing)) return next.name(stream);                                         \
    FILE* const standard = stream == nullptr ? stdout : stream;                                        \
    const std::size_t waiting = waiting_in(standard);                                                  \
    const std::int64_t start = clock_ns(CLOCK_MONOTONIC_COARSE);                                       \
    const int status = next.name(stream);                                                              \
    if (waiting > 0) note_left(standard, waiting);                                                     \
    check_stream(stream);                                                                              \
    if (descriptor_of_stream(stream) != nullptr) record_flushed(written_file(stream->_fileno), start); \
    return status;                                                                                     \
  }
IEZ_INTERPOSE_FLUSH(fflush)
IEZ_INTERPOSE_FLUSH(fflush_unlocked)

#define IEZ_INTERPOSE_MOVE(name, parameters, arguments)          \
  IEZ_INTERPOSE(int, name, parameters) {                         \
    if (IEZ_LIKELY(!active.tracing)) return next.name arguments; \
    check_stream(stream);                                        \
    const int status = next.name arguments;                      \
    restart_stream(stream);                                      \
    return status;                                               \
  }
IEZ_INTERPOSE_MOVE(fseek, (FILE * stream, long offset, int from), (stream, offset, from))
IEZ_INTERPOSE_MOVE(fseeko, (FILE * stream, off_t offset, int from), (stream, offset, from))
IEZ_INTERPOSE_MOVE(fseeko64, (FILE * stream, off_t offset, int from), (stream, offset, from))
IEZ_INTERPOSE_MOVE(fsetpos, (FILE * stream, const fpos_t* position), (stream, position))
IEZ_INTERPOSE_MOVE(fsetpos64, (FILE * stream, const fpos_t* position), (stream, position))
IEZ_INTERPOSE(void, rewind, (FILE * stream)) {
  if (active.tracing) check_stream(stream);
  next.rewind(stream);
  if (active.tracing) restart_stream(stream);
}

#define IEZ_INTERPOSE_FWRITE(name)                                                                               \
  IEZ_INTERPOSE(std::size_t, name, (const void* from, std::size_t size, std::size_t count, FILE* stream)) {      \
    if (IEZ_LIKELY(!active.tracing)) return next.name(from, size, count, stream);                                \
    const std::size_t waiting = waiting_in(stream);                                                              \
    note_first_write(stream);                                                                                    \
    const std::size_t done = next.name(from, size, count, stream);                                               \
    if (!note_moved(stream, done * size, true) && is_standard(stream)) note_left(stream, waiting + done * size); \
    return done;                                                                                                 \
  }
IEZ_INTERPOSE_FWRITE(fwrite)
IEZ_INTERPOSE_FWRITE(fwrite_unlocked)

#define IEZ_INTERPOSE_FREAD(name, parameters, arguments)                               \
  IEZ_INTERPOSE(std::size_t, name, parameters) {                                       \
    if (IEZ_LIKELY(!active.tracing)) return next.name arguments;                       \
    const std::size_t done = next.name arguments;                                      \
    if (!note_moved(stream, done * size, false) && is_standard(stream)) {              \
      record_read(stream->_fileno, static_cast<ssize_t>(done * size), kAtPosition, 0); \
    }                                                                                  \
    return done;                                                                       \
  }
IEZ_INTERPOSE_FREAD(fread, (void* to, std::size_t size, std::size_t count, FILE* stream), (to, size, count, stream))
IEZ_INTERPOSE_FREAD(fread_unlocked, (void* to, std::size_t size, std::size_t count, FILE* stream), (to, size, count, stream))
IEZ_INTERPOSE_FREAD(__fread_chk, (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
                    (to, room, size, count, stream))
IEZ_INTERPOSE_FREAD(__fread_unlocked_chk, (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* stream),
                    (to, room, size, count, stream))

}  // namespace iez::preload
