#include "config/scenario_table.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "config/words.hpp"

namespace iez::config {

namespace {

constexpr std::string_view kUnlimited = "unlimited";

// Times are added up, in nanoseconds.
constexpr Duration kMaxTime = std::chrono::days(366);

// Whole or with a fraction; none for anything else, and for what is not finite.
std::optional<double> number_of(const Node& node) {
  if (node.kind == Node::Kind::whole) return static_cast<double>(node.whole);
  if (node.kind == Node::Kind::real && std::isfinite(node.real)) return node.real;
  return std::nullopt;
}

std::optional<Bytes> bytes_of(const Node& node) {
  if (node.kind == Node::Kind::whole && node.whole > 0) return Bytes{static_cast<std::uint64_t>(node.whole)};
  if (!node.is_text()) return std::nullopt;
  const auto parsed = parse_bytes(node.text);
  if (!parsed || parsed->count == 0 || parsed->count > kMaxSize) return std::nullopt;
  return *parsed;
}

std::optional<Duration> duration_of(const Node& node) {
  if (node.is_text()) {
    const auto parsed = parse_duration(node.text);
    return parsed && *parsed <= kMaxTime ? std::optional(*parsed) : std::nullopt;
  }
  const auto seconds = number_of(node);
  if (!seconds || *seconds < 0 || *seconds > std::chrono::duration<double>(kMaxTime).count()) return std::nullopt;
  return Duration{std::llround(*seconds * 1e9)};
}

}  // namespace

std::unexpected<Error> TableReader::wrong(const Origin& origin, Errc code, std::string_view message) const {
  return fail(code, fmt::format("{}: {}", to_string(origin), message));
}

std::string TableReader::path(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{} of {}", key, name_);
}

std::unexpected<Error> TableReader::bad(std::string_view key, std::string_view expected, Errc code) const {
  const Node* const node = get(key);
  if (node == nullptr) return missing(key, expected);
  return wrong(node->origin, code, fmt::format("{}: found {}, expected {}", path(key), described(*node), expected));
}

std::unexpected<Error> TableReader::missing(std::string_view key, std::string_view expected) const {
  return wrong(table_.origin, Errc::parse, fmt::format("{}: missing, expected {}", path(key), expected));
}

Result<void> TableReader::only(Keys known) const {
  for (const Node& item : table_.items) {
    if (std::ranges::find(known, item.key) != known.end()) continue;
    std::string of;
    if (!name_.empty()) of = fmt::format(" of {}", name_);
    return wrong(
        item.origin, Errc::parse,
        fmt::format("unknown key {}{}: expected {}{}", shown(item.key), of, fmt::join(known, ", "), suggestion(item.key, known)));
  }
  return {};
}

Result<std::optional<TableReader>> TableReader::table(std::string_view key, std::string kind) const {
  const Node* const node = get(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_table()) return bad(key, fmt::format("a table that starts with {}", kind));
  return TableReader(*node, std::move(kind));
}

Result<std::span<const Node>> TableReader::tables(std::string_view key) const {
  const Node* const node = get(key);
  if (node == nullptr) return std::span<const Node>{};
  if (!node->is_list()) return bad(key, fmt::format("tables that start with [[{}]], in two pairs of brackets", key));
  for (const Node& item : node->items) {
    if (item.is_table()) continue;
    return wrong(item.origin, Errc::parse,
                 fmt::format("{}: found {}, expected a table that starts with [[{}]]", path(key), described(item), key));
  }
  return std::span<const Node>(node->items);
}

Result<std::optional<std::uint64_t>> TableReader::read_whole(std::string_view key, std::uint64_t low, std::uint64_t high) const {
  const Node* const node = get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = static_cast<std::uint64_t>(node->whole);
  if (node->kind != Node::Kind::whole || node->whole < 0 || value < low || value > high) {
    return bad(key, fmt::format("a whole number from {} to {}", low, high));
  }
  return value;
}

Result<void> TableReader::number(std::string_view key, double& out, double low, double high) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  const auto value = number_of(*node);
  if (!value || *value < low || *value > high) return bad(key, fmt::format("a number from {} to {}", low, high));
  out = *value;
  return {};
}

Result<void> TableReader::flag(std::string_view key, bool& out) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  if (node->kind != Node::Kind::flag) return bad(key, "true or false");
  out = node->flag;
  return {};
}

Result<void> TableReader::size(std::string_view key, Bytes& out) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  const auto value = bytes_of(*node);
  if (!value) return bad(key, "a size above 0 such as \"4MiB\", or a number of bytes, up to 2^63-1");
  out = *value;
  return {};
}

Result<void> TableReader::space(std::string_view key, Bytes& out) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  if (node->is_text() && node->text == kUnlimited) {
    out = {};
    return {};
  }
  const auto value = bytes_of(*node);
  if (!value) return bad(key, "a size above 0 such as \"10TiB\", a number of bytes, or \"unlimited\"");
  out = *value;
  return {};
}

Result<void> TableReader::rate(std::string_view key, BytesPerSecond& out) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  if (node->is_text() && node->text == kUnlimited) {
    out = {};
    return {};
  }
  auto value = number_of(*node);
  if (node->is_text()) {
    if (const auto parsed = parse_rate(node->text)) value = parsed->value;
  }
  constexpr double kLeast = 1024;
  constexpr double kMost = 1e18;
  if (!value || !(*value >= kLeast) || *value > kMost) {
    return bad(key, "a rate of at least 1 KiB/s such as \"200MB/s\", a number of bytes per second, or \"unlimited\"");
  }
  out = {*value};
  return {};
}

Result<void> TableReader::duration(std::string_view key, Duration& out, Zero zero) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  const auto value = duration_of(*node);
  if (!value || (zero == Zero::refused && *value == Duration{})) {
    return bad(key, fmt::format("a time {} such as \"60s\" or \"4.09ms\", or a number of seconds, up to a year",
                                zero == Zero::refused ? "above 0" : "of 0 or more"));
  }
  out = *value;
  return {};
}

Result<void> TableReader::name_of(std::string_view key, std::string& out) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  if (!node->is_text() || node->text.empty() || node->text.size() > kMaxNameLength || text::printable(node->text) != node->text) {
    return bad(key, fmt::format("a name of 1 to {} bytes without control characters", kMaxNameLength));
  }
  out = node->text;
  return {};
}

Result<void> TableReader::word(std::string_view key, std::string& out, Keys known) const {
  const Node* const node = get(key);
  if (node == nullptr) return {};
  if (!node->is_text() || std::ranges::find(known, node->text) == known.end()) {
    return bad(key, fmt::format("{}{}", fmt::join(known, ", "), node->is_text() ? suggestion(node->text, known) : ""));
  }
  out = node->text;
  return {};
}

}  // namespace iez::config
