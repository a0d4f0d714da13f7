// `iez completion bash`: made from the commands themselves, so that it cannot fall behind them.
#pragma once

#include <string>
#include <vector>

namespace iez::cli {

// Among choices: the user's applications, asked for when somebody completes.
inline constexpr const char* kApplicationWords = "$(iez app list --no-header 2>/dev/null | cut -d\" \" -f1)";

struct OptionWords {
  std::string name;  // "--sort"
  bool takes_value = false;
  std::vector<std::string> choices;  // empty: a file name, or anything
};

struct CommandWords {
  std::string path;  // "" for iez itself, "layout show"
  std::vector<std::string> subcommands;
  std::vector<std::string> arguments;  // choices of a positional argument
  std::vector<OptionWords> options;
};

std::string bash_completion(const std::vector<CommandWords>& commands);

}  // namespace iez::cli
