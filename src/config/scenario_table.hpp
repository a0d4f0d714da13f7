// Reads the values of one TOML table into fields. A key that is missing leaves its field as it is: the defaults are those of the
// structs, or of whatever was read before.
//
// A message names the file, the line, the key and its table, what was found and what is expected.
//
// Thread safety: plain values. A reader refers to the node that it reads, which must outlive it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"
#include "config/scenario_tree.hpp"

namespace iez::config {

using Keys = std::span<const std::string_view>;

// Whether 0 is a value, or an error.
enum class Zero : std::uint8_t { refused, allowed };

class TableReader {
 public:
  // name: "[network]"; empty at the top of a file. REQUIRES: table is a table.
  TableReader(const Node& table, std::string name) : table_(table), name_(std::move(name)) {}

  const Node& node() const { return table_; }
  const std::string& name() const { return name_; }
  const Node* get(std::string_view key) const { return find(table_, key); }

  [[nodiscard]] Result<void> only(Keys known) const;

  // The table of a key, or none. kind: what the message shows, "[network]".
  [[nodiscard]] Result<std::optional<TableReader>> table(std::string_view key, std::string kind) const;

  // Items of a list of tables, each checked to be one.
  [[nodiscard]] Result<std::span<const Node>> tables(std::string_view key) const;

  template <std::unsigned_integral T>
  [[nodiscard]] Result<void> whole(std::string_view key, T& out, std::uint64_t low, std::uint64_t high) const {
    IEZ_TRY(const auto value, read_whole(key, low, high));
    if (value) out = static_cast<T>(*value);
    return {};
  }

  [[nodiscard]] Result<void> number(std::string_view key, double& out, double low, double high) const;
  [[nodiscard]] Result<void> flag(std::string_view key, bool& out) const;
  [[nodiscard]] Result<void> size(std::string_view key, Bytes& out) const;           // above 0
  [[nodiscard]] Result<void> space(std::string_view key, Bytes& out) const;          // the same, or "unlimited"
  [[nodiscard]] Result<void> rate(std::string_view key, BytesPerSecond& out) const;  // above 0, or "unlimited"
  [[nodiscard]] Result<void> duration(std::string_view key, Duration& out, Zero zero) const;
  [[nodiscard]] Result<void> name_of(std::string_view key, std::string& out) const;
  [[nodiscard]] Result<void> word(std::string_view key, std::string& out, Keys known) const;

  // Errors that others find.
  std::unexpected<Error> bad(std::string_view key, std::string_view expected, Errc code = Errc::parse) const;
  std::unexpected<Error> missing(std::string_view key, std::string_view expected) const;
  std::unexpected<Error> wrong(const Origin& origin, Errc code, std::string_view message) const;

 private:
  Result<std::optional<std::uint64_t>> read_whole(std::string_view key, std::uint64_t low, std::uint64_t high) const;
  std::string path(std::string_view key) const;

  const Node& table_;
  std::string name_;
};

}  // namespace iez::config
