// The machine-readable face of every command: one JSON document a line, keys in a fixed order, bytes as plain integers.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "input/parse_report.hpp"

namespace iez::cli {

using nlohmann::ordered_json;

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// Seconds since 1970.
inline double seconds_of(WallTime time) { return static_cast<double>(time.time_since_epoch().count()) / 1e9; }

void add_problems(ordered_json& json, const input::ParseReport& report);

// Bytes from outside that are not UTF-8 are replaced: the line is always valid JSON.
std::string to_line(const ordered_json& json);

}  // namespace iez::cli
