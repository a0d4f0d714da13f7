#include "path_names.hpp"

#include <climits>
#include <cstring>

#include "scratch.hpp"
#include "system.hpp"

namespace iez::preload {

namespace {

enum class Parents : std::uint8_t { as_text, kept };  // what becomes of ".."

// Appends the parts of `path` to a name that is "" (the root) or "/a/b".
bool append_parts(const char* path, Parents parents, Name& name) {
  while (*path != '\0') {
    while (*path == '/') ++path;
    const char* end = path;
    while (*end != '\0' && *end != '/') ++end;
    const auto size = static_cast<std::size_t>(end - path);
    if (size == 0) break;
    if (parents == Parents::as_text && size == 2 && path[0] == '.' && path[1] == '.') {
      while (name.size > 0 && name.text[name.size - 1] != '/') --name.size;
      if (name.size > 0) --name.size;
    } else if (size != 1 || path[0] != '.') {
      if (name.size + 1 + size > kNameRoom) return false;
      name.text[name.size++] = '/';
      std::memcpy(name.text + name.size, path, size);
      name.size += size;
    }
    path = end;
  }
  return true;
}

bool set_link_target(const char* link, Name& name) {
  const ssize_t size = sys_readlink(link, name.text, kNameRoom);
  if (size <= 0 || name.text[0] != '/') return false;
  name.size = static_cast<std::size_t>(size);
  name.text[name.size] = '\0';
  return true;
}

bool set_start(int dirfd, Name& name) {
  if (dirfd != AT_FDCWD) return set_link_target(ProcFd(dirfd).c_str(), name);
  const ssize_t size = sys_getcwd(name.text, kNameRoom);
  if (size <= 0 || name.text[0] != '/') return false;  // "(unreachable)..." outside a chroot
  name.size = static_cast<std::size_t>(size);
  return true;
}

// `start`: how much of the name the system said, where there are no links.
bool join(int dirfd, const char* path, Parents parents, Name& name, std::size_t& start) {
  name.size = start = 0;
  if (path == nullptr || *path == '\0') return false;
  if (*path != '/') {
    if (!set_start(dirfd, name)) return false;
    if (name.size == 1) name.size = 0;
  }
  start = name.size;
  if (!append_parts(path, parents, name)) {
    name.size = 0;
    return false;
  }
  if (name.size == 0) name.text[name.size++] = '/';
  name.text[name.size] = '\0';
  return true;
}

// ---- What directories are really called ---------------------------------------------------------------------------------------

constexpr std::size_t kKnownDirectories = 128;
constexpr std::size_t kRealRoom = 224;
constexpr std::int64_t kBelieved = 1'000'000'000;

// A sequence lock that nobody waits for: a reader that meets a writer asks the system, a second writer keeps nothing.
struct alignas(64) KnownDirectory {
  std::uint64_t sequence;  // odd: being written
  std::uint64_t hash;      // of what the program called it
  std::int64_t asked_ns;   // 0: nothing is known
  std::uint32_t epoch;
  std::uint32_t size;  // 0: it is called as the program says
  char real[kRealRoom];
};
static_assert(sizeof(KnownDirectory) == 256);

KnownDirectory known_directories[kKnownDirectories];
std::uint32_t epoch;  // what was asked for in an earlier one is forgotten

KnownDirectory& place_of(std::uint64_t hash) { return known_directories[(hash >> 20U) % kKnownDirectories]; }

// Whether the table knows it. real_size 0: as the program says.
bool find_directory(std::uint64_t hash, char* real, std::size_t& real_size) {
  const KnownDirectory& known = place_of(hash);
  const std::uint64_t before = __atomic_load_n(&known.sequence, __ATOMIC_ACQUIRE);
  if ((before & 1) != 0 || known.hash != hash || known.asked_ns == 0 ||
      known.epoch != __atomic_load_n(&epoch, __ATOMIC_RELAXED) || clock_ns(CLOCK_MONOTONIC_COARSE) - known.asked_ns > kBelieved) {
    return false;
  }
  real_size = known.size;
  if (real_size > kRealRoom) return false;
  std::memcpy(real, known.real, real_size);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&known.sequence, __ATOMIC_RELAXED) == before;
}

void keep_directory(std::uint64_t hash, const char* real, std::size_t real_size) {
  if (real_size > kRealRoom) return;
  KnownDirectory& known = place_of(hash);
  std::uint64_t sequence = __atomic_load_n(&known.sequence, __ATOMIC_RELAXED);
  if ((sequence & 1) != 0 ||
      !__atomic_compare_exchange_n(&known.sequence, &sequence, sequence + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  known.hash = hash;
  known.asked_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
  known.epoch = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
  known.size = static_cast<std::uint32_t>(real_size);
  std::memcpy(known.real, real, real_size);
  __atomic_store_n(&known.sequence, sequence + 2, __ATOMIC_RELEASE);
}

// What the system calls a directory: its size, or -1.
ssize_t ask_real_name(const char* directory, char* real, std::size_t room) {
  const int fd = sys_openat(AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  const ssize_t size = sys_readlink(ProcFd(fd).c_str(), real, room);
  sys_close(fd);
  return size > 0 && static_cast<std::size_t>(size) < room && real[0] == '/' ? size : -1;
}

// Puts the real name of a directory in the place of the first `size` bytes of the name.
bool replace_directory(Name& name, std::size_t size, const char* real, std::size_t real_size) {
  if (real_size == 1) real_size = 0;  // "/"
  if (real_size + name.size - size > kNameRoom) return false;
  std::memmove(name.text + real_size, name.text + size, name.size - size + 1);
  std::memcpy(name.text, real, real_size);
  name.size = name.size - size + real_size;
  return true;
}

bool ends_in_parent(const Name& name) { return name.size >= 3 && std::memcmp(name.text + name.size - 3, "/..", 3) == 0; }

// Resolves the directory of a joined name. False if the system does not know it.
bool resolve_directory(Name& name) {
  const std::size_t size = directory_size(name);
  const std::uint64_t hash = hash_of(name.text, size);
  char real[kRealRoom];
  std::size_t real_size = 0;
  if (find_directory(hash, real, real_size)) return real_size == 0 || replace_directory(name, size, real, real_size);
  const Scratch scratch;
  if (!scratch) return false;
  char* const answer = scratch->name.text;
  name.text[size] = '\0';
  const ssize_t asked = ask_real_name(name.text, answer, kNameRoom);
  name.text[size] = '/';
  if (asked < 0) return false;
  const auto answered = static_cast<std::size_t>(asked);
  const bool same = answered == size && std::memcmp(answer, name.text, size) == 0;
  keep_directory(hash, answer, same ? 0 : answered);
  return same || replace_directory(name, size, answer, answered);
}

}  // namespace

bool absolute_text(int dirfd, const char* path, Name& name) {
  std::size_t start = 0;
  return join(dirfd, path, Parents::as_text, name, start);
}

bool absolute_name(int dirfd, const char* path, Name& name) {
  std::size_t start = 0;
  if (!join(dirfd, path, Parents::kept, name, start) || ends_in_parent(name)) return absolute_text(dirfd, path, name);
  const std::size_t directory = directory_size(name);
  if (directory == 1 || directory == start) return true;  // the root, or what the system said
  return resolve_directory(name) || absolute_text(dirfd, path, name);
}

void forget_directory(const Name& name) {
  const std::uint64_t hash = hash_of(name.text, name.size);
  if (__atomic_load_n(&place_of(hash).hash, __ATOMIC_RELAXED) == hash) __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
}

void forget_all_directories() { std::memset(static_cast<void*>(known_directories), 0, sizeof(known_directories)); }

void add_real_names(char* list, std::size_t room) {
  const Scratch scratch;
  if (!scratch) return;
  std::size_t used = std::strlen(list);
  const std::size_t given = used;
  for (std::size_t at = 0; at < given;) {
    std::size_t size = 0;
    while (at + size < given && list[at + size] != ':') ++size;
    char* const directory = scratch->name.text;
    if (size > 0 && size <= kNameRoom) {
      std::memcpy(directory, list + at, size);
      directory[size] = '\0';
      const ssize_t asked = ask_real_name(directory, scratch->other_name.text, kNameRoom);
      const std::size_t real = asked < 0 ? 0 : static_cast<std::size_t>(asked);
      const bool same = real == size && std::memcmp(directory, scratch->other_name.text, size) == 0;
      if (real > 1 && !same && used + 1 + real < room) {
        list[used] = ':';
        std::memcpy(list + used + 1, scratch->other_name.text, real);
        used += 1 + real;
        list[used] = '\0';
      }
    }
    at += size + 1;
  }
}

bool name_of_descriptor(int fd, Name& name) {
  name.size = 0;
  return set_link_target(ProcFd(fd).c_str(), name);
}

std::uint8_t& LinkGuess::of(const Name& name) const {
  return plain_names_[(hash_of(name.text, directory_size(name)) >> 20U) % sizeof(plain_names_)];
}

void LinkGuess::learn(const Name& name, bool is_link) {
  std::uint8_t& plain = of(name);
  const std::uint8_t seen = __atomic_load_n(&plain, __ATOMIC_RELAXED);
  if (is_link) {
    __atomic_store_n(&plain, std::uint8_t{0}, __ATOMIC_RELAXED);
  } else if (seen < kEnoughNames) {
    __atomic_store_n(&plain, static_cast<std::uint8_t>(seen + 1), __ATOMIC_RELAXED);
  }
}

std::size_t directory_size(const Name& name) {
  std::size_t size = name.size;
  while (size > 1 && name.text[size - 1] != '/') --size;
  return size > 1 ? size - 1 : 1;
}

std::uint64_t hash_of(const char* text, std::size_t size) {
  std::uint64_t hash = 0xCBF29CE4'84222325;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x00000100'000001B3;
  return hash;
}

bool below_any(const char* list, const char* name, std::size_t size) {
  while (*list != '\0') {
    const char* end = list;
    while (*end != '\0' && *end != ':') ++end;
    auto length = static_cast<std::size_t>(end - list);
    while (length > 0 && list[length - 1] == '/') --length;
    const bool is_root = length == 0 && end != list;
    if (is_root ||
        (length > 0 && length <= size && std::memcmp(list, name, length) == 0 && (length == size || name[length] == '/'))) {
      return true;
    }
    list = *end == ':' ? end + 1 : end;
  }
  return false;
}

}  // namespace iez::preload
