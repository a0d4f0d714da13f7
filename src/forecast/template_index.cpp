#include "forecast/template_index.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "forecast/name_lexer.hpp"

namespace iez::forecast {

namespace {

constexpr LexMode kPlain{.fractions = false};

// A name of the template, with all decimals that a fraction can have.
std::string sample_name(const NameTemplate& name_template) {
  std::vector<FieldValue> values(name_template.fields.size());
  for (std::size_t f = 0; f < values.size(); ++f) {
    if (name_template.fields[f].kind == FieldKind::fraction) values[f].number = 1;
  }
  return render(name_template, values);
}

}  // namespace

TemplateIndex::TemplateIndex(std::span<const NameTemplate> templates) : templates_(templates) {
  LexedName lexed;
  for (std::uint32_t t = 0; t < templates.size(); ++t) {
    const bool words = std::ranges::any_of(templates[t].fields, [](const Field& field) { return field.kind == FieldKind::word; });
    if (words) {
      with_words_.push_back(t);
      continue;
    }
    const std::string sample = sample_name(templates[t]);
    lex(sample, {}, lexed);
    const std::uint64_t hash = lexed.hash;
    by_hash_.emplace(hash, t);
    lex(sample, kPlain, lexed);
    if (lexed.hash != hash) by_hash_.emplace(lexed.hash, t);
  }
  std::ranges::sort(with_words_, [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t t) { return std::pair(~templates[t].literals[0].size(), t); };
    return key(a) < key(b);
  });
}

std::optional<std::uint32_t> TemplateIndex::match_hashed(std::uint64_t hash, std::string_view name,
                                                         std::vector<FieldValue>& values) const {
  std::optional<std::uint32_t> best;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if ((!best || entry->second < *best) && forecast::match(templates_[entry->second], name, values)) best = entry->second;
  }
  if (best) static_cast<void>(forecast::match(templates_[*best], name, values));
  return best;
}

std::optional<std::uint32_t> TemplateIndex::match(std::string_view name, std::vector<FieldValue>& values) const {
  LexedName lexed;
  lex(name, {}, lexed);
  const std::uint64_t hash = lexed.hash;
  if (const auto found = match_hashed(hash, name, values)) return found;
  // "1000.3" is one number for the lexer, and may be two for a template.
  if (std::ranges::any_of(lexed.tokens(), [](const Token& token) { return token.decimals > 0; })) {
    lex(name, kPlain, lexed);
    if (const auto found = match_hashed(lexed.hash, name, values)) return found;
  }
  for (const std::uint32_t t : with_words_) {
    if (forecast::match(templates_[t], name, values)) return t;
  }
  values.clear();
  return std::nullopt;
}

std::optional<Match> TemplateIndex::match(std::string_view name) const {
  Match result;
  const auto found = match(name, result.values);
  if (!found) return std::nullopt;
  result.name_template = *found;
  return result;
}

}  // namespace iez::forecast
