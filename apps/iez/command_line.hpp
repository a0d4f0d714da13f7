// The command line of iez: its commands and options, by CLI11. The commands of one area are added in one file, cli_*.cpp.
//
// Only these files include this header: CLI11 is the slowest header we have.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "advise.hpp"
#include "agent.hpp"
#include "bench_command.hpp"
#include "collective.hpp"
#include "command.hpp"
#include "completion.hpp"
#include "contention.hpp"
#include "demo.hpp"
#include "doctor.hpp"
#include "forecast_run.hpp"
#include "forecast_series.hpp"
#include "inject.hpp"
#include "jobs_collect.hpp"
#include "jobs_command.hpp"
#include "keys_command.hpp"
#include "lab.hpp"
#include "layout.hpp"
#include "log_command.hpp"
#include "place.hpp"
#include "plan_command.hpp"
#include "plan_store_command.hpp"
#include "repro.hpp"
#include "run_command.hpp"
#include "serve_command.hpp"
#include "serve_status.hpp"
#include "sim_compare.hpp"
#include "sim_list.hpp"
#include "sim_run.hpp"
#include "status.hpp"
#include "store_command.hpp"
#include "top.hpp"
#include "trace_command.hpp"
#include "tune.hpp"
#include "workload.hpp"

namespace iez::cli {

// "a, b or c".
std::string listed_by_or(std::span<const std::string> words);

class CommandLine {
 public:
  CommandLine();

  // The exit status.
  int run(int argc, const char* const* argv);

 private:
  using Action = std::function<Result<void>(Context&)>;

  // value: a T, or an optional one.
  template <typename V, typename T, std::size_t N>
  void add_choice(CLI::App& command, const std::string& name, V& value,
                  const std::array<std::pair<std::string_view, T>, N>& choices, const std::string& text) {
    std::vector<std::string> names;
    names.reserve(choices.size());
    for (const auto& choice : choices) names.emplace_back(choice.first);
    CLI::Option* const option = command.add_option_function<std::string>(
        name,
        [&value, &choices](const std::string& given) {
          for (const auto& [word, meaning] : choices) {
            if (word == given) value = meaning;
          }
        },
        text);
    option->check(one_of(names))->type_name(fmt::format("{}", fmt::join(names, "|")));
    offer(option, names);
  }

  // What completion offers for a value.
  template <typename Words>
  void offer(const CLI::Option* option, const Words& words) {
    for (const auto& word : words) values_[option].choices.push_back({.word = std::string(word), .text = ""});
  }
  void offer(const CLI::Option* option, Gathered gathered) { values_[option].gathered = gathered; }
  // Numbers of OSTs, with commas between them.
  void offer_osts(const CLI::Option* option) {
    values_[option] = {.choices = {}, .gathered = Gathered::osts, .names = ShellNames::none, .list = true};
  }

  // A size or a rate, as people write it.
  template <typename T>
  static CLI::Option* add_quantity(CLI::App& command, const std::string& name, const std::string& text, const char* type,
                                   Result<T> (*parse)(std::string_view), const std::function<void(T)>& take) {
    return command
        .add_option_function<std::string>(
            name,
            [name, parse, take](const std::string& given) {
              const auto value = parse(given);
              if (!value) throw CLI::ValidationError(name, value.error().message);
              take(*value);
            },
            text)
        ->type_name(type);
  }

  // A duration of more than nothing, or of nothing where that has a meaning.
  static CLI::Option* add_duration(CLI::App& command, const std::string& name, const std::string& text, bool may_be_zero,
                                   const std::function<void(Duration)>& take) {
    return add_quantity<Duration>(command, name, text, "TIME", may_be_zero ? parse_duration : parse_positive_duration, take);
  }

  static Result<Duration> parse_positive_duration(std::string_view text);

  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  // An unsigned number: "-1" would wrap around.
  static CLI::Validator whole_number(std::uint64_t least = 0, std::uint64_t most = kNoLimit);
  static CLI::Validator number(double least, double most);
  static CLI::Validator one_of(std::vector<std::string> words);
  static void refuse_empty_values(CLI::App& app);

  void on(CLI::App* command, Action action);

  void add_sources(CLI::App& command, SourceOptions& options);
  static void add_watch(CLI::App& command, WatchOptions& options);
  void add_status();
  void add_top();
  void add_layout();
  void add_place();
  void add_run();
  void add_plan();
  static void add_store_flags(CLI::App& command, StoreOptions& options);
  void add_store();
  void add_application();
  void add_contention();
  void add_advise();
  void add_tune();
  void add_merge_limits(CLI::App& command, std::optional<Bytes>& memory, std::string& temporary, bool& drop_unused);
  void add_trace_form(CLI::App& command, TraceForm& form);
  void add_trace();
  static Result<Bytes> parse_window(std::string_view text);
  void add_log();
  void add_forecast();
  void add_sim();
  void add_repro();
  void add_inject();
  void add_doctor();
  void add_jobs();
  static void add_jobs_node(CLI::App& command, JobsNodeOptions& options);
  void add_jobs_collect(CLI::App& jobs);
  void add_jobs_import(CLI::App& jobs);
  void add_serve();
  void add_token();
  void add_lab();
  void add_lab_choice(CLI::App& command, LabChoice& choice);
  void add_lab_up(CLI::App& command);
  void add_collective();
  void add_workload_common(CLI::App& command, WorkloadOptions& options);
  void add_workload_sizes(CLI::App& command, WorkloadOptions& options);
  void add_array_options(CLI::App& command, WorkloadOptions& options);
  void add_workload();
  void add_demo();
  void add_agent();
  void add_keys();
  static void add_number(CLI::App& command, const std::string& name, double& value, const std::string& text);
  static void add_jobs_store(CLI::App& command, JobsStoreOptions& options);
  static void add_jobs_range(CLI::App& command, JobsRangeOptions& options);
  static void add_jobs_analysis(CLI::App& command, jobs::AnalysisOptions& options);
  void add_jobs_keeping(CLI::App& jobs);
  void add_bench();
  void add_completion();
  void add_help();

  Result<void> help() const;
  [[nodiscard]] int usage(const CLI::ParseError& problem) const;
  static const CLI::App& innermost(const CLI::App& app);
  static std::string path_of(const CLI::App& command);
  std::string complaint(const CLI::ParseError& problem, const CLI::App& command) const;
  std::string suggestion(const CLI::ParseError& problem, const CLI::App& command) const;
  [[nodiscard]] int failed(const Error& error) const;
  CommandWords words(const CLI::App& app) const;
  ValueWords values_of(const CLI::Option& option) const;
  int complete_line(std::span<const char* const> words) const;

  CLI::App app_;
  Action action_;
  std::span<const char* const> given_;
  std::map<const CLI::Option*, ValueWords> values_;  // that completion offers; of others the kind of value tells
  Logger::Options log_;
  StatusOptions status_;
  TopOptions top_;
  LayoutShowOptions show_;
  LayoutSetOptions set_;
  PlaceOptions place_;
  std::string explained_;
  RunCommandOptions run_;
  PlanCompileOptions plan_compile_;
  PlanShowOptions plan_show_;
  PlanCheckOptions plan_check_;
  PlanExplainOptions plan_explain_;
  PlanDiffOptions plan_diff_;
  PlanExpireOptions plan_expire_;
  StoreOptions db_show_;
  DbExportOptions db_export_;
  DbImportOptions db_import_;
  StoreOptions db_check_;
  DbMigrateOptions db_migrate_;
  DbServeOptions db_serve_;
  AppListOptions app_list_;
  AppShowOptions app_show_;
  AppForgetOptions app_forget_;
  ContentionOptions contention_;
  AdviseOptions advise_;
  TuneOptions tune_;
  TraceShowOptions trace_show_;
  TraceMergeOptions trace_merge_;
  TraceExportOptions trace_export_;
  TraceExportOptions trace_import_;
  LogShowOptions log_show_;
  LogCheckOptions log_check_;
  LogFlattenOptions log_flatten_;
  ForecastSeriesOptions forecast_series_;
  ForecastRunOptions forecast_run_;
  SimRunOptions sim_run_;
  SimCompareOptions sim_compare_;
  SimListOptions sim_list_;
  SimShowOptions sim_show_;
  ReproOptions repro_;
  InjectOptions inject_;
  DoctorOptions doctor_;
  JobsNodeOptions jobs_prolog_;
  JobsNodeOptions jobs_epilog_;
  JobsCollectOptions jobs_collect_;
  JobsSpoolOptions jobs_spool_;
  JobsImportOptions jobs_import_;
  ServeOptions serve_;
  ServeStatusOptions serve_status_;
  TokenOptions token_;
  LabUpOptions lab_up_;
  LabDownOptions lab_down_;
  LabStatusOptions lab_status_;
  LabExecOptions lab_exec_;
  LabDfOptions lab_df_;
  LabFaultOptions lab_fault_;
  LabServeOptions lab_serve_;
  CollectiveExplainOptions collective_explain_;
  WorkloadOptions workload_ior_;
  WorkloadOptions workload_hacc_;
  WorkloadOptions workload_flash_;
  WorkloadOptions workload_chimera_;
  WorkloadRankOptions workload_rank_;
  DemoOptions demo_;
  AgentOptions agent_;
  AgentWatchOptions agent_watch_;
  KeysOptions keys_;
  JobsReportOptions jobs_report_;
  JobsShowOptions jobs_show_;
  JobsUserOptions jobs_user_;
  JobsContentionOptions jobs_contention_;
  JobsIngestOptions jobs_ingest_;
  JobsSynthOptions jobs_synth_;
  JobsStoreOptions jobs_check_;
  JobsStoreOptions jobs_compact_;
  JobsRetainOptions jobs_retain_;
  JobsSqlOptions jobs_sql_;
  BenchOptions bench_;
  std::string shell_;
  std::vector<std::string> topic_;
};

}  // namespace iez::cli
