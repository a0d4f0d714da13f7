/* A library of somebody else that stands before the same calls, and tells at the end what it saw. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int opens;
static int writes;

#define SHOWN __attribute__((visibility("default")))

SHOWN int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  int (*const next)(const char*, int, mode_t) = (int (*)(const char*, int, mode_t))dlsym(RTLD_NEXT, "open");
  __atomic_add_fetch(&opens, 1, __ATOMIC_RELAXED);
  return next(path, flags, mode);
}

SHOWN ssize_t write(int fd, const void* from, size_t size) {
  ssize_t (*const next)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
  return next(fd, from, size);
}

SHOWN int openat(int dirfd, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  int (*const next)(int, const char*, int, mode_t) = (int (*)(int, const char*, int, mode_t))dlsym(RTLD_NEXT, "openat");
  __atomic_add_fetch(&opens, 1, __ATOMIC_RELAXED);
  return next(dirfd, path, flags, mode);
}

__attribute__((destructor)) static void tell(void) { dprintf(2, "%s, %d writes\n", opens > 0 ? "opens" : "no opens", writes); }
