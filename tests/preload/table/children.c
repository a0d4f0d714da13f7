/* Children and programs that take the place of others. */
#include "program.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>

extern char** environ;

static char* own_path;

/* Redirects in the child of a vfork(), as shells do: what it does to its descriptors is not the parent's. */
static void vfork_exec(char** names) {
  const int mine = open(names[0], O_WRONLY | O_CREAT, 0644);
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = vfork();
    if (pid == 0) {
      close(mine);
      const int fd = open(names[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
      if (fd < 0 || dup2(fd, 1) < 0) _exit(1);
      if (fd != 1) close(fd);
      execl("/bin/echo", "echo", "by the child", (char*)NULL);
      _exit(127);
    }
    CHECK(pid > 0 && status_of(pid) == 0);
    CHECK(write(mine, "by the parent\n", 14) == 14);
  }
  /* One that starts nothing. */
  const pid_t pid = vfork();
  if (pid == 0) _exit(execl("/no/such/program", "x", (char*)NULL) == -1 && errno == ENOENT ? 7 : 8);
  CHECK(status_of(pid) == 7);
  CHECK(write(mine, "the end\n", 8) == 8 && close(mine) == 0);
}

static void spawn(char** names) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  CHECK(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, 1, names[0], O_WRONLY | O_CREAT | O_TRUNC, 0644) == 0);
  CHECK(posix_spawn_file_actions_addclose(&actions, 0) == 0);
  char* arguments[] = {"sh", "-c", "echo $WORD; exit 3", NULL};
  char* variables[] = {"WORD=spawned", "PATH=/usr/bin:/bin", NULL};
  pid_t pid = 0;
  CHECK(posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, variables) == 0 && status_of(pid) == 3);
  CHECK(posix_spawnp(&pid, "no-such-program", NULL, NULL, arguments, environ) == ENOENT);
  char* others[] = {"cat", names[0], NULL};
  CHECK(posix_spawnp(&pid, "cat", NULL, NULL, others, environ) == 0 && status_of(pid) == 0);
}

static void shells(char** names) {
  char command[512];
  char line[128] = "";
  snprintf(command, sizeof(command), "echo text > %s; exit 5", names[0]);
  const int status = system(command);
  CHECK(WIFEXITED(status));
  snprintf(command, sizeof(command), "cat %s", names[0]);
  FILE* const from = popen(command, "r");
  CHECK(from != NULL && fgets(line, sizeof(line), from) != NULL && pclose(from) == 0);
  snprintf(command, sizeof(command), "cat > %s", names[1]);
  FILE* const to = popen(command, "w");
  CHECK(to != NULL && fprintf(to, "through a pipe: %s", line) > 0 && pclose(to) == 0);
  printf("%d %s", WEXITSTATUS(status), line);
}

/* Parent and children write to one descriptor; the children end in every way there is. */
static void forks(char** names) {
  const int fd = open(names[0], O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (int i = 0; i < 6; ++i) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0) {
      printf("%d\n", status_of(pid));
      continue;
    }
    write_all(fd, "by a child\n", 11);
    if (i == 0) exit(1);
    if (i == 1) _exit(2);
    if (i == 2) _Exit(3);
    if (i == 3) quick_exit(4);
    if (i == 4) abort();
    kill(getpid(), SIGKILL);
  }
  write_all(fd, "by the parent\n", 14);
  CHECK(close(fd) == 0);
}

static int count_to(void* fd) {
  for (int i = 0; i < 10; ++i) write_all(*(int*)fd, "clone\n", 6);
  return 9;
}

/* Children that share more than those of fork(): memory, or memory and descriptors. */
static void clones(char** names) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  int fd = open(names[0], O_WRONLY | O_CREAT | O_APPEND, 0644);
  static const int kFlags[] = {SIGCHLD, CLONE_VM | SIGCHLD, CLONE_VM | CLONE_FILES | SIGCHLD, CLONE_FILES | SIGCHLD};
  for (size_t i = 0; i < sizeof(kFlags) / sizeof(kFlags[0]); ++i) {
    const pid_t pid = clone(count_to, stack + sizeof(stack), kFlags[i], &fd);
    CHECK(pid > 0);
    printf("%d\n", status_of(pid));
  }
  CHECK(close(fd) == 0);
}

/* A daemon: it forks twice, closes everything, and works on when nobody waits for it. */
static void daemonize(char** names) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int fd = 0; fd < 256; ++fd) {
      if (fd != ends[1]) close(fd);
    }
    const int fd = open("/dev/null", O_RDWR);
    (void)!dup(fd);
    (void)!dup(fd);
    make_file(names[0], "by the daemon\n");
    write_all(ends[1], "x", 1);
    _exit(0);
  }
  CHECK(status_of(pid) == 0);
  char done = 0;
  CHECK(close(ends[1]) == 0 && read(ends[0], &done, 1) == 1 && done == 'x');
  puts("it runs");
}

/* Looks at its own environment, changes it, and starts itself again. */
static void environment(char** arguments) {
  if (arguments[0] != NULL && strcmp(arguments[0], "again") == 0) {
    puts(getenv("WORD") != NULL ? getenv("WORD") : "no word");
    return;
  }
  const char* const preload = getenv("LD_PRELOAD");
  CHECK(preload == NULL || preload[0] == '/');
  char* again[] = {own_path, "environment", "again", NULL};
  char* only_word[] = {"WORD=alone", NULL};
  char* none[] = {NULL};
  for (int i = 0; i < 5; ++i) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
      if (i == 0) unsetenv("LD_PRELOAD");
      if (i == 1) clearenv();
      if (i == 2) execve(own_path, again, only_word);
      if (i == 3) execve(own_path, again, none);
      if (i == 4) setenv("LD_PRELOAD", "", 1);
      setenv("WORD", "set", 1);
      execv(own_path, again);
      _exit(127);
    }
    CHECK(status_of(pid) == 0);
  }
}

/* Writes over its arguments and its environment, as setproctitle() does. */
static void title(char** arguments) {
  char* const name = strdup(arguments[0]);
  for (char** variable = environ; *variable != NULL; ++variable) memset(*variable, 'x', strlen(*variable));
  memset(own_path, 'y', strlen(own_path));
  make_file(name, "under another title\n");
  const pid_t pid = fork();
  if (pid == 0) _exit(execl("/bin/sh", "sh", "-c", "exit 6", (char*)NULL));
  printf("%d\n", status_of(pid));
}

/* exec of what is no program: the process goes on, and is what it was. */
static void failed_exec(char** names) {
  make_file(names[0], "no program\n");
  char* arguments[] = {names[0], NULL};
  const int fd = open(names[1], O_WRONLY | O_CREAT, 0644);
  CHECK(execv("/no/such/program", arguments) == -1 && errno == ENOENT);
  CHECK(execv(names[0], arguments) == -1 && errno == EACCES);
  CHECK(chmod(names[0], 0755) == 0 && execv(names[0], arguments) == -1 && errno == ENOEXEC);
  char* volatile invalid = (char*)8;
  char** volatile invalid_list = (char**)8;
  CHECK(execl("/", "/", (char*)NULL) == -1 && errno == EACCES);
  CHECK(execve(invalid, arguments, environ) == -1 && errno == EFAULT);
  CHECK(execve("/bin/true", arguments, invalid_list) == -1 && errno == EFAULT);
  CHECK(write(fd, "still here\n", 11) == 11 && close(fd) == 0);
}

/* How many descriptors a new program finds open. */
static void inherited(char** arguments) {
  if (arguments[0] == NULL) {
    execl(own_path, own_path, "inherited", "again", (char*)NULL);
    _exit(127);
  }
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) < 512) ++count;
  }
  closedir(folder);
  printf("%d open\n", count);
}

int main(int argc, char** argv) {
  static const struct Habit kHabits[] = {{"vfork", vfork_exec},
                                         {"spawn", spawn},
                                         {"shells", shells},
                                         {"forks", forks},
                                         {"clones", clones},
                                         {"daemon", daemonize},
                                         {"title", title},
                                         {"failed_exec", failed_exec},
                                         {"inherited", inherited},
                                         {"environment", environment},
                                         {NULL, NULL}};
  own_path = argv[0];
  return run_habit(kHabits, argc, argv);
}
