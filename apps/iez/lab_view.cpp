#include "lab_view.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "lab/client_node.hpp"
#include "table.hpp"

namespace iez::cli {
namespace {

using lab::FaultKind;

struct Word {
  std::string_view word;
  FaultKind kind;
};
constexpr std::array<Word, 5> kKinds{{{"none", FaultKind::none},
                                      {"slow", FaultKind::slow},
                                      {"full", FaultKind::full},
                                      {"drop", FaultKind::drop},
                                      {"off", FaultKind::off}}};

std::string ost_name(const lab::Config& config, std::uint32_t ost) { return fmt::format("{}-OST{:04x}", config.name, ost); }

ordered_json answer_of(const lab::NodeState& state) {
  ordered_json json = ordered_json::parse(state.answer, nullptr, false);
  return json.is_object() ? json : ordered_json::object();
}

bool is_client(const lab::NodeState& state) { return state.node.starts_with("client"); }

std::string state_word(const lab::NodeState& state) {
  if (state.pid == 0) return "down";
  if (state.answer.empty()) return "silent";
  if (is_client(state) && !state.mounted) return "unmounted";
  return "up";
}

template <typename T>
T field(const ordered_json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  try {
    return found->get<T>();
  } catch (const ordered_json::exception&) {
    return otherwise;
  }
}

std::string about(const lab::Config& config, const lab::NodeState& state) {
  const ordered_json json = answer_of(state);
  if (is_client(state)) return lab_mount_path(config, static_cast<std::uint32_t>(std::stoul(state.node.substr(6))));
  if (state.node == "mds") {
    return state.answer.empty() ? "" : counted(field<std::uint64_t>(json, "inodes", 0), "inode");
  }
  const auto oss = static_cast<std::uint32_t>(std::stoul(state.node.substr(3)));
  const std::uint32_t first = oss * config.osts_per_oss;
  if (config.osts_per_oss == 1) return ost_name(config, first);
  return fmt::format("{} to {}", ost_name(config, first), ost_name(config, first + config.osts_per_oss - 1));
}

std::vector<std::string> faults_of(const ordered_json& ost) {
  std::vector<std::string> faults;
  if (const double speed = field<double>(ost, "speed", 1.0); speed != 1.0) faults.push_back(fmt::format("slow {:g}", speed));
  if (field<bool>(ost, "full", false)) faults.emplace_back("full");
  if (field<bool>(ost, "off", false)) faults.emplace_back("off");
  return faults;
}

// Of OSTs of one size. Nothing: one of them does not answer.
std::optional<double> ost_cost(const std::vector<LabDfRow>& rows) {
  std::uint64_t most = 0;
  double all = 0;
  for (const LabDfRow& row : rows) {
    if (!row.known) return std::nullopt;
    most = std::max(most, row.used);
    all += static_cast<double>(row.used);
  }
  return all > 0 ? static_cast<double>(most) * static_cast<double>(rows.size()) / all : 1.0;
}

}  // namespace

std::string lab_mount_path(const lab::Config& config, std::uint32_t client) { return lab::mount_path(config, client); }

std::string lab_clients_text(const lab::Config& config) {
  if (config.clients == 0) return "no clients";
  if (config.clients == 1) return "1 client: 0";
  return fmt::format("{} clients: 0 to {}", config.clients, config.clients - 1);
}

std::string lab_status_text(const lab::Config& config, const std::vector<lab::NodeState>& states, const Terminal& terminal,
                            bool header) {
  Table table({{.title = "NODE"}, {.title = "STATE"}, {.title = "PID", .align = Align::right}, {.title = "WHAT"}});
  for (const lab::NodeState& state : states) {
    const std::string word = state_word(state);
    table.add({{state.node},
               {word, word == "up" ? Colour::none : Colour::red},
               {state.pid == 0 ? "-" : std::to_string(state.pid)},
               {about(config, state)}});
  }
  return table.render(terminal, header);
}

std::string lab_status_json(const lab::Config& config, const std::vector<lab::NodeState>& states) {
  ordered_json json{{"name", config.name}, {"dir", config.dir}, {"osts", config.ost_count()}};
  ordered_json& nodes = json["nodes"] = ordered_json::array();
  for (const lab::NodeState& state : states) {
    ordered_json node{{"node", state.node},
                      {"state", state_word(state)},
                      {"pid", state.pid == 0 ? ordered_json(nullptr) : ordered_json(state.pid)}};
    if (is_client(state)) node["mount"] = about(config, state);
    node["params"] = lab::params_root(config, state.node);
    node["report"] = state.answer.empty() ? ordered_json(nullptr) : answer_of(state);
    nodes.push_back(std::move(node));
  }
  return to_line(json);
}

std::string lab_down_json(const lab::Config& config, const lab::Stopped& stopped) {
  ordered_json json{{"name", config.name}, {"dir", config.dir}, {"stopped", stopped.nodes}};
  ordered_json& busy = json["busy"] = ordered_json::array();
  for (const lab::BusyMount& mount : stopped.busy) {
    for (const lab::MountUser& user : mount.users) {
      busy.push_back({{"mount", mount.path}, {"pid", user.pid}, {"program", user.program}});
    }
  }
  json["left"] = stopped.leftover;
  return to_line(json);
}

std::vector<LabDfRow> lab_df_rows(const lab::Config& config, const std::vector<lab::NodeState>& states) {
  std::vector<LabDfRow> rows(config.ost_count());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    rows[i].ost = i;
    rows[i].oss = config.oss_of(i);
  }
  for (const lab::NodeState& state : states) {
    if (!state.node.starts_with("oss") || state.answer.empty()) continue;
    const ordered_json json = answer_of(state);
    const auto osts = json.find("osts");
    if (osts == json.end() || !osts->is_array()) continue;
    for (const ordered_json& ost : *osts) {
      const auto index = field<std::uint64_t>(ost, "ost", rows.size());
      if (index >= rows.size()) continue;
      LabDfRow& row = rows[index];
      row.known = true;
      row.total = field<std::uint64_t>(ost, "total_bytes", 0);
      row.used = field<std::uint64_t>(ost, "used_bytes", 0);
      row.objects = field<std::uint64_t>(ost, "objects", 0);
      row.faults = faults_of(ost);
    }
  }
  return rows;
}

std::string lab_df_text(const lab::Config& config, const std::vector<LabDfRow>& rows, const Terminal& terminal, bool header) {
  Table table({{.title = "OST"},
               {.title = "OSS"},
               {.title = "SIZE", .align = Align::right},
               {.title = "USED", .align = Align::right},
               {.title = "FREE", .align = Align::right},
               {.title = "USE", .align = Align::right},
               {.title = "OBJECTS", .align = Align::right},
               {.title = "FAULT"}});
  for (const LabDfRow& row : rows) {
    const std::string oss = fmt::format("oss{}", row.oss);
    if (!row.known) {
      table.add({{ost_name(config, row.ost)}, {oss}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {"no answer", Colour::red}});
      continue;
    }
    const std::uint64_t free = row.total - std::min(row.used, row.total);
    const double share = row.total == 0 ? 0 : static_cast<double>(row.used) / static_cast<double>(row.total);
    table.add({{ost_name(config, row.ost)},
               {oss},
               {to_string(Bytes{row.total})},
               {to_string(Bytes{row.used})},
               {to_string(Bytes{free})},
               {percent(share)},
               {std::to_string(row.objects)},
               {fmt::format("{}", fmt::join(row.faults, ", ")), Colour::yellow}});
  }
  std::string out = table.render(terminal, header);
  if (const auto cost = ost_cost(rows); header && cost)
    out += fmt::format("OSTCost {:.3f}  (most used / mean; 1 is balanced)\n", *cost);
  return out;
}

std::string lab_df_json(const lab::Config& config, const std::vector<LabDfRow>& rows) {
  ordered_json json{{"name", config.name}, {"dir", config.dir}, {"ost_cost", or_null(ost_cost(rows))}};
  ordered_json& osts = json["osts"] = ordered_json::array();
  for (const LabDfRow& row : rows) {
    const auto number = [&row](std::uint64_t value) { return row.known ? ordered_json(value) : ordered_json(nullptr); };
    osts.push_back({{"ost", row.ost},
                    {"target", ost_name(config, row.ost)},
                    {"oss", fmt::format("oss{}", row.oss)},
                    {"total", number(row.total)},
                    {"used", number(row.used)},
                    {"free", number(row.total - std::min(row.used, row.total))},
                    {"objects", number(row.objects)},
                    {"faults", row.faults}});
  }
  return to_line(json);
}

Result<LabFault> lab_fault_of(const lab::Config& config, const std::string& kind, const std::string& target,
                              std::optional<double> value) {
  LabFault fault;
  const auto nodes = lab::nodes_of(config);
  const bool is_node = std::ranges::find(nodes, target) != nodes.end();
  std::optional<std::uint32_t> ost;
  if (target.starts_with("ost")) {
    const auto number = text::parse_u64(std::string_view(target).substr(3));
    if (number && *number < config.ost_count()) ost = static_cast<std::uint32_t>(*number);
  }
  if (!is_node && !ost && !target.empty()) {
    return fail(Errc::invalid_argument, fmt::format("'{}': expected ost0 to ost{}, or a node: {}", text::printable(target),
                                                    config.ost_count() - 1, fmt::join(nodes, ", ")));
  }
  const bool takes_value = kind == "slow" || kind == "drop";
  if (takes_value != value.has_value()) {
    return fail(Errc::invalid_argument,
                takes_value ? fmt::format("{} needs a value between 0 and 1", kind) : fmt::format("{} takes no value", kind));
  }
  if (kind == "kill") {
    if (!is_node) return fail(Errc::invalid_argument, fmt::format("kill needs a node: {}", fmt::join(nodes, ", ")));
    fault.kill.push_back(target);
    return fault;
  }
  const auto* const word = std::ranges::find_if(kKinds, [&kind](const Word& known) { return known.word == kind; });
  if (word == kKinds.end()) return fail(Errc::invalid_argument, fmt::format("no fault '{}'", text::printable(kind)));
  lab::FaultRequest request{.kind = word->kind, .ost = ost ? static_cast<std::int32_t>(*ost) : -1, .value = value.value_or(0)};
  const auto fits = [&kind](double share) { return share >= 0 && share <= 1 && (kind != "slow" || share > 0); };
  if (value && !fits(*value)) {
    return fail(Errc::invalid_argument,
                fmt::format("{} {}: expected {} 0 and up to 1", kind, *value, kind == "slow" ? "more than" : "at least"));
  }
  const bool of_osts = kind == "slow" || kind == "full" || kind == "off";
  if (of_osts && !ost) return fail(Errc::invalid_argument, fmt::format("{} needs an OST, such as ost0", kind));
  if (kind == "drop" && (!is_node || target.starts_with("client"))) {
    return fail(Errc::invalid_argument, "drop needs a server: mds, oss0, ...");
  }
  if (ost) {
    // The metadata server gives no objects to an OST that is off.
    fault.requests.emplace_back(fmt::format("oss{}", config.oss_of(*ost)), request);
    if (kind == "off" || kind == "none") fault.requests.emplace_back("mds", request);
    return fault;
  }
  fault.best_effort = target.empty();
  for (const std::string& node : nodes) {
    if ((target.empty() || target == node) && !node.starts_with("client")) fault.requests.emplace_back(node, request);
  }
  return fault;
}

std::string lab_fault_json(const lab::Config& config, const std::string& kind, const std::string& target,
                           std::optional<double> value) {
  return to_line({{"name", config.name},
                  {"fault", kind},
                  {"target", target.empty() ? ordered_json(nullptr) : ordered_json(target)},
                  {"value", or_null(value)}});
}

}  // namespace iez::cli
