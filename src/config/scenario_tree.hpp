// A TOML document as a tree that can be changed, and whose every value knows where it was written.
//
// Files that extend each other and keys from the command line are laid over one another before anything is read; a message must
// still name the file and line of the value that is wrong. So the tree is our own, and what parses TOML stays in one source.
//
// Thread safety: plain values. Memory: a constant times the length of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::config {

struct Origin {
  std::shared_ptr<const std::string> file;  // fit for a terminal
  std::uint64_t line = 0;                   // 0: not of a line
};

std::string to_string(const Origin& origin);  // "run.toml:12"

struct Node {
  enum class Kind : std::uint8_t { text, whole, real, flag, date, list, table };
  Kind kind = Kind::table;
  std::string key;  // in its table; empty in a list
  Origin origin;
  std::string text;
  std::int64_t whole = 0;
  double real = 0;
  bool flag = false;
  std::vector<Node> items;  // of a list or a table

  bool is_text() const { return kind == Kind::text; }
  bool is_table() const { return kind == Kind::table; }
  bool is_list() const { return kind == Kind::list; }
};

// What a message shows of a value: "'60 s'", "8", "a table".
std::string described(const Node& node);

// Of a table; null if it has none of this key.
const Node* find(const Node& table, std::string_view key);
Node* find(Node& table, std::string_view key);

// Gives the table this value for value.key, in place of what it has there.
Node& put(Node& table, Node value);
void drop(Node& table, std::string_view key);

// Lays a table over another: its keys win, tables are merged key by key, lists are replaced as a whole.
void overlay(Node& base, Node over);

// The file name is for messages.
[[nodiscard]] Result<Node> parse_tree(std::string_view text, std::string_view file_name);

// One value as it stands behind "=". A word that is not TOML is taken as a text, so that 60s needs no quotes. origin: of the
// value.
[[nodiscard]] Result<Node> parse_value(std::string_view text, const Origin& origin);

}  // namespace iez::config
