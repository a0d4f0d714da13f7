#include "config/settings.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/scenario_table.hpp"
#include "config/scenario_tree.hpp"

namespace iez::config {

namespace {

struct Variable {
  std::string_view name;
  std::string_view table;  // empty: at the top
  std::string_view key;
};

constexpr std::array kVariables{
    Variable{"IEZ_COORDINATOR", "coordinator", "url"},
    Variable{"IEZ_COORDINATOR_MODE", "coordinator", "mode"},
    Variable{"IEZ_TOKEN_FILE", "coordinator", "token_file"},
    Variable{"IEZ_CA_FILE", "coordinator", "ca_file"},
    Variable{"IEZ_STORE", "store", "url"},
    Variable{"IEZ_PLACE_WHEN", "place", "when"},
    Variable{"IEZ_PLACE_LAYOUT", "place", "layout"},
    Variable{"IEZ_PLACE_LEAST_FILE", "place", "least_file"},
};

Result<void> texts(const TableReader& table, std::string_view key, std::vector<std::string>& out) {
  const Node* const list = table.get(key);
  if (list == nullptr) return {};
  if (!list->is_list()) return table.bad(key, "a list of texts");
  out.clear();
  for (const Node& item : list->items) {
    if (!item.is_text()) return table.bad(key, "a list of texts");
    out.push_back(item.text);
  }
  return {};
}

// Unlike name_of(), empty is a value: it takes back what an earlier file said.
Result<void> text(const TableReader& table, std::string_view key, std::string& out) {
  const Node* const value = table.get(key);
  if (value == nullptr) return {};
  if (!value->is_text()) return table.bad(key, "a text");
  out = value->text;
  return {};
}

// Fails for "~", which only a shell would understand: a service has no home.
Result<void> path(const TableReader& table, std::string_view key, std::string& out) {
  IEZ_CHECK(text(table, key, out));
  if (table.get(key) != nullptr && out.starts_with('~')) return table.bad(key, "a path without '~'");
  return {};
}

Result<void> flag(const TableReader& table, std::string_view key, bool& out) {
  const Node* const value = table.get(key);
  if (value == nullptr) return {};
  if (value->kind != Node::Kind::flag) return table.bad(key, "true or false");
  out = value->flag;
  return {};
}

Result<void> read(const TableReader& table, Settings::Coordinator& out) {
  static constexpr std::array<std::string_view, 5> kKeys{"url", "mode", "token_file", "ca_file", "timeout"};
  IEZ_CHECK(table.only(kKeys));
  IEZ_CHECK(text(table, "url", out.url));
  std::string mode;
  IEZ_CHECK(text(table, "mode", mode));
  if (table.get("mode") != nullptr && mode != "push" && mode != "pull") return table.bad("mode", "\"push\" or \"pull\"");
  out.pull = mode == "pull";
  IEZ_CHECK(path(table, "token_file", out.token_file));
  IEZ_CHECK(path(table, "ca_file", out.ca_file));
  return table.duration("timeout", out.timeout, Zero::refused);
}

Result<void> read(const TableReader& table, Settings::Store& out) {
  static constexpr std::array<std::string_view, 1> kKeys{"url"};
  IEZ_CHECK(table.only(kKeys));
  return text(table, "url", out.url);
}

Result<void> read(const TableReader& table, Settings::Serve& out) {
  static constexpr std::array<std::string_view, 16> kKeys{
      "listen", "samples",   "requests",     "state",      "keys", "tokens_file",     "certificate",  "certificate_key",
      "policy", "cpu_limit", "memory_limit", "rate_limit", "pull", "pull_token_file", "pull_ca_file", "pull_interval"};
  IEZ_CHECK(table.only(kKeys));
  IEZ_CHECK(table.name_of("listen", out.listen));
  IEZ_CHECK(table.name_of("samples", out.samples));
  IEZ_CHECK(table.name_of("requests", out.requests));
  IEZ_CHECK(path(table, "state", out.state));
  IEZ_CHECK(path(table, "keys", out.keys));
  IEZ_CHECK(path(table, "tokens_file", out.tokens_file));
  IEZ_CHECK(path(table, "certificate", out.certificate));
  IEZ_CHECK(path(table, "certificate_key", out.certificate_key));
  std::string policy;  // of 0.1, when planners could be chosen
  IEZ_CHECK(table.name_of("policy", policy));
  IEZ_CHECK(table.number("cpu_limit", out.cpu_limit, 0, 1));
  IEZ_CHECK(table.number("memory_limit", out.memory_limit, 0, 1));
  IEZ_CHECK(table.number("rate_limit", out.rate_limit, 0, 1e9));
  IEZ_CHECK(texts(table, "pull", out.pull));
  IEZ_CHECK(path(table, "pull_token_file", out.pull_token_file));
  IEZ_CHECK(path(table, "pull_ca_file", out.pull_ca_file));
  return table.duration("pull_interval", out.pull_interval, Zero::refused);
}

Result<void> read(const TableReader& table, Settings::Agent& out) {
  static constexpr std::array<std::string_view, 8> kKeys{"name",     "samples",    "requests",     "keys",
                                                         "interval", "jobs_spool", "jobs_cluster", "jobs_interval"};
  IEZ_CHECK(table.only(kKeys));
  IEZ_CHECK(text(table, "name", out.name));
  IEZ_CHECK(table.name_of("samples", out.samples));
  IEZ_CHECK(table.name_of("requests", out.requests));
  IEZ_CHECK(path(table, "keys", out.keys));
  IEZ_CHECK(path(table, "jobs_spool", out.jobs_spool));
  IEZ_CHECK(text(table, "jobs_cluster", out.jobs_cluster));
  IEZ_CHECK(table.duration("jobs_interval", out.jobs_interval, Zero::refused));
  return table.duration("interval", out.interval, Zero::refused);
}

Result<void> read(const TableReader& table, Settings::Run& out) {
  static constexpr std::array<std::string_view, 4> kKeys{"unplanned_limit", "size_limit", "history", "reserve"};
  IEZ_CHECK(table.only(kKeys));
  IEZ_CHECK(table.number("unplanned_limit", out.unplanned_limit, 0, 1));
  IEZ_CHECK(table.number("size_limit", out.size_limit, 0, 1e6));
  IEZ_CHECK(table.whole("history", out.history, 1, 1000));
  return table.number("reserve", out.reserve, 0.5, 0.999);
}

// One of two words; `second` is true.
Result<void> choice(const TableReader& table, std::string_view key, std::string_view first, std::string_view second, bool& out) {
  std::string word;
  IEZ_CHECK(text(table, key, word));
  if (table.get(key) == nullptr) return {};
  if (word != first && word != second) return table.bad(key, fmt::format("\"{}\" or \"{}\"", first, second));
  out = word == second;
  return {};
}

Result<void> read(const TableReader& table, Settings::Place& out) {
  static constexpr std::array<std::string_view, 3> kKeys{"when", "layout", "least_file"};
  IEZ_CHECK(table.only(kKeys));
  IEZ_CHECK(choice(table, "when", "faster", "always", out.always));
  IEZ_CHECK(choice(table, "layout", "template", "free", out.free));
  return table.size("least_file", out.least_file);
}

template <typename Section>
Result<void> read_section(const TableReader& top, std::string_view key, Section& out) {
  IEZ_TRY(const auto table, top.table(key, fmt::format("[{}]", key)));
  if (!table) return {};
  return read(*table, out);
}

Result<Settings> read_tree(const Node& tree) {
  static constexpr std::array<std::string_view, 8> kKeys{"enabled", "roots", "coordinator", "store",
                                                         "serve",   "agent", "run",         "place"};
  const TableReader top(tree, "");
  IEZ_CHECK(top.only(kKeys));
  Settings out;
  IEZ_CHECK(flag(top, "enabled", out.enabled));
  IEZ_CHECK(texts(top, "roots", out.roots));
  IEZ_CHECK(read_section(top, "coordinator", out.coordinator));
  IEZ_CHECK(read_section(top, "store", out.store));
  IEZ_CHECK(read_section(top, "serve", out.serve));
  IEZ_CHECK(read_section(top, "agent", out.agent));
  IEZ_CHECK(read_section(top, "run", out.run));
  IEZ_CHECK(read_section(top, "place", out.place));
  return out;
}

Node text_node(std::string_view key, std::string value, const Origin& origin) {
  return {.kind = Node::Kind::text, .key = std::string(key), .origin = origin, .text = std::move(value)};
}

void take_variables(const SettingsSources& sources, Node& tree) {
  for (const Variable& variable : kVariables) {
    auto value = sources.environment(variable.name);
    if (!value) continue;
    const Origin origin{.file = std::make_shared<std::string>(variable.name)};
    Node table{.kind = Node::Kind::table, .key = std::string(variable.table), .origin = origin};
    table.items.push_back(text_node(variable.key, *std::move(value), origin));
    Node over{.kind = Node::Kind::table, .origin = origin};
    over.items.push_back(std::move(table));
    overlay(tree, std::move(over));
  }
}

}  // namespace

std::vector<std::string> split_paths(std::string_view paths) {
  std::vector<std::string> out;
  while (!paths.empty()) {
    const std::size_t end = std::min(paths.find(':'), paths.size());
    if (end > 0) out.emplace_back(paths.substr(0, end));
    paths.remove_prefix(std::min(end + 1, paths.size()));
  }
  return out;
}

SettingsSources default_sources() {
  SettingsSources sources;
  sources.environment = [](std::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe): nobody changes it
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  sources.files.emplace_back("/etc/iez/iez.toml");
  if (const auto folder = sources.environment("XDG_CONFIG_HOME"); folder && folder->starts_with('/')) {
    sources.files.push_back(*folder + "/iez/iez.toml");
  } else if (const auto home = sources.environment("HOME"); home && home->starts_with('/')) {
    sources.files.push_back(*home + "/.config/iez/iez.toml");
  }
  return sources;
}

Result<Settings> load_settings(const SettingsSources& sources) {
  Node tree{.kind = Node::Kind::table};
  for (const std::string& path : sources.files) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      if (!error) continue;
      return fail_errno(error.value(), path);
    }
    if (std::filesystem::is_directory(path, error))
      return fail(Errc::io, fmt::format("{}: a directory; expected a file of settings", path));
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    if (!file) return fail(Errc::io, fmt::format("{}: cannot be read; are its permissions right?", path));
    IEZ_TRY(auto over, parse_tree(content.str(), path));
    IEZ_CHECK(read_tree(over));  // each file by itself, so that the message is about the file that is wrong
    overlay(tree, std::move(over));
  }
  take_variables(sources, tree);
  IEZ_TRY(auto settings, read_tree(tree));
  if (const auto roots = sources.environment("IEZ_ROOT")) settings.roots = split_paths(*roots);
  if (const auto disabled = sources.environment("IEZ_DISABLE"); disabled && *disabled == "1") settings.enabled = false;
  return settings;
}

Result<std::string> state_folder(const SettingsSources& sources) {
  if (auto folder = sources.environment("IEZ_STATE"); folder && !folder->empty()) return *std::move(folder);
  if (const auto folder = sources.environment("XDG_STATE_HOME"); folder && folder->starts_with('/')) return *folder + "/iez";
  if (const auto home = sources.environment("HOME"); home && home->starts_with('/')) return *home + "/.local/state/iez";
  return fail(Errc::not_found, "no state folder: neither IEZ_STATE, XDG_STATE_HOME nor HOME is set");
}

}  // namespace iez::config
