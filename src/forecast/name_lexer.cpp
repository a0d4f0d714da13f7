#include "forecast/name_lexer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.hpp"

namespace iez::forecast {

namespace {

using text::is_digit;

constexpr std::uint64_t kHashSeed = 0xcbf2'9ce4'8422'2325;
constexpr std::uint64_t kHashFactor = 0x9e37'79b9'7f4a'7c15;
constexpr std::size_t kMaxDigits = 19;
constexpr std::size_t kUuidLength = 36;

constexpr std::uint64_t kNumberMark = 0x100;
constexpr std::uint64_t kWordMark = 0x200;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * kHashFactor;
  return hash ^ (hash >> 29);
}

std::uint64_t mixed_text(std::uint64_t hash, std::string_view text) {
  hash = mixed(hash, text.size());
  while (!text.empty()) {
    std::uint64_t block = 0;
    const std::size_t length = std::min(text.size(), sizeof block);
    std::memcpy(&block, text.data(), length);
    hash = mixed(hash, block);
    text.remove_prefix(length);
  }
  return hash;
}

std::size_t run_of_digits(std::string_view name, std::size_t at) {
  std::size_t end = at;
  while (end < name.size() && is_digit(name[end])) ++end;
  return end;
}

// False if the digits do not fit.
bool append_digits(std::string_view digits, std::int64_t& value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const char c : digits) {
    const std::int64_t digit = c - '0';
    if (value > (kMax - digit) / 10) return false;
    value = value * 10 + digit;
  }
  return true;
}

enum class CharClass { digit, lower, upper };

CharClass class_of(char c) {
  if (is_digit(c)) return CharClass::digit;
  return c >= 'a' ? CharClass::lower : CharClass::upper;
}

class Lexer {
 public:
  Lexer(std::string_view name, const LexMode& mode, LexedName& out) : name_(name), mode_(mode), out_(out) {}

  // Ignores the first skip tokens. Returns how many tokens the name has.
  std::size_t run(std::size_t skip) {
    skip_ = skip;
    seen_ = 0;
    out_.count = 0;
    hash_ = kHashSeed;
    literal_ = 0;
    const bool only_digits = !mode_.words && mode_.component.empty();
    std::size_t at = 0;
    while (at < name_.size()) {
      if (only_digits && !is_digit(name_[at])) {
        ++at;
        continue;
      }
      const std::size_t next = token_at(at);
      if (next != at) {
        at = next;
      } else {
        // Digits that are no token are too many for one.
        at = is_digit(name_[at]) ? run_of_digits(name_, at) : at + 1;
      }
    }
    hash_ = mixed_text(hash_, name_.substr(literal_));
    out_.hash = hash_;
    return seen_;
  }

 private:
  // The position behind the token at this place; the same place if there is none.
  std::size_t token_at(std::size_t at) {
    const bool component_start = at == 0 || name_[at - 1] == '/';
    if (component_start && !mode_.component.empty() && name_.substr(at).starts_with(mode_.component)) {
      const std::size_t end = at + mode_.component.size();
      if (end == name_.size() || name_[end] == '/') return add_word(at, end, WordShape::component);
    }
    if (mode_.words && is_alnum(name_[at]) && (at == 0 || !is_alnum(name_[at - 1]))) {
      if (const std::size_t end = random_word(at); end != at) return end;
    }
    if (!is_digit(name_[at])) return at;
    const std::size_t end = run_of_digits(name_, at);
    if (mode_.fractions && component_start) {
      if (const std::size_t behind = fraction(at, end); behind != at) return behind;
    }
    Token token{.offset = static_cast<std::uint32_t>(at), .length = static_cast<std::uint32_t>(end - at)};
    if (end - at > kMaxDigits || !append_digits(name_.substr(at, end - at), token.value)) return at;
    return add(token, kNumberMark);
  }

  std::size_t fraction(std::size_t at, std::size_t point) {
    if (point >= name_.size() || name_[point] != '.' || (point - at > 1 && name_[at] == '0')) return at;
    const std::size_t end = run_of_digits(name_, point + 1);
    const std::size_t decimals = end - point - 1;
    if (decimals == 0 || end - at > kMaxDigits || (end < name_.size() && name_[end] != '/')) return at;
    Token token{.offset = static_cast<std::uint32_t>(at),
                .length = static_cast<std::uint32_t>(end - at),
                .decimals = static_cast<std::uint8_t>(decimals)};
    if (!append_digits(name_.substr(at, point - at), token.value) ||
        !append_digits(name_.substr(point + 1, decimals), token.value)) {
      return at;
    }
    return add(token, kNumberMark);
  }

  std::size_t random_word(std::size_t at) {
    const std::string_view rest = name_.substr(at);
    if (begins_with_uuid(rest)) return add_word(at, at + kUuidLength, WordShape::uuid);
    const auto length = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_alnum) - rest.begin());
    if (!looks_random(rest.substr(0, length))) return at;
    return add_word(at, at + length, WordShape::alnum);
  }

  std::size_t add_word(std::size_t at, std::size_t end, WordShape shape) {
    const Token token{
        .offset = static_cast<std::uint32_t>(at), .length = static_cast<std::uint32_t>(end - at), .word = true, .shape = shape};
    const std::uint64_t length = shape == WordShape::component ? 0 : token.length;
    return add(token, kWordMark + (length << 16) + static_cast<std::uint64_t>(shape));
  }

  std::size_t add(const Token& token, std::uint64_t mark) {
    ++seen_;
    if (seen_ <= skip_) return token.end();
    hash_ = mixed(mixed_text(hash_, name_.substr(literal_, token.offset - literal_)), mark);
    literal_ = token.end();
    if (out_.count < kMaxTokens) out_.storage[out_.count++] = token;
    return token.end();
  }

  std::string_view name_;
  const LexMode& mode_;
  LexedName& out_;
  std::uint64_t hash_ = 0;
  std::size_t literal_ = 0;  // where the text since the last token begins
  std::size_t skip_ = 0;
  std::size_t seen_ = 0;
};

}  // namespace

void lex(std::string_view name, const LexMode& mode, LexedName& out) {
  Lexer lexer(name, mode, out);
  if (const std::size_t seen = lexer.run(0); seen > kMaxTokens) lexer.run(seen - kMaxTokens);
}

bool same_shape(std::string_view a, const LexedName& lexed_a, std::string_view b, const LexedName& lexed_b) {
  if (lexed_a.hash != lexed_b.hash || lexed_a.count != lexed_b.count) return false;
  std::size_t at_a = 0;
  std::size_t at_b = 0;
  for (std::size_t i = 0; i < lexed_a.count; ++i) {
    const Token& x = lexed_a.storage[i];
    const Token& y = lexed_b.storage[i];
    if (x.word != y.word || a.substr(at_a, x.offset - at_a) != b.substr(at_b, y.offset - at_b)) return false;
    at_a = x.end();
    at_b = y.end();
  }
  return a.substr(at_a) == b.substr(at_b);
}

bool lex_like(std::string_view name, std::string_view model, const LexedName& lexed_model, LexedName& out) {
  std::size_t at = 0;
  std::size_t model_at = 0;
  out.hash = lexed_model.hash;
  out.count = 0;
  for (const Token& token : lexed_model.tokens()) {
    const std::string_view literal = model.substr(model_at, token.offset - model_at);
    if (!name.substr(at).starts_with(literal)) return false;
    at += literal.size();
    model_at = token.end();
    Token found{.offset = static_cast<std::uint32_t>(at), .word = token.word, .shape = token.shape};
    std::size_t end = at;
    if (token.word) {
      while (end < name.size() && is_alnum(name[end])) ++end;
      if (token.shape != WordShape::alnum || end - at != token.length) return false;
    } else {
      end = run_of_digits(name, at);
      if (token.decimals != 0 || end == at || end - at > kMaxDigits) return false;
      if (!append_digits(name.substr(at, end - at), found.value)) return false;
    }
    found.length = static_cast<std::uint32_t>(end - at);
    out.storage[out.count++] = found;
    at = end;
  }
  return name.substr(at) == model.substr(model_at);
}

bool looks_random(std::string_view word) {
  constexpr std::size_t kLongest = 128;
  if (word.size() < 5 || word.size() > kLongest) return false;
  std::size_t changes = 0;
  bool hex = true;
  bool digit = false;
  bool lower = false;
  bool upper = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const CharClass here = class_of(word[i]);
    digit |= here == CharClass::digit;
    lower |= here == CharClass::lower;
    upper |= here == CharClass::upper;
    hex &= here == CharClass::digit || (word[i] | 0x20) <= 'f';
    if (i > 0 && here != class_of(word[i - 1])) ++changes;
  }
  if (digit && !lower && !upper) return word.size() > kMaxDigits;
  if (word.size() >= 8 && hex && digit && lower != upper) return changes >= 2;
  return changes >= 3;
}

}  // namespace iez::forecast
