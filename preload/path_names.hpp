// The absolute name of a file: that of its directory without symbolic links, and the last part as the program said it. Plans and
// traces know files by these names, whichever way a program takes to them.
//
// What a directory is really called is asked for once (three system calls), and kept in a small table of the process by what the
// program called it. It is believed for a second, or until this process renames or removes a directory or link that is in the
// table: so who makes a link point elsewhere is seen a second later at most. A directory that cannot be asked (there is none, or
// no descriptor is left) has the name that the program said, with "//", "." and ".." taken out as text.
//
// Thread safety: any thread; async-signal-safe, lock-free. errno is changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::preload {

inline constexpr std::size_t kNameRoom = 8192;  // as the trace allows

struct Name {
  std::size_t size = 0;      // 0: there is none, or it does not fit
  char text[kNameRoom + 1];  // ends with a zero
};

// path: not empty. False if there is no such name, or it is too long. The last part is not followed if it is a link.
bool absolute_name(int dirfd, const char* path, Name& name);

// As text: no link is followed, and nothing is asked but the working directory.
bool absolute_text(int dirfd, const char* path, Name& name);

// What the system calls the file of a descriptor: for those that came from a parent, an exec or a raw system call.
bool name_of_descriptor(int fd, Name& name);

// The name may be another directory from now on: if it is one in the table, that is emptied.
void forget_directory(const Name& name);

// In a new process.
void forget_all_directories();

// Adds what directories of a list such as "/scratch:/work/x" are really called, as long as there is room.
void add_real_names(char* list, std::size_t room);

// In which directories the last part of a name may be a symbolic link. Only the system can tell, and one question a file is too
// much for who makes thousands: a directory in which so many new names in a row were no links is taken to have none.
class LinkGuess {
 public:
  bool may_be_link(const Name& name) const { return __atomic_load_n(&of(name), __ATOMIC_RELAXED) < kEnoughNames; }
  void learn(const Name& name, bool is_link);

 private:
  static constexpr std::uint8_t kEnoughNames = 16;

  std::uint8_t& of(const Name& name) const;
  mutable std::uint8_t plain_names_[1024] = {};  // by directory: new names in a row that were no links
};

// The directory part: "/" at least.
std::size_t directory_size(const Name& name);

// FNV-1a.
std::uint64_t hash_of(const char* text, std::size_t size);

// Whether one of the names in a list such as "/scratch:/work/x" is the name or a directory above it.
bool below_any(const char* list, const char* name, std::size_t size);

}  // namespace iez::preload
