// usage: behaviour CASE FOLDER
// Programs that other preload libraries are known to break. Each says on stdout what it found, the same with a library and without.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char** environ;
static char bytes[4096];

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "behaviour:%d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
      _exit(1);                                                                        \
    }                                                                                  \
  } while (0)

static int make(const char* name) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  return fd;
}
static void put(int fd) { CHECK(write(fd, bytes, sizeof bytes) == sizeof bytes); }

// ---- Results and errno ----

#define SAY(call)                                                        \
  do {                                                                   \
    errno = 4711;                                                        \
    const long long status = (long long)(call);                          \
    printf("%s: %lld %d\n", #call, status < 0 ? -1 : status, errno);     \
  } while (0)
#define SAY_NULL(call)                                                \
  do {                                                                \
    errno = 4711;                                                     \
    const void* const found = (call);                                 \
    printf("%s: %s %d\n", #call, found ? "there" : "null", errno);    \
  } while (0)

static volatile long bad_address = 1;

static void errors(void) {
  char* none[] = {NULL};
  char bad_template[] = "no-letters";
  char temporary[] = "tempXXXXXX";
  SAY(open("a", O_RDWR | O_CREAT, 0640));
  SAY(open("a", O_RDWR | O_CREAT | O_EXCL, 0640));
  SAY(write(3, bytes, 100));
  SAY(pwrite(3, bytes, 100, 1000));
  SAY(lseek(3, 0, SEEK_CUR));
  SAY(read(3, bytes, 10));
  SAY(pread(3, bytes, 10, 5000));
  SAY(open("missing/x", O_WRONLY | O_CREAT, 0600));
  SAY(open("", O_RDONLY));
  SAY(open(".", O_WRONLY));
  SAY(open("a/x", O_RDONLY));
  SAY(openat(77, "a", O_RDONLY));
  SAY(openat(3, "a", O_RDONLY));
  SAY(creat("/", 0600));
  SAY(dup(3));
  SAY(dup2(3, 9));
  SAY(dup2(3, 3));
  SAY(dup2(88, 9));
  SAY(dup3(3, 3, 0));
  SAY(dup2(3, -1));
  SAY(fcntl(3, F_DUPFD, 20));
  SAY(fcntl(3, F_GETFL) & O_ACCMODE);
  SAY(fcntl(-7722, 1, 0));
  SAY(fcntl(88, F_GETFD));
  SAY(close(88));
  SAY(close(-1));
  SAY(write(88, bytes, 1));
  SAY(read(4, bytes, 0));
  SAY(write(3, (void*)bad_address, 100));
  SAY(mkstemp(bad_template));
  SAY(mkstemp(temporary));
  SAY(rename("missing", "b"));
  SAY(rename("a", "b"));
  SAY(renameat(77, "b", AT_FDCWD, "c"));
  SAY(linkat(AT_FDCWD, "missing", AT_FDCWD, "c", 0));
  SAY(open("removed", O_WRONLY | O_CREAT, 0600));
  SAY(unlink("removed"));
  SAY(unlink("removed"));
  SAY(unlink((const char*)bad_address));
  SAY(unlink("."));
  SAY(unlinkat(77, "b", 0));
  SAY(unlinkat(AT_FDCWD, "missing", AT_REMOVEDIR));
  SAY(remove("missing"));
  SAY(symlink("b", "link"));
  SAY(open("link", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600));
  SAY(remove("link"));
  SAY(mkdir("folder", 0700));
  SAY(open("folder/../folder/x/../y", O_WRONLY | O_CREAT, 0600));
  SAY(remove("folder"));
  SAY(ioctl(77, 0x4008669a, NULL));
  SAY(ioctl(3, 0x4008669a, NULL) == 0);
  SAY(setxattr("missing", "lustre.lov", bytes, 32, 0));
  SAY(setxattr("b", (const char*)bad_address, bytes, 32, 0));
  SAY(lsetxattr("missing", "user.x", bytes, 1, 0));
  SAY(fsetxattr(77, "lustre.lov", bytes, 32, 0));
  SAY(execv("missing", none));
  SAY(execve("/", none, none));
  SAY(execvp("no-such-program-anywhere", none));
  SAY(execl("missing", "missing", (char*)NULL));
  SAY(posix_spawn(NULL, "missing", NULL, NULL, none, environ));
  SAY_NULL(fopen("missing/x", "w"));
  SAY_NULL(fopen("b", "q"));
  SAY_NULL(fopen("b", "wx"));
  SAY_NULL(fdopen(88, "r"));
  FILE* file = NULL;
  SAY_NULL(file = fopen("f", "w+"));
  SAY(fwrite(bytes, 1, 5000, file));
  SAY(fseek(file, -1, SEEK_SET));
  SAY(fseek(file, 10, SEEK_SET));
  SAY(fread(bytes, 1, 100, file));
  SAY(ftell(file));
  SAY(fflush(file));
  SAY(fclose(file));
  SAY(close_range(10, 5, 0));
  SAY(close_range(20, 30, 0));
  SAY(fcntl(20, F_GETFD));
  SAY(close(3));
  SAY(close(3));
  SAY(umask(022));
}

// Names that cannot be read, or do not end: the kernel says so, and nobody else looks at them first.
static void bad_names(void) {
  const long page = 4096;
  char* const pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED && mprotect(pages + 2 * page, page, PROT_NONE) == 0);
  char* const end = pages + 2 * page;
  const int file = open("short", O_RDWR | O_CREAT | O_TRUNC, 0600);
  char* const cut = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);  // a file without bytes: SIGBUS
  CHECK(file >= 0 && cut != MAP_FAILED);
  memset(pages, 'x', 2 * page);
  const char* const names[] = {(char*)bad_address, (char*)(7 * bad_address), (char*)(8 * bad_address), (char*)-bad_address,
                               (char*)(1UL << 63U), end, end - 1, end - 5, pages, pages + 10, end - 255, cut, NULL};
  const size_t count = sizeof names / sizeof *names;
  static const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT, O_RDWR | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT | O_EXCL};
  for (size_t i = 0; i < count; ++i) {
    const char* const name = names[i];
    for (size_t j = 0; j < sizeof flags / sizeof *flags; ++j) {
      SAY(open(name, flags[j], 0600));
      SAY(openat(AT_FDCWD, name, flags[j], 0600));
    }
    SAY(creat(name, 0600));
    SAY_NULL(fopen(name, "r"));
    SAY_NULL(fopen(name, "w"));
    SAY(rename(name, "x"));
    SAY(rename("short", name));
    SAY(linkat(AT_FDCWD, name, AT_FDCWD, "x", 0));
    SAY(linkat(AT_FDCWD, "short", AT_FDCWD, name, 0));
    SAY(unlink(name));
    SAY(unlinkat(AT_FDCWD, name, 0));
    SAY(remove(name));
    SAY(setxattr(name, "lustre.lov", bytes, 32, 0));
    SAY(setxattr("short", name, bytes, 32, 0));
    SAY(lsetxattr("short", name, bytes, 32, 0));
    int (*open_how)(int, const char*, const void*, size_t) = (void*)dlsym(RTLD_DEFAULT, "openat2");
    SAY(open_how != NULL ? open_how(AT_FDCWD, "short", name, 24) : syscall(SYS_openat2, AT_FDCWD, "short", name, 24));
    char* const none[] = {NULL};
    char* const variables[] = {(char*)name, NULL};
    if (i + 1 == count) break;  // no environment at all is a good one
    pid_t child;
    SAY(execve("/bin/true", none, (char* const*)name));
    SAY(execve("/bin/true", none, variables));
    SAY(posix_spawn(&child, "/bin/true", NULL, NULL, none, variables));
  }
  // One that ends with its mapping, and one that enters the last page of it.
  end[-1] = '\0';
  SAY(close(open(end - 3, O_WRONLY | O_CREAT, 0600)));
  strcpy(end - page - 3, "cross");
  SAY(close(open(end - page - 3, O_WRONLY | O_CREAT, 0600)));
  SAY(access("xx", F_OK));
  SAY(access("cross", F_OK));
}

static void close_all(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int end = limit.rlim_cur < 5000 ? (int)limit.rlim_cur : 5000;
  for (int round = 0; round < 3; ++round) {
    int closed = 0;
    for (int fd = 3; fd < end; ++fd) closed += close(fd) == 0;
    printf("closed %d\n", closed);
    if (round == 1) printf("range %d\n", close_range(3, ~0U, 0));
    const int fd = make(round == 0 ? "one" : "two");
    put(fd);
    printf("descriptor %d\n", fd);
  }
  for (int fd = 3; fd < 1100; ++fd) CHECK(dup2(0, fd) == fd || errno == EBADF);
  printf("last %d\n", make("three"));
}

// ---- Threads ----

enum { THREADS = 8, ROUNDS = 500 };
static int shared_file;

static void* writer(void* argument) {
  const int number = (int)(long)argument;
  char name[32];
  for (int i = 0; i < ROUNDS; ++i) {
    snprintf(name, sizeof name, "own.%d.%d", number, i % 10);
    const int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0);
    put(fd);
    CHECK(pwrite(shared_file, bytes, sizeof bytes, (off_t)(number * ROUNDS + i) * (off_t)sizeof bytes) == sizeof bytes);
    const int copy = dup(fd);
    CHECK(copy >= 0 && close(fd) == 0 && close(copy) == 0);
  }
  return NULL;
}

static void threads(void) {
  pthread_t all[THREADS];
  shared_file = make("shared");
  for (long i = 0; i < THREADS; ++i) CHECK(pthread_create(&all[i], NULL, writer, (void*)i) == 0);
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(all[i], NULL) == 0);
  puts("joined");
}

static void* open_some(void* argument) {
  (void)argument;
  for (int i = 0; i < 100; ++i) {
    const int fd = make("small");
    put(fd);
    CHECK(close(fd) == 0);
  }
  return NULL;
}

// The smallest stack that a thread may have.
static void small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
  CHECK(pthread_create(&thread, &attributes, open_some, NULL) == 0 && pthread_join(thread, NULL) == 0);
  puts("joined");
}

static int ends[2];
static volatile int cleaned, ready;
static void clean(void* argument) { (void)argument; cleaned = 1; }
static void* read_for_ever(void* argument) {
  char byte;
  pthread_cleanup_push(clean, NULL);
  for (ready = 1;;) (void)!read(ends[0], &byte, 1);
  pthread_cleanup_pop(0);
  return argument;
}
static void* write_for_ever(void* argument) {
  const int fd = make("cancelled");
  pthread_cleanup_push(clean, NULL);
  for (ready = 1;;) (void)!pwrite(fd, bytes, sizeof bytes, 0);
  pthread_cleanup_pop(0);
  return argument;
}
static void* make_for_ever(void* argument) {
  pthread_cleanup_push(clean, NULL);
  for (ready = 1;;) close(open("cancelled", O_WRONLY | O_CREAT, 0644));
  pthread_cleanup_pop(0);
  return argument;
}

static void cancel(void) {
  void* (*all[])(void*) = {read_for_ever, write_for_ever, make_for_ever};
  CHECK(pipe(ends) == 0);
  for (int i = 0; i < 30; ++i) {
    pthread_t thread;
    void* result = NULL;
    cleaned = ready = 0;
    CHECK(pthread_create(&thread, NULL, all[i % 3], NULL) == 0);
    while (!ready) usleep(100);
    usleep((useconds_t)(i * 50));
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED && cleaned);
  }
  puts("cancelled");
}

// ---- Signals ----

static int signal_file;
static volatile sig_atomic_t handled;
static void on_alarm(int number) {
  (void)number;
  const int kept = errno;
  put(signal_file);
  const int fd = open("from-handler", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  put(fd);
  close(fd);
  ++handled;
  errno = kept;
}

static void signals(void) {
  signal_file = make("signals");
  CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
  const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  const int fd = make("main");
  for (int i = 0; handled < 200 || i < 2000; ++i) {
    CHECK(pwrite(fd, bytes, sizeof bytes, (off_t)(i % 100) * (off_t)sizeof bytes) == sizeof bytes);
    if (i % 16 != 0) continue;
    char name[32];
    snprintf(name, sizeof name, "churn.%d", i % 1000);
    int other = -1;
    while ((other = open(name, O_WRONLY | O_CREAT, 0644)) < 0 && errno == EINTR) continue;
    CHECK(other >= 0 && close(other) == 0);
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  puts(lseek(signal_file, 0, SEEK_CUR) == (off_t)handled * (off_t)sizeof bytes ? "all written" : "some lost");
}

static void on_fault(int number) {
  (void)number;
  (void)!write(1, "caught\n", 7);
  _exit(3);
}
static void fault(void) {
  CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
  put(make("before"));
  *(volatile int*)8 = 1;
}

static void killed(void) {
  const int fd = make("killed");
  for (int i = 0; i < 10; ++i) put(fd);
  FILE* file = fopen("stream", "w");
  CHECK(file);
  for (int i = 0; i < 1024; ++i) CHECK(fwrite(bytes, sizeof bytes, 1, file) == 1);
  kill(getpid(), SIGKILL);
}

static void aborted(void) {
  put(make("aborted"));
  signal(SIGABRT, SIG_DFL);
  abort();
}

// ---- Processes ----

static void forks(void) {
  const int fd = make("parent");
  put(fd);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      put(fd);
      put(make("child"));
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        put(make("grandchild"));
        exit(0);
      }
      CHECK(waitpid(grandchild, NULL, 0) == grandchild);
      _exit(5);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
  }
  put(fd);
}

static void vforks(void) {
  const int fd = make("kept");
  const int other = make("other");
  put(fd);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
      // None of this is to be seen in the tables of the parent.
      dup2(other, fd);
      close(other);
      if (i % 2 == 0) execl("/no/such/program", "program", (char*)NULL);
      if (i % 2 == 0) _exit(9);
      execl("/bin/sh", "sh", "-c", "exit 7", (char*)NULL);
      _exit(1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    printf("%d\n", WEXITSTATUS(status));
  }
  put(fd);
  put(other);
}

static void exec_fails(void) {
  char* arguments[] = {"x", NULL};
  const int fd = make("after");
  put(fd);
  printf("%d %d\n", execve("/no/such/program", arguments, environ), errno);
  put(fd);
}

// An environment of its own: the library is to be found there again, and the program's variables too.
static void exec_bare(void) {
  char* arguments[] = {"sh", "-c", "echo $MINE; printf %08192d 1 > bare", NULL};
  char* variables[] = {"MINE=yes", NULL};
  pid_t child = -1;
  int status = 0;
  CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, variables) == 0 && waitpid(child, &status, 0) == child);
  fflush(stdout);
  execve("/bin/sh", arguments, variables);
}

// ---- Many, long and odd names ----

static void many(void) {
  char name[32];
  for (int i = 0; i < 100000; ++i) {
    snprintf(name, sizeof name, "%d/%d", i / 1000, i);
    if (i % 1000 == 0) {
      char folder[16];
      snprintf(folder, sizeof folder, "%d", i / 1000);
      CHECK(mkdir(folder, 0755) == 0);
    }
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
  }
  puts("made");
}

static void many_open(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max < 17000 ? limit.rlim_max : 17000;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int first = make("many");
  int last = first;
  for (int fd = 0; fd >= 0; fd = open("many", O_RDWR)) last = fd > last ? fd : last;
  put(last);
  puts("full");
}

static void names(void) {
  char folder[PATH_MAX];
  CHECK(getcwd(folder, sizeof folder));
  memset(bytes, 'n', 255);
  // Names beyond PATH_MAX can be reached from directory to directory.
  for (int depth = 0; depth < 40; ++depth) {
    char part[256];
    memset(part, 'a' + depth % 26, 200);
    part[200] = '\0';
    CHECK(mkdir(part, 0755) == 0 && chdir(part) == 0);
    if (depth == 17 || depth == 19 || depth == 39) put(make("deep"));
  }
  CHECK(chdir(folder) == 0);
  put(make("line\nbreak"));
  put(make("\xff\xfe not utf-8 \x01"));
  char longest[PATH_MAX];
  memset(longest, 0, sizeof longest);
  while (strlen(longest) + 2 < sizeof longest - 9) strcat(longest, "./");
  strcat(longest, "plain");
  put(make(longest));
  longest[0] = '\0';
  printf("%d %d\n", open(longest, O_RDONLY), errno);
  puts("made");
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"errors", errors}, {"bad_names", bad_names}, {"close_all", close_all}, {"threads", threads}, {"small_stack", small_stack}, {"cancel", cancel},
    {"signals", signals}, {"fault", fault}, {"killed", killed}, {"aborted", aborted}, {"forks", forks}, {"vforks", vforks},
    {"exec_fails", exec_fails}, {"exec_bare", exec_bare}, {"many", many}, {"many_open", many_open}, {"names", names},
};

int main(int argc, char** argv) {
  memset(bytes, 'x', sizeof bytes);
  for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    CHECK(chdir(argv[2]) == 0);
    cases[i].run();
    return 0;
  }
  return 2;
}
