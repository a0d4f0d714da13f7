// usage: escapes CASE FILE
// Writes 8192 bytes to FILE in one of the ways by which tracers are known to miss them. Exit status 77: not possible here.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 8192 };
static char bytes[SIZE];
static volatile int create = O_CREAT;  // not a constant: keeps the compiler from choosing for us

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      fprintf(stderr, "escapes:%d: %s: %s\n", __LINE__, #condition, strerror(errno));            \
      exit(errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 77 : 1);                   \
    }                                                                                            \
  } while (0)

static int make(const char* path) {
  const int fd = open(path, O_RDWR | create | O_TRUNC, 0644);
  CHECK(fd >= 0);
  return fd;
}

static void all(int fd) { CHECK(write(fd, bytes, SIZE) == SIZE); }

static void finish(int fd) { CHECK(close(fd) == 0); }

static void use_creat(const char* path) { int fd = creat(path, 0644); CHECK(fd >= 0); all(fd); finish(fd); }
static void use_creat64(const char* path) { int fd = creat64(path, 0644); CHECK(fd >= 0); all(fd); finish(fd); }
static void use_open64(const char* path) { int fd = open64(path, O_WRONLY | create, 0644); CHECK(fd >= 0); all(fd); finish(fd); }
static void use_openat(const char* path) { int fd = openat(AT_FDCWD, path, O_WRONLY | create, 0644); CHECK(fd >= 0); all(fd); finish(fd); }
static void use_openat64(const char* path) { int fd = openat64(AT_FDCWD, path, O_WRONLY | create, 0644); CHECK(fd >= 0); all(fd); finish(fd); }

int __open_2(const char*, int);
int __openat_2(int, const char*, int);
static void use_open_2(const char* path) {
  finish(make(path));
  int fd = __open_2(path, O_WRONLY);
  CHECK(fd >= 0);
  all(fd);
  finish(fd);
}
static void use_openat_2(const char* path) {
  finish(make(path));
  int fd = __openat_2(AT_FDCWD, path, O_WRONLY);
  CHECK(fd >= 0);
  all(fd);
  finish(fd);
}

static void use_openat2(const char* path) {
  struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0644};
  int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  CHECK(fd >= 0);
  all(fd);
  finish(fd);
}

static void use_raw(const char* path) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0644);
  CHECK(fd >= 0);
  CHECK(syscall(SYS_write, fd, bytes, SIZE) == SIZE);
  finish(fd);
}

static void use_mkstemp(const char* path) {
  char name[4096];
  snprintf(name, sizeof name, "%s.XXXXXX", path);
  int fd = mkstemp(name);
  CHECK(fd >= 0);
  all(fd);
  finish(fd);
  CHECK(rename(name, path) == 0);
}
static void use_mkostemps(const char* path) {
  char name[4096];
  snprintf(name, sizeof name, "%s.XXXXXX.tmp", path);
  int fd = mkostemps(name, 4, O_CLOEXEC);
  CHECK(fd >= 0);
  all(fd);
  finish(fd);
  CHECK(renameat(AT_FDCWD, name, AT_FDCWD, path) == 0);
}

static void use_tmpfile(const char* path) {
  char folder[4096];
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  int fd = open(folder, O_TMPFILE | O_WRONLY, 0644);
  CHECK(fd >= 0);
  all(fd);
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  CHECK(linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0);
  finish(fd);
}

static void use_mmap(const char* path) {
  int fd = make(path);
  CHECK(ftruncate(fd, SIZE) == 0);
  char* at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(at != MAP_FAILED);
  memset(at, 'x', SIZE);
  finish(fd);
  CHECK(munmap(at, SIZE) == 0);
}

static void use_fallocate(const char* path) {
  int fd = make(path);
  CHECK(fallocate(fd, 0, 0, SIZE) == 0);
  finish(fd);
}

static int source(const char* path) {
  char name[4096];
  snprintf(name, sizeof name, "%s.source", path);
  int fd = make(name);
  all(fd);
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  unlink(name);
  return fd;
}
static void use_sendfile(const char* path) {
  int from = source(path), to = make(path);
  CHECK(sendfile(to, from, NULL, SIZE) == SIZE);
  finish(to);
}
static void use_copy_file_range(const char* path) {
  int from = source(path), to = make(path);
  CHECK(copy_file_range(from, NULL, to, NULL, SIZE, 0) == SIZE);
  finish(to);
}
static void use_splice(const char* path) {
  int ends[2], to = make(path);
  CHECK(pipe(ends) == 0);
  all(ends[1]);
  CHECK(splice(ends[0], NULL, to, NULL, SIZE, 0) == SIZE);
  finish(to);
}

static void use_writev(const char* path) {
  struct iovec parts[2] = {{bytes, SIZE / 2}, {bytes, SIZE / 2}};
  int fd = make(path);
  CHECK(writev(fd, parts, 2) == SIZE);
  finish(fd);
}
static void use_pwritev(const char* path) {
  struct iovec parts[2] = {{bytes, SIZE / 2}, {bytes, SIZE / 2}};
  int fd = make(path);
  CHECK(pwritev(fd, parts, 2, 0) == SIZE);
  finish(fd);
}
static void use_pwritev2(const char* path) {
  struct iovec parts[2] = {{bytes, SIZE / 2}, {bytes, SIZE / 2}};
  int fd = make(path);
  CHECK(pwritev2(fd, parts, 2, 0, 0) == SIZE);
  finish(fd);
}
static void use_pwrite64(const char* path) {
  int fd = make(path);
  CHECK(pwrite64(fd, bytes, SIZE, 0) == SIZE);
  finish(fd);
}

static void use_aio(const char* path) {
  int fd = make(path);
  struct aiocb request = {.aio_fildes = fd, .aio_buf = bytes, .aio_nbytes = SIZE};
  const struct aiocb* list[1] = {&request};
  CHECK(aio_write(&request) == 0);
  while (aio_error(&request) == EINPROGRESS) aio_suspend(list, 1, NULL);
  CHECK(aio_return(&request) == SIZE);
  finish(fd);
}

// One write through the rings, without a library.
static void use_io_uring(const char* path) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  int fd = make(path), ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
  CHECK(ring >= 0);
  size_t size = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  char* sq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  struct io_uring_sqe* entries =
      mmap(NULL, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
  CHECK(sq != MAP_FAILED && (void*)entries != MAP_FAILED);
  memset(&entries[0], 0, sizeof entries[0]);
  entries[0].opcode = IORING_OP_WRITE;
  entries[0].fd = fd;
  entries[0].addr = (unsigned long)bytes;
  entries[0].len = SIZE;
  ((unsigned*)(sq + parameters.sq_off.array))[0] = 0;
  __atomic_store_n((unsigned*)(sq + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
  CHECK(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
  finish(fd);
}

static void use_dup(const char* path) {
  int fd = make(path), copy = dup(fd);
  CHECK(copy >= 0 && dup2(copy, 50) == 50 && dup3(50, 51, O_CLOEXEC) == 51);
  int last = fcntl(51, F_DUPFD, 60);
  CHECK(last >= 60 && close(fd) == 0 && close(copy) == 0 && close(50) == 0 && close(51) == 0);
  all(last);
  finish(last);
}

static void use_fwrite_unlocked(const char* path) {
  FILE* file = fopen(path, "w");
  CHECK(file && fwrite_unlocked(bytes, 1, SIZE, file) == SIZE && fclose(file) == 0);
}
static void use_putc(const char* path) {
  FILE* file = fopen(path, "w");
  CHECK(file);
  for (int i = 0; i < SIZE; ++i) putc_unlocked('x', file);
  CHECK(fclose(file) == 0);
}
int __fprintf_chk(FILE*, int, const char*, ...);
int __dprintf_chk(int, int, const char*, ...);
static void use_fprintf_chk(const char* path) {
  FILE* file = fopen64(path, "w");
  CHECK(file && __fprintf_chk(file, 1, "%*d", SIZE, 1) == SIZE && fclose(file) == 0);
}
static void use_dprintf_chk(const char* path) {
  int fd = make(path);
  CHECK(__dprintf_chk(fd, 1, "%*d", SIZE, 1) == SIZE);
  finish(fd);
}
static void use_dprintf(const char* path) {
  int fd = make(path);
  CHECK(dprintf(fd, "%*d", SIZE, 1) == SIZE);
  finish(fd);
}
static void use_seeks(const char* path) {
  FILE* file = fopen(path, "w+");
  CHECK(file && fwrite(bytes, 1, SIZE / 2, file) == SIZE / 2 && fseek(file, 0, SEEK_SET) == 0);
  CHECK(fread(bytes, 1, 100, file) == 100 && fseeko(file, 0, SEEK_END) == 0);
  CHECK(fwrite(bytes, 1, SIZE / 2, file) == SIZE / 2 && fclose(file) == 0);
}
static void use_freopen(const char* path) {
  FILE* file = freopen(path, "w", stdout);
  CHECK(file);
  for (int i = 0; i < SIZE / 8; ++i) printf("%07d\n", i);
  CHECK(fclose(file) == 0);
}
static void use_fdopen(const char* path) {
  FILE* file = fdopen(make(path), "w");
  CHECK(file && fwrite(bytes, SIZE, 1, file) == 1 && fclose(file) == 0);
}
static void use_unclosed(const char* path) {
  FILE* file = fopen(path, "w");
  CHECK(file && fwrite(bytes, SIZE, 1, file) == 1);
}
static void use_append(const char* path) {
  int fd = make(path);
  CHECK(write(fd, bytes, SIZE / 2) == SIZE / 2);
  finish(fd);
  FILE* file = fopen(path, "a");
  CHECK(file && fwrite(bytes, SIZE / 2, 1, file) == 1 && fclose(file) == 0);
}
static void use_child(const char* path) {
  const pid_t child = fork();
  if (child == 0) {
    all(make(path));
    _exit(0);
  }
  CHECK(waitpid(child, NULL, 0) == child);
}
static void use_inherited(const char* path) {
  int fd = make(path);
  const pid_t child = fork();
  if (child == 0) {
    all(fd);
    _exit(0);
  }
  CHECK(waitpid(child, NULL, 0) == child);
  finish(fd);
}
// The shell writes to a descriptor that it was started with.
static void use_exec(const char* path) {
  CHECK(dup2(make(path), 1) == 1);
  execlp("dd", "dd", "if=/dev/zero", "bs=8192", "count=1", "status=none", (char*)NULL);
  CHECK(0);
}

static const struct {
  const char* name;
  void (*run)(const char*);
} cases[] = {
    {"creat", use_creat}, {"creat64", use_creat64}, {"open64", use_open64}, {"openat", use_openat}, {"openat64", use_openat64},
    {"open_2", use_open_2}, {"openat_2", use_openat_2}, {"openat2", use_openat2}, {"raw", use_raw}, {"mkstemp", use_mkstemp},
    {"mkostemps", use_mkostemps}, {"tmpfile", use_tmpfile}, {"mmap", use_mmap}, {"fallocate", use_fallocate}, {"sendfile", use_sendfile},
    {"copy_file_range", use_copy_file_range}, {"splice", use_splice}, {"writev", use_writev}, {"pwritev", use_pwritev},
    {"pwritev2", use_pwritev2}, {"pwrite64", use_pwrite64}, {"aio", use_aio}, {"io_uring", use_io_uring}, {"dup", use_dup},
    {"fwrite_unlocked", use_fwrite_unlocked}, {"putc", use_putc}, {"fprintf_chk", use_fprintf_chk}, {"dprintf_chk", use_dprintf_chk},
    {"dprintf", use_dprintf}, {"seeks", use_seeks}, {"freopen", use_freopen}, {"fdopen", use_fdopen}, {"unclosed", use_unclosed},
    {"append", use_append}, {"child", use_child}, {"inherited", use_inherited}, {"exec", use_exec},
};

int main(int argc, char** argv) {
  memset(bytes, 'x', SIZE);
  for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    cases[i].run(argv[2]);
    return 0;
  }
  for (size_t i = 0; argc == 1 && i < sizeof cases / sizeof *cases; ++i) puts(cases[i].name);
  return argc == 1 ? 0 : 2;
}
