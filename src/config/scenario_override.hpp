// Single keys of a scenario changed from outside, and sweeps over their values.
//
//     congestion.fixed=4            job.0.processes=512        job.*.stripe_count=64
//     machine.nodes=2048            target.write_rate=200MB/s
//     sweeps: key=1,4,8             key=1..32*2 (1, 2, 4, ... 32)      key=0..10+2 (0, 2, ... 10)      key=1..4 (1, 2, 3, 4)
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::config {

inline constexpr std::size_t kMaxCombinations = 10'000;  // of all sweeps together
inline constexpr std::size_t kMaxKeyParts = 8;           // of a dotted key
inline constexpr std::size_t kMaxOverrideText = 65'536;  // bytes

// A dotted key and a TOML value. Lists are entered by index, from 0; * is every item. A value that is not TOML is a text.
struct Override {
  std::string key;
  std::string value;

  friend bool operator==(const Override&, const Override&) = default;
};

// "key=value", with white space around either.
[[nodiscard]] Result<Override> parse_override(std::string_view text);

// One key and the values it takes in turn.
struct Sweep {
  std::string key;
  std::vector<std::string> values;  // at least one

  friend bool operator==(const Sweep&, const Sweep&) = default;
};

// Fails for a key that occurs twice, and when there would be more than kMaxCombinations.
[[nodiscard]] Result<std::vector<Sweep>> parse_sweeps(std::span<const std::string> texts);

// Every value of every sweep with every value of the others; the last sweep changes fastest. None: one combination, of nothing.
std::vector<std::vector<Override>> combinations(std::span<const Sweep> sweeps);

}  // namespace iez::config
