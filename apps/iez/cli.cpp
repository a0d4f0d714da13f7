#include "cli.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/text.hpp"
#include "bench.hpp"
#include "build_info.hpp"
#include "command_line.hpp"
#include "help.hpp"
#include "wrap.hpp"

namespace iez::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{{{"debug", LogLevel::debug},
                                                                        {"info", LogLevel::info},
                                                                        {"warning", LogLevel::warning},
                                                                        {"error", LogLevel::error},
                                                                        {"off", LogLevel::off}}};
constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kFormats{{{"text", LogFormat::text}, {"json", LogFormat::json}}};

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
}

int CommandLine::run(int argc, const char* const* argv) {
  given_ = {argv, static_cast<std::size_t>(argc)};
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

// An unsigned number: "-1" would wrap around.
CLI::Validator CommandLine::whole_number() {
  return {[](const std::string& given) {
            return text::parse_u64(given) ? std::string{} : fmt::format("'{}': expected a whole number", given);
          },
          ""};
}

void CommandLine::add_bench() {
  CLI::App* const command = app_.add_subcommand("bench", "Run a benchmark; without a name, list them");
  CLI::Option* const names = command->add_option("NAME", bench_.names, "Which ones")->type_name("");
  for (const bench::Bench& known : bench::benches()) arguments_[command].emplace_back(known.name);
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
  for (const std::string_view known : bench::case_names()) choices_[cases].emplace_back(known);
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
  CLI::App* const command = app_.add_subcommand("completion", "Print a completion script: source <(iez completion bash)");
  arguments_[command] = {"bash"};
  command->add_option("SHELL", shell_, "bash")->required()->check(CLI::IsMember({"bash"}).description(""))->type_name("");
  on(command, [this](Context&) { return print(bash_completion(words())); });
}

void CommandLine::add_help() {
  CLI::App* const command = app_.add_subcommand("help", "Print the help of a command");
  command->add_option("COMMAND", topic_, "Its name, e.g. 'layout set'")->type_name("");
  for (const CLI::App* other : app_.get_subcommands(nullptr)) arguments_[command].push_back(other->get_name());
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
  fmt::print(stderr, "iez: {}{}\nTry '{} --help'.\n", complaint(problem, command), suggestion(problem, command),
             path_of(command));
  return kUsage;
}

const CLI::App& CommandLine::innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

// In place of CLI11's "A subcommand is required", where a word is one that nobody knows.
std::string CommandLine::complaint(const CLI::ParseError& problem, const CLI::App& command) const {
  const auto code = static_cast<CLI::ExitCodes>(problem.get_exit_code());
  const std::vector<std::string> words = app_.remaining(true);
  const bool lacks = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  const bool has_commands = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (lacks && has_commands && !words.empty() && !words.front().starts_with('-')) {
    return fmt::format("unknown command '{}'", text::printable(words.front()));
  }
  return problem.what();
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

std::vector<CommandWords> CommandLine::words() const {
  std::vector<CommandWords> all;
  collect(app_, "", all);
  return all;
}

void CommandLine::collect(const CLI::App& app, const std::string& path, std::vector<CommandWords>& all) const {
  CommandWords entry{.path = path};
  // Options of iez itself may stand behind any command.
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) add_options(*level, entry.options);
  if (const auto found = arguments_.find(&app); found != arguments_.end()) entry.arguments = found->second;
  const auto subcommands = app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });  // not hidden
  for (const CLI::App* sub : subcommands) entry.subcommands.push_back(sub->get_name());
  all.push_back(std::move(entry));
  for (const CLI::App* sub : subcommands) collect(*sub, path.empty() ? sub->get_name() : path + ' ' + sub->get_name(), all);
}

void CommandLine::add_options(const CLI::App& app, std::vector<OptionWords>& options) const {
  for (const CLI::Option* option : app.get_options()) {
    std::vector<std::string> names;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    const auto choices = choices_.find(option);
    for (const std::string& name : names) {
      if (std::any_of(options.begin(), options.end(), [&](const OptionWords& known) { return known.name == name; })) continue;
      options.push_back({.name = name,
                         .takes_value = option->get_items_expected_max() > 0,
                         .choices = choices == choices_.end() ? std::vector<std::string>{} : choices->second});
    }
  }
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
