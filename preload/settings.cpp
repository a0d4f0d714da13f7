#include "settings.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstring>

#include "path_names.hpp"
#include "system.hpp"

#ifndef IEZ_SITE_SWITCH
#define IEZ_SITE_SWITCH "/etc/iez/preload.conf"
#endif

namespace iez::preload {

constinit Settings settings;

namespace {

constexpr std::uint32_t kMebibyte = 1U << 20U;
constexpr std::uint32_t kDefaultMebibytes = 4;
constexpr std::uint32_t kMaxMebibytes = 6;  // with the tables of the library less than 8
constexpr const char* kSystemFolders[] = {"/dev", "/proc", "/sys", "/run", "/etc", "/usr", "/lib", "/lib64", "/bin", "/sbin"};

const char* find_variable(char** environment, const char* name) {
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (const char* const value = value_of(*variable, name); value != nullptr) return value;
  }
  return nullptr;
}

bool is_set(char** environment, const char* name) {
  const char* const value = find_variable(environment, name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

template <std::size_t kRoom>
bool copy_text(char (&to)[kRoom], const char* from) {
  const std::size_t size = std::strlen(from);
  if (size >= kRoom) return false;
  std::memcpy(to, from, size + 1);
  return true;
}

bool any_only_below(const char* folder) {
  for (const char* one = settings.only; *one != '\0';) {
    const char* const end = ::strchrnul(one, ':');
    if (end != one && below_any(folder, one, static_cast<std::size_t>(end - one))) return true;
    one = *end == ':' ? end + 1 : end;
  }
  return false;
}

// But for those in which a folder is asked for by name.
void except_system_folders() {
  char* to = settings.except;
  for (const char* const folder : kSystemFolders) {
    if (any_only_below(folder)) continue;
    if (to != settings.except) *to++ = ':';
    const std::size_t size = std::strlen(folder);
    std::memcpy(to, folder, size);
    to += size;
  }
  *to = '\0';
}

// A program may change its working directory before the first record is made.
bool copy_path(char (&to)[PATH_MAX], const char* from) {
  static Name name;
  return from != nullptr && *from != '\0' && absolute_text(AT_FDCWD, from, name) && copy_text(to, name.text);
}

// "enabled=false" on a line of its own, blanks allowed.
bool says_disabled(const char* text) {
  while (*text != '\0') {
    char line[16];
    std::size_t size = 0;
    bool comment = false;
    for (; *text != '\0' && *text != '\n'; ++text) {
      comment = comment || *text == '#';
      if (*text == ' ' || *text == '\t' || *text == '\r' || comment) continue;
      if (size < sizeof(line)) line[size] = *text;
      ++size;
    }
    if (size == 13 && std::memcmp(line, "enabled=false", 13) == 0) return true;
    if (*text == '\n') ++text;
  }
  return false;
}

bool disabled_by_site() {
  const int fd = sys_openat(AT_FDCWD, IEZ_SITE_SWITCH, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0) return false;
  static char text[4096];
  const ssize_t size = sys_read(fd, text, sizeof(text) - 1);
  sys_close(fd);
  text[size > 0 ? size : 0] = '\0';
  return says_disabled(text);
}

std::uint32_t arena_bytes(const char* mebibytes) {
  std::uint32_t count = 0;
  for (const char* digit = mebibytes; digit != nullptr && *digit >= '0' && *digit <= '9' && count < 1000; ++digit) {
    count = count * 10 + static_cast<std::uint32_t>(*digit - '0');
  }
  if (count == 0) count = kDefaultMebibytes;
  return (count < kMaxMebibytes ? count : kMaxMebibytes) * kMebibyte;
}

void keep_for_new_programs(char** environment) {
  Dl_info here{};
  constexpr char kVariable[] = "LD_PRELOAD=";
  if (::dladdr(&settings, &here) != 0 && here.dli_fname != nullptr && here.dli_fname[0] == '/' &&
      std::strlen(here.dli_fname) < PATH_MAX) {
    std::memcpy(settings.preload, kVariable, sizeof(kVariable));
    std::memcpy(settings.preload + sizeof(kVariable) - 1, here.dli_fname, std::strlen(here.dli_fname) + 1);
  }
  std::size_t used = 0;
  for (char** variable = environment; *variable != nullptr && settings.kept_count < kMaxKept; ++variable) {
    const std::size_t size = std::strlen(*variable) + 1;
    if (std::strncmp(*variable, "IEZ_", 4) != 0 || size > sizeof(settings.kept_texts) - used) continue;
    std::memcpy(settings.kept_texts + used, *variable, size);
    settings.kept[settings.kept_count++] = settings.kept_texts + used;
    used += size;
  }
}

}  // namespace

const char* value_of(const char* variable, const char* name) {
  const std::size_t size = std::strlen(name);
  return std::strncmp(variable, name, size) == 0 && variable[size] == '=' ? variable + size + 1 : nullptr;
}

void read_settings(char** environment) {
  const char* const trace = find_variable(environment, "IEZ_TRACE");
  const char* const plan = find_variable(environment, "IEZ_PLAN");
  if ((trace == nullptr && plan == nullptr) || is_set(environment, "IEZ_DISABLE")) return;
  if (::getauxval(AT_SECURE) != 0 || disabled_by_site()) return;

  if (const char* const only = find_variable(environment, "IEZ_ONLY"); only != nullptr && !copy_text(settings.only, only)) return;
  const char* const except = find_variable(environment, "IEZ_EXCEPT");
  settings.except_given = except != nullptr;
  if (except != nullptr && !copy_text(settings.except, except)) return;

  settings.respect_directory_layout = !is_set(environment, "IEZ_OVERRIDE_DIRECTORIES");
  settings.trace_calls = is_set(environment, "IEZ_TRACE_CALLS");
  settings.arena_bytes = arena_bytes(find_variable(environment, "IEZ_TRACE_MIB"));
  add_real_names(settings.only, sizeof(settings.only));
  if (settings.except_given) {
    add_real_names(settings.except, sizeof(settings.except));
  } else {
    except_system_folders();
  }
  settings.trace = copy_path(settings.trace_directory, trace);
  settings.place = copy_path(settings.plan_file, plan);
  if (settings.trace || settings.place) keep_for_new_programs(environment);
}

}  // namespace iez::preload
