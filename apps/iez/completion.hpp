// What may stand next in a command line that begins with `iez`: the law of completion, and the scripts for shells that ask it.
//
// The tree of commands is the only source: a script knows no command. It hands the words so far to `iez complete`, which answers
// with a line that says what else to offer, and a line for each word:
//
//     NAMES NUMBER
//     WORD<tab>DESCRIPTION
//
// NAMES: "none"; "file" or "directory": names of files, too, behind NUMBER bytes of the current word; "command": the word with
// this number (from 0, behind `iez`) begins a command of its own, which the shell knows how to complete.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iez::cli {

struct OfferedWord {
  std::string word;
  std::string text;  // what it is; may be empty

  friend bool operator==(const OfferedWord&, const OfferedWord&) = default;
};

// Names that the shell itself completes.
enum class ShellNames : std::uint8_t { none, file, directory, command };

// What is looked up when somebody completes.
enum class Gathered : std::uint8_t { nothing, applications, osts, lab_parts, labs, file_systems };

// The values that an option or an argument takes.
struct ValueWords {
  std::vector<OfferedWord> choices;
  Gathered gathered = Gathered::nothing;
  ShellNames names = ShellNames::none;
  bool list = false;  // several with commas between them: 3,1,2
};

struct OptionWords {
  std::vector<std::string> names;  // "--sort", "-s"
  std::string text;
  bool takes_value = false;
  bool repeats = false;  // may be given again
  ValueWords values;
};

struct ArgumentWords {
  ValueWords values;
  bool many = false;  // this one, and all that follow
};

struct CommandWords {
  std::string name;  // the last word of its path; "iez" for the whole
  std::string text;
  std::vector<CommandWords> commands;
  std::vector<ArgumentWords> arguments;
  std::vector<OptionWords> options;  // its own; those of the commands above it may be given, too
};

// An option of the line so far, with its value: what is looked up may depend on it (--root, --store).
struct GivenOption {
  std::string name;  // the first of its names
  std::string value;
};

using Gather = std::function<std::vector<OfferedWord>(Gathered what, std::span<const GivenOption> given)>;

struct Completion {
  std::vector<OfferedWord> words;  // whole ones, in place of the current word
  ShellNames names = ShellNames::none;
  std::size_t number = 0;  // as above
};

// words: those behind `iez`, the last one up to the cursor; it may be empty.
Completion complete(const CommandWords& iez, std::span<const std::string> words, const Gather& gather);
std::string to_text(const Completion& completion);  // as above

// As a shell of the Bourne family splits a line, which may end within quotes. Without the first word, which is `iez`; the last
// one is what the cursor stands at, and empty behind a blank.
std::vector<std::string> split_line(std::string_view line);

// Scripts, which are for all versions of the program alike.
std::string_view bash_completion();
std::string_view zsh_completion();
std::string_view fish_completion();

}  // namespace iez::cli
