// The life of a process: the constructor and the end, fork, and programs that take its place or are started by it.
#include <pthread.h>
#include <sys/prctl.h>

#include <cstring>

#include "interpose.hpp"
#include "path_names.hpp"
#include "placing.hpp"
#include "ranks.hpp"
#include "settings.hpp"
#include "streams.hpp"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace iez::preload {

namespace {

// ---- Beginning and end ------------------------------------------------------------------------------------------------------

// The child of a fork has files of its own from now on. Its segment is made at its first record.
void begin_child() {
  arena.start_process();
  forget_all_descriptors();
  forget_all_directories();
}

[[gnu::constructor]] void begin_process(int /*argc*/, char** /*argv*/, char** environment) {
  const ErrnoGuard keep;
  resolve_next_symbols();
  if (environment == nullptr) return;
  read_settings(environment);
  if (!settings.trace && !settings.place) return;
  read_rank(environment);
  arena.start_process();
  active.placing = settings.place && open_plan_file();
  active.calls = settings.trace && settings.trace_calls;
  if (settings.trace || active.placing) ::pthread_atfork(nullptr, nullptr, begin_child);
  __atomic_store_n(&active.tracing, settings.trace, __ATOMIC_RELEASE);
}

// Counting goes on afterwards: destructors of others may still write.
void note_end() {
  if (!active.tracing) return;
  const ErrnoGuard keep;
  record_all_closed();
  arena.mark_closed();
}

[[gnu::destructor]] void end_process() {
  check_open_streams();
  note_end();
}

// ---- The environment of a new program ---------------------------------------------------------------------------------------

constexpr std::size_t kMaxVariables = 1024;
constexpr std::size_t kMaxPreload = 2048;

bool has_variable(char* const* variables, const char* variable) {
  const char* const equals = std::strchr(variable, '=');
  if (equals == nullptr) return true;
  const auto size = static_cast<std::size_t>(equals - variable) + 1;
  for (; *variables != nullptr; ++variables) {
    if (std::strncmp(*variables, variable, size) == 0) return true;
  }
  return false;
}

bool lists_library(const char* preload) { return std::strstr(preload, std::strchr(settings.preload, '=') + 1) != nullptr; }

// Nothing to be done: the library is there already, or the program is told to do without.
bool is_complete(char* const* variables) {
  bool listed = false;
  for (char* const* variable = variables; *variable != nullptr; ++variable) {
    if (const char* const disable = value_of(*variable, "IEZ_DISABLE"); disable != nullptr && *disable != '\0' && *disable != '0')
      return true;
    if (const char* const preload = value_of(*variable, "LD_PRELOAD"); preload != nullptr) listed = lists_library(preload);
  }
  return listed;
}

// The value of LD_PRELOAD, "" if there is none.
const char* preload_of(char* const* variables) {
  for (; *variables != nullptr; ++variables) {
    if (const char* const others = value_of(*variables, "LD_PRELOAD"); others != nullptr) return others;
  }
  return "";
}

constexpr std::size_t kLongestVariable = 128UL << 10U;  // that the kernel takes

// The variables and what they point to, as far as the kernel would read them: it says what is wrong with others.
bool is_environment(char* const* variables) {
  ReadableMemory list;
  ReadableMemory texts;
  for (;; ++variables) {
    if (!list.has(static_cast<const void*>(variables), sizeof(char*))) return false;
    if (*variables == nullptr) return true;
    if (!texts.has_text(*variables, kLongestVariable)) return false;
  }
}

// Bytes that a copy of an environment takes in which the library is found again. 0: the environment is good as it is, or too
// large to be copied, or no environment at all: then the kernel says so.
std::size_t copy_size(char* const* variables) {
  if ((!active.tracing && !active.placing) || settings.preload[0] == '\0' || !is_environment(variables) || is_complete(variables))
    return 0;
  std::size_t count = 0;
  while (variables[count] != nullptr) ++count;
  const std::size_t preload = std::strlen(settings.preload) + 1 + std::strlen(preload_of(variables)) + 1;
  if (count > kMaxVariables || preload > kMaxPreload) return 0;
  return (count + kMaxKept + 2) * sizeof(char*) + preload;
}

// Makes that copy. The room is in the frame of the caller: a child of vfork() has no other memory of its own.
char* const* copy_with_library(char* const* variables, void* room) {
  auto** const copy = static_cast<char**>(room);
  std::size_t count = 0;
  char** preload = nullptr;
  for (char* const* variable = variables; *variable != nullptr; ++variable) {
    if (preload == nullptr && value_of(*variable, "LD_PRELOAD") != nullptr) preload = copy + count;
    copy[count++] = *variable;
  }
  if (preload == nullptr) preload = copy + count++;
  for (std::size_t i = 0; i < settings.kept_count; ++i) {
    if (!has_variable(variables, settings.kept[i])) copy[count++] = settings.kept[i];
  }
  copy[count++] = nullptr;
  const char* const others = preload_of(variables);
  char* text = reinterpret_cast<char*>(copy + count);
  *preload = text;
  const std::size_t own_size = std::strlen(settings.preload);
  std::memcpy(text, settings.preload, own_size + 1);
  if (*others == '\0') return copy;
  text[own_size] = ':';
  std::memcpy(text + own_size + 1, others, std::strlen(others) + 1);
  return copy;
}

// ---- Another program in this process -----------------------------------------------------------------------------------------

// `execute` returns only if it failed; then the process goes on.
template <typename Call>
int become(Call execute) {
  if (active.tracing) note_end();
  const int status = execute();
  if (active.tracing) {
    const ErrnoGuard keep;
    arena.mark_open();
  }
  return status;
}

template <typename Call>
int become_with(char* const* variables, Call execute) {
  if (IEZ_LIKELY(!active.tracing && !active.placing)) return execute(variables);
  if (const std::size_t size = copy_size(variables); size > 0) variables = copy_with_library(variables, __builtin_alloca(size));
  return become([&] { return execute(variables); });
}

std::size_t count_arguments(va_list arguments) {
  std::size_t count = 1;
  while (va_arg(arguments, char*) != nullptr) ++count;
  return count;
}

}  // namespace

IEZ_INTERPOSE(int, execve, (const char* path, char* const* arguments, char* const* variables)) {
  return become_with(variables, [=](char* const* complete) { return next.execve(path, arguments, complete); });
}
IEZ_INTERPOSE(int, execvpe, (const char* file, char* const* arguments, char* const* variables)) {
  return become_with(variables, [=](char* const* complete) { return next.execvpe(file, arguments, complete); });
}
IEZ_INTERPOSE(int, fexecve, (int fd, char* const* arguments, char* const* variables)) {
  return become_with(variables, [=](char* const* complete) { return next.fexecve(fd, arguments, complete); });
}
IEZ_INTERPOSE(int, execveat, (int dirfd, const char* path, char* const* arguments, char* const* variables, int flags)) {
  return become_with(variables, [=](char* const* complete) {
    return next.execveat.exists() ? next.execveat(dirfd, path, arguments, complete, flags)
                                  : static_cast<int>(::syscall(SYS_execveat, dirfd, path, arguments, complete, flags));
  });
}
IEZ_INTERPOSE(int, execv, (const char* path, char* const* arguments)) {
  if (IEZ_LIKELY(!active.tracing && !active.placing)) return next.execv(path, arguments);
  return interposed_execve(path, arguments, environ);
}
IEZ_INTERPOSE(int, execvp, (const char* file, char* const* arguments)) {
  if (IEZ_LIKELY(!active.tracing && !active.placing)) return next.execvp(file, arguments);
  return interposed_execvpe(file, arguments, environ);
}

// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): exec takes what it does not change as char*
// The list as an array, in the frame of the caller, as libc does it.
#define IEZ_COLLECT_ARGUMENTS(array, first)                                                \
  va_list list;                                                                            \
  va_start(list, first);                                                                   \
  va_list again;                                                                           \
  va_copy(again, list);                                                                    \
  const std::size_t count = (first) == nullptr ? 0 : count_arguments(again);               \
  va_end(again);                                                                           \
  auto** const array = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  array[0] = const_cast<char*>(first);                                                     \
  for (std::size_t i = 1; i <= count; ++i) array[i] = va_arg(list, char*)

IEZ_INTERPOSE(int, execl, (const char* path, const char* first, ...)) {
  IEZ_COLLECT_ARGUMENTS(arguments, first);
  va_end(list);
  return interposed_execv(path, arguments);
}
IEZ_INTERPOSE(int, execlp, (const char* file, const char* first, ...)) {
  IEZ_COLLECT_ARGUMENTS(arguments, first);
  va_end(list);
  return interposed_execvp(file, arguments);
}
IEZ_INTERPOSE(int, execle, (const char* path, const char* first, ...)) {
  IEZ_COLLECT_ARGUMENTS(arguments, first);
  char* const* const variables = va_arg(list, char* const*);
  va_end(list);
  return interposed_execve(path, arguments, variables);
}

// NOLINTEND(cppcoreguidelines-pro-type-const-cast)

// ---- Another process ---------------------------------------------------------------------------------------------------------

IEZ_INTERPOSE(int, posix_spawn,
              (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
               char* const* arguments, char* const* variables)) {
  if (IEZ_LIKELY(!active.tracing && !active.placing))
    return next.posix_spawn(pid, path, actions, attributes, arguments, variables);
  if (const std::size_t size = copy_size(variables); size > 0) variables = copy_with_library(variables, __builtin_alloca(size));
  return next.posix_spawn(pid, path, actions, attributes, arguments, variables);
}
IEZ_INTERPOSE(int, posix_spawnp,
              (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
               char* const* arguments, char* const* variables)) {
  if (IEZ_LIKELY(!active.tracing && !active.placing))
    return next.posix_spawnp(pid, file, actions, attributes, arguments, variables);
  if (const std::size_t size = copy_size(variables); size > 0) variables = copy_with_library(variables, __builtin_alloca(size));
  return next.posix_spawnp(pid, file, actions, attributes, arguments, variables);
}

// ---- Rules ------------------------------------------------------------------------------------------------------------------

IEZ_INTERPOSE(int, prctl, (int option, unsigned long second, unsigned long third, unsigned long fourth, unsigned long fifth)) {
  if (option == PR_SET_SECCOMP) {
    arena.confine();
    active.placing = false;
    active.calls = false;  // strict rules forbid the processor's clock, too
  }
  return next.prctl(option, second, third, fourth, fifth);
}

// ---- Ends without destructors -----------------------------------------------------------------------------------------------

IEZ_INTERPOSE(void, _exit, (int status)) {
  note_end();
  next._exit(status);
  for (;;) ::syscall(SYS_exit_group, status);
}
IEZ_INTERPOSE(void, _Exit, (int status)) {
  note_end();
  next._Exit(status);
  for (;;) ::syscall(SYS_exit_group, status);
}
IEZ_INTERPOSE(void, quick_exit, (int status)) {
  note_end();
  next.quick_exit(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace iez::preload
