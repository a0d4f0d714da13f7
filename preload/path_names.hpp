// The absolute name of a file, as the program said it: made absolute by the working directory or the dirfd, with "//", "." and
// ".." taken out as text. Symbolic links are not followed: plans and traces know files by the names that programs use.
//
// Thread safety: any thread; async-signal-safe. errno is changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::preload {

inline constexpr std::size_t kNameRoom = 8192;  // as the trace allows

struct Name {
  std::size_t size = 0;      // 0: there is none, or it does not fit
  char text[kNameRoom + 1];  // ends with a zero
};

// path: not empty. False if there is no such name, or it is too long.
bool absolute_name(int dirfd, const char* path, Name& name);

// What the system calls the file of a descriptor: for those that came from a parent, an exec or a raw system call.
bool name_of_descriptor(int fd, Name& name);

// The directory part: "/" at least.
std::size_t directory_size(const Name& name);

// FNV-1a.
std::uint64_t hash_of(const char* text, std::size_t size);

// Whether one of the names in a list such as "/scratch:/work/x" is the name or a directory above it.
bool below_any(const char* list, const char* name, std::size_t size);

}  // namespace iez::preload
