#include "coordinator/metrics.hpp"

#include <iterator>

#include <fmt/format.h>

namespace iez::coordinator {

namespace {

std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return out;
}

class Text {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void value(std::string_view name, std::string_view labels, double number) {
    if (labels.empty()) {
      fmt::format_to(std::back_inserter(text_), "{} {}\n", name, number);
    } else {
      fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name, labels, number);
    }
  }
  void one(std::string_view name, std::string_view type, std::string_view help, double number) {
    head(name, type, help);
    value(name, "", number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

template <typename Value>
void targets(Text& text, std::span<const FileSystemReport> file_systems, std::string_view name, std::string_view help, Value of) {
  text.head(name, "gauge", help);
  for (const FileSystemReport& file_system : file_systems) {
    for (const TargetReport& target : file_system.targets) {
      text.value(name, fmt::format("component=\"ost\",target=\"{}\"", label(target.name)), of(target));
    }
  }
}

double kib(Bytes bytes) { return static_cast<double>(bytes.count / 1024); }

}  // namespace

std::string metrics_text(const ServiceState& state, std::span<const FileSystemReport> file_systems) {
  Text text;
  targets(text, file_systems, "lustre_available_kilobytes", "Number of kilobytes readily available in the pool",
          [](const TargetReport& target) { return kib(target.available); });
  targets(text, file_systems, "lustre_free_kilobytes", "Number of kilobytes allocated to the pool",
          [](const TargetReport& target) { return kib(target.free); });
  targets(text, file_systems, "lustre_capacity_kilobytes", "Capacity of the pool in kilobytes",
          [](const TargetReport& target) { return kib(target.total); });
  targets(text, file_systems, "iez_reserved_bytes", "Bytes of plans that are not written yet",
          [](const TargetReport& target) { return static_cast<double>(target.reserved.count); });
  targets(text, file_systems, "iez_target_stale", "1 if telemetry of the target is old: it is planned around",
          [](const TargetReport& target) { return target.stale ? 1.0 : 0.0; });
  targets(text, file_systems, "iez_target_usable", "1 if the target takes new objects of plans",
          [](const TargetReport& target) { return target.exclusion == placement::Exclusion::none ? 1.0 : 0.0; });
  text.head("iez_server_cpu_ratio", "gauge", "Busy share of a server's cores");
  for (const FileSystemReport& file_system : file_systems) {
    for (const model::Oss& server : file_system.servers) {
      if (!server.cpu) continue;
      text.value("iez_server_cpu_ratio",
                 fmt::format("file_system=\"{}\",server=\"{}\"", label(file_system.name), label(server.name)), *server.cpu);
    }
  }
  const Counters& counters = state.counters;
  const auto count = [](std::uint64_t number) { return static_cast<double>(number); };
  text.one("iez_plans_pending", "gauge", "Plans that are not written yet", count(state.plans));
  text.one("iez_files_pending", "gauge", "Planned files that are not created yet", count(state.files));
  text.one("iez_queue_requests", "gauge", "Requests that wait", count(state.queue));
  text.one("iez_gate_closed", "gauge", "1 while this node is too busy to plan", state.busy ? 1 : 0);
  text.one("iez_node_cpu_ratio", "gauge", "Busy share of this node's cores", state.load.cpu);
  text.one("iez_node_memory_ratio", "gauge", "Used share of this node's memory", state.load.memory);
  text.one("iez_gate_cpu_limit_ratio", "gauge", "Busy share of this node's cores that closes the gate", state.limit.cpu);
  text.one("iez_gate_memory_limit_ratio", "gauge", "Used share of this node's memory that closes the gate", state.limit.memory);
  text.one("iez_plan_requests_total", "counter", "Requests that were planned", count(counters.planned));
  text.one("iez_planned_files_total", "counter", "Files that were planned", count(counters.planned_files));
  text.one("iez_left_to_default_total", "counter", "Requests without a plan, since Lustre's default is as good",
           count(counters.left_to_default));
  text.one("iez_created_files_total", "counter", "Planned files that were reported created", count(counters.created_files));
  text.one("iez_refused_requests_total", "counter", "Requests that could not be planned", count(counters.refused));
  text.one("iez_queued_requests_total", "counter", "Requests that had to wait", count(counters.queued));
  text.one("iez_expired_plans_total", "counter", "Plans that expired or were taken back", count(counters.expired));
  text.one("iez_mended_plans_total", "counter", "Plans that were changed because an OST failed or filled up",
           count(counters.mended));
  text.one("iez_joined_plans_total", "counter", "Plans that were made anew together with those of other applications",
           count(counters.together));
  text.one("iez_begun_plans_total", "counter", "Plans that were changed when their run began, by what others moved",
           count(counters.begun));
  text.one("iez_ledger_commits_total", "counter", "Transactions of the ledger", count(counters.commits));
  text.one("iez_ledger_failures_total", "counter", "Transactions of the ledger that failed", count(counters.failed_commits));
  return text.take();
}

std::string pull_metrics_text(std::span<const PullReport> databases) {
  if (databases.empty()) return {};
  Text text;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto of) {
    text.head(name, type, help);
    for (const PullReport& one : databases) {
      text.value(name, fmt::format("database=\"{}\"", label(one.url)), static_cast<double>(of(one.figures)));
    }
  };
  each("iez_pull_up", "gauge", "1 if the database answered at the last turn", [](const PullFigures& f) { return f.up ? 1 : 0; });
  each("iez_pull_revision", "gauge", "Revision of the database that was seen", [](const PullFigures& f) { return f.revision; });
  each("iez_pull_waiting", "gauge", "Predictions that have no plan yet", [](const PullFigures& f) { return f.waiting; });
  each("iez_pull_turns_total", "counter", "Times that the database was asked", [](const PullFigures& f) { return f.turns; });
  each("iez_pull_failures_total", "counter", "Of them, those that came to nothing",
       [](const PullFigures& f) { return f.failures; });
  each("iez_pull_fetched_total", "counter", "Predictions that were fetched", [](const PullFigures& f) { return f.fetched; });
  each("iez_pull_posted_total", "counter", "Plans that the database took", [](const PullFigures& f) { return f.posted; });
  each("iez_pull_verdicts_total", "counter", "Predictions without a plan, since Lustre's default is as good",
       [](const PullFigures& f) { return f.verdicts; });
  each("iez_pull_replaced_total", "counter", "Plans that came too late", [](const PullFigures& f) { return f.replaced; });
  each("iez_pull_refused_total", "counter", "Predictions that could not be planned",
       [](const PullFigures& f) { return f.refused; });
  return text.take();
}

}  // namespace iez::coordinator
