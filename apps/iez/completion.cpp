#include "completion.hpp"

#include <fmt/format.h>

namespace iez::cli {

namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// Which words of the line so far are commands.
std::string path_case(const std::vector<CommandWords>& commands) {
  std::string out;
  for (const CommandWords& command : commands) {
    if (command.path.empty()) continue;
    out += fmt::format("      '{}') path='{}' ;;\n", command.path, command.path);
  }
  return out;
}

std::string value_case(const CommandWords& command) {
  std::string out;
  for (const OptionWords& option : command.options) {
    if (!option.takes_value) continue;
    const std::string action = option.choices.empty()
                                   ? "COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames 2>/dev/null"
                                   : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", joined(option.choices));
    out += fmt::format("    '{} {}') {}; return ;;\n", command.path, option.name, action);
  }
  return out;
}

std::string word_case(const CommandWords& command) {
  std::vector<std::string> options;
  for (const OptionWords& option : command.options) {
    if (option.name.starts_with("--")) options.push_back(option.name);  // a short one is as quickly typed
  }
  std::vector<std::string> words = command.subcommands;
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  return fmt::format("    '{}') words='{}'; options='{}' ;;\n", command.path, joined(words), joined(options));
}

}  // namespace

std::string bash_completion(const std::vector<CommandWords>& commands) {
  std::string values;
  std::string words;
  for (const CommandWords& command : commands) {
    values += value_case(command);
    words += word_case(command);
  }
  return fmt::format(R"(# bash completion for iez: source <(iez completion bash)
_iez() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' word words options
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{path:+$path }}$word" in
{}    esac
  done
  case "$path $prev" in
{}  esac
  case "$path" in
{}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null
  fi
}}
complete -F _iez iez
)",
                     path_case(commands), values, words);
}

}  // namespace iez::cli
