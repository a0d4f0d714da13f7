#include "keys_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/settings.hpp"
#include "json.hpp"
#include "table.hpp"
#include "telemetry/keys.hpp"

namespace iez::cli {

namespace {

Result<std::string> folder_of(const KeysOptions& options) {
  if (!options.dir.empty()) return options.dir;
  const auto sources = config::default_sources();
  IEZ_TRY(const config::Settings settings, config::load_settings(sources));
  if (!settings.serve.keys.empty()) return settings.serve.keys;
  if (::geteuid() == 0) return "/etc/iez/keys";
  if (const auto folder = sources.environment("XDG_CONFIG_HOME"); folder && folder->starts_with('/'))
    return *folder + "/iez/keys";
  if (const auto home = sources.environment("HOME"); home && home->starts_with('/')) return *home + "/.config/iez/keys";
  return fail(Errc::invalid_argument, "$HOME is not set: say where by --dir");
}

telemetry::Overwrite overwrite(const KeysOptions& options) {
  return options.force ? telemetry::Overwrite::yes : telemetry::Overwrite::no;
}

ordered_json key_json(const telemetry::ListedKey& key) {
  return {{"name", key.name}, {"public_key", key.public_key}, {"secret_here", key.secret_here}, {"path", key.path}};
}

Result<void> show(const std::string& folder, const std::vector<telemetry::ListedKey>& keys, const KeysOptions& options,
                  const Context& context) {
  if (options.json) {
    ordered_json json{{"dir", folder}, {"keys", ordered_json::array()}};
    for (const auto& key : keys) json["keys"].push_back(key_json(key));
    return print(to_line(json));
  }
  Table table({{.title = "NAME"}, {.title = "PUBLIC KEY"}, {.title = "SECRET"}, {.title = "FILE"}});
  for (const auto& key : keys) table.add({{key.name}, {key.public_key}, {key.secret_here ? "here" : "-"}, {key.path}});
  return print(table.render(context.terminal, !options.no_header));
}

Result<telemetry::ListedKey> find_key(const std::string& folder, const std::string& name) {
  IEZ_TRY(const auto keys, telemetry::list_keys(folder));
  const auto found = std::ranges::find(keys, name, &telemetry::ListedKey::name);
  if (found == keys.end()) {
    return fail(Errc::not_found,
                fmt::format("{}: no key of '{}' in it; 'iez keys list' shows all", folder, text::printable(name)));
  }
  return *found;
}

}  // namespace

Result<void> run_keys_init(const KeysOptions& options, Context& context) {
  IEZ_TRY(const std::string folder, folder_of(options));
  IEZ_CHECK(telemetry::init_keys(folder, overwrite(options)));
  IEZ_TRY(const auto keys, telemetry::list_keys(folder));
  if (!options.json) {
    fmt::print(stderr, "Coordinator: keys = \"{}\" below [serve]. Each agent gets coordinator.pub and agent.key.\n", folder);
  }
  return show(folder, keys, options, context);
}

Result<void> run_keys_add(const KeysOptions& options, Context& context) {
  IEZ_TRY(const std::string folder, folder_of(options));
  IEZ_CHECK(telemetry::add_agent_key(folder, options.name, options.public_key, overwrite(options)));
  IEZ_TRY(auto key, find_key(folder, options.name));
  if (!options.json && !options.public_key) {
    fmt::print(stderr, "Copy {0}/agents/{1}.key to {1} as agent.key, with coordinator.pub; then remove it here.\n", folder,
               options.name);
  }
  return show(folder, {std::move(key)}, options, context);
}

Result<void> run_keys_list(const KeysOptions& options, Context& context) {
  IEZ_TRY(const std::string folder, folder_of(options));
  IEZ_TRY(const auto keys, telemetry::list_keys(folder));
  return show(folder, keys, options, context);
}

Result<void> run_keys_show(const KeysOptions& options, Context&) {
  IEZ_TRY(const std::string folder, folder_of(options));
  IEZ_TRY(const auto key, find_key(folder, options.name));
  return print(options.json ? to_line(key_json(key)) : key.public_key + '\n');
}

}  // namespace iez::cli
