#include "path_names.hpp"

#include <cstring>

#include "system.hpp"

namespace iez::preload {

namespace {

// Appends the parts of `path` to a name that is "" (the root) or "/a/b".
bool append_parts(const char* path, Name& name) {
  while (*path != '\0') {
    while (*path == '/') ++path;
    const char* end = path;
    while (*end != '\0' && *end != '/') ++end;
    const auto size = static_cast<std::size_t>(end - path);
    if (size == 0) break;
    if (size == 2 && path[0] == '.' && path[1] == '.') {
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

}  // namespace

bool absolute_name(int dirfd, const char* path, Name& name) {
  name.size = 0;
  if (path == nullptr || *path == '\0') return false;
  if (*path != '/') {
    if (!set_start(dirfd, name)) return false;
    if (name.size == 1) name.size = 0;
  }
  if (!append_parts(path, name)) {
    name.size = 0;
    return false;
  }
  if (name.size == 0) name.text[name.size++] = '/';
  name.text[name.size] = '\0';
  return true;
}

bool name_of_descriptor(int fd, Name& name) {
  name.size = 0;
  return set_link_target(ProcFd(fd).c_str(), name);
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
