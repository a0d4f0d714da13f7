#include "completion.hpp"

#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kHelp = "help";  // its arguments are commands

bool has_name(const OptionWords& option, std::string_view name) {
  return std::ranges::find(option.names, name) != option.names.end();
}

// The words up to the current one: in which command they are, and what they wait for.
class Line {
 public:
  explicit Line(const CommandWords& iez) : levels_{&iez} {}

  void take(const std::string& word, std::size_t number) {
    if (command_at_) return;
    if (waiting_ != nullptr) {
      given_.push_back({.name = waiting_->names.front(), .value = word});
      waiting_ = nullptr;
      return;
    }
    if (!only_arguments_ && word == "--") {
      only_arguments_ = true;
      return;
    }
    if (!only_arguments_ && word.size() > 1 && word.front() == '-') {
      take_option(word);
      return;
    }
    if (arguments_ == 0 && !only_arguments_) {
      const auto& commands = level().commands;
      const auto found = std::ranges::find(commands, word, &CommandWords::name);
      if (found != commands.end()) {
        enter(*found);
        return;
      }
    }
    if (const ArgumentWords* const argument = this->argument(); argument != nullptr && begins_command(*argument)) {
      command_at_ = number;
    }
    ++arguments_;
  }

  Completion offer(const std::string& current, std::size_t number, const Gather& gather) const {
    Completion answer;
    if (command_at_) return {.names = ShellNames::command, .number = *command_at_};
    if (waiting_ != nullptr) {
      offer_values(waiting_->values, current, 0, gather, answer);
    } else if (const std::size_t equals = current.find('=');
               !only_arguments_ && current.starts_with("--") && equals != std::string::npos) {
      const OptionWords* const option = option_named(current.substr(0, equals));
      if (option != nullptr && option->takes_value) offer_values(option->values, current, equals + 1, gather, answer);
    } else if (!only_arguments_ && current.starts_with('-')) {
      offer_options(current, answer);
    } else {
      offer_arguments(current, number, gather, answer);
    }
    return answer;
  }

 private:
  const CommandWords& level() const { return *levels_.back(); }

  void enter(const CommandWords& command) {
    if (levels_.size() == 1 && command.name == kHelp) {
      is_help_ = true;  // what follows is the path of a command
    } else {
      levels_.push_back(&command);
    }
  }

  const OptionWords* option_named(std::string_view name) const {
    for (const CommandWords* const level : std::views::reverse(levels_)) {
      for (const OptionWords& option : level->options) {
        if (has_name(option, name)) return &option;
      }
    }
    return nullptr;
  }

  void take_option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const OptionWords* const option = option_named(is_long ? word.substr(0, equals) : word.substr(0, 2));
    if (option == nullptr) return;
    if (!option->takes_value) {
      given_.push_back({.name = option->names.front(), .value = ""});
    } else if (equals != std::string::npos) {
      given_.push_back({.name = option->names.front(), .value = word.substr(equals + 1)});
    } else if (!is_long && word.size() > 2) {  // -n5
      given_.push_back({.name = option->names.front(), .value = word.substr(2)});
    } else {
      waiting_ = option;
    }
  }

  const ArgumentWords* argument() const {
    const auto& arguments = level().arguments;
    if (arguments_ < arguments.size()) return &arguments[arguments_];
    return !arguments.empty() && arguments.back().many ? &arguments.back() : nullptr;
  }

  static bool begins_command(const ArgumentWords& argument) { return argument.values.names == ShellNames::command; }

  void offer_options(const std::string& current, Completion& answer) const {
    std::vector<std::string_view> seen;
    for (const CommandWords* const level : std::views::reverse(levels_)) {
      for (const OptionWords& option : level->options) {
        // A short name is as quickly typed as completed, unless there is no other.
        const std::string& name = option.names.front();
        const bool again = !option.repeats && std::ranges::find(given_, name, &GivenOption::name) != given_.end();
        if (again || !name.starts_with(current) || std::ranges::find(seen, name) != seen.end()) continue;
        seen.emplace_back(name);
        answer.words.push_back({.word = name, .text = option.text});
      }
    }
  }

  void offer_arguments(const std::string& current, std::size_t number, const Gather& gather, Completion& answer) const {
    if (arguments_ == 0 && !only_arguments_) {
      for (const CommandWords& command : level().commands) {
        if (command.name.starts_with(current)) answer.words.push_back({.word = command.name, .text = command.text});
      }
    }
    const ArgumentWords* const argument = is_help_ ? nullptr : this->argument();
    if (argument == nullptr) return;
    offer_values(argument->values, current, 0, gather, answer);
    if (begins_command(*argument)) answer.number = number;
  }

  // The value begins behind `from` bytes of the current word, which stay.
  void offer_values(const ValueWords& values, const std::string& current, std::size_t from, const Gather& gather,
                    Completion& answer) const {
    std::size_t begin = from;
    std::vector<std::string> taken;
    if (values.list) {
      for (std::size_t comma = current.find(',', begin); comma != std::string::npos; comma = current.find(',', begin)) {
        taken.push_back(current.substr(begin, comma - begin));
        begin = comma + 1;
      }
    }
    const std::string head = current.substr(0, begin);
    const std::string_view tail = std::string_view(current).substr(begin);
    const auto add = [&](const OfferedWord& one) {
      if (!one.word.starts_with(tail) || std::ranges::find(taken, one.word) != taken.end()) return;
      answer.words.push_back({.word = head + one.word, .text = one.text});
    };
    std::ranges::for_each(values.choices, add);
    if (values.gathered != Gathered::nothing) std::ranges::for_each(gather(values.gathered, given_), add);
    answer.names = values.names;
    answer.number = from;
  }

  std::vector<const CommandWords*> levels_;
  std::vector<GivenOption> given_;
  const OptionWords* waiting_ = nullptr;  // for its value
  bool only_arguments_ = false;           // behind "--"
  bool is_help_ = false;
  std::size_t arguments_ = 0;
  std::optional<std::size_t> command_at_;
};

constexpr std::string_view name_of(ShellNames names) {
  switch (names) {
    case ShellNames::file:
      return "file";
    case ShellNames::directory:
      return "directory";
    case ShellNames::command:
      return "command";
    case ShellNames::none:
      break;
  }
  return "none";
}

constexpr std::string_view kBash = R"(# bash completion for iez: source <(iez completion bash)
_iez() {
  local line=${COMP_LINE:0:COMP_POINT} iez=${COMP_WORDS[0]/#\~/$HOME} names number word text stays='' breaks='' i
  local whole=${line##*[[:space:]]}
  COMPREPLY=()
  # Bash replaces what stands behind the last of these characters, and no more.
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
  [[ -n $breaks && $whole == *["$breaks"]* ]] && stays=${whole%"${whole##*["$breaks"]}"}
  {
    IFS=' ' read -r names number || return 0
    while IFS=$'\t' read -r word text; do
      word=${word#"$stays"}
      [[ $word == *[!A-Za-z0-9_.,:=/@%+-]* ]] && printf -v word %q "$word"
      COMPREPLY+=("$word")
    done
  } < <("$iez" complete --line "$line" 2>/dev/null)
  case $names in
    file | directory)
      local -a flags=(-f)
      [[ $names == directory ]] && flags=(-d)
      while IFS= read -r word; do
        word=${whole:0:number}$word
        COMPREPLY+=("${word#"$stays"}")
      done < <(compgen "${flags[@]}" -- "${whole:number}")
      compopt -o filenames 2>/dev/null
      ;;
    command)
      ((i = number + 1))
      for ((number = 1; number < COMP_CWORD; number++)); do
        [[ ${COMP_WORDS[number]} == -- ]] && ((i = number + 1)) && break
      done
      if declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      elif ((i == COMP_CWORD)); then
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$whole")
      else
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$whole")
        compopt -o filenames 2>/dev/null
      fi
      ;;
  esac
}
complete -F _iez iez
)";

constexpr std::string_view kZsh = R"(#compdef iez
# zsh completion for iez: source <(iez completion zsh)
_iez() {
  local iez=${${(Q)words[1]}/#\~/$HOME} names number line
  local -a before answer offered
  (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
  answer=("${(@f)$("$iez" complete -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
  names=${answer[1]%% *} number=${answer[1]##* }
  for line in "${(@)answer[2,-1]}"; do
    [[ -n $line ]] || continue
    offered+=("${${${line%%$'\t'*}//\\/\\\\}//:/\\:}:${line#*$'\t'}")
  done
  (( $#offered )) && _describe 'iez' offered
  case $names in
    file | directory)
      (( number )) && compset -p $number
      if [[ $names == directory ]]; then _files -/; else _files; fi
      ;;
    command)
      shift $(( number + 1 )) words
      (( CURRENT -= number + 1 ))
      _normal
      ;;
    *) (( $#offered )) ;;
  esac
}
# Found in fpath, it is called at once; else it is read, and registers itself.
if [[ ${funcstack[1]-} == _iez ]]; then _iez "$@"; else compdef _iez iez; fi
)";

constexpr std::string_view kFish = R"(# fish completion for iez: iez completion fish | source
function __iez_complete
    set -l words (commandline -opc)
    set -l now (commandline -ct)
    set -l plain (string unescape -- $now); or set plain $now # as a program would be given it
    set -l iez (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l answer ($iez complete -- $words "$plain" 2>/dev/null)
    set -q answer[1]; or return
    set -l head (string split ' ' -- $answer[1])
    set -e answer[1]
    set -q answer[1]; and printf '%s\n' $answer
    switch $head[1]
        case file directory
            set -l stays (string sub -l $head[2] -- $plain)
            set -l path (string sub -s (math $head[2] + 1) -- $plain)
            for name in (complete -C "'' "(string escape -- $path))
                set name (string split -m 1 \t -- $name)[1]
                if test $head[1] = file; or string match -q '*/' -- $name
                    echo $stays$name
                end
            end
        case command
            set -l tail $words[(math $head[2] + 1)..-1]
            test $head[2] -ge (count $words); and set tail
            complete -C (string join ' ' -- (string escape -- $tail) $now)
    end
end
complete -c iez -f -a '(__iez_complete)'
)";

}  // namespace

Completion complete(const CommandWords& iez, std::span<const std::string> words, const Gather& gather) {
  Line line(iez);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) line.take(words[i], i);
  return words.empty() ? line.offer("", 0, gather) : line.offer(words.back(), words.size() - 1, gather);
}

std::string to_text(const Completion& completion) {
  std::string out = fmt::format("{} {}\n", name_of(completion.names), completion.number);
  for (const OfferedWord& one : completion.words)
    out += fmt::format("{}\t{}\n", text::printable(one.word), text::printable(one.text));
  return out;
}

std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && text::is_space(c)) {
      if (word) words.push_back(*std::move(word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (quote != '\'' && c == '\\' && i + 1 < line.size()) {
      *word += line[++i];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote == c) {
      quote = 0;
    } else {
      *word += c;
    }
  }
  words.push_back(word.value_or(""));
  words.erase(words.begin());
  return words;
}

std::string_view bash_completion() { return kBash; }
std::string_view zsh_completion() { return kZsh; }
std::string_view fish_completion() { return kFish; }

}  // namespace iez::cli
