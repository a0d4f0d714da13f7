// Names with fields, as people write them: "/scratch/{run*}/ckpt.{step:5}.{rank}".
//
//   {NAME}           a number if NAME is step, rank, part, count, run, other or number; a date if it is date; else a word
//   {NAME:5}         a number, padded with zeros to 5 digits
//   {NAME:number} {NAME:fraction} {NAME:date} {NAME:word}    of that kind, whatever its name
//   {NAME*} {NAME:5*}   open: any text without '/'
//   {{ }}            a brace
// NAME: 1 to 32 letters, digits or '_'. What each kind takes of a name: field_match.hpp. This is the form that
// forecast::NameTemplate::pattern() gives.
//
// Which of its layouts a file takes, its turn, is written as a sum: "rank+64*step/100". Terms: [FACTOR*]FIELD[/DIVISOR], the
// division rounded down, before the product. "hash": by a hash of all fields. Nothing: the rank, and a hash of all other fields.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_format.hpp"

namespace iez::plan {

struct PatternPiece {
  std::uint8_t kind = abi::kEdgeLiteral;
  std::uint8_t width = 0;  // of a number
  std::string text;        // literal, or name of the field

  friend bool operator==(const PatternPiece&, const PatternPiece&) = default;
};

// Pieces in order, no two literals beside each other. Fails where two fields beside each other leave open which text is whose.
[[nodiscard]] Result<std::vector<PatternPiece>> parse_pattern(std::string_view text);

// Whether text has a field or an escaped brace, hence is to be read by parse_pattern().
bool has_fields(std::string_view text);

// One for each field of the pattern. Of fields with the same name the first counts.
[[nodiscard]] Result<std::vector<abi::RuleField>> parse_turn(std::string_view text, const std::vector<PatternPiece>& pattern);

}  // namespace iez::plan
