/* What the small programs of the table share: a named habit each, chosen by the first argument. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      dprintf(2, "%s:%d: %s: errno %d (%s)\n", __FILE__, __LINE__, #condition, errno, strerror(errno)); \
      _exit(99);                                                                                        \
    }                                                                                                   \
  } while (0)

struct Habit {
  const char* name;
  void (*show)(char** arguments);
};

static inline int run_habit(const struct Habit* habits, int argc, char** argv) {
  for (; argc > 1 && habits->name != NULL; ++habits) {
    if (strcmp(habits->name, argv[1]) == 0) {
      habits->show(argv + 2);
      return 0;
    }
  }
  fputs("no such habit\n", stderr);
  return 2;
}

static inline void write_all(int fd, const void* from, size_t size) {
  for (const char* at = from; size > 0;) {
    const ssize_t done = write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    CHECK(done > 0);
    at += done;
    size -= (size_t)done;
  }
}

/* Makes a file that holds a text. */
static inline void make_file(const char* name, const char* text) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  write_all(fd, text, strlen(text));
  CHECK(close(fd) == 0);
}

/* Waits for a child; gives its exit status, or 128 and its signal. */
static inline int status_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) CHECK(errno == EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
