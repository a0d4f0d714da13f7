/* Signal handlers, cancelled threads, small stacks. */
#include "program.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { kBlock = 4096 };

static void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  CHECK(sigaction(signal, &action, NULL) == 0);
}

/* ---- Cancelled in write() ---------------------------------------------------------------------------------------------- */

static int pipe_ends[2];
static int cleaned;

static void clean(void* unused) {
  (void)unused;
  __atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void* fill_pipe(void* unused) {
  static char block[kBlock];
  pthread_cleanup_push(clean, NULL);
  for (;;) CHECK(write(pipe_ends[1], block, sizeof(block)) > 0);
  pthread_cleanup_pop(0);
  return unused;
}

static void* fill_file(void* fd) {
  static char block[kBlock];
  pthread_cleanup_push(clean, NULL);
  for (;;) CHECK(pwrite(*(int*)fd, block, sizeof(block), 0) == sizeof(block));
  pthread_cleanup_pop(0);
  return NULL;
}

static void* open_and_close(void* name) {
  pthread_cleanup_push(clean, NULL);
  for (;;) {
    int state = 0;
    const int fd = open(name, O_RDWR | O_CREAT, 0600);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    CHECK(fd >= 0 && close(fd) == 0);
    pthread_setcancelstate(state, NULL);
  }
  pthread_cleanup_pop(0);
  return NULL;
}

static void end_by_cancel(pthread_t thread) {
  void* result = NULL;
  usleep(20000);
  CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
}

static void cancel(char** names) {
  pthread_t thread;
  CHECK(pipe(pipe_ends) == 0);
  int fd = open(names[0], O_RDWR | O_CREAT, 0644);
  for (int i = 0; i < 5; ++i) {
    CHECK(pthread_create(&thread, NULL, fill_pipe, NULL) == 0);
    end_by_cancel(thread);
    CHECK(pthread_create(&thread, NULL, fill_file, &fd) == 0);
    end_by_cancel(thread);
    CHECK(pthread_create(&thread, NULL, open_and_close, names[1]) == 0);
    end_by_cancel(thread);
  }
  make_file(names[2], "after all of them\n");
  CHECK(close(fd) == 0);
  printf("%d cleaned up\n", cleaned);
}

/* ---- Invalid addresses --------------------------------------------------------------------------------------------------- */

static char* page;
static sigjmp_buf before_fault;
static volatile sig_atomic_t faults;

static void repair(int signal, siginfo_t* about, void* context) {
  (void)signal;
  (void)context;
  CHECK(about->si_addr == page + 5);
  write_all(1, "repaired\n", 9);
  CHECK(mprotect(page, kBlock, PROT_READ | PROT_WRITE) == 0);
  ++faults;
}

static void leap(int signal, siginfo_t* about, void* context) {
  (void)signal;
  (void)about;
  (void)context;
  ++faults;
  siglongjmp(before_fault, 1);
}

__attribute__((noinline)) static int recurse(volatile char* above) {
  volatile char frame[kBlock];
  frame[0] = above[0];
  return frame[0] == 0 ? recurse(frame) + frame[0] : 0;
}

static void segv(char** names) {
  page = mmap(NULL, kBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  handle(SIGSEGV, repair, 0);
  *(volatile char*)(page + 5) = 'x';
  const int fd = open(names[0], O_WRONLY | O_CREAT, 0644);
  CHECK(mprotect(page, kBlock, PROT_NONE) == 0);
  CHECK(write(fd, page, kBlock) == -1 && errno == EFAULT);
  CHECK(open(page, O_WRONLY | O_CREAT, 0644) == -1 && errno == EFAULT);
  char* volatile invalid = (char*)8;
  CHECK(open(invalid, O_RDONLY) == -1 && errno == EFAULT);
  CHECK(rename(page, "x") == -1 && errno == EFAULT);

  /* Out of the handler, more often than anything could have rooms for. */
  handle(SIGSEGV, leap, SA_NODEFER);
  for (int i = 0; i < 100; ++i) {
    if (sigsetjmp(before_fault, 1) == 0) page[0] = 'x';
  }
  stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  CHECK(sigaltstack(&other, NULL) == 0);
  handle(SIGSEGV, leap, SA_ONSTACK);
  char first = 0;
  if (sigsetjmp(before_fault, 1) == 0) recurse(&first);
  CHECK(write(fd, "alive\n", 6) == 6 && close(fd) == 0);
  printf("%d faults\n", (int)faults);
}

/* ---- Calls from handlers --------------------------------------------------------------------------------------------------- */

static int log_fd;
static const char* other_name;
static volatile sig_atomic_t interrupts;

static void write_line(int signal, siginfo_t* about, void* context) {
  (void)signal;
  (void)about;
  (void)context;
  const int kept = errno;
  CHECK(write(log_fd, "tick\n", 5) == 5);
  const int fd = open(other_name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  CHECK(fd >= 0 && write(fd, "tock\n", 5) == 5 && close(fd) == 0);
  ++interrupts;
  errno = kept;
}

/* Writes, and opens many files, while a timer interrupts it. usage: DATA TICKS TOCKS */
static void handler(char** names) {
  static char block[kBlock];
  log_fd = open(names[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  other_name = names[2];
  handle(SIGALRM, write_line, SA_RESTART);
  const struct itimerval often = {{0, 200}, {0, 200}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  const int fd = open(names[0], O_WRONLY | O_CREAT, 0644);
  for (int i = 0; i < 4000; ++i) {
    CHECK(write(fd, block, sizeof(block)) == sizeof(block));
    const int again = open(names[0], O_RDONLY);
    CHECK(again >= 0 && close(again) == 0);
  }
  while (interrupts < 3) usleep(100);
  const struct itimerval never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  struct stat ticks;
  struct stat tocks;
  CHECK(fstat(log_fd, &ticks) == 0 && stat(other_name, &tocks) == 0);
  CHECK(ticks.st_size == 5 * interrupts && tocks.st_size == 5 * interrupts);
  CHECK(unlink(names[1]) == 0 && unlink(names[2]) == 0 && close(fd) == 0);
  puts("done");
}

static sigjmp_buf before_write;

static void leave(int signal, siginfo_t* about, void* context) {
  (void)signal;
  (void)about;
  (void)context;
  siglongjmp(before_write, 1);
}

/* Leaves the interrupted call by siglongjmp(), again and again. */
static void leaving(char** names) {
  static char block[kBlock];
  make_file(names[0], "");
  handle(SIGALRM, leave, 0);
  volatile int left = 0;
  while (left < 200) {
    if (sigsetjmp(before_write, 1) != 0) ++left;
    ualarm(300, 0);
    for (int i = 0;; ++i) {
      const int fd = open(names[0], O_WRONLY | O_CREAT, 0644);
      if (fd >= 0) (void)!pwrite(fd, block, sizeof(block), 0);
      if (fd >= 0) close(fd);
      if (left >= 200) break;
    }
  }
  ualarm(0, 0);
  for (int fd = 3; fd < 1000; ++fd) close(fd);
  make_file(names[1], "done\n");
  puts("done");
}

/* ---- Small stacks ------------------------------------------------------------------------------------------------------------
 */

static void use_files(const char* name) {
  char temporary[64];
  snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name);
  int fd = mkstemp(temporary);
  CHECK(fd >= 0 && pwrite(fd, "small\n", 6, 0) == 6 && fchmod(fd, 0644) == 0 && close(fd) == 0);
  CHECK(rename(temporary, name) == 0);
  fd = open(name, O_WRONLY | O_APPEND);
  CHECK(fd >= 0 && write(fd, "stack\n", 6) == 6 && close(fd) == 0);
}

static void* use_files_in_thread(void* name) {
  use_files(name);
  return NULL;
}

static void* spawn_in_thread(void* unused) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/echo", "echo", "started on a small stack", (char*)NULL);
    _exit(127);
  }
  CHECK(pid > 0 && status_of(pid) == 0);
  return unused;
}

static void on_small_stack(void* (*what)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
  CHECK(pthread_create(&thread, &attributes, what, argument) == 0 && pthread_join(thread, NULL) == 0);
}

static void small_stack(char** names) {
  on_small_stack(use_files_in_thread, names[0]);
  on_small_stack(spawn_in_thread, NULL);
}

/* What a crash handler does: it starts a program from the handler, on a stack of its own. */
static void start_program(int signal, siginfo_t* about, void* context) {
  (void)about;
  (void)context;
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/echo", "echo", "the handler's program", (char*)NULL);
    _exit(127);
  }
  CHECK(status_of(pid) == 0);
  make_file("crash.log", "crashed\n");
  _exit(signal);
}

static void crash(char** unused) {
  (void)unused;
  const size_t size = (size_t)sysconf(_SC_SIGSTKSZ);
  char* const guarded = mmap(NULL, size + 2 * kBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(guarded != MAP_FAILED && mprotect(guarded + kBlock, (size + kBlock - 1) / kBlock * kBlock, PROT_READ | PROT_WRITE) == 0);
  stack_t own = {.ss_sp = guarded + kBlock, .ss_size = size};
  CHECK(sigaltstack(&own, NULL) == 0);
  handle(SIGSEGV, start_program, SA_ONSTACK);
  *(volatile char*)8 = 1;
}

int main(int argc, char** argv) {
  static const struct Habit kHabits[] = {
      {"cancel", cancel},           {"segv", segv},   {"handler", handler}, {"leaving", leaving},
      {"small_stack", small_stack}, {"crash", crash}, {NULL, NULL}};
  return run_habit(kHabits, argc, argv);
}
