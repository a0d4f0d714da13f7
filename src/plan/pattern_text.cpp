#include "plan/pattern_text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/field_match.hpp"

namespace iez::plan {

namespace {

constexpr std::size_t kMaxFieldName = 32;
constexpr std::array<std::string_view, 7> kNumbers{"step", "rank", "part", "count", "run", "other", "number"};

std::unexpected<Error> bad(std::string message) { return fail(Errc::parse, std::move(message)); }

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return fmt::format("'{}'{}", text::printable(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
}

bool is_field_name(std::string_view name) {
  const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !name.empty() && name.size() <= kMaxFieldName && std::ranges::all_of(name, fits);
}

// `inside`: what is between the braces.
Result<PatternPiece> parse_field(std::string_view inside) {
  const std::string expected = "expected {NAME}, {NAME:5}, {NAME:number|fraction|date|word} or {NAME*}, and {{ for a brace";
  std::string_view rest = inside;
  const bool open = rest.ends_with('*');
  if (open) rest.remove_suffix(1);
  const std::size_t colon = rest.find(':');
  const std::string_view name = rest.substr(0, colon);
  const std::string_view form = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  if (!is_field_name(name) || (colon != std::string_view::npos && form.empty())) {
    return bad(fmt::format("found the field {}, {}", quoted(fmt::format("{{{}}}", inside)), expected));
  }
  PatternPiece piece{.kind = abi::kEdgeWord, .text = std::string(name)};
  if (form.empty()) {
    if (std::ranges::find(kNumbers, name) != kNumbers.end()) piece.kind = abi::kEdgeNumber;
    if (name == "date") piece.kind = abi::kEdgeDate;
  } else if (form == "number") {
    piece.kind = abi::kEdgeNumber;
  } else if (form == "fraction") {
    piece.kind = abi::kEdgeFraction;
  } else if (form == "date") {
    piece.kind = abi::kEdgeDate;
  } else if (const auto width = text::parse_u64(form); width && *width >= 1 && *width <= kMaxDigits) {
    piece.kind = abi::kEdgeNumber;
    piece.width = static_cast<std::uint8_t>(*width);
  } else if (form != "word") {
    return bad(
        fmt::format("found the field {}, {}; widths are 1 to {}", quoted(fmt::format("{{{}}}", inside)), expected, kMaxDigits));
  }
  if (open) {
    piece.kind = abi::kEdgeOpen;
    piece.width = 0;
  }
  return piece;
}

// What the first one leaves, the second one could not begin with.
bool swallows(const PatternPiece& first, const PatternPiece& second) {
  const auto takes_digits = [](const PatternPiece& piece) {
    return piece.kind == abi::kEdgeNumber || piece.kind == abi::kEdgeFraction || piece.kind == abi::kEdgeDate;
  };
  if (takes_digits(first)) return takes_digits(second);
  return first.kind == second.kind;
}

Result<std::uint32_t> parse_word(std::string_view text, std::string_view what) {
  const auto value = text::parse_u64(text::trim(text));
  if (!value || *value == 0 || *value > std::numeric_limits<std::uint32_t>::max()) {
    return bad(fmt::format("found {} as {}, expected 1 to 4294967295", quoted(text), what));
  }
  return static_cast<std::uint32_t>(*value);
}

struct Term {
  std::string_view field;
  std::uint32_t factor = 1;
  std::uint32_t divisor = 1;
};

Result<Term> parse_term(std::string_view text) {
  Term term;
  std::string_view rest = text;
  if (const std::size_t star = rest.find('*'); star != std::string_view::npos) {
    IEZ_TRY(term.factor, parse_word(rest.substr(0, star), "the factor of a turn"));
    rest.remove_prefix(star + 1);
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    IEZ_TRY(term.divisor, parse_word(rest.substr(slash + 1), "the divisor of a turn"));
    rest = rest.substr(0, slash);
  }
  term.field = text::trim(rest);
  return term;
}

abi::RuleField turn_field(std::uint8_t turn) { return {.turn = turn, .reserved = {}, .divisor = 1, .factor = 1}; }

}  // namespace

bool has_fields(std::string_view text) { return text.find_first_of("{}") != std::string_view::npos; }

Result<std::vector<PatternPiece>> parse_pattern(std::string_view text) {
  std::vector<PatternPiece> pieces;
  std::size_t fields = 0;
  const auto add_literal = [&pieces](std::string_view part) {
    if (part.empty()) return;
    if (pieces.empty() || pieces.back().kind != abi::kEdgeLiteral) pieces.emplace_back();
    pieces.back().text += part;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
    add_literal(text.substr(at, brace - at));
    at = brace;
    if (at == text.size()) break;
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      add_literal(text.substr(at, 1));
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string_view::npos) {
      return bad(
          fmt::format("found a single '{}' at byte {}, expected a field such as {{rank}}, or the brace twice", text[at], at + 1));
    }
    IEZ_TRY(PatternPiece piece, parse_field(text.substr(at + 1, end - at - 1)));
    if (!pieces.empty() && pieces.back().kind != abi::kEdgeLiteral && swallows(pieces.back(), piece)) {
      return bad(fmt::format("found {{{}}} directly behind {{{}}}, expected text between them: the first would take all",
                             piece.text, pieces.back().text));
    }
    if (++fields > abi::kMaxFields) return bad(fmt::format("found more than {0} fields, expected at most {0}", abi::kMaxFields));
    pieces.push_back(std::move(piece));
    at = end + 1;
  }
  return pieces;
}

Result<std::vector<abi::RuleField>> parse_turn(std::string_view text, const std::vector<PatternPiece>& pattern) {
  std::vector<abi::RuleField> fields;
  std::vector<const PatternPiece*> pieces;
  for (const PatternPiece& piece : pattern) {
    if (piece.kind == abi::kEdgeLiteral) continue;
    const bool seen = std::ranges::any_of(pieces, [&](const PatternPiece* other) { return other->text == piece.text; });
    pieces.push_back(&piece);
    const bool counts = piece.kind == abi::kEdgeNumber && piece.text == "rank";
    fields.push_back(turn_field(seen ? abi::kTurnIgnore : counts ? abi::kTurnCount : abi::kTurnHash));
  }
  const std::string_view trimmed = text::trim(text);
  if (trimmed.empty()) return fields;
  if (trimmed == "hash") {
    for (abi::RuleField& field : fields) {
      if (field.turn == abi::kTurnCount) field.turn = abi::kTurnHash;
    }
    return fields;
  }
  for (abi::RuleField& field : fields) field.turn = abi::kTurnIgnore;
  std::string_view rest = trimmed;
  while (true) {
    const std::size_t plus = rest.find('+');
    IEZ_TRY(const Term term, parse_term(rest.substr(0, plus)));
    const auto found = std::ranges::find_if(pieces, [&](const PatternPiece* piece) { return piece->text == term.field; });
    if (found == pieces.end() || (*found)->kind != abi::kEdgeNumber) {
      return bad(fmt::format("found {} in the turn {}, expected a field of the pattern that is a number; such as rank+64*step",
                             quoted(term.field), quoted(trimmed)));
    }
    abi::RuleField& field = fields[static_cast<std::size_t>(found - pieces.begin())];
    if (field.turn != abi::kTurnIgnore) {
      return bad(fmt::format("found {} twice in the turn {}, expected it once", quoted(term.field), quoted(trimmed)));
    }
    field = {.turn = abi::kTurnCount, .reserved = {}, .divisor = term.divisor, .factor = term.factor};
    if (plus == std::string_view::npos) return fields;
    rest.remove_prefix(plus + 1);
  }
}

}  // namespace iez::plan
