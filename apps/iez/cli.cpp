#include "cli.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "base/text.hpp"
#include "bench.hpp"
#include "build_info.hpp"
#include "command_line.hpp"
#include "completion_values.hpp"
#include "help.hpp"
#include "wrap.hpp"

namespace iez::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr std::string_view kCompleteCommand = "complete";  // of the scripts: completion.hpp

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{{{"debug", LogLevel::debug},
                                                                        {"info", LogLevel::info},
                                                                        {"warning", LogLevel::warning},
                                                                        {"error", LogLevel::error},
                                                                        {"off", LogLevel::off}}};
constexpr std::array<std::pair<std::string_view, std::string_view (*)()>, 3> kShells{
    {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}};
constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kFormats{{{"text", LogFormat::text}, {"json", LogFormat::json}}};

// What a value is, by the word that help has for it.
struct ValueKind {
  std::string_view name;
  ShellNames names;
  bool beside_others;  // also where other words are offered: a plan file, or an application
};
constexpr std::array kValueKinds{
    ValueKind{"FILE", ShellNames::file, false},     ValueKind{"DIR|FILE", ShellNames::file, false},
    ValueKind{"TRACE", ShellNames::file, false},    ValueKind{"PATH", ShellNames::file, false},
    ValueKind{"PREFIX", ShellNames::file, false},   ValueKind{"CSV", ShellNames::file, false},
    ValueKind{"INPUT", ShellNames::file, false},    ValueKind{"LOG", ShellNames::file, false},
    ValueKind{"SPOOL", ShellNames::file, false},    ValueKind{"PROGRAM", ShellNames::file, false},
    ValueKind{"PLAN", ShellNames::file, true},      ValueKind{"SCENARIO", ShellNames::file, true},
    ValueKind{"A", ShellNames::file, true},         ValueKind{"B", ShellNames::file, true},
    ValueKind{"DIR", ShellNames::directory, false}, ValueKind{"COMMAND", ShellNames::command, false}};

// Help without CLI11's lists of what excludes or needs what: the text says it where it matters, and the error always does.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const bool many = option->get_positional() && option->get_expected_max() > 1;
    return (option->get_type_name().empty() ? "" : ' ' + option->get_type_name()) + (many ? " ..." : "");
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_display_name(), command->get_description());
  }
  std::string make_description(const CLI::App* command) const override {
    return wrapped(CLI::Formatter::make_description(command), 0, 0, kHelpWidth) + '\n';
  }
  std::string make_footer(const CLI::App* command) const override {
    std::string path;
    for (const CLI::App* at = command; at->get_parent() != nullptr; at = at->get_parent()) {
      path = path.empty() ? at->get_name() : at->get_name() + ' ' + path;
    }
    const std::string_view example = example_of(path);
    const std::string footer = command->get_footer();
    return (example.empty() ? std::string() : fmt::format("Example:\n  {}\n", example)) +
           (footer.empty() ? std::string() : fmt::format("\n{}\n", wrapped(footer, 0, 0, kHelpWidth)));
  }

 private:
  static constexpr std::size_t kHelpWidth = 80;
  static constexpr std::size_t kColumn = 30;

  // Two columns; a name that is too long has a line of its own.
  static std::string entry(const std::string& name, const std::string& text) {
    const std::string left = "  " + name;
    if (text.empty()) return left + '\n';
    const bool fits = left.size() < kColumn;
    return fmt::format("{}{:{}}{}\n", left + (fits ? "" : "\n"), "", fits ? kColumn - left.size() : kColumn,
                       wrapped(text, kColumn, kColumn, kHelpWidth));
  }
};

}  // namespace

CommandLine::CommandLine() : app_("iez: an end-to-end I/O control plane for Lustre", "iez") {
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.set_version_flag("--version", fmt::format("iez {} ({})", build::kVersion, build::kCommit));
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.footer("'iez COMMAND --help' tells more; so do the man pages iez(1), iez-status(1), ...");
  add_choice(app_, "--log-level", log_.level, kLevels, "Least severe message to write on stderr (default: warning)");
  add_choice(app_, "--log-format", log_.format, kFormats, "text for people, json for collectors: one object a line");
  add_run();
  add_status();
  add_top();
  add_layout();
  add_place();
  add_plan();
  add_application();
  add_store();
  add_contention();
  add_advise();
  add_tune();
  add_trace();
  add_log();
  add_forecast();
  add_sim();
  add_repro();
  add_inject();
  add_doctor();
  add_serve();
  add_token();
  add_lab();
  add_collective();
  add_workload();
  add_demo();
  add_agent();
  add_jobs();
  add_keys();
  add_bench();
  add_completion();
  add_help();
  for (CLI::App* const command : app_.get_subcommands([](CLI::App*) { return true; })) {
    if (const std::string_view group = group_of(command->get_name()); !group.empty()) command->group(std::string(group));
  }
  refuse_empty_values(app_);
}

int CommandLine::run(int argc, const char* const* argv) {
  given_ = {argv, static_cast<std::size_t>(argc)};
  // The words of a line that is not finished: none of them is ours.
  if (argc >= 2 && argv[1] == kCompleteCommand) return complete_line(given_.subspan(2));
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return usage(problem);
  }
  auto log = Logger::make(log_);
  if (!log) return failed(log.error());
  SystemClock clock;
  Context context{.clock = clock, .log = *log, .terminal = detect_terminal()};
  const auto result = action_(context);
  if (!result) return failed(result.error());
  return kDone;
}

Result<Duration> CommandLine::parse_positive_duration(std::string_view text) {
  IEZ_TRY(const Duration duration, parse_duration(text));
  if (duration == Duration::zero()) return fail(Errc::invalid_argument, "must be more than 0");
  return duration;
}

void CommandLine::add_bench() {
  CLI::App* const command = app_.add_subcommand("bench", "Run a benchmark; without a name, list them");
  CLI::Option* const names = command->add_option("NAME", bench_.names, "Which ones")->type_name("");
  for (const bench::Bench& known : bench::benches()) offer(names, std::array{known.name});
  command->add_flag("--all", bench_.all, "All of them")->excludes(names);
  command->add_flag("--json", bench_.json, "One JSON document a benchmark");
  command->add_flag("--quick", bench_.quick, "Small input: shows that it works, compares nothing");
  command
      ->add_option("--peer", bench_.peers, "For preload: a tracer to compare with, darshan=LIB or recorder=LIB; repeat for more")
      ->type_name("NAME=LIB")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* const cases = command->add_option("--case", bench_.cases, "For loop: only this case; repeat for more")
                                 ->type_name("CASE")
                                 ->expected(1)
                                 ->take_all()
                                 ->allow_extra_args(false);
  offer(cases, bench::case_names());
  command
      ->add_option("--cell", bench_.cells, "For collective: only cells of never_slower with this in their names; repeat for more")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--measure", bench_.measure,
                   "Parse this job_stats dump and report its cost, as lustre-parse does in a process of its own")
      ->type_name("FILE")
      ->excludes("--all");
  on(command, [this](Context& context) { return run_bench(bench_, context); });
}

void CommandLine::add_completion() {
  CLI::App* const command = app_.add_subcommand("completion", "Print what makes a shell complete: source <(iez completion bash)");
  std::vector<std::string> names;
  for (const auto& [name, script] : kShells) names.emplace_back(name);
  offer(command->add_option("SHELL", shell_, fmt::format("{}", fmt::join(names, ", ")))
            ->required()
            ->check(one_of(names))
            ->type_name(""),
        names);
  on(command, [this](Context&) {
    return print(std::ranges::find(kShells, shell_, &std::pair<std::string_view, std::string_view (*)()>::first)->second());
  });
}

void CommandLine::add_help() {
  CLI::App* const command = app_.add_subcommand("help", "Print the help of a command");
  values_[command->add_option("COMMAND", topic_, "Its name, e.g. 'layout set'")->type_name("")] = {};  // completion knows it
  on(command, [this](Context&) { return help(); });
}

void CommandLine::on(CLI::App* command, Action action) {
  command->footer("");
  command->callback([this, action = std::move(action)] { action_ = action; });
}

int CommandLine::usage(const CLI::ParseError& problem) const {
  if (problem.get_exit_code() == 0) {  // --help and --version are answers
    std::ostringstream answer;
    app_.exit(problem, answer, answer);
    const auto printed = print(answer.str());
    return printed ? kDone : failed(printed.error());
  }
  const CLI::App& command = innermost(app_);
  fmt::print(stderr, "iez: {}{}\nTry '{} --help'.\n", text::printable(complaint(problem, command)), suggestion(problem, command),
             path_of(command));
  return kUsage;
}

const CLI::App& CommandLine::innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string CommandLine::path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "iez";
  return path_of(*command.get_parent()) + ' ' + command.get_name();
}

// For a word that nobody knows: the one that was perhaps meant.
std::string CommandLine::suggestion(const CLI::ParseError& problem, const CLI::App& command) const {
  const auto code = static_cast<CLI::ExitCodes>(problem.get_exit_code());  // its name is the command's
  if (code != CLI::ExitCodes::ExtrasError && code != CLI::ExitCodes::RequiredError) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) known.push_back(option->get_name());
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) known.push_back(sub->get_name());
  const std::vector<std::string_view> views(known.begin(), known.end());
  for (const std::string& word : app_.remaining(true)) {
    const auto meant = text::nearest(word.substr(0, word.find('=')), views);
    if (meant) return fmt::format("; did you mean {}?", *meant);
  }
  return "";
}

int CommandLine::failed(const Error& error) const {
  // Some messages have several lines.
  std::string_view rest = error.message;
  std::string text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    text += text::printable(line) + '\n';
  }
  fmt::print(stderr, "{}: {}", path_of(innermost(app_)), text);
  // What the user asked for makes no sense, as opposed to what the system says to it.
  return error.code == Errc::invalid_argument && error.os_errno == 0 ? kUsage : kFailed;
}

CommandWords CommandLine::words(const CLI::App& app) const {
  CommandWords made{.name = app.get_name(), .text = app.get_description()};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {  // not hidden
    made.commands.push_back(words(*sub));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      made.arguments.push_back({.values = values_of(*option), .many = option->get_items_expected_max() > 1});
      continue;
    }
    OptionWords known{
        .text = option->get_description(),
        .takes_value = option->get_items_expected_max() > 0,
        .repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll || option->get_items_expected_max() > 1,
        .values = values_of(*option)};
    for (const std::string& name : option->get_lnames()) known.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.names.push_back("-" + name);
    made.options.push_back(std::move(known));
  }
  return made;
}

// What is offered for a value that nobody said more of: names of files where its kind is one.
ValueWords CommandLine::values_of(const CLI::Option& option) const {
  const auto known = values_.find(&option);
  ValueWords values = known == values_.end() ? ValueWords{} : known->second;
  const std::string kind = option.get_positional() ? option.get_name(true) : option.get_type_name();
  const auto names = std::ranges::find(kValueKinds, kind, &ValueKind::name);
  if (names != kValueKinds.end() && (known == values_.end() || names->beside_others)) values.names = names->names;
  if (option.check_lname("store")) values.names = ShellNames::file;
  return values;
}

// Whatever goes wrong, or takes too long: nothing is offered, and nobody is told.
int CommandLine::complete_line(std::span<const char* const> words) const {
  constexpr unsigned kPatienceSeconds = 1;
  std::signal(SIGALRM, [](int) { ::_exit(kDone); });
  ::alarm(kPatienceSeconds);
  std::vector<std::string> line;
  if (words.size() == 2 && std::string_view(words[0]) == "--line") {
    line = split_line(words[1]);
  } else if (!words.empty()) {
    line.assign(words.begin() + 1, words.end());  // behind "--"
  }
  SystemClock clock;
  const auto gather = [&clock](Gathered what, std::span<const GivenOption> given) { return gather_words(what, given, clock); };
  (void)print(to_text(complete(this->words(app_), line, gather)));  // a shell that went away wants no answer
  return kDone;
}

Result<void> CommandLine::help() const {
  const CLI::App* command = &app_;
  std::string path = "iez";
  for (const std::string& word : topic_) {
    const auto subcommands = command->get_subcommands([](const CLI::App*) { return true; });
    const auto found =
        std::find_if(subcommands.begin(), subcommands.end(), [&](const CLI::App* app) { return app->get_name() == word; });
    if (found == subcommands.end()) return fail(Errc::invalid_argument, fmt::format("{} has no command '{}'", path, word));
    command = *found;
    path += ' ' + word;
  }
  // App::help() would speak of the command that was given, which is this one.
  return print(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
}

int run(int argc, const char* const* argv) { return CommandLine().run(argc, argv); }

}  // namespace iez::cli
