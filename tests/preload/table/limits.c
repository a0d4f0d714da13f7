/* Descriptors, limits, other roots, and what a process can read about itself. */
#include "program.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const char* own_path;

static int new_file(const char* name) { return open(name, O_RDWR | O_CREAT, 0644); }

/* Closes all that it may have been left with, in three ways, and counts on the lowest number being free. */
static void close_all(char** names) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int most = limit.rlim_cur > 4096 ? 4096 : (int)limit.rlim_cur;
  int closed = 0;
  for (int fd = 3; fd < most; ++fd) closed += close(fd) == 0;
  const int first = new_file(names[0]);
  write_all(first, "after close\n", 12);
  CHECK(close_range(3, ~0U, 0) == 0);
  const int second = new_file(names[1]);
  write_all(second, "after close_range\n", 18);
  closefrom(3);
  const int third = new_file(names[2]);
  write_all(third, "after closefrom\n", 16);
  /* By system calls that no library sees. */
  for (int fd = 3; fd < most; ++fd) syscall(SYS_close, fd);
  const int fourth = new_file(names[3]);
  write_all(fourth, "after the system calls\n", 23);
  printf("%d closed, then %d %d %d %d\n", closed, first, second, third, fourth);
}

/* Takes every number that it can get. */
static void every_number(char** names) {
  closefrom(3);
  int count = 0;
  int highest = 0; /* with a plan the last free number is one in the middle */
  for (int fd = new_file(names[0]); fd >= 0; fd = dup(fd)) {
    ++count;
    if (fd > highest) highest = fd;
  }
  CHECK(errno == EMFILE && new_file(names[1]) == -1 && errno == EMFILE && fopen(names[1], "w") == NULL && errno == EMFILE);
  write_all(highest, "by the last one\n", 16);
  printf("%d descriptors, up to %d\n", count, highest);
}

/* Puts a file under a number of its own choice. */
static void chosen_numbers(char** names) {
  closefrom(3);
  const int fd = new_file(names[0]);
  int done = 0;
  for (int to = 3; to < 1024; ++to) {
    if (to == fd) continue;
    CHECK(fcntl(to, F_GETFD) == -1 && errno == EBADF);
    CHECK(dup2(fd, to) == to && write(to, "x", 1) == 1 && close(to) == 0 && close(to) == -1 && errno == EBADF);
    ++done;
  }
  CHECK(fcntl(fd, F_DUPFD, 900) == 900 && fcntl(fd, F_DUPFD_CLOEXEC, 900) == 901 && write(901, "y", 1) == 1);
  printf("%d numbers\n", done);
}

/* What the limits of memory leave is too little for a library's tables. */
static void address_space(char** names) {
  FILE* const statm = fopen("/proc/self/statm", "r");
  long pages = 0;
  CHECK(statm != NULL && fscanf(statm, "%ld", &pages) == 1 && fclose(statm) == 0);
  const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 18);
  const struct rlimit limit = {bytes, bytes};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < 100; ++i) make_file(names[0], "little memory\n");
  CHECK(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
}

/* Files may not become larger than this. */
static void file_size(char** names) {
  static char block[5000];
  const struct rlimit limit = {10000, 10000};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const int fd = new_file(names[0]);
  CHECK(write(fd, block, sizeof(block)) == 5000 && write(fd, block, 4000) == 4000 && write(fd, block, sizeof(block)) == 1000);
  puts("full");
  fflush(stdout);
  write_all(fd, block, 1); /* SIGXFSZ */
}

static void other_root(char** names) {
  CHECK(mkdir("root", 0755) == 0 && chroot("root") == 0 && chdir("/") == 0);
  make_file(names[0], "in another root\n");
  const int fd = new_file(names[1]);
  CHECK(dprintf(fd, "%s\n", "also there") == 11 && close(fd) == 0 && rename(names[1], "/renamed") == 0);
  puts("done");
}

/* The numbers 0, 1 and 2 are free: the files of the program get them. */
static void without_standard(char** names) {
  for (int i = 0; i < 3; ++i) {
    const int fd = new_file(names[i]);
    if (fd != i) _exit(10 + fd);
    write_all(fd, "mine alone\n", 11);
  }
}

static void maps(char** names) {
  char line[4096];
  char target[4096];
  int own = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof(line), file) != NULL) own += strstr(line, own_path) != NULL;
  CHECK(fclose(file) == 0 && own > 0);
  CHECK(readlink("/proc/self/exe", target, sizeof(target)) > 0);
  const int fd = open("/proc/self/maps", O_RDONLY);
  while (read(fd, line, sizeof(line)) > 0) {
  }
  CHECK(close(fd) == 0);
  Dl_info about;
  void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  CHECK(libc != NULL && dladdr(dlsym(libc, "qsort"), &about) != 0 && strstr(about.dli_fname, "libc") != NULL);
  CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL && dlerror() != NULL && dlerror() == NULL);
  make_file(names[0], "it knows itself\n");
  puts("ok");
}

/* Under the strict rules only read, write, exit and sigreturn are left: anything else kills. */
static void strict(char** names) {
  const int fd = new_file(names[0]);
  write_all(fd, "before\n", 7);
  fflush(NULL);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  write_all(fd, "under strict rules\n", 19);
  write_all(1, "allowed\n", 8);
  char word[8];
  (void)!read(0, word, sizeof(word));
  syscall(SYS_exit, 0);
}

enum { kThreads = 8, kFiles = 50 };

static void* make_files(void* number) {
  char name[64];
  static char block[8192];
  for (int i = 0; i < kFiles; ++i) {
    snprintf(name, sizeof(name), "t%ld.%d", (long)number, i);
    int fd = new_file(name);
    for (int j = 0; j < 4; ++j) write_all(fd, block, sizeof(block));
    CHECK(close(fd) == 0);
    fd = open("shared", O_WRONLY | O_CREAT, 0644);
    CHECK(fd >= 0 && pwrite(fd, block, sizeof(block), ((long)number * kFiles + i) * (long)sizeof(block)) == sizeof(block));
    CHECK(close(fd) == 0);
  }
  return NULL;
}

/* Each thread makes its files; numbers of descriptors go from one to the other. */
static void threads(char** unused) {
  (void)unused;
  pthread_t all[kThreads];
  for (long i = 0; i < kThreads; ++i) CHECK(pthread_create(&all[i], NULL, make_files, (void*)i) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(all[i], NULL) == 0);
  puts("done");
}

static int refuse_to_read(void* cookie) { return cookie == NULL ? 0 : -1; }
static ssize_t swallow(void* cookie, const char* from, size_t size) {
  (void)from;
  *(size_t*)cookie += size;
  return (ssize_t)size;
}

static void streams(char** names) {
  char line[64];
  size_t swallowed = 0;
  FILE* file = fopen(names[0], "w+x");
  CHECK(file != NULL && setvbuf(file, NULL, _IOFBF, 16) == 0);
  for (int i = 0; i < 100; ++i) CHECK(fprintf(file, "line %d\n", i) > 0);
  CHECK(fputs("text\n", file) >= 0 && fputc('c', file) == 'c' && putc('\n', file) == '\n' && fwrite("four", 2, 2, file) == 2);
  rewind(file);
  CHECK(fgets(line, sizeof(line), file) != NULL && fgetc(file) == 'l' && ungetc('L', file) == 'L' && getc(file) == 'L');
  CHECK(fseek(file, -4, SEEK_END) == 0 && fread(line, 1, 4, file) == 4 && memcmp(line, "four", 4) == 0 && feof(file) == 0);
  CHECK(fread(line, 1, 1, file) == 0 && feof(file) != 0);
  const long end = ftell(file);
  CHECK(fclose(file) == 0 && fopen(names[0], "wx") == NULL && errno == EEXIST);
  file = fopen(names[0], "a");
  CHECK(file != NULL && fputs("appended\n", file) >= 0 && fflush(file) == 0);
  file = freopen(names[1], "w", file);
  CHECK(file != NULL && fputs("reopened\n", file) >= 0 && fclose(file) == 0);
  CHECK(fopen("", "w") == NULL && errno == ENOENT && fopen(names[0], "q") == NULL && errno == EINVAL);
  file = fdopen(new_file(names[2]), "w");
  CHECK(file != NULL && fputs("by its number\n", file) >= 0 && fclose(file) == 0);
  file = fmemopen(line, sizeof(line), "w");
  CHECK(file != NULL && fputs("memory", file) >= 0 && fclose(file) == 0 && strcmp(line, "memory") == 0);
  file = fopencookie(&swallowed, "w", (cookie_io_functions_t){.write = swallow, .close = refuse_to_read});
  CHECK(file != NULL && fputs("12345", file) >= 0 && fclose(file) == -1 && swallowed == 5);
  file = tmpfile();
  CHECK(file != NULL && fputs("nobody sees it", file) >= 0 && fclose(file) == 0);
  printf("%ld\n", end);
  CHECK(freopen(names[3], "w", stdout) == stdout);
  printf("left in the buffer until the end");
}

static void temporary(char** names) {
  char name[] = "pre-XXXXXX.end";
  char old[] = "no-letters";
  int fd = mkostemps(name, 4, O_APPEND);
  CHECK(fd >= 0 && write(fd, "first\n", 6) == 6 && close(fd) == 0 && rename(name, names[0]) == 0);
  CHECK(mkstemp(old) == -1 && errno == EINVAL && strcmp(old, "no-letters") == 0);
  fd = open(".", O_TMPFILE | O_RDWR, 0640);
  if (fd >= 0) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK(write(fd, "without a name\n", 15) == 15 && linkat(AT_FDCWD, path, AT_FDCWD, names[1], AT_SYMLINK_FOLLOW) == 0 &&
          close(fd) == 0);
  }
  CHECK(open(names[0], O_CREAT | O_EXCL | O_WRONLY, 0644) == -1 && errno == EEXIST);
  CHECK(open("no/such/folder", O_CREAT | O_WRONLY, 0644) == -1 && errno == ENOENT);
  CHECK(open(".", O_CREAT | O_WRONLY, 0644) == -1 && errno == EISDIR);
  CHECK(symlink("dangling", "link") == 0 && open("link", O_CREAT | O_EXCL | O_WRONLY, 0644) == -1 && errno == EEXIST);
  CHECK(open("link", O_CREAT | O_WRONLY | O_NOFOLLOW, 0644) == -1 && errno == ELOOP);
  fd = open("link", O_CREAT | O_WRONLY, 0604);
  CHECK(fd >= 0 && write(fd, "by a link\n", 10) == 10 && close(fd) == 0);
  umask(077);
  fd = open("masked", O_CREAT | O_RDONLY, 0666);
  CHECK(fd >= 0 && write(fd, "x", 1) == -1 && errno == EBADF && close(fd) == 0);
  fd = open("read-only", O_CREAT | O_WRONLY, 0444);
  CHECK(fd >= 0 && write(fd, "yet written\n", 12) == 12 && close(fd) == 0);
}

int main(int argc, char** argv) {
  static const struct Habit kHabits[] = {{"close_all", close_all},
                                         {"every_number", every_number},
                                         {"chosen_numbers", chosen_numbers},
                                         {"address_space", address_space},
                                         {"file_size", file_size},
                                         {"other_root", other_root},
                                         {"without_standard", without_standard},
                                         {"maps", maps},
                                         {"strict", strict},
                                         {"threads", threads},
                                         {"streams", streams},
                                         {"temporary", temporary},
                                         {NULL, NULL}};
  own_path = argv[0];
  return run_habit(kHabits, argc, argv);
}
