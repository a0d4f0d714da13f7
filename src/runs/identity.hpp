// Which application a command is: the same for every run of it, whatever its step counts, files and number of ranks are.
//
// The program is the first word that is neither a launcher (mpirun, srun, ...) nor a wrapper (numactl, env, time, ...) nor an
// option of theirs; behind an interpreter (python3, bash, ...) it is the script. Its name is the last part of its path. Two
// programs of one name are told apart by a fingerprint of the path of the program and of those arguments that say what it does:
//   kept     options without their values; words that are neither numbers nor paths
//   dropped  numbers, also with a unit or as "8x8x8"; whatever has a '/' or a '.'; the same behind "key="
//   -c TEXT  of a shell: the text, with every number in it the same
// What is dropped may change from run to run. A program that is built anew stays the same application.
//
// Thread safety: pure functions, as far as the probe is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace iez::runs {

// What the file system says of a word.
struct ProgramProbe {
  std::function<bool(std::string_view word)> is_program;        // an executable file, found as execvp() does
  std::function<std::string(std::string_view word)> canonical;  // its whole path, links followed; the word if there is none
};

struct CommandIdentity {
  std::size_t program = 0;      // which word it is; that of the script behind an interpreter
  std::string launcher;         // the name of the last word that is one, wrappers before it or not; empty: there is none
  std::size_t launcher_at = 0;  // which word that is
  std::string program_name;
  std::string fingerprint;  // 16 hexadecimal digits
  std::string application;  // "NAME-FINGERPRINT", of that the first 8 digits
};

// REQUIRES: words is not empty.
CommandIdentity identify(std::span<const std::string> words, const ProgramProbe& probe);

// The words from a launcher to what it starts, which may be a wrapper.
struct Launch {
  std::string name;  // of the launcher
  std::size_t at = 0;
  std::size_t starts = 0;  // the number of words, if it starts nothing
};

// The same launcher as identify() finds, of a command whose program is known. REQUIRES: words is not empty.
std::optional<Launch> launch_of(std::span<const std::string> words, std::size_t program);

// Whether an application may be called so: 1 to 128 letters, digits and any of ". _ - + @ :", the first no '.' nor '-'.
bool valid_application(std::string_view name);

// The name with what is not allowed made '_'.
std::string made_valid(std::string_view name);

}  // namespace iez::runs
