#include "config/scenario_layers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/words.hpp"

namespace iez::config {

namespace {

constexpr std::array<std::string_view, 4> kPlainParts{"client", "network", "locks", "metadata"};

constexpr std::size_t kMaxPartValues = 64;

std::size_t value_count(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += value_count(item);
  return count;
}

std::unexpected<Error> fail_at(const Node& node, Errc code, std::string_view message) {
  return fail(code, fmt::format("{}: {}", to_string(node.origin), message));
}

// "runs/base.toml" for base.toml of runs/a.toml.
std::string beside(std::string_view from, std::string_view name) {
  return (std::filesystem::path(from).parent_path() / name).lexically_normal().string();
}

bool is_path(std::string_view name) { return name.ends_with(".toml"); }

// Lays a scenario over another. Another law takes the place of the whole table, another machine of the whole machine.
void overlay_scenario(Node& base, Node over) {
  const Node* const law = find(over, "congestion");
  if (law != nullptr && law->is_table()) {
    const Node* const old = find(base, "congestion");
    if (law_of(*law) && old != nullptr && law_of(*old) != law_of(*law)) drop(base, "congestion");
  }
  overlay(base, std::move(over));
}

// One chain of files that extend one another.
class Layers {
 public:
  explicit Layers(const ScenarioSources& sources) : sources_(sources) {}

  // at: the value that names this file.
  Result<Node> scenario(std::string_view text, std::string_view file_name, const Node& at) {
    IEZ_CHECK(enter(at, file_name));
    IEZ_TRY(Node own, parse_tree(text, file_name));
    Node result{.origin = own.origin};
    if (const Node* const link = find(own, "extends")) {
      if (!link->is_text() || !is_path(link->text)) {
        return fail_at(*link, Errc::parse,
                       fmt::format("extends: found {}, expected the path of a scenario, which ends in .toml", described(*link)));
      }
      IEZ_TRY(const std::string base, load(*link, file_name));
      IEZ_TRY(result, scenario(base, beside(file_name, link->text), *link));
      result.origin = own.origin;
    }
    drop(own, "extends");
    if (Node* const machine = find(own, "machine")) {
      const bool whole = machine->is_text() || find(*machine, "extends") != nullptr;
      IEZ_CHECK(resolve_machine(*machine, file_name));
      if (whole) drop(result, "machine");
    }
    overlay_scenario(result, std::move(own));
    IEZ_CHECK(fold(result));
    chain_.pop_back();
    return result;
  }

  // identity: the file, or the name of a shipped machine, after which a file may well be named that extends it.
  Result<Node> machine(std::string_view text, std::string_view file_name, std::string_view identity, const Node& at) {
    IEZ_CHECK(enter(at, identity));
    IEZ_TRY(Node own, parse_tree(text, file_name));
    IEZ_CHECK(extend_machine(own, file_name));
    chain_.pop_back();
    return own;
  }

  Result<void> apply(Node& root, const Override& change, std::string_view file_name) {
    const std::string text = fmt::format("override {}", shown(change.key + "=" + change.value));
    const Origin origin{.file = std::make_shared<const std::string>(text)};
    IEZ_TRY(const Override clean, parse_override(fmt::format("{}={}", change.key, change.value)));
    IEZ_TRY(const Node value, parse_value(clean.value, origin));
    std::vector<std::string_view> parts;
    for (std::string_view rest = clean.key;;) {
      const std::size_t dot = rest.find('.');
      parts.push_back(rest.substr(0, dot));
      if (dot == std::string_view::npos) break;
      rest.remove_prefix(dot + 1);
    }
    if (parts.back() == "extends") {
      return fail(Errc::invalid_argument,
                  text + ": found extends, which has been followed already: name the other file, or machine=");
    }
    if (parts.size() == 2 && parts[0] == "congestion") make_room_for_law(root, parts[1], value);
    IEZ_CHECK(set(root, parts, 0, value));
    if (parts.size() == 1 && parts[0] == "machine") IEZ_CHECK(resolve_machine(*find(root, "machine"), file_name));
    return fold(root);
  }

 private:
  // A file that is about to be worked on.
  Result<void> enter(const Node& at, std::string_view file_name) {
    const std::string name = std::filesystem::path(file_name).lexically_normal().string();
    const bool cycle = std::ranges::find(chain_, name) != chain_.end();
    chain_.push_back(name);
    if (!cycle && chain_.size() <= kMaxExtends + 1) return {};
    std::string shown_chain;
    for (const std::string& file : chain_) {
      if (!shown_chain.empty()) shown_chain += " -> ";
      shown_chain += text::printable(file);
    }
    if (cycle) return fail_at(at, Errc::parse, fmt::format("extends: found a cycle, {}; expected an end", shown_chain));
    return fail_at(at, Errc::limit,
                   fmt::format("extends: found {}, expected at most {} files that extend one another", shown_chain, kMaxExtends));
  }

  // The file or machine that a value names.
  Result<std::string> load(const Node& link, std::string_view from) const {
    if (!sources_.load) {
      return fail_at(link, Errc::unsupported, "found the name of another file, and there is none to be had here");
    }
    auto text = sources_.load(link.text, from);
    if (text) return *std::move(text);
    return with_context(std::move(text).error(), fmt::format("{}: {}", to_string(link.origin), link.key));
  }

  Result<Node> named_machine(const Node& link, std::string_view from) {
    if (!is_path(link.text) && std::ranges::find(sources_.machines, link.text) == sources_.machines.end()) {
      const std::vector<std::string_view> known(sources_.machines.begin(), sources_.machines.end());
      return fail_at(
          link, Errc::not_found,
          fmt::format("{}: found {}, expected a path that ends in .toml, a table, or one of {}{}", link.key, described(link),
                      known.empty() ? "(none)" : fmt::format("{}", fmt::join(known, ", ")), suggestion(link.text, known)));
    }
    IEZ_TRY(const std::string text, load(link, from));
    if (!is_path(link.text)) return machine(text, link.text + ".toml", link.text, link);
    const std::string path = beside(from, link.text);
    return machine(text, path, path, link);
  }

  // A name becomes the machine of this name; a table that extends a machine becomes all of it.
  Result<void> resolve_machine(Node& node, std::string_view from) {
    if (node.is_table()) return extend_machine(node, from);
    if (!node.is_text()) {
      return fail_at(node, Errc::parse, fmt::format("machine: found {}, expected a name or a table", described(node)));
    }
    IEZ_TRY(Node machine, named_machine(node, from));
    machine.key = node.key;
    node = std::move(machine);
    return {};
  }

  Result<void> extend_machine(Node& own, std::string_view from) {
    const Node* const link = find(own, "extends");
    if (link == nullptr) return {};
    if (!link->is_text()) {
      return fail_at(*link, Errc::parse, fmt::format("extends: found {}, expected the name of a machine", described(*link)));
    }
    IEZ_TRY(Node base, named_machine(*link, from));
    drop(own, "extends");
    base.key = own.key;
    base.origin = own.origin;
    overlay(base, std::move(own));
    own = std::move(base);
    return {};
  }

  // Lays [network] and its like over the machine, once there is one. What is not of the right kind stays, and is refused by who
  // reads it.
  static Result<void> fold(Node& root) {
    if (const Node* const machine = find(root, "machine"); machine == nullptr || !machine->is_table()) return {};
    for (const std::string_view key : kPlainParts) {
      const Node* const part = find(root, key);
      if (part == nullptr) continue;
      IEZ_CHECK(require_table(*part));
      Node over = table_of(*part);
      drop(root, key);
      overlay(*find(root, "machine"), std::move(over));
    }
    for (const std::string_view key : {std::string_view("server"), std::string_view("target")}) {
      const Node* const found = find(root, key);
      if (found == nullptr) continue;
      IEZ_CHECK(require_table(*found));
      IEZ_CHECK(require_small(*found));
      Node* const groups = find(*find(root, "machine"), "server");
      if (groups == nullptr || !groups->is_list()) return {};
      const Node part = key == "server" ? *found : table_of(*found);
      for (Node& group : groups->items) {
        if (group.is_table()) overlay(group, part);
      }
      drop(root, key);
    }
    return {};
  }

  // A table with this one item.
  static Node table_of(const Node& item) {
    Node table{.origin = item.origin};
    table.items.push_back(item);
    return table;
  }

  static Result<void> require_table(const Node& part) {
    if (part.is_table()) return {};
    return fail_at(part, Errc::parse,
                   fmt::format("{}: found {}, expected a table that starts with [{}]", part.key, described(part), part.key));
  }

  // It is copied to every group of servers.
  static Result<void> require_small(const Node& part) {
    if (value_count(part) <= kMaxPartValues) return {};
    return fail_at(part, Errc::limit,
                   fmt::format("{}: found {} values, expected at most {}", part.key, value_count(part), kMaxPartValues));
  }

  // congestion.fixed=4 over l_max = "60s": the one law goes, the other comes.
  static void make_room_for_law(Node& root, std::string_view key, const Node& value) {
    Node* const table = find(root, "congestion");
    if (table == nullptr) return;
    Node probe;
    Node& entry = put(probe, value);
    entry.key = key;
    if (const auto law = law_of(probe); law && law != law_of(*table)) table->items.clear();
  }

  // Sets what the parts of a key from `at` on lead to.
  static Result<void> set(Node& node, std::span<const std::string_view> parts, std::size_t at, const Node& value) {
    const std::string_view part = parts[at];
    const bool last = at + 1 == parts.size();
    const auto assign = [&](Node& place) {
      std::string key = place.key;
      place = value;
      place.key = std::move(key);
    };
    if (node.is_list()) {
      const auto index = text::parse_u64(part);
      if (part != "*" && (!index || *index >= node.items.size())) {
        return fail_at(value, Errc::invalid_argument,
                       fmt::format("found {} behind {}, expected * or the number of one of its {} items, from 0", shown(part),
                                   shown(fmt::format("{}", fmt::join(parts.first(at), "."))), node.items.size()));
      }
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (part != "*" && index != i) continue;
        if (last) {
          assign(node.items[i]);
        } else {
          IEZ_CHECK(set(node.items[i], parts, at + 1, value));
        }
      }
      return {};
    }
    if (!node.is_table()) {
      return fail_at(value, Errc::invalid_argument,
                     fmt::format("{} is {}, expected a table that has {}",
                                 shown(fmt::format("{}", fmt::join(parts.first(at), "."))), described(node), shown(part)));
    }
    Node* next = find(node, part);
    if (next == nullptr) next = &put(node, Node{.key = std::string(part), .origin = value.origin});
    if (!last) return set(*next, parts, at + 1, value);
    assign(*next);
    return {};
  }

  const ScenarioSources& sources_;
  std::vector<std::string> chain_;
};

}  // namespace

std::optional<std::string> law_of(const Node& congestion) {
  if (const Node* const law = find(congestion, "law")) return law->is_text() ? law->text : "";
  if (find(congestion, "fixed") != nullptr) return "fixed";
  if (find(congestion, "l_max") != nullptr) return "rcc";
  if (find(congestion, "goal") != nullptr) return "goal";
  return std::nullopt;
}

Result<Node> scenario_layers(std::string_view text, std::string_view file_name, const ScenarioSources& sources,
                             std::span<const Override> overrides) {
  Layers layers(sources);
  IEZ_TRY(Node root, layers.scenario(text, file_name, {}));
  for (const Override& change : overrides) IEZ_CHECK(layers.apply(root, change, file_name));
  return root;
}

Result<Node> machine_layers(std::string_view text, std::string_view file_name, const ScenarioSources& sources) {
  return Layers(sources).machine(text, file_name, file_name, {});
}

}  // namespace iez::config
