// What is said of a command line that is wrong: CLI11 tells what happened, these are our words for it.
#include <algorithm>

#include "base/text.hpp"
#include "command_line.hpp"

namespace iez::cli {

namespace {

// "--interval" of "-i,--interval".
std::string_view long_name(std::string_view names) {
  const std::size_t comma = names.rfind(',');
  return comma == std::string_view::npos ? names : names.substr(comma + 1);
}

std::string shown_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : std::string(long_name(option.get_name()));
}

// The option that a message of CLI11 begins with; its names may be joined.
const CLI::Option* option_of(std::string_view message, const CLI::App& command) {
  const std::string_view names = message.substr(0, message.find_first_of(": "));
  for (const CLI::App* level = &command; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      if (shown_name(*option) == long_name(names) || option->check_name(std::string(long_name(names)))) return option;
    }
  }
  return nullptr;
}

// What an option takes, for people: the word that help has for it.
std::string kind_of(const CLI::Option& option) {
  std::string kind = option.get_type_name();
  if (kind.find('|') == std::string::npos || kind.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos) return kind;
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= kind.size();) {
    const std::size_t bar = std::min(kind.find('|', begin), kind.size());
    words.push_back(kind.substr(begin, bar - begin));
    begin = bar + 1;
  }
  return listed_by_or(words);
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", text::printable(text)); }

std::string not_converted(const CLI::Option& option, std::string_view message) {
  const std::size_t equals = message.find(" = ");
  const std::string_view value = equals == std::string_view::npos ? "" : message.substr(equals + 3);
  const std::string name = shown_name(option);
  if (option.get_items_expected_max() == 0) return fmt::format("{} takes no value; found {}", name, in_quotes(value));
  const bool is_whole = !value.empty() && std::ranges::all_of(value, text::is_digit);
  return fmt::format("{}: {}{}", name, in_quotes(value), is_whole ? " is too large" : ": expected a number");
}

std::string missing(const CLI::Option& option) {
  return fmt::format("{} is missing: {}", shown_name(option), option.get_description());
}

std::string missing_command(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    names.push_back(sub->get_name());
  }
  if (command.get_parent() == nullptr) return "say which command; 'iez --help' lists them";
  return fmt::format("say which command: {}", listed_by_or(names));
}

std::string not_expected(const std::vector<std::string>& words) {
  const auto option = std::ranges::find_if(words, [](const std::string& word) { return word.size() > 1 && word.front() == '-'; });
  if (option != words.end()) return fmt::format("unknown option {}", in_quotes(option->substr(0, option->find('='))));
  if (words.empty()) return "there is a word too many";
  return fmt::format("{} is a word too many", in_quotes(words.front()));
}

// "A excludes B", "A requires B".
std::string_view second_name(std::string_view message) { return long_name(message.substr(message.rfind(' ') + 1)); }

}  // namespace

std::string listed_by_or(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

CLI::Validator CommandLine::one_of(std::vector<std::string> words) {
  return {[words = std::move(words)](const std::string& given) {
            if (std::ranges::find(words, given) != words.end()) return std::string{};
            const std::vector<std::string_view> views(words.begin(), words.end());
            const auto meant = text::nearest(given, views);
            return fmt::format("{}: expected {}{}", in_quotes(given), listed_by_or(words),
                               meant ? fmt::format("; did you mean {}?", *meant) : std::string());
          },
          ""};
}

CLI::Validator CommandLine::whole_number(std::uint64_t least, std::uint64_t most) {
  return {[least, most](const std::string& given) {
            const auto number = text::parse_u64(given);
            if (number && *number >= least && *number <= most) return std::string{};
            const bool is_number = !given.empty() && std::ranges::all_of(given, text::is_digit);
            if (most == kNoLimit && is_number && !number) return fmt::format("{} is too large", in_quotes(given));
            return fmt::format(
                "{}: expected a whole number{}", in_quotes(given),
                most == kNoLimit ? fmt::format(", {} or more", least) : fmt::format(" from {} to {}", least, most));
          },
          ""};
}

CLI::Validator CommandLine::number(double least, double most) {
  return {[least, most](const std::string& given) {
            const auto value = text::parse_double(given);
            if (value && *value >= least && *value <= most) return std::string{};
            constexpr double kNobodyGivesMore = 1e18;
            return fmt::format("{}: expected a number{}", in_quotes(given),
                               most >= kNobodyGivesMore ? fmt::format(", {:.12g} or more", least)
                                                        : fmt::format(" from {:.12g} to {:.12g}", least, most));
          },
          ""};
}

std::string CommandLine::complaint(const CLI::ParseError& problem, const CLI::App& command) const {
  const auto code = static_cast<CLI::ExitCodes>(problem.get_exit_code());
  std::string message = problem.what();
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (message.starts_with(kNotConverted)) message.erase(0, kNotConverted.size());
  const std::vector<std::string> words = app_.remaining(true);
  const bool lacks = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  const bool has_commands = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (lacks && has_commands && !words.empty() && !words.front().starts_with('-')) {
    return fmt::format("unknown command {}", in_quotes(words.front()));
  }
  if (code == CLI::ExitCodes::ExtrasError) return not_expected(words);
  const CLI::Option* const option = option_of(message, command);
  if (option == nullptr) return code == CLI::ExitCodes::RequiredError && has_commands ? missing_command(command) : message;
  const std::string name = shown_name(*option);
  switch (code) {
    case CLI::ExitCodes::RequiredError:
      return missing(*option);
    case CLI::ExitCodes::ConversionError:
      return not_converted(*option, message);
    case CLI::ExitCodes::RequiresError:
      return fmt::format("{} needs {}, too", name, second_name(message));
    case CLI::ExitCodes::ExcludesError:
      return fmt::format("{} and {} cannot be given together", name, second_name(message));
    case CLI::ExitCodes::ArgumentMismatch:
      if (message.ends_with("missing")) return fmt::format("{} needs a value: {}", name, kind_of(*option));
      if (message.find("At Most") != std::string::npos) {
        return fmt::format("{} is given {} times; give it once", name, message.substr(message.rfind(' ') + 1));
      }
      return fmt::format("{} takes no value", name);
    case CLI::ExitCodes::ValidationError:
      if (const std::size_t colon = message.find(": "); colon != std::string::npos) return name + message.substr(colon);
      break;
    default:
      break;
  }
  return message;
}

// In place of nothing, which is most often a variable of a script that is not set.
void CommandLine::refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_items_expected_max() == 0) continue;
    option->check(CLI::Validator(
        [kind = kind_of(*option)](const std::string& given) {
          return given.empty() ? fmt::format("the value is empty: expected {}", kind) : std::string{};
        },
        ""));
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) refuse_empty_values(*sub);
}

}  // namespace iez::cli
