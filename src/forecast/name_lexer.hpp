// Cuts a file name into literal text and the parts that may vary.
//
// A run of digits is a token. So is a whole path component such as "0.05": one number, because its siblings may be "10". Names of
// the same series give the same literals, hence the same hash, whatever their numbers are. In the modes of LexMode more parts
// become tokens. A run of more than 19 digits, or beyond 64 bits, is literal text.
//
// Cost: linear in the name, twice if it has more than kMaxTokens numbers; then only the last ones are tokens, since what varies
// is near the end of a path. No allocation. Thread safety: plain functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "forecast/name_fields.hpp"

namespace iez::forecast {

constexpr std::size_t kMaxTokens = 24;

struct LexMode {
  bool fractions = true;       // "0.05" as a whole component is one number
  bool words = false;          // words that look random are tokens
  std::string_view component;  // components with this text are tokens; empty: none
};

struct Token {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::int64_t value = 0;  // of a number; with the decimals, and without the point
  bool word = false;
  WordShape shape = WordShape::alnum;  // of a word
  std::uint8_t decimals = 0;

  std::uint32_t end() const { return offset + length; }
};

struct LexedName {
  std::uint64_t hash = 0;  // of the literals, and where the tokens are between them
  std::size_t count = 0;
  std::array<Token, kMaxTokens> storage;

  std::span<const Token> tokens() const { return {storage.data(), count}; }
};

// REQUIRES: name is shorter than 4 GiB.
void lex(std::string_view name, const LexMode& mode, LexedName& out);

// Whether the literals are equal, and the tokens of the same sort.
bool same_shape(std::string_view a, const LexedName& lexed_a, std::string_view b, const LexedName& lexed_b);

// Reads name by the shape of another name: the same literals, numbers where it has numbers, words of the same length where it has
// words. Finds the names that belong to a series though their word does not look random.
bool lex_like(std::string_view name, std::string_view model, const LexedName& lexed_model, LexedName& out);

// A uuid, a long number, or a mix of digits and letters that no person would write.
bool looks_random(std::string_view word);

}  // namespace iez::forecast
